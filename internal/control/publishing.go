package control

import (
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/publish"
)

// newPublisher makes the publisher of the events of all shards.
func newPublisher(p *Plane) *publish.Publisher {
	c := publish.Config{
		Feed: p.cfg.Feed, Origin: publish.Origin{Region: p.cfg.Region, Account: p.cfg.Account},
		Catalog: p.Catalog, EventID: p.secrets.EventID, RuleNames: p.ruleNames,
		Clock: p.cfg.Clock, Log: p.cfg.Log,
	}
	for _, s := range p.Shards() {
		c.Shards = append(c.Shards, s)
	}
	return publish.New(c)
}

// ruleNames lists the rules of a matchmaking configuration that are evaluated; none if it was deleted.
func (p *Plane) ruleNames(of matchmaking.Configuration) []string {
	c, ok := p.Catalog().MatchmakingConfiguration(of.Name)
	if !ok || c.ID != of.ID {
		return nil
	}
	set, err := p.matching.sets.of(p.Catalog(), c)
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range set.Rules {
		if r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			names = append(names, r.Name)
		}
	}
	return names
}
