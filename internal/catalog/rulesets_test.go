package catalog

import (
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestCreateRuleSet(t *testing.T) {
	create := CreateRuleSet{ID: "set-1", Name: "duel", Body: "{}"}
	made := &RuleSetCreated{RuleSet{ID: "set-1", Name: "duel", Body: "{}", Created: t0}}
	tagged, badlyTagged := create, create
	tagged.Tags, badlyTagged.Tags = []Tag{{"k", "v"}}, []Tag{{"aws:k", "v"}}
	play(t, []scene{
		{name: "a rule set", when: create, then: []Event{made}},
		{name: "with tags", when: tagged, then: []Event{made,
			&ResourceTagged{Resource: "matchmakingruleset/duel", Tags: []Tag{{"k", "v"}}}}},
		{name: "bad tags", when: badlyTagged, fault: fault.TaggingFailed},
		{name: "the name is taken", given: []Event{made}, when: create, fault: fault.InvalidRequest,
			text: "Matchmaking rule set duel already exists"},
		{name: "no name", when: CreateRuleSet{Body: "{}"}, fault: fault.InvalidRequest,
			text: "Name must have 1 to 128 characters"},
		{name: "over the limit", given: []Event{ruleSetMade("a"), ruleSetMade("b")}, when: create,
			fault: fault.LimitExceeded, text: "The limit of 2 matchmaking rule sets is reached"},
	})
}

func TestRuleSetLife(t *testing.T) {
	s := given(t, DefaultLimits())
	do(t, s, t0, CreateRuleSet{ID: "set-1", Name: "duel", Body: "{}", Tags: []Tag{{"k", "v"}}})
	do(t, s, t0, CreateRuleSet{Name: "attic", Body: "{}"})
	if r, ok := s.RuleSet("duel"); !ok || r.Body != "{}" || r.Created != t0 || r.ID != "set-1" {
		t.Errorf("rule set %+v", r)
	}
	if sets, more := s.RuleSets("attic", 1); len(sets) != 1 || sets[0].Name != "duel" || more {
		t.Errorf("second page %v, %v", sets, more)
	}
	do(t, s, t0, DeleteRuleSet{"duel"})
	if _, ok := s.RuleSet("duel"); ok || s.Tags("matchmakingruleset/duel") != nil {
		t.Error("the rule set or its tags are still there")
	}
	_, err := s.Decide(t0, DeleteRuleSet{"duel"})
	wantFault(t, err, fault.NotFound, "Matchmaking rule set duel not found")
}
