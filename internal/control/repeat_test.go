package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// kindOf names what a command asks.
func kindOf(c region.Command) string {
	switch c := c.(type) {
	case region.RoomCommand:
		return fmt.Sprintf("%T", c.Command)
	case region.CatalogCommand:
		return fmt.Sprintf("%T", c.Command)
	}
	return fmt.Sprintf("%T", c)
}

// Whatever gets lost between two nodes, once each: the calls of a game's beginning are answered as if nothing had
// happened, and nothing is done twice.
func TestCallsAreRepeatedInTheService(t *testing.T) {
	for name, tt := range map[string]struct{ command, answer bool }{"commands": {command: true}, "answers": {answer: true}} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, 2)
			w := n.worlds[0]
			for i := range n.shards {
				n.give(i, 1)
			}
			w.must("CreateLocation", object{"LocationName": "custom-a"})
			var mu sync.Mutex
			lost := map[string]bool{}
			n.loses = func(c region.Command) (bool, bool) {
				mu.Lock()
				defer mu.Unlock()
				kind := kindOf(c)
				if !region.Repeatable(c) || lost[kind] {
					return false, false
				}
				lost[kind] = true
				return tt.command, tt.answer
			}
			out := w.must("CreateFleet", object{"Name": "fleet", "ComputeType": "ANYWHERE", "Locations": []object{{"Location": "custom-a"}}})
			id := text(out, "FleetAttributes", "FleetId")
			s := w.process(id, "c1", w.compute(id, "custom-a", "c1"), "p1")
			session := w.create(id, object{"MaximumPlayerSessionCount": 4})
			s.next()
			s.ok(s.activate(session))
			player := text(w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "ada"}), "PlayerSession", "PlayerSessionId")
			s.ok(s.accept(session, player))
			s.ok(s.remove(session, player))
			w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "bob"})
			w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
			s.ok(s.end())

			for _, kind := range []any{
				catalog.CreateFleet{}, catalog.ClaimCompute{}, fleet.RegisterCompute{}, fleet.IssueToken{}, fleet.ConnectProcess{}, fleet.ReadyProcess{},
				fleet.CreateGameSession{}, fleet.ActivateGameSession{}, fleet.ReservePlayers{}, fleet.AcceptPlayer{}, fleet.RemovePlayer{},
				fleet.TerminateGameSession{}, fleet.EndProcess{},
			} {
				if !lost[fmt.Sprintf("%T", kind)] {
					t.Errorf("%T was not lost", kind)
				}
			}
			if fleets := w.must("ListFleets", object{})["FleetIds"].([]any); len(fleets) != 1 {
				t.Errorf("%d fleets", len(fleets))
			}
			if sessions := w.must("DescribePlayerSessions", object{"GameSessionId": session})["PlayerSessions"].([]any); len(sessions) != 2 {
				t.Errorf("the players: %v", sessions)
			}
		})
	}
}

// What changes something each time is not repeated when nobody knows whether it was done.
func TestUnknownIsNotRepeated(t *testing.T) {
	n := newNet(t, 2)
	for i := range n.shards {
		n.give(i, 1)
	}
	sent := 0
	n.loses = func(c region.Command) (bool, bool) {
		if kindOf(c) == "catalog.CreateLocation" {
			sent++
			return false, true
		}
		return false, false
	}
	_, err := n.worlds[0].call("CreateLocation", object{"LocationName": "custom-a"})
	wantInternal(t, "CreateLocation", err)
	if !errors.Is(err, shard.ErrOutcomeUnknown) || sent != 1 {
		t.Errorf("sent %d times: %v", sent, err)
	}
}

// A command that gathered behind one whose append failed was not carried out: the service makes the call again,
// whatever it is.
func TestNotDoneIsRepeated(t *testing.T) {
	w := newWorld(t, withShards(1))
	w.meanwhile(func() {
		release := w.journals[0].Hold()
		w.journals[0].FailAppend(errDisk)
		results := make([]error, 3)
		var calls sync.WaitGroup
		call := func(i int) {
			calls.Go(func() { _, results[i] = w.call("CreateLocation", object{"LocationName": fmt.Sprint("custom-", i)}) })
		}
		call(0)
		if err := w.journals[0].AwaitHeld(w.ctx, 1); err != nil {
			t.Fatal(err)
		}
		call(1)
		call(2)
		w.await("the calls to be handed over", func() bool { return w.shards[0].Queued() == 0 })
		release()
		calls.Wait()
		wantInternal(t, "the one that was being stored", results[0])
		for _, err := range results[1:] {
			if err != nil {
				t.Errorf("one behind it: %v", err)
			}
		}
	})
	if found := w.must("ListLocations", object{})["Locations"].([]any); len(found) != 2 {
		t.Errorf("the locations are %v", found)
	}
}

// A call does not go on for ever, and says what may have been done.
func TestPersist(t *testing.T) {
	w := newWorld(t, withShards(1))
	passes := &fault.Error{Kind: fault.ServiceUnavailable, Message: "later", Err: shard.ErrNotDone}
	unknown := fault.Internal(shard.ErrOutcomeUnknown)
	refused := fault.New(fault.Conflict, "no")
	persist := func(ctx context.Context, repeatable bool, outcomes ...error) (attempts int, took time.Duration, err error) {
		began := w.clock.Now()
		w.meanwhile(func() {
			err = w.persist(ctx, repeatable, func() error {
				attempts++
				return outcomes[min(attempts, len(outcomes))-1]
			})
		})
		return attempts, w.clock.Since(began), err
	}
	if n, took, err := persist(w.ctx, false, passes); err != passes || n < 3 || took < repeatWithin {
		t.Errorf("%d attempts in %v: %v", n, took, err)
	}
	gone, cancel := context.WithCancel(w.ctx)
	cancel()
	for name, tt := range map[string]struct {
		ctx        context.Context
		repeatable bool
		outcomes   []error
		attempts   int
		want       error
	}{
		"done":                            {w.ctx, false, []error{nil}, 1, nil},
		"done later":                      {w.ctx, false, []error{passes, passes, nil}, 3, nil},
		"refused":                         {w.ctx, true, []error{refused}, 1, refused},
		"refused later":                   {w.ctx, true, []error{unknown, passes, refused}, 3, refused},
		"too many requests":               {w.ctx, true, []error{shard.Full()}, 1, nil},
		"the service stops":               {w.ctx, true, []error{shard.Stopped()}, 1, nil},
		"unknown":                         {w.ctx, false, []error{unknown}, 1, unknown},
		"unknown, and then not done":      {w.ctx, true, []error{unknown, shard.Stopped()}, 2, unknown},
		"unknown behind one not done":     {w.ctx, false, []error{passes, unknown}, 2, unknown},
		"unknown, and done the next":      {w.ctx, true, []error{unknown, nil}, 2, nil},
		"the caller has gone":             {gone, true, []error{unknown}, 1, unknown},
		"the caller has gone, not done":   {gone, true, []error{passes}, 1, passes},
		"a node that reaches no others":   {w.ctx, true, []error{&fault.Error{Kind: fault.ServiceUnavailable, Err: errors.Join(shard.ErrNotDone, shard.ErrPartitioned)}}, 1, nil},
		"a command that breaks the shard": {w.ctx, true, []error{fault.Internal(shard.ErrNotDone)}, 1, nil},
	} {
		n, _, err := persist(tt.ctx, tt.repeatable, tt.outcomes...)
		want := tt.want
		if want == nil {
			want = tt.outcomes[len(tt.outcomes)-1]
		}
		if n != tt.attempts || err != want {
			t.Errorf("%s: %d attempts, %v", name, n, err)
		}
	}
}
