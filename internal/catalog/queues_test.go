package catalog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

const fleetOne = "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-1"

func TestCreateQueue(t *testing.T) {
	create := func(change func(c *CreateQueue)) CreateQueue {
		c := CreateQueue{Queue: Queue{ID: "queue-1", Name: "harbor", Timeout: 600}}
		change(&c)
		return c
	}
	made := func(change func(q *Queue)) Event {
		q := Queue{ID: "queue-1", Name: "harbor", Timeout: 600, Created: t0, Updated: t0}
		change(&q)
		return &QueueCreated{q}
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("arn:aws:gamelift:us-west-2::fleet/fleet-%d", i)
	}
	play(t, []scene{
		{name: "nothing but a name", when: create(func(*CreateQueue) {}), then: []Event{made(func(*Queue) {})}},
		{name: "shortest timeout", when: create(func(c *CreateQueue) { c.Timeout = 10 }),
			then: []Event{made(func(q *Queue) { q.Timeout = 10 })}},
		{name: "no timeout", when: create(func(c *CreateQueue) { c.Timeout = 0 }), fault: fault.InvalidRequest},
		{name: "too short", when: create(func(c *CreateQueue) { c.Timeout = 9 }), fault: fault.InvalidRequest,
			text: "TimeoutInSeconds must be from 10 to 600"},
		{name: "too long", when: create(func(c *CreateQueue) { c.Timeout = 601 }), fault: fault.InvalidRequest},
		{name: "to a fleet and an alias", given: []Event{fleetMade("fleet-1"), &AliasCreated{ID: "alias-1"}},
			when: create(func(c *CreateQueue) {
				c.Destinations, c.Refers = []string{fleetOne, "arn:x"}, []string{"fleet/fleet-1", "alias/alias-1"}
			}), then: []Event{made(func(q *Queue) { q.Destinations = []string{fleetOne, "arn:x"} })}},
		{name: "to an unknown fleet", when: create(func(c *CreateQueue) { c.Refers = []string{"fleet/fleet-1"} }),
			fault: fault.NotFound, text: "Resource fleet/fleet-1 not found"},
		{name: "to a fleet that is gone", given: []Event{fleetMade("fleet-1"),
			&FleetTerminated{Fleet: "fleet-1", At: t0}},
			when: create(func(c *CreateQueue) { c.Refers = []string{"fleet/fleet-1"} }), fault: fault.NotFound},
		{name: "a destination twice", when: create(func(c *CreateQueue) { c.Destinations = []string{"a", "b", "a"} }),
			fault: fault.InvalidRequest, text: "Destinations has a twice. Name each one once."},
		{name: "too many destinations", when: create(func(c *CreateQueue) { c.Destinations = many }),
			fault: fault.InvalidRequest, text: "Destinations has 101 elements; the maximum is 100"},
		{name: "too many policies",
			when:  create(func(c *CreateQueue) { c.LatencyPolicies = make([]LatencyPolicy, 101) }),
			fault: fault.InvalidRequest},
		{name: "policies in any order", when: create(func(c *CreateQueue) {
			c.LatencyPolicies = []LatencyPolicy{{200, 0},
				{100, 60}, {100, 0}}
		}),
			then: []Event{made(func(q *Queue) { q.LatencyPolicies = []LatencyPolicy{{100, 60}, {100, 0}, {200, 0}} })}},
		{name: "a priority twice", when: create(func(c *CreateQueue) { c.PriorityOrder = []string{"COST", "COST"} }),
			fault: fault.InvalidRequest},
		{name: "a location twice",
			when:  create(func(c *CreateQueue) { c.LocationOrder = []string{"custom-a", "custom-a"} }),
			fault: fault.InvalidRequest},
		{name: "with tags", when: create(func(c *CreateQueue) { c.Tags = []Tag{{"k", "v"}} }),
			then: []Event{made(func(*Queue) {}), &ResourceTagged{Resource: "gamesessionqueue/harbor",
				Tags: []Tag{{"k", "v"}}}}},
		{name: "bad tags", when: create(func(c *CreateQueue) { c.Tags = []Tag{{"", ""}} }), fault: fault.TaggingFailed},
		{name: "the name is taken", given: []Event{made(func(*Queue) {})}, when: create(func(*CreateQueue) {}),
			fault: fault.InvalidRequest, text: "Game session queue harbor already exists"},
		{name: "over the limit", given: []Event{&QueueCreated{Queue{Name: "a"}}, &QueueCreated{Queue{Name: "b"}}},
			when:  create(func(*CreateQueue) {}),
			fault: fault.LimitExceeded, text: "The limit of 2 game session queues is reached"},
	})
}

