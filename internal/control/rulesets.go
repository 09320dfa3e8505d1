package control

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ruleSetPage is the maximum number of rule sets on a page. Source: API reference, DescribeMatchmakingRuleSets.
const ruleSetPage = 10

// CreateMatchmakingRuleSet stores a valid rule set.
func (p *Plane) CreateMatchmakingRuleSet(ctx context.Context,
	in *wire.CreateMatchmakingRuleSetInput) (*wire.CreateMatchmakingRuleSetOutput, error) {
	if err := checkRuleSet(in.RuleSetBody); err != nil {
		return nil, err
	}
	command := catalog.CreateRuleSet{ID: uuid.NewString(), Name: in.Name, Body: in.RuleSetBody, Tags: tagsFrom(in.Tags)}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	r, err := p.ruleSet(in.Name)
	if err != nil {
		return nil, err
	}
	return &wire.CreateMatchmakingRuleSetOutput{RuleSet: p.ruleSetTo(r)}, nil
}

// checkRuleSet rejects an invalid rule set, with the place of the error.
func checkRuleSet(body string) error {
	if _, err := ruleset.Parse(body); err != nil {
		return invalid("RuleSetBody: %v", err)
	}
	return nil
}

// ValidateMatchmakingRuleSet answers that a rule set is valid, or rejects the request with the error, which explains
// more than "not valid".
func (p *Plane) ValidateMatchmakingRuleSet(_ context.Context,
	in *wire.ValidateMatchmakingRuleSetInput) (*wire.ValidateMatchmakingRuleSetOutput, error) {
	if err := checkRuleSet(in.RuleSetBody); err != nil {
		return nil, err
	}
	return &wire.ValidateMatchmakingRuleSetOutput{Valid: wire.Some(true)}, nil
}

// DescribeMatchmakingRuleSets describes the named rule sets, which must exist, or a page of all, by name.
func (cr *catalogReader) DescribeMatchmakingRuleSets(_ context.Context,
	in *wire.DescribeMatchmakingRuleSetsInput) (*wire.DescribeMatchmakingRuleSetsOutput, error) {
	ruleSets, next, err := cr.ruleSetsPage(in)
	if err != nil {
		return nil, err
	}
	return &wire.DescribeMatchmakingRuleSetsOutput{RuleSets: shown(ruleSets, cr.ruleSetTo), NextToken: next}, nil
}

func (cr *catalogReader) ruleSetsPage(in *wire.DescribeMatchmakingRuleSetsInput) (
	found []*catalog.RuleSet, next string, err error,
) {
	if len(in.Names) > 0 {
		for _, name := range in.Names {
			r, err := cr.ruleSet(name)
			if err != nil {
				return nil, "", err
			}
			found = append(found, r)
		}
		return found, "", nil
	}
	return page(cr.secrets.Pages("DescribeMatchmakingRuleSets"), in.NextToken,
		func(after string) ([]*catalog.RuleSet, bool) {
			return cr.Catalog().RuleSets(after, pageOf(in.Limit, ruleSetPage))
		},
		func(r *catalog.RuleSet) string { return r.Name })
}

// DeleteMatchmakingRuleSet deletes a rule set that no configuration uses.
func (p *Plane) DeleteMatchmakingRuleSet(ctx context.Context, in *wire.DeleteMatchmakingRuleSetInput) error {
	r, err := p.ruleSet(in.Name)
	if err != nil {
		return err
	}
	return p.Change(ctx, catalog.DeleteRuleSet{Name: r.Name})
}

// ruleSet returns the rule set with a name or an ARN, or NotFound.
func (cr *catalogReader) ruleSet(nameOrArn string) (*catalog.RuleSet, error) {
	name, _ := cr.Local(nameOrArn, arn.ParseMatchmakingRuleSet)
	if r, ok := cr.Catalog().RuleSet(name); ok {
		return r, nil
	}
	return nil, notFound("Matchmaking rule set %s not found", nameOrArn)
}

func (sh shapes) ruleSetTo(r *catalog.RuleSet) *wire.MatchmakingRuleSet {
	return &wire.MatchmakingRuleSet{
		RuleSetName: r.Name, RuleSetArn: sh.ruleSetArn(r.Name), RuleSetBody: r.Body, CreationTime: r.Created.Time(),
	}
}

func (sh shapes) ruleSetArn(name string) string {
	return arn.MatchmakingRuleSet(sh.names.Region, sh.names.Account, name)
}

// ruleSets caches parsed and checked rule sets.
type ruleSets struct {
	mu   sync.Mutex
	byID map[string]readRuleSet
}

type readRuleSet struct {
	name string
	set  *ruleset.Set
}

// of returns the rule set of a configuration.
func (r *ruleSets) of(catalog *catalog.State, c *catalog.MatchmakingConfiguration) (*ruleset.Set, error) {
	record, ok := catalog.RuleSet(c.RuleSet)
	if !ok {
		return nil, fault.New(fault.InvalidRequest,
			"Matchmaking configuration %s has no rule set: %s was deleted", c.Name, c.RuleSet)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if read, ok := r.byID[record.ID]; ok {
		return read.set, nil
	}
	set, err := ruleset.Parse(record.Body)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "Rule set %s cannot be used: %v", record.Name, err)
	}
	if r.byID == nil {
		r.byID = map[string]readRuleSet{}
	}
	r.byID[record.ID] = readRuleSet{record.Name, set}
	return set, nil
}

// tidy removes those that were deleted.
func (r *ruleSets) tidy(catalog *catalog.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, read := range r.byID {
		if record, ok := catalog.RuleSet(read.name); !ok || record.ID != id {
			delete(r.byID, id)
		}
	}
}
