package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// hostsOf creates game sessions and says where each went.
func (w *world) hostsOf(maxActivations, n int) string {
	w.t.Helper()
	var hosts []string
	for range n {
		w.randoms++
		c := creation(fmt.Sprint("chosen-", w.randoms))
		c.MaxActivations = maxActivations
		_, answer, err := w.try(c)
		if err != nil {
			hosts = append(hosts, string(fault.Of(err).Kind))
			continue
		}
		g := answer.(*GameSession)
		hosts = append(hosts, g.Host.Compute+"/"+g.Host.ID)
	}
	return strings.Join(hosts, " ")
}

func TestOldestReadyProcessFirst(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	for _, id := range []string{"c", "a", "b"} {
		w.ready(key(id))
		w.wait(time.Second)
	}
	if got := w.hostsOf(100, 4); got != "host-1/c host-1/a host-1/b FleetCapacityExceededException" {
		t.Error(got)
	}
}

func TestSameMomentGoesByID(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	for _, id := range []string{"c", "a", "b"} {
		w.ready(key(id))
	}
	if got := w.hostsOf(100, 3); got != "host-1/a host-1/b host-1/c" {
		t.Error(got)
	}
}

// TestLeastBusyComputeFirst: fewest activating, then fewest game sessions, then by name.
func TestLeastBusyComputeFirst(t *testing.T) {
	w := newWorld(t)
	for _, compute := range []string{"x", "y", "z"} {
		w.compute(compute)
		for i := range 3 {
			w.ready(ProcessKey{compute, fmt.Sprint(i)})
		}
	}
	if got := w.hostsOf(100, 4); got != "x/0 y/0 z/0 x/1" {
		t.Error(got)
	}
	// x: 1 active, 1 activating. y: 1 active. z: 1 activating.
	w.do(ActivateGameSession{ProcessKey{"x", "0"}, "chosen-1"})
	w.do(ActivateGameSession{ProcessKey{"y", "0"}, "chosen-2"})
	if got := w.hostsOf(100, 2); got != "y/1 z/1" {
		t.Error(got)
	}
}

// TestActivationLimitIsPerCompute. Source: API reference,
// RuntimeConfiguration.MaxConcurrentGameSessionActivations.
func TestActivationLimitIsPerCompute(t *testing.T) {
	w := newWorld(t)
	for _, compute := range []string{"x", "y"} {
		w.compute(compute)
		for i := range 3 {
			w.ready(ProcessKey{compute, fmt.Sprint(i)})
		}
	}
	if got := w.hostsOf(1, 3); got != "x/0 y/0 FleetCapacityExceededException" {
		t.Error(got)
	}
	if got := w.hostsOf(2, 3); got != "x/1 y/1 FleetCapacityExceededException" {
		t.Error(got)
	}
	w.do(ActivateGameSession{ProcessKey{"y", "0"}, "chosen-2"})
	if got := w.hostsOf(2, 2); got != "y/2 FleetCapacityExceededException" {
		t.Error(got)
	}
}

// TestFullComputeIsPassedOver: the least busy compute counts only while it has a free process.
func TestFullComputeIsPassedOver(t *testing.T) {
	w := newWorld(t)
	w.compute("x")
	w.compute("y")
	w.do(ConnectProcess{ProcessKey: ProcessKey{"x", "0"}}) // not ready
	w.ready(ProcessKey{"y", "0"})
	w.ready(ProcessKey{"y", "1"})
	if got := w.hostsOf(100, 3); got != "y/0 y/1 FleetCapacityExceededException" {
		t.Error(got)
	}
}

