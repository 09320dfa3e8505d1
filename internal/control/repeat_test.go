package control

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
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
	for name, tt := range map[string]struct{ command, answer bool }{
		"commands": {command: true}, "answers": {answer: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, 2)
			w := n.worlds[0]
			for i := range n.shards {
				n.give(i, 1)
			}
			w.must("CreateLocation", object{"LocationName": "custom-a"})
			var mu sync.Mutex
			lost := map[string]bool{}
			loses := func(c region.Command) (bool, bool) {
				mu.Lock()
				defer mu.Unlock()
				kind := kindOf(c)
				if !region.Repeatable(c) || lost[kind] {
					return false, false
				}
				lost[kind] = true
				return tt.command, tt.answer
			}
			n.loses.Store(&loses)
			out := w.must("CreateFleet", object{"Name": "fleet", "ComputeType": "ANYWHERE",
				"Locations": []object{{"Location": "custom-a"}}})
			id := text(out, "FleetAttributes", "FleetId")
			s := w.process(id, "c1", w.compute(id, "custom-a", "c1"), "p1")
			session := w.create(id, object{"MaximumPlayerSessionCount": 4})
			s.next()
			s.ok(s.activate(session))
			player := text(w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "ada"}),
				"PlayerSession", "PlayerSessionId")
			s.ok(s.accept(session, player))
			s.ok(s.remove(session, player))
			w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "bob"})
			w.must("TerminateGameSession", object{"GameSessionId": session,
				"TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
			s.ok(s.end())

			for _, kind := range []any{
				catalog.CreateFleet{}, catalog.ClaimCompute{}, fleet.RegisterCompute{}, fleet.IssueToken{},
				fleet.ConnectProcess{}, fleet.ReadyProcess{},
				fleet.CreateGameSession{}, fleet.ActivateGameSession{}, fleet.ReservePlayers{}, fleet.AcceptPlayer{},
				fleet.RemovePlayer{},
				fleet.TerminateGameSession{}, fleet.EndProcess{},
			} {
				if !lost[fmt.Sprintf("%T", kind)] {
					t.Errorf("%T was not lost", kind)
				}
			}
			if fleets := w.must("ListFleets", object{})["FleetIds"].([]any); len(fleets) != 1 {
				t.Errorf("%d fleets", len(fleets))
			}
			sessions := w.must("DescribePlayerSessions", object{"GameSessionId": session})["PlayerSessions"].([]any)
			if len(sessions) != 2 {
				t.Errorf("the players: %v", sessions)
			}
		})
	}
}

// A command that is not idempotent is not repeated if its outcome is unknown.
func TestUnknownIsNotRepeated(t *testing.T) {
	n := newNet(t, 2)
	for i := range n.shards {
		n.give(i, 1)
	}
	sent := 0
	loses := func(c region.Command) (bool, bool) {
		if kindOf(c) == "catalog.CreateLocation" {
			sent++
			return false, true
		}
		return false, false
	}
	n.loses.Store(&loses)
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
			in := object{"LocationName": fmt.Sprint("custom-", i)}
			calls.Go(func() { _, results[i] = w.call("CreateLocation", in) })
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
