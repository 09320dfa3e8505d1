package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

const tick = time.Millisecond

// at lets nothing happen until a moment d from now, and returns what happens then.
func (w *world) at(d time.Duration) []any {
	w.t.Helper()
	if events := w.wait(d - tick); len(events) > 0 {
		w.t.Fatalf("%v too early", names(events))
	}
	return w.wait(tick)
}

func wantEvents(t *testing.T, got []any, want ...string) {
	t.Helper()
	if !slices.Equal(names(got), want) {
		t.Errorf("got %v, want %v", names(got), want)
	}
}

func wantCodes(t *testing.T, w *world, want ...string) {
	t.Helper()
	if got := w.codes(); !slices.Equal(got, want) {
		t.Errorf("fleet events are %v, want %v", got, want)
	}
}

func TestReservationEndsAfter60Seconds(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	ids := w.reserve("game", "ada", "bob")
	w.wait(time.Second)
	w.reserve("game", "cid")
	w.do(AcceptPlayer{key("a"), "game", ids[0]})

	wantEvents(t, w.at(59*time.Second), "PlayersTimedOut")
	bob, _ := w.session("game").PlayerSession(ids[1])
	if bob.Status != TimedOut || bob.Ended != w.now || bob.Expires != 0 {
		t.Errorf("bob is %+v", *bob)
	}
	if free := w.session("game").Free(); free != 1 {
		t.Errorf("%d places are free", free)
	}
	wantEvents(t, w.at(time.Second), "PlayersTimedOut")
	if free := w.session("game").Free(); free != 2 {
		t.Errorf("%d places are free", free)
	}
	ada, _ := w.session("game").PlayerSession(ids[0])
	if ada.Status != InGame || ada.Expires != 0 {
		t.Errorf("ada is %+v", *ada)
	}
}

// TestActivationTimeout: the game session ends, its process does not become
// free, because a process hosts once.
func TestActivationTimeout(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	w.ready(key("a"))
	w.ready(key("b"))
	c := creation("game")
	c.ActivationTimeout = 90 * time.Second
	w.do(c)

	wantEvents(t, w.at(90*time.Second), "FleetEventAdded", "GameSessionEnded", "ProcessAskedToEnd")
	g := w.session("game")
	if g.Status != Terminated || g.StatusReason != "" || g.Ended != w.now {
		t.Errorf("the game session is %+v", *g)
	}
	wantCodes(t, w, "GAME_SESSION_ACTIVATION_TIMEOUT")
	if p := w.process(key("a")); p.Status != ProcessHosting || p.TerminateBy != w.now.Add(5*time.Minute) {
		t.Errorf("its process is %+v", *p)
	}
	if c := w.room.Counts(); c.Idle != 1 || c.Activating != 0 || c.Processes != 2 {
		t.Errorf("counts are %+v", c)
	}
	if g := w.do(creation("next")).(*GameSession); g.Host != key("b") {
		t.Errorf("the next game session is on %v", g.Host)
	}
}

func TestGraceOfALostProcess(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	ids := w.reserve("game", "ada", "bob")
	w.do(AcceptPlayer{key("a"), "game", ids[0]})
	w.wait(10 * time.Second)
	w.do(LoseProcess{ProcessKey: key("a")})
	w.wait(100 * time.Second)
	w.do(ConnectProcess{ProcessKey: key("a"), Idempotency: "run-a"}) // back in time
	w.wait(100 * time.Second)
	w.do(ReportHealth{key("a"), true})
	w.do(LoseProcess{ProcessKey: key("a")})
	for _, id := range w.reserve("game", "cid") { // players may still come
		w.do(AcceptPlayer{key("a"), "game", id})
	}

	wantEvents(t, w.at(200*time.Second), "GameSessionEnded", "FleetEventAdded", "ProcessHasEnded")
	wantCodes(t, w, "SERVER_PROCESS_CRASHED")
	if p := w.process(key("a")); p.End != EndedCrashed || p.Ended != w.now {
		t.Errorf("the process is %+v", *p)
	}
	if g := w.session("game"); g.Status != Terminated || g.StatusReason != "" {
		t.Errorf("the game session is %+v", *g)
	}
	for i, want := range []PlayerSessionStatus{Completed, TimedOut, Completed} {
		if p := w.session("game").PlayerSessions()[i]; p.Status != want || p.Ended == 0 {
			t.Errorf("player %s is %s", p.PlayerID, p.Status)
		}
	}
}

