package control

import (
	"sync"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/wire/fault"
)

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
			"Matchmaking configuration %s has no rule set any more: %s is gone", c.Name, c.RuleSet)
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
