package control

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/drivers"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// archived waits until an ended game session has moved into the history.
func (w *world) archived(gameSession string) {
	w.t.Helper()
	w.elapse(w.config.SessionRetention)
	room, id, err := w.ParseGameSession(gameSession)
	if err != nil {
		w.t.Fatal(err)
	}
	w.advance("the move of "+id+" into the history", drivers.TidyEvery, func() bool {
		found := false
		if _, err := w.read(w.ctx, room, func(r *fleet.Room) { _, found = r.GameSession(id) }); err != nil {
			w.t.Fatal(err)
		}
		return !found
	})
}

// Every request for an ended game session has the same answer before and after the move into the history, until the
// history deletes it.
func TestNothingChangesWithTheMoveIntoTheHistory(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(1)
	alias := text(w.must("CreateAlias", object{"Name": "a",
		"RoutingStrategy": object{"Type": "SIMPLE", "FleetId": fleet}}), "Alias", "AliasId")
	id := w.active(fleet, object{"Name": "n", "CreatorId": "me", "GameSessionData": "d",
		"GameProperties": []object{{"Key": "a", "Value": "1"}}}, sockets...)
	out := w.must("CreatePlayerSessions", object{"GameSessionId": id, "PlayerIds": []string{"x.*>", "y"},
		"PlayerDataMap": object{"y": "data"}})
	x, y := text(out, "PlayerSessions", 0, "PlayerSessionId"), text(out, "PlayerSessions", 1, "PlayerSessionId")
	sockets[0].ok(sockets[0].accept(id, y))
	sockets[0].ok(sockets[0].end())

	questions := []struct {
		operation string
		in        object
	}{
		{"DescribeGameSessions", object{"GameSessionId": id}},
		{"DescribeGameSessions", object{"FleetId": fleet}},
		{"DescribeGameSessions", object{"AliasId": alias, "StatusFilter": "TERMINATED", "Location": "custom-a"}},
		{"DescribeGameSessions", object{"FleetId": fleet, "StatusFilter": "ACTIVE"}},
		{"DescribeGameSessionDetails", object{"GameSessionId": id}},
		{"DescribePlayerSessions", object{"GameSessionId": id}},
		{"DescribePlayerSessions", object{"GameSessionId": id, "PlayerSessionStatusFilter": "TIMEDOUT"}},
		{"DescribePlayerSessions", object{"PlayerSessionId": x}},
		{"DescribePlayerSessions", object{"PlayerSessionId": y}},
		{"DescribePlayerSessions", object{"PlayerId": "x.*>"}},
		{"DescribePlayerSessions", object{"PlayerId": "y"}},
		{"DescribePlayerSessions", object{"PlayerId": "nobody"}},
	}
	ask := func() (answers []string) {
		for _, q := range questions {
			answers = append(answers, fmt.Sprint(w.must(q.operation, q.in)))
		}
		return answers
	}
	before := ask()
	if !strings.Contains(before[0], "TERMINATED") || !strings.Contains(before[5], "COMPLETED") ||
		!strings.Contains(before[6], "TIMEDOUT") {
		t.Fatalf("unexpected end: %v", before)
	}
	w.archived(id)
	for i, answer := range ask() {
		if answer != before[i] {
			t.Errorf("%s %v answers %s and before\n%s", questions[i].operation, questions[i].in, answer, before[i])
		}
	}
	w.refused(fault.InvalidGameSessionStatus, "UpdateGameSession", object{"GameSessionId": id, "Name": "x"})
	w.refused(fault.InvalidGameSessionStatus, "TerminateGameSession",
		object{"GameSessionId": id, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	w.refused(fault.InvalidGameSessionStatus, "CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "z"})
	w.refused(fault.InvalidGameSessionStatus, "GetPlayerConnectionDetails",
		object{"GameSessionId": id, "PlayerIds": []string{"z"}})

	w.must("DeleteFleet", object{"FleetId": fleet})
	for i, q := range questions {
		if q.in["FleetId"] != nil || q.in["AliasId"] != nil {
			w.refused(fault.NotFound, q.operation, q.in)
		} else if answer := fmt.Sprint(w.must(q.operation, q.in)); answer != before[i] {
			t.Errorf("after the end of the fleet %s %v answers %s", q.operation, q.in, answer)
		}
	}

	w.elapse(30*24*time.Hour + time.Hour)
	w.advance("the end of the entry", time.Minute, func() bool {
		_, err := w.call("DescribeGameSessions", object{"GameSessionId": id})
		return fault.Is(err, fault.NotFound)
	})
	w.refused(fault.NotFound, "DescribePlayerSessions", object{"PlayerSessionId": x})
	same(t, w.must("DescribePlayerSessions", object{"PlayerId": "y"}), `{"PlayerSessions":[]}`)
}

func TestPagingFromMemoryIntoHistory(t *testing.T) {
	w := newWorld(t)
	fleet := w.fleetAt("custom-a", "custom-b")
	var sessions, players []string
	play := func(i int) *socket {
		location := []string{"custom-a", "custom-b"}[i%2]
		compute := "c-" + location
		s := w.process(fleet, compute, w.compute(fleet, location, compute), fmt.Sprint("p", i))
		id := w.active(fleet, object{"Location": location}, s)
		sessions = append(sessions, id)
		for range 2 { // the player comes twice
			p := text(w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "anna"}), "PlayerSession",
				"PlayerSessionId")
			players = append(players, p)
			s.ok(s.remove(id, p))
		}
		return s
	}
	for i := range 5 {
		s := play(i)
		s.ok(s.end())
	}
	for _, id := range sessions {
		w.archived(id)
	}
	for i := 5; i < 8; i++ {
		play(i)
	}
	for limit := 1; limit <= 9; limit++ {
		got := slices.Concat(w.pagesOf("DescribeGameSessions", "GameSessions", "GameSessionId",
			object{"FleetId": fleet, "Limit": limit})...)
		if !sameSet(got, sessions) {
			t.Errorf("in pages of %d: %d game sessions, want each of %d once", limit, len(got), len(sessions))
		}
		got = slices.Concat(w.pagesOf("DescribePlayerSessions", "PlayerSessions", "PlayerSessionId",
			object{"PlayerId": "anna", "Limit": limit})...)
		if !sameSet(got, players) {
			t.Errorf("in pages of %d: %d player sessions, want each of %d once", limit, len(got), len(players))
		}
	}
	only := slices.Concat(w.pagesOf("DescribeGameSessions", "GameSessions", "GameSessionId",
		object{"FleetId": fleet, "Location": "custom-b", "Limit": 1})...)
	if len(only) != 4 {
		t.Errorf("%d game sessions in custom-b, want 4", len(only))
	}

	// A token from before the move leads on, and to nothing twice that it should not.
	out := w.must("DescribePlayerSessions", object{"PlayerId": "anna", "Limit": 3})
	shown := texts(out["PlayerSessions"], "PlayerSessionId")
	w.must("DeregisterCompute", object{"FleetId": fleet, "ComputeName": "c-custom-a"})
	w.must("DeregisterCompute", object{"FleetId": fleet, "ComputeName": "c-custom-b"})
	for _, id := range sessions[5:] {
		w.archived(id)
	}
	rest := slices.Concat(w.pagesOf("DescribePlayerSessions", "PlayerSessions", "PlayerSessionId",
		object{"PlayerId": "anna", "Limit": 3, "NextToken": out["NextToken"]})...)
	for _, p := range players {
		if !slices.Contains(shown, p) && !slices.Contains(rest, p) {
			t.Errorf("player session %s got lost between the pages", p)
		}
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// forgetless is a shard that forgets nothing.
type forgetless struct {
	history.Shard
	level int
}

func (forgetless) Do(context.Context, region.Command) (any, error) { return nil, shard.ErrNotDone }

func (f forgetless) Level() int { return f.level }

// copyToHistory moves what has ended to the history, but it stays in memory, as after a crash. The shards have
// the given feature level.
func (w *world) copyToHistory(level int) {
	c := history.Config{
		Entries: w.history, Retention: -time.Second, // what ended just now, too
		Reached: func() (seq, settled uint64) { return 0, 0 }, Clock: w.clock, Log: w.config.Log,
	}
	for _, s := range w.shards {
		c.Shards = append(c.Shards, forgetless{s, level})
	}
	history.New(c).Move(w.ctx)
}

// Records that are in the history and still in memory are shown once.
func TestOnTheWayIntoTheHistory(t *testing.T) {
	w := newWorld(t, withMemory(24*time.Hour))
	fleetID, sockets := w.host(1)
	id := w.active(fleetID, nil, sockets...)
	w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "anna"})
	sockets[0].ok(sockets[0].end())
	w.copyToHistory(history.BatchLevel)
	room, name, _ := w.ParseGameSession(id)
	w.await("the game session in the history", func() bool {
		g, err := w.Plane.history.GameSession(w.ctx, room, name)
		if err != nil {
			t.Fatal(err)
		}
		return g != nil
	})
	got := w.pagesOf("DescribeGameSessions", "GameSessions", "GameSessionId", object{"FleetId": fleetID})
	if len(got) != 1 || len(got[0]) != 1 {
		t.Errorf("shown %v", got)
	}
	got = w.pagesOf("DescribePlayerSessions", "PlayerSessions", "PlayerSessionId", object{"PlayerId": "anna"})
	if len(got) != 1 || len(got[0]) != 1 {
		t.Errorf("shown %v", got)
	}
}

// Rooms of locations that have left their fleets go when nothing is in them.
func TestEmptyRoomsAreClosed(t *testing.T) {
	w := newWorld(t, withMemory(time.Minute))
	fleetID, sockets := w.host(1)
	id := w.active(fleetID, nil, sockets...)
	w.must("DeregisterCompute", object{"FleetId": fleetID, "ComputeName": "c1"})
	w.must("DeleteFleet", object{"FleetId": fleetID})
	exists := func() bool {
		found, err := w.read(w.ctx, w.room(fleetID, "custom-a"), func(*fleet.Room) {})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if !exists() {
		t.Fatal("the room went before its game session")
	}
	w.advance("the end of the room", drivers.TidyEvery, func() bool { return !exists() })
	if w.status(id) != "TERMINATED" {
		t.Error("the game session is not in the history")
	}
	w.restart()
	if exists() {
		t.Error("the room is back after a restart")
	}
}

// While someone reads page after page, game sessions move into the history: each
// is shown once all the same.
func TestPagingWhileGameSessionsMove(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { pageWhileMoving(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func pageWhileMoving(t *testing.T, random *rand.Rand) {
	w := newWorld(t)
	fleetID, sockets := w.host(12)
	playing := map[string]*socket{}
	for range sockets {
		w.create(fleetID, nil)
	}
	for _, s := range sockets {
		id := s.next().(processes.CreateGameSessionPush).GameSessionID
		s.ok(s.activate(id))
		playing[id] = s
	}
	end := func() { // some game session ends, and time passes; the silent processes end by and by
		for id, s := range playing {
			if err := s.end(); err != nil && !fault.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
			delete(playing, id)
			break
		}
		w.elapse(time.Duration(random.IntN(8)) * time.Minute)
		w.allArchived(fleetID)
	}
	for range random.IntN(8) {
		end()
	}
	seen := map[string]int{}
	for in := (object{"FleetId": fleetID, "Limit": 1 + random.IntN(3)}); ; {
		out := w.must("DescribeGameSessions", in)
		for _, id := range texts(out["GameSessions"], "GameSessionId") {
			seen[id]++
		}
		if in["NextToken"] = out["NextToken"]; in["NextToken"] == nil {
			break
		}
		for range random.IntN(4) {
			end()
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s is shown %d times", id, n)
		}
	}
	if len(seen) != len(sockets) {
		t.Errorf("%d of %d game sessions are shown", len(seen), len(sockets))
	}
}

// allArchived waits until every game session whose time has come has moved into
// the history.
func (w *world) allArchived(fleetID string) {
	w.t.Helper()
	w.advance("the moves into the history", drivers.TidyEvery, func() bool {
		left := 0
		before := event.At(w.clock.Now().Add(-w.config.SessionRetention - drivers.TidyEvery))
		_, err := w.read(w.ctx, w.room(fleetID, "custom-a"),
			func(r *fleet.Room) { left = len(r.EndedBefore(before, 1)) })
		if err != nil {
			w.t.Fatal(err)
		}
		return left == 0
	})
}

// A fullHistory takes nothing while it is full.
type fullHistory struct {
	journal.History
	full atomic.Bool
}

func (f *fullHistory) Append(ctx context.Context, data []byte) (uint64, error) {
	if f.full.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.History.Append(ctx, data)
}

// TestNewWorkIsRefusedWhileTheHistoryIsBehind: running work continues, new work is rejected until the history has the
// ended records.
func TestNewWorkIsRefusedWhileTheHistoryIsBehind(t *testing.T) {
	full := &fullHistory{}
	full.full.Store(true)
	w := newWorld(t, withMemory(30*time.Second), func(w *world) {
		full.History, w.config.History, w.config.MaxOverdue = w.history, full, 1
	})
	of := w.fleetAt("custom-a")
	token := w.compute(of, "custom-a", "c")
	first := w.process(of, "c", token, "p1")
	over := w.active(of, object{"Location": "custom-a"}, first)
	first.ok(first.end())
	goes := w.active(of, object{"Location": "custom-a"}, w.process(of, "c", token, "p2"))
	w.must("CreateGameSessionQueue",
		object{"Name": "q", "Destinations": []object{{"DestinationArn": w.names.FleetARN(of)}}})
	w.elapse(100 * time.Second) // the missing heartbeats of the running process are tolerated so far
	refused := func() bool {
		_, err := w.call("CreatePlayerSession", object{"GameSessionId": goes, "PlayerId": "x"})
		return fault.Is(err, fault.Throttling)
	}
	w.advance("refusals", drivers.TidyEvery, refused)
	w.refused(fault.Throttling, "CreatePlayerSessions", object{"GameSessionId": goes, "PlayerIds": []string{"a"}})
	w.refused(fault.Throttling, "CreateGameSession", object{"FleetId": of, "MaximumPlayerSessionCount": 2})
	w.refused(fault.Throttling, "StartGameSessionPlacement", object{"PlacementId": "p", "GameSessionQueueName": "q",
		"MaximumPlayerSessionCount": 2})
	w.must("UpdateGameSession", object{"GameSessionId": goes, "Name": "x"})
	w.must("DescribeGameSessions", object{"GameSessionId": over})

	full.full.Store(false)
	w.advance("new work", drivers.TidyEvery, func() bool { return !refused() })
	w.must("StartGameSessionPlacement", object{"PlacementId": "p", "GameSessionQueueName": "q",
		"MaximumPlayerSessionCount": 2})
}