// TestPlayersAtTheEnd: who is in the game has completed it, who was expected has not.
func TestPlayersAtTheEnd(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	ids := w.reserve("game", "ada", "bob")
	w.do(AcceptPlayer{key("a"), "game", ids[0]})
	w.do(EndProcess{key("a")})
	for i, want := range []PlayerSessionStatus{Completed, TimedOut} {
		if p := w.session("game").PlayerSessions()[i]; p.Status != want || p.Ended != w.now || p.Expires != 0 {
			t.Errorf("player %s is %+v", p.PlayerID, *p)
		}
	}
	if w.room.Deadline() != w.now.Add(time.Minute) { // an old timer, of nothing
		t.Errorf("the deadline is %v", w.room.Deadline().Sub(w.now))
	}
	wantEvents(t, w.at(10*time.Minute), "ProcessForgotten")
}

// TestHealthSilence: three reports, each as late as a server SDK sends it, may miss.
func TestHealthSilence(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.wait(70 * time.Second)
	w.do(ReportHealth{key("a"), true})
	w.wait(70 * time.Second)
	w.do(ReportHealth{key("a"), false})
	wantEvents(t, w.at(3*70*time.Second), "GameSessionEnded", "FleetEventAdded", "ProcessHasEnded")
	wantCodes(t, w, "SERVER_PROCESS_TERMINATED_UNHEALTHY")
	if p := w.process(key("a")); p.End != EndedUnhealthy {
		t.Errorf("the process is %+v", *p)
	}
}

func TestThreeBadReports(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	for _, healthy := range []bool{false, false, true, false, false} {
		w.do(ReportHealth{key("a"), healthy})
	}
	wantCodes(t, w)
	w.do(ReportHealth{key("a"), false})
	wantCodes(t, w, "SERVER_PROCESS_TERMINATED_UNHEALTHY")
}

// TestHealthOfALostProcess: a report that was on its way does not cut the grace short.
func TestHealthOfALostProcess(t *testing.T) {
	w := newWorld(t)
	w.settings.HealthInterval = time.Second
	w.active("game", key("a"))
	w.do(LoseProcess{ProcessKey: key("a")})
	w.do(ReportHealth{key("a"), true})
	wantEvents(t, w.at(200*time.Second), "GameSessionEnded", "FleetEventAdded", "ProcessHasEnded")
	wantCodes(t, w, "SERVER_PROCESS_CRASHED")
}

func TestReadyTimeout(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	w.do(ConnectProcess{ProcessKey: key("a")})
	w.wait(4 * time.Minute)
	w.do(LoseProcess{ProcessKey: key("a")})
	w.wait(10 * time.Second)
	w.do(ConnectProcess{ProcessKey: key("a")}) // gives it no more time
	wantEvents(t, w.at(50*time.Second), "FleetEventAdded", "ProcessHasEnded")
	wantCodes(t, w, "SERVER_PROCESS_PROCESS_READY_TIMEOUT")
}

func TestTerminationGrace(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.do(TerminateGameSession{"game"})
	healthy := func(d time.Duration) {
		w.wait(d)
		w.do(ReportHealth{key("a"), true})
	}
	healthy(2 * time.Minute)
	w.do(TerminateGameSession{"game"}) // gives it no more time
	healthy(2 * time.Minute)
	wantEvents(t, w.at(time.Minute), "GameSessionEnded", "FleetEventAdded", "ProcessHasEnded")
	wantCodes(t, w, "SERVER_PROCESS_FORCE_TERMINATED")
	if g := w.session("game"); g.StatusReason != "TRIGGERED_ON_PROCESS_TERMINATE" {
		t.Errorf("the reason is %q", g.StatusReason)
	}
}

func TestEndedProcessIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	w.ready(key("a"))
	w.do(EndProcess{key("a")})
	wantCodes(t, w)
	wantEvents(t, w.at(10*time.Minute), "ProcessForgotten")
	if _, ok := w.room.Process(key("a")); ok {
		t.Error("the process is still there")
	}
}

// TestReusedProcessID: the new life starts from nothing, and the old one's
// deadline does not end it.
func TestReusedProcessID(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.do(ReportHealth{key("a"), false})
	w.do(EndProcess{key("a")})
	w.wait(6 * time.Minute)
	p := w.do(ConnectProcess{ProcessKey: key("a"), Idempotency: "run-2", NewRun: true}).(*Process)
	want := &Process{ProcessKey: key("a"), Status: ProcessInitializing, Connected: true, Idempotency: "run-2",
		Created: w.now, ReadyBy: w.now.Add(5 * time.Minute)}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, want %+v", *p, *want)
	}
	w.wait(4 * time.Minute) // when the old one would have been forgotten
	w.do(ReadyProcess{ProcessKey: key("a"), Port: 1})
	if g := w.do(creation("next")).(*GameSession); g.Host != key("a") {
		t.Errorf("the next game session is on %v", g.Host)
	}
	if g := w.session("game"); !g.HasEnded() {
		t.Errorf("the old game session is %s", g.Status)
	}
}

// TestNewOwner: after a restart each process has the whole grace period,
// also one that had lost its socket before.
func TestNewOwner(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	w.ready(key("a"))
	w.ready(key("b"))
	w.do(LoseProcess{ProcessKey: key("a")})
	w.wait(190 * time.Second)
	w.do(Interrupt{})
	w.wait(20 * time.Second)
	w.do(Interrupt{})
	w.do(ConnectProcess{ProcessKey: key("b"), Idempotency: "run-b"})
	w.wait(100 * time.Second)
	w.do(ReportHealth{key("b"), true})
	wantEvents(t, w.at(100*time.Second), "FleetEventAdded", "ProcessHasEnded")
	if p := w.process(key("a")); p.End != EndedCrashed {
		t.Errorf("process a is %+v", *p)
	}
	if p := w.process(key("b")); p.Status != ProcessIdle || !p.Connected {
		t.Errorf("process b is %+v", *p)
	}
}

func TestTokenIsRenewed15MinutesBeforeItsEnd(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.Add(999 * tick)
	w.compute("host-1")
	first := w.do(IssueToken{"host-1"}).(TokenGrant)
	if want := start.Add(3 * time.Hour); first.Token != (Token{Serial: 1, Expires: want}) ||
		first.Compute.Name != "host-1" {
		t.Errorf("the first token is %+v of %s", first.Token, first.Compute.Name)
	}
	w.wait(2*time.Hour + 45*time.Minute - 999*tick)
	if g := w.do(IssueToken{"host-1"}).(TokenGrant); g.Token != first.Token {
		t.Errorf("with 15 minutes left the token is %+v", g.Token)
	}
	w.wait(tick)
	second := w.do(IssueToken{"host-1"}).(TokenGrant)
	if second.Token.Serial != 2 {
		t.Errorf("with less than 15 minutes left the token is %+v", second.Token)
	}
	// Until its end the old one still opens a socket.
	w.wait(15*time.Minute - 2*tick)
	w.do(ConnectProcess{ProcessKey: key("a"), Token: 1})
	w.wait(tick)
	if _, _, err := w.try(ConnectProcess{ProcessKey: key("b"), Token: 1}); err == nil {
		t.Error("the old token opened a socket at its end")
	}
}