func TestUpdateQueue(t *testing.T) {
	full := Queue{
		ID: "queue-1", Name: "harbor", Timeout: 60, Destinations: []string{fleetOne},
		LatencyPolicies:  []LatencyPolicy{{50, 10}},
		AllowedLocations: []string{"custom-a"}, PriorityOrder: []string{"COST"}, LocationOrder: []string{"custom-a"},
		CustomEventData: "blue", NotificationTarget: "arn:aws:sns:x", Created: t0 - day, Updated: t0 - day,
	}
	base := []Event{&QueueCreated{full}}
	updated := func(change func(q *Queue)) []Event {
		q := full
		q.Updated = t0
		change(&q)
		return []Event{&QueueUpdated{q}}
	}
	play(t, []scene{
		{name: "nothing", given: base, when: UpdateQueue{Name: "harbor"}, then: updated(func(*Queue) {})},
		{name: "timeout", given: base, when: UpdateQueue{Name: "harbor", Timeout: ptr(int32(600))},
			then: updated(func(q *Queue) { q.Timeout = 600 })},
		{name: "bad timeout", given: base, when: UpdateQueue{Name: "harbor", Timeout: ptr(int32(0))},
			fault: fault.InvalidRequest},
		{name: "everything taken away", given: base,
			when: UpdateQueue{Name: "harbor", Destinations: []string{}, LatencyPolicies: []LatencyPolicy{},
				AllowedLocations: []string{},
				Priority:         &Priority{}, CustomEventData: ptr(""), NotificationTarget: ptr("")},
			then: updated(func(q *Queue) {
				*q = Queue{ID: q.ID, Name: q.Name, Timeout: q.Timeout, Created: q.Created, Updated: q.Updated}
			})},
		{name: "policies", given: base, when: UpdateQueue{Name: "harbor",
			LatencyPolicies: []LatencyPolicy{{9, 0}, {8, 0}}},
			then: updated(func(q *Queue) { q.LatencyPolicies = []LatencyPolicy{{8, 0}, {9, 0}} })},
		{name: "a priority replaces locations, too", given: base,
			when: UpdateQueue{Name: "harbor", Priority: &Priority{Order: []string{"LATENCY"}}},
			then: updated(func(q *Queue) { q.PriorityOrder, q.LocationOrder = []string{"LATENCY"}, nil })},
		{name: "unknown destination", given: base, when: UpdateQueue{Name: "harbor", Destinations: []string{"x"},
			Refers: []string{"alias/alias-1"}},
			fault: fault.NotFound, text: "Resource alias/alias-1 not found"},
		{name: "unknown", when: UpdateQueue{Name: "harbor"}, fault: fault.NotFound,
			text: "Game session queue harbor not found"},
	})
}

func TestQueueLife(t *testing.T) {
	s := given(t, DefaultLimits())
	policies := []LatencyPolicy{{2, 0}, {1, 0}}
	do(t, s, t0, CreateQueue{Queue: Queue{ID: "1", Name: "harbor", Timeout: 60, LatencyPolicies: policies},
		Tags: []Tag{{"k", "v"}}})
	if !reflect.DeepEqual(policies, []LatencyPolicy{{2, 0}, {1, 0}}) {
		t.Error("the command was changed")
	}
	before, _ := s.Queue("harbor")
	do(t, s, t0+second, UpdateQueue{Name: "harbor", CustomEventData: ptr("blue")})
	after, ok := s.Queue("harbor")
	if !ok || before.CustomEventData != "" || after.CustomEventData != "blue" || after.ID != "1" ||
		after.Created != t0 ||
		after.Updated != t0+second {
		t.Errorf("from %+v to %+v", before, after)
	}
	do(t, s, t0, CreateQueue{Queue: Queue{Name: "attic", Timeout: 60}})
	if queues, more := s.Queues("", 1); len(queues) != 1 || queues[0].Name != "attic" || !more {
		t.Errorf("first page %v, %v", queues, more)
	}
	do(t, s, t0, DeleteQueue{"harbor"})
	if _, ok := s.Queue("harbor"); ok || s.Tags("gamesessionqueue/harbor") != nil {
		t.Error("the queue or its tags are still there")
	}
	_, err := s.Decide(t0, DeleteQueue{"harbor"})
	wantFault(t, err, fault.NotFound, "Game session queue harbor not found")
}
