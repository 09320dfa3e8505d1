package catalog

import (
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

const harborQueue = "arn:aws:gamelift:us-west-2:111122223333:gamesessionqueue/harbor"

func ruleSetMade(name string) Event {
	return &RuleSetCreated{RuleSet{Name: name, Body: "{}", Created: t0}}
}

func TestCreateMatchmakingConfiguration(t *testing.T) {
	base := []Event{ruleSetMade("duel"), &QueueCreated{Queue{Name: "harbor"}}}
	placed := MatchmakingConfiguration{ID: "c-1", Name: "ladder", RuleSet: "duel", Queues: []string{harborQueue},
		RequestTimeout: 60}
	create := func(change func(c *CreateMatchmakingConfiguration)) Command {
		c := CreateMatchmakingConfiguration{MatchmakingConfiguration: placed,
			Refers: []string{"gamesessionqueue/harbor"}}
		change(&c)
		return c
	}
	made := func(change func(m *MatchmakingConfiguration)) Event {
		m := placed
		m.Created, m.Updated = t0, t0
		change(&m)
		return &MatchmakingConfigurationCreated{m}
	}
	named := func(name string) Event {
		return &MatchmakingConfigurationCreated{MatchmakingConfiguration{Name: name, RuleSet: "duel", Standalone: true}}
	}
	type c = *CreateMatchmakingConfiguration
	type m = *MatchmakingConfiguration
	play(t, []scene{
		{name: "with a queue", given: base, when: create(func(c) {}), then: []Event{made(func(m) {})}},
		{name: "standalone", given: base, when: create(func(c c) { c.Standalone, c.Queues, c.Refers = true, nil, nil }),
			then: []Event{made(func(m m) { m.Standalone, m.Queues = true, nil })}},
		{name: "standalone with a queue", given: base, when: create(func(c c) { c.Standalone = true }),
			fault: fault.InvalidRequest,
			text: "GameSessionQueueArns must not be set when FlexMatchMode is STANDALONE. Send an empty list to " +
				"clear it."},
		{name: "standalone with automatic backfill", given: base,
			when:  create(func(c c) { c.Standalone, c.Queues, c.AutomaticBackfill = true, nil, true }),
			fault: fault.InvalidRequest,
			text: "BackfillMode AUTOMATIC is not available when FlexMatchMode is STANDALONE. " +
				"Set it to MANUAL."},
		{name: "without a queue", given: base, when: create(func(c c) { c.Queues = []string{} }),
			fault: fault.InvalidRequest,
			text:  "GameSessionQueueArns needs a queue when FlexMatchMode is WITH_QUEUE"},
		{name: "unknown queue", given: base[:1], when: create(func(c) {}), fault: fault.NotFound,
			text: "Resource gamesessionqueue/harbor not found"},
		{name: "a queue twice", given: base, when: create(func(c c) { c.Queues = []string{harborQueue, harborQueue} }),
			fault: fault.InvalidRequest},
		{name: "too many queues", given: base, when: create(func(c c) { c.Queues = make([]string, 101) }),
			fault: fault.InvalidRequest},
		{name: "unknown rule set", given: base[1:], when: create(func(c) {}), fault: fault.NotFound,
			text: "Matchmaking rule set duel not found"},
		{name: "a property twice", given: base,
			when:  create(func(c c) { c.Properties = []Property{{"k", "1"}, {"k", "2"}} }),
			fault: fault.InvalidRequest, text: "GameProperties holds the key k twice"},
		{name: "with tags", given: base, when: create(func(c c) { c.Tags = []Tag{{"k", "v"}} }),
			then: []Event{made(func(m) {}), &ResourceTagged{Resource: "matchmakingconfiguration/ladder",
				Tags: []Tag{{"k", "v"}}}}},
		{name: "bad tags", given: base, when: create(func(c c) { c.Tags = []Tag{{"", ""}} }),
			fault: fault.TaggingFailed},
		{name: "the name is taken", given: append(base[:2:2], named("ladder")), when: create(func(c) {}),
			fault: fault.InvalidRequest,
			text:  "Matchmaking configuration ladder already exists"},
		{name: "no name", given: base, when: create(func(c c) { c.Name = "" }), fault: fault.InvalidRequest,
			text: "Name must have 1 to 128 characters"},
		{name: "over the limit", given: append(base[:2:2], named("a"), named("b")), when: create(func(c) {}),
			fault: fault.LimitExceeded,
			text:  "The limit of 2 matchmaking configurations is reached"},
	})
}

func TestUpdateMatchmakingConfiguration(t *testing.T) {
	full := MatchmakingConfiguration{
		ID: "c-1", Name: "ladder", Description: "d", RuleSet: "duel", Queues: []string{harborQueue}, RequestTimeout: 60,
		AcceptanceRequired: true,
		AcceptanceTimeout:  30, AdditionalPlayers: 2, AutomaticBackfill: true, Properties: []Property{{"k", "v"}},
		Data:            "data",
		CustomEventData: "blue", NotificationTarget: "arn:aws:sns:x", Created: t0 - day, Updated: t0 - day,
	}
	base := []Event{ruleSetMade("duel"), ruleSetMade("siege"), &QueueCreated{Queue{Name: "harbor"}},
		&MatchmakingConfigurationCreated{full}}
	update := func(change func(c *UpdateMatchmakingConfiguration)) Command {
		c := UpdateMatchmakingConfiguration{Name: "ladder"}
		change(&c)
		return c
	}
	updated := func(change func(m *MatchmakingConfiguration)) []Event {
		m := full
		m.Updated = t0
		change(&m)
		return []Event{&MatchmakingConfigurationUpdated{m}}
	}
	type c = *UpdateMatchmakingConfiguration
	type m = *MatchmakingConfiguration
	play(t, []scene{
		{name: "nothing", given: base, when: update(func(c) {}), then: updated(func(m) {})},
		{name: "everything", given: base, when: UpdateMatchmakingConfiguration{
			Name: "ladder", Description: ptr("e"), RuleSet: ptr("siege"), Queues: []string{}, Standalone: ptr(true),
			RequestTimeout:     ptr(int32(61)),
			AcceptanceRequired: ptr(false), AcceptanceTimeout: ptr(int32(31)), AdditionalPlayers: ptr(int32(0)),
			AutomaticBackfill: ptr(false),
			Properties:        []Property{}, Data: ptr("more"), CustomEventData: ptr(""), NotificationTarget: ptr(""),
		}, then: updated(func(m m) {
			*m = MatchmakingConfiguration{
				ID: "c-1", Name: "ladder", Description: "e", RuleSet: "siege", Standalone: true, RequestTimeout: 61,
				AcceptanceTimeout: 31,
				Data:              "more", Created: m.Created, Updated: m.Updated,
			}
		})},
		{name: "standalone keeps no queue", given: base, when: update(func(c c) { c.Standalone = ptr(true) }),
			fault: fault.InvalidRequest},
		{name: "no queue", given: base, when: update(func(c c) { c.Queues = []string{} }), fault: fault.InvalidRequest},
		{name: "unknown queue", given: base, when: update(func(c c) {
			c.Queues, c.Refers = []string{"x"},
				[]string{"gamesessionqueue/x"}
		}), fault: fault.NotFound},
		{name: "unknown rule set", given: base, when: update(func(c c) { c.RuleSet = ptr("raid") }),
			fault: fault.NotFound,
			text:  "Matchmaking rule set raid not found"},
		{name: "unknown", given: base[:3], when: update(func(c) {}), fault: fault.NotFound,
			text: "Matchmaking configuration ladder not found"},
		// What was deleted since is asked for again only when it is given again.
		{name: "its queue is gone", given: append(base[:4:4], &QueueDeleted{"harbor"}), when: update(func(c) {}),
			then: updated(func(m) {})},
	})
}

func TestAcceptanceSeconds(t *testing.T) {
	for given, want := range map[int32]int32{0: 300, 20: 20} {
		if got := (&MatchmakingConfiguration{AcceptanceTimeout: given}).AcceptanceSeconds(); got != want {
			t.Errorf("AcceptanceTimeout %d: %d, want %d", given, got, want)
		}
	}
}

func TestMatchmakingConfigurationLife(t *testing.T) {
	s := given(t, DefaultLimits(), ruleSetMade("duel"), ruleSetMade("siege"))
	for name, set := range map[string]string{"a": "duel", "b": "siege", "c": "duel"} {
		m := MatchmakingConfiguration{ID: name, Name: name, RuleSet: set, Standalone: true}
		do(t, s, t0, CreateMatchmakingConfiguration{MatchmakingConfiguration: m, Tags: []Tag{{"k", "v"}}})
	}
	for _, q := range []struct{ ruleSet, want string }{{"", "abc"}, {"duel", "ac"}, {"siege", "b"}, {"raid", ""}} {
		got := ""
		list, _ := s.MatchmakingConfigurations(q.ruleSet, "", 0)
		for _, m := range list {
			got += m.Name
		}
		if got != q.want {
			t.Errorf("of rule set %q: %s, want %s", q.ruleSet, got, q.want)
		}
	}
	_, err := s.Decide(t0, DeleteRuleSet{"siege"})
	wantFault(t, err, fault.InvalidRequest, "Matchmaking rule set siege is used by matchmaking configuration b. "+
		"Delete that first, or give it another rule set.")
	do(t, s, t0, DeleteMatchmakingConfiguration{"b"})
	if _, ok := s.MatchmakingConfiguration("b"); ok || s.Tags("matchmakingconfiguration/b") != nil {
		t.Error("the configuration or its tags are still there")
	}
	do(t, s, t0, DeleteRuleSet{"siege"})
	_, err = s.Decide(t0, DeleteMatchmakingConfiguration{"b"})
	wantFault(t, err, fault.NotFound, "Matchmaking configuration b not found")
}