// TestShortLivedTokens: a lifetime under half an hour is halved, so that a
// second call soon after gives the same token.
func TestShortLivedTokens(t *testing.T) {
	w := newWorld(t)
	w.settings.TokenLifetime = 10 * time.Minute
	w.compute("host-1")
	for _, want := range []uint64{1, 1, 2, 2, 3} {
		if g := w.do(IssueToken{"host-1"}).(TokenGrant); g.Token.Serial != want {
			t.Errorf("the token is %d, want %d", g.Token.Serial, want)
		}
		w.wait(3 * time.Minute)
	}
}

// TestTokensOfLivingProcessesAreKept through any number of renewals; others go.
func TestTokensOfLivingProcessesAreKept(t *testing.T) {
	w := newWorld(t)
	w.compute("host-1")
	w.do(IssueToken{"host-1"})
	w.do(ConnectProcess{ProcessKey: key("a"), Token: 1})
	w.do(ReadyProcess{ProcessKey: key("a"), Port: 1})
	renew := func() []uint64 {
		for range 180 {
			w.wait(time.Minute)
			if p := w.process(key("a")); p.Status == ProcessIdle {
				w.do(ReportHealth{key("a"), true})
			}
		}
		var serials []uint64
		for _, token := range w.do(IssueToken{"host-1"}).(TokenGrant).Compute.Tokens {
			serials = append(serials, token.Serial)
		}
		return serials
	}
	for _, want := range [][]uint64{{1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {1, 3, 4, 5}} {
		if got := renew(); !slices.Equal(got, want) {
			t.Errorf("tokens are %d, want %d", got, want)
		}
	}
	w.do(LoseProcess{ProcessKey: key("a")})
	w.do(ConnectProcess{ProcessKey: key("a"), Token: 1})
	// A process that moves to a new token lets go of the old one.
	w.do(ConnectProcess{ProcessKey: key("a"), Token: 5})
	if got, want := renew(), []uint64{4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("tokens are %d, want %d", got, want)
	}
}

func TestNotesAreKeptForTheirTime(t *testing.T) {
	w := newWorld(t)
	w.settings.FleetEventRetention = time.Hour
	w.room.Apply(newFleetEvent(w.now, "A", "first"))
	w.wait(10 * time.Minute)
	w.room.Apply(newFleetEvent(w.now, "B", "second"))
	w.room.Apply(newFleetEvent(w.now, "C", "third"))

	if got := w.room.FleetEvents(start, w.now-1); len(got) != 1 || got[0].Code != "A" || got[0].Number != 1 ||
		got[0].At != start {
		t.Errorf("before now there are %+v", got)
	}
	if got := w.room.FleetEvents(w.now, w.now); len(got) != 2 || got[0].Code != "C" || got[1].Code != "B" {
		t.Errorf("from now to now there are %+v", got)
	}
	wantEvents(t, w.at(50*time.Minute), "FleetEventsDropped")
	wantCodes(t, w, "B", "C")
	wantEvents(t, w.at(10*time.Minute), "FleetEventsDropped")
	wantCodes(t, w)
	w.room.Apply(newFleetEvent(w.now, "D", "fourth"))
	if got := w.room.FleetEvents(0, 0)[0].Number; got != 4 {
		t.Errorf("the fourth has the number %d", got)
	}
	if w.room.Deadline() != w.now.Add(time.Hour) {
		t.Errorf("the deadline is %v", w.room.Deadline().Sub(w.now))
	}
}

// TestNotesOfAClockThatWasPutBack are found all the same.
func TestNotesOfAClockThatWasPutBack(t *testing.T) {
	w := newWorld(t)
	for i, at := range []time.Duration{10, 20, 5, 15} {
		w.room.Apply(newFleetEvent(start.Add(at*time.Second), fmt.Sprint(i), ""))
	}
	var got []string
	for _, n := range w.room.FleetEvents(start.Add(10*time.Second), start.Add(19*time.Second)) {
		got = append(got, n.Code)
	}
	if !slices.Equal(got, []string{"3", "0"}) {
		t.Errorf("found %v", got)
	}
}

func TestNotesAreBounded(t *testing.T) {
	w := newWorld(t)
	for range maxFleetEvents + 5 {
		w.room.Apply(newFleetEvent(w.now, "A", ""))
	}
	notes := w.room.FleetEvents(0, 0)
	if len(notes) != maxFleetEvents || notes[0].Number != maxFleetEvents+5 || notes[maxFleetEvents-1].Number != 6 {
		t.Errorf("%d are kept, from %d", len(notes), notes[len(notes)-1].Number)
	}
}

// handle handles a command at a moment of its own, which must not be refused.
func (w *world) handle(now event.Time, c Command) {
	w.t.Helper()
	if _, _, err := w.room.Handle(now, c); err != nil {
		w.t.Fatal(err)
	}
}

// TestExpireIsBounded: a crowd of time-outs is done in parts, in the order of time.
func TestExpireIsBounded(t *testing.T) {
	w := newWorld(t)
	w.settings.Processes = 10 * maxDue
	w.compute("host-1")
	const crowd = 2*maxDue + 10
	for i := range crowd {
		w.handle(w.now.Add(time.Duration(i)*tick), ConnectProcess{ProcessKey: key(fmt.Sprintf("%04d", crowd-i))})
	}
	late := w.now.Add(time.Hour)
	var ended []event.Time
	rounds := 0
	for ; w.room.Deadline() <= late; rounds++ {
		for _, e := range w.room.Expire(late) {
			if e, ok := e.(*ProcessHasEnded); ok {
				p, _ := w.room.Process(e.ProcessKey)
				ended = append(ended, p.Created)
			}
		}
	}
	if len(ended) != crowd || !slices.IsSorted(ended) || rounds != 3 {
		t.Errorf("%d of %d processes ended in %d rounds, in order: %v", len(ended), crowd, rounds,
			slices.IsSorted(ended))
	}
}

// TestExpirePassesOverWhatMovedOn: deadlines that have moved on do not use up a round.
func TestExpirePassesOverWhatMovedOn(t *testing.T) {
	w := newWorld(t)
	w.settings.Processes = 10 * maxDue
	w.compute("host-1")
	for i := range 2 * maxDue {
		k := key(fmt.Sprint(i))
		w.handle(w.now, ConnectProcess{ProcessKey: k})
		w.handle(w.now, ReadyProcess{ProcessKey: k, Port: 1})
		w.handle(w.now.Add(time.Minute), ReportHealth{k, true})
	}
	at := w.room.Deadline()
	if events := w.room.Expire(at); len(events) > 0 || w.room.Deadline() <= at {
		t.Errorf("gave %d events, and the deadline went from %d to %d", len(events), at, w.room.Deadline())
	}
}

// TestClockPutBack: deadlines that were given before stand where they stood.
func TestClockPutBack(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.reserve("game", "ada")
	w.now = w.now.Add(-time.Hour)
	w.do(ReportHealth{key("a"), true})
	if w.reserve("game", "bob"); w.room.Deadline() != w.now.Add(time.Minute) {
		t.Errorf("the deadline is %v", w.room.Deadline().Sub(w.now))
	}
	w.ready(key("b"))
	before := w.session("game")
	if g := w.do(creation("next")).(*GameSession); g.Created < before.Created ||
		g.ActivateBy != w.now.Add(10*time.Minute) {
		t.Errorf("the next game session was created at %d, before %d; active by %d", g.Created, before.Created,
			g.ActivateBy)
	}
	wantEvents(t, w.at(time.Minute), "PlayersTimedOut")
	if free := w.session("game").Free(); free != 2 {
		t.Errorf("%d places are free", free)
	}
}
