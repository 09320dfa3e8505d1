package drivers

import (
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/publish"
)

// newPublisher returns the publisher of the events of all shards.
func (d *Drivers) newPublisher() *publish.Publisher {
	c := publish.Config{
		Feed: d.cfg.Feed, Origin: publish.Origin{Region: d.cfg.Region, Account: d.cfg.Account},
		Catalog: d.cfg.Router.Catalog, EventID: d.cfg.EventID, RuleNames: d.ruleNames,
		Clock: d.cfg.Clock, Log: d.cfg.Log,
	}
	for _, s := range d.cfg.Router.Shards() {
		c.Shards = append(c.Shards, s)
	}
	return publish.New(c)
}

// ruleNames lists the rules of a matchmaking configuration that are evaluated; none if it was deleted.
func (d *Drivers) ruleNames(of matchmaking.Configuration) []string {
	c, ok := d.cfg.Router.Catalog().MatchmakingConfiguration(of.Name)
	if !ok || c.ID != of.ID {
		return nil
	}
	set, err := d.cfg.RuleSet(d.cfg.Router.Catalog(), c)
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