func TestCreatedGameSession(t *testing.T) {
	w := newWorld(t)
	w.do(RegisterCompute{Name: "host-1", IPAddress: "10.0.0.9", DNSName: "a.example"})
	w.do(ConnectProcess{ProcessKey: key("a")})
	w.do(ReadyProcess{ProcessKey: key("a"), Port: 1935})
	c := CreateGameSession{
		ID: "game", Name: "n", CreatorID: "c", Data: "d", MatchmakerData: "m", Properties: []Property{{"k", "v"}},
		Maximum:    5,
		Protection: "FullProtection", Fingerprint: []byte{1}, ActivationTimeout: time.Minute, MaxActivations: 1,
	}
	got := w.do(c).(*GameSession)
	want := &GameSession{
		Ordinal: 1, ID: "game", Name: "n", CreatorID: "c", Data: "d", MatchmakerData: "m",
		Properties: []Property{{"k", "v"}},
		Maximum:    5,
		Policy:     AcceptAll, Protection: "FullProtection", Status: Activating, Created: w.now,
		ActivateBy: w.now.Add(time.Minute),
		Host:       key("a"), IPAddress: "10.0.0.9", DNSName: "a.example", Port: 1935, Fingerprint: []byte{1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", *got, *want)
	}
}

// TestCreatingAgain gives the game session as it has become, on one process.
func TestCreatingAgain(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	w.ready(key("a"))
	w.ready(key("b"))
	c := creation("game")
	first := w.do(c).(*GameSession)
	c.MaxActivations, c.ActivationTimeout = 1, time.Second // not of the request
	if again := w.do(c).(*GameSession); again != first {
		t.Errorf("got %+v", *again)
	}
	w.do(EndProcess{first.Host})
	if again := w.do(c).(*GameSession); again.Status != Terminated || again.Ordinal != first.Ordinal {
		t.Errorf("got %+v", *again)
	}
	if counts := w.room.Counts(); counts.Idle != 1 {
		t.Errorf("%d processes are idle", counts.Idle)
	}
}

func TestUpdateChangesWhatIsPresent(t *testing.T) {
	w := newWorld(t)
	before := *w.active("game", key("a"))
	five := int32(5)
	for _, step := range []struct {
		update UpdateGameSession
		change func(*GameSession)
	}{
		{UpdateGameSession{}, func(*GameSession) {}},
		{UpdateGameSession{Name: "new"}, func(g *GameSession) { g.Name = "new" }},
		{UpdateGameSession{Maximum: &five}, func(g *GameSession) { g.Maximum = 5 }},
		{UpdateGameSession{Policy: DenyAll}, func(g *GameSession) { g.Policy = DenyAll }},
		{UpdateGameSession{Protection: "FullProtection"}, func(g *GameSession) { g.Protection = "FullProtection" }},
		{UpdateGameSession{Properties: []Property{{"a", "1"}, {"b", "2"}}},
			func(g *GameSession) { g.Properties = []Property{{"a", "1"}, {"b", "2"}} }},
		{UpdateGameSession{Properties: []Property{{"c", "3"}, {"a", "4"}}},
			func(g *GameSession) { g.Properties = []Property{{"a", "4"}, {"b", "2"}, {"c", "3"}} }},
	} {
		step.update.ID = "game"
		step.change(&before)
		if got := w.do(step.update).(*GameSession); !reflect.DeepEqual(*got, before) {
			t.Errorf("after %+v: got %+v, want %+v", step.update, *got, before)
		}
	}
	// A maximum below the players removes none of them.
	w.do(UpdateGameSession{ID: "game", Policy: AcceptAll})
	w.reserve("game", "ada")
	zero := int32(0)
	if _, _, err := w.try(UpdateGameSession{ID: "game", Maximum: &zero}); err != nil ||
		w.session("game").Players() != 1 ||
		w.session("game").Free() != 0 {
		t.Errorf("%v, and the game session is %+v", err, *w.session("game"))
	}
}

func TestReservationAnswers(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.reserve("game", "ada")
	got := w.do(ReservePlayers{GameSession: "game", Players: []NewPlayer{
		{PlayerID: "bob", Data: "x", Random: [8]byte{7}}, {PlayerID: "ada", Random: [8]byte{8}},
	}}).(Reservation)
	g := got.GameSession
	if now := w.session("game"); g == now || g.ID != now.ID || g.IPAddress != now.IPAddress || g.Port != now.Port ||
		len(g.CurrentPlayers)+len(g.PastPlayers) > 0 || now.Players() != 3 {
		t.Errorf("the game session is %+v, the answer's %+v", *now, *g)
	}
	want := PlayerSession{
		ID: newPlayerSessionID(w.room.Address(), 1, [8]byte{7}), Index: 1, PlayerID: "bob", Data: "x",
		Status: Reserved, Created: w.now, Expires: w.now.Add(60 * time.Second),
	}
	if *got.Players[0] != want || got.Players[1].PlayerID != "ada" || got.Players[1].Index != 2 ||
		len(got.Players) != 2 {
		t.Errorf("the players are %+v and %+v", *got.Players[0], *got.Players[1])
	}
}

func TestQuestions(t *testing.T) {
	w := newWorld(t)
	w.active("one", key("a"))
	w.active("two", key("b"))
	w.active("three", ProcessKey{"host-2", "a"})
	w.reserve("two", "ada")
	w.reserve("one", "bob", "ada")
	w.reserve("two", "ada", "adalbert")
	w.do(TerminateGameSession{"three"})

	var found []string
	visit := func(stop string) func(*GameSession, *PlayerSession) bool {
		return func(g *GameSession, p *PlayerSession) bool {
			found = append(found, fmt.Sprint(g.ID, p.Index))
			return g.ID != stop
		}
	}
	w.room.PlayerSessionsOf("ada", visit(""))
	w.room.PlayerSessionsOf("ada", visit("one"))
	w.room.PlayerSessionsOf("ad", visit(""))
	if want := []string{"one1", "two0", "two1", "one1"}; !slices.Equal(found, want) {
		t.Errorf("player sessions of ada are %v, want %v", found, want)
	}
	found = nil
	w.room.Computes("", func(c *Compute) bool { found = append(found, c.Name); return true })
	w.room.Computes("host-1", func(c *Compute) bool { found = append(found, c.Name); return true })
	w.room.Computes("host-10", func(c *Compute) bool { found = append(found, c.Name); return true })
	w.room.Computes("host-2", func(c *Compute) bool { found = append(found, c.Name); return true })
	if want := []string{"host-1", "host-2", "host-2", "host-2"}; !slices.Equal(found, want) {
		t.Errorf("computes are %v, want %v", found, want)
	}
	found = nil
	w.room.GameSessions(0, func(g *GameSession) bool { found = append(found, g.ID); return g.ID != "two" })
	w.room.GameSessions(2, func(g *GameSession) bool { found = append(found, g.ID); return true })
	w.room.GameSessions(3, func(g *GameSession) bool { found = append(found, g.ID); return true })
	if want := []string{"one", "two", "three"}; !slices.Equal(found, want) {
		t.Errorf("game sessions are %v, want %v", found, want)
	}
	want := Counts{Computes: 2, Processes: 3, Active: 3, Players: 5, MaximumPlayers: 9, BusyComputes: 2,
		Healthy: 3}
	if got := w.room.Counts(); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
	if w.room.ID() != testRoomID || w.room.Address() != (Address{3, 7}) || w.room.Empty() || w.room.Index().Len() != 2 {
		t.Errorf("room %v at %v, empty %v, %d in the index", w.room.ID(), w.room.Address(), w.room.Empty(),
			w.room.Index().Len())
	}
}

// TestOver lists what can go to the history, the earliest end first.
func TestOver(t *testing.T) {
	w := newWorld(t)
	for i, id := range []string{"one", "two", "three"} {
		w.active(id, key(fmt.Sprint(i)))
	}
	w.reserve("two", "ada")
	for _, id := range []string{"1", "0", "2"} {
		w.do(EndProcess{key(id)})
		w.wait(time.Second)
	}
	ids := func(before time.Duration, limit int) string {
		var ids []string
		for _, g := range w.room.EndedBefore(start.Add(before), limit) {
			ids = append(ids, g.ID)
		}
		return strings.Join(ids, " ")
	}
	if got := ids(2*time.Second, 9) + ", " + ids(time.Hour, 2) + ", " + ids(time.Hour,
		9); got != "two one, two one, two one three" {
		t.Error(got)
	}
	w.do(ForgetGameSessions{[]uint64{2, 1}})
	if got := ids(time.Hour, 9); got != "three" {
		t.Error(got)
	}
	w.do(ForgetGameSessions{[]uint64{3}})
	w.wait(time.Hour)
	w.do(DeregisterCompute{"host-1"})
	if !w.room.Empty() {
		t.Error("something is left in the room")
	}
}

func TestApplyAndRestoreRefuseStrangers(t *testing.T) {
	w := newWorld(t)
	if err := w.room.Restore(&GameSessionEnded{}); err == nil {
		t.Error("an event was taken for a record")
	}
	defer func() {
		if recover() == nil {
			t.Error("a record was taken for an event")
		}
	}()
	w.room.Apply(&Header{})
}
