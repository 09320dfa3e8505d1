package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A commandCase reads: given this, when the command comes, then these events
// follow, or that refusal.
type commandCase struct {
	name  string
	given func(w *world)
	when  func(w *world) Command
	then  string     // names of the events
	kind  fault.Kind // of the refusal, with
	piece string     // a piece of its message
}

func (c commandCase) run(t *testing.T) {
	w := newWorld(t)
	if c.given != nil {
		c.given(w)
	}
	events, _, err := w.try(c.when(w))
	if c.kind != "" {
		f := fault.Of(err)
		if f == nil || f.Kind != c.kind || !strings.Contains(f.Message, c.piece) {
			t.Fatalf("got %v, want %s with %q", err, c.kind, c.piece)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(events), " "); got != c.then {
		t.Errorf("got %q, want %q", got, c.then)
	}
}

func runCases(t *testing.T, cases []commandCase) {
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// when is for commands that need nothing of what was given.
func when(c Command) func(*world) Command { return func(*world) Command { return c } }

func host1(w *world)    { w.compute("host-1") }
func started(w *world)  { host1(w); w.do(ConnectProcess{ProcessKey: key("a"), Idempotency: "run-a"}) }
func idle(w *world)     { host1(w); w.ready(key("a")) }
func hosting(w *world)  { idle(w); w.do(creation("game")) }
func playing(w *world)  { w.active("game", key("a")) }
func stopping(w *world) { playing(w); w.do(TerminateGameSession{ID: "game"}) }
func over(w *world)     { playing(w); w.do(EndProcess{key("a")}) }

// timedOut leaves a game session that is over on a process that still lives.
func timedOut(w *world) {
	idle(w)
	short := creation("game")
	short.ActivationTimeout = time.Minute
	w.do(short)
	w.wait(time.Minute)
}

func TestRegisterCompute(t *testing.T) {
	same := RegisterCompute{Name: "host-1", IPAddress: "10.0.0.1", DNSName: "host-1.example"}
	otherIP, otherDNS, otherFile := same, same, same
	otherIP.IPAddress, otherDNS.DNSName, otherFile.CertificatePath = "10.0.0.2", "b.example", "/etc/cert"
	runCases(t, []commandCase{
		{"a new one", nil, when(same), "ComputeRegistered", "", ""},
		{"the same again", host1, when(same), "", "", ""},
		{"the same with another certificate", host1, when(otherFile), "", "", ""},
		{"another address", host1, when(otherIP), "", fault.Conflict, "host-1 is already registered"},
		{"another name", host1, when(otherDNS), "", fault.Conflict, "Deregister it first"},
	})
}

func TestDeregisterCompute(t *testing.T) {
	gone := when(DeregisterCompute{"host-1"})
	runCases(t, []commandCase{
		{"an unknown one", nil, gone, "", fault.NotFound, "Compute host-1 not found in fleet fleet-1"},
		{"an empty one", host1, gone, "ComputeDeregistered", "", ""},
		{"with an idle process", idle, gone, "ProcessHasEnded ComputeDeregistered", "", ""},
		{"with a game", playing, gone, "GameSessionEnded ProcessHasEnded ComputeDeregistered", "", ""},
		{"with a process that has ended", over, gone, "ComputeDeregistered", "", ""},
		{"with a game that timed out", timedOut, gone, "ProcessHasEnded ComputeDeregistered", "", ""},
		{"leaves the processes of others", func(w *world) {
			host1(w)
			w.compute("host-10")
			w.ready(ProcessKey{"host-10",
				"a"})
		}, gone, "ComputeDeregistered", "", ""},
	})
}

func TestClear(t *testing.T) {
	runCases(t, []commandCase{
		{"nothing", nil, when(Clear{}), "", "", ""},
		{"two computes", func(w *world) { playing(w); w.compute("host-0") }, when(Clear{}),
			"ComputeDeregistered GameSessionEnded ProcessHasEnded ComputeDeregistered", "", ""},
	})
}

// TestClearIsBounded: a large location goes in parts.
func TestClearIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range maxCleared + 5 {
		w.room.Apply(&ComputeRegistered{Name: fmt.Sprint(i), At: w.now})
	}
	if left := w.do(Clear{}); left != 5 {
		t.Errorf("%v computes are left", left)
	}
	if left := w.do(Clear{}); left != 0 || !w.room.Empty() {
		t.Errorf("%v computes are left", left)
	}
}

func TestIssueTokenCommand(t *testing.T) {
	runCases(t, []commandCase{
		{"of an unknown compute", nil, when(IssueToken{"host-1"}), "", fault.NotFound, "Compute host-1 not found"},
		{"the first", host1, when(IssueToken{"host-1"}), "TokenIssued", "", ""},
		{"again", func(w *world) { host1(w); w.do(IssueToken{"host-1"}) }, when(IssueToken{"host-1"}), "", "", ""},
	})
}

func TestConnectProcess(t *testing.T) {
	connect := func(c ConnectProcess) func(*world) Command {
		c.ProcessKey = key("a")
		return when(c)
	}
	token := func(w *world) { host1(w); w.do(IssueToken{"host-1"}) }
	withToken := func(w *world) { token(w); w.do(ConnectProcess{ProcessKey: key("a"), Token: 1, Idempotency: "run-a"}) }
	runCases(t, []commandCase{
		{"on an unknown compute", nil, connect(ConnectProcess{}), "", fault.AccessDenied,
			"Compute host-1 is not registered"},
		{"signed", host1, connect(ConnectProcess{}), "ProcessConnected", "", ""},
		{"with the token", token, connect(ConnectProcess{Token: 1}), "ProcessConnected", "", ""},
		{"with an unknown token", token, connect(ConnectProcess{Token: 2}), "", fault.AccessDenied,
			"Call GetComputeAuthToken"},
		{"with another compute's token", func(w *world) { host1(w); w.compute("host-2"); w.do(IssueToken{"host-2"}) },
			connect(ConnectProcess{Token: 1}), "", fault.AccessDenied, "not one of compute host-1"},
		{"with an expired token", func(w *world) {
			token(w)
			w.wait(3 * time.Hour)
		}, connect(ConnectProcess{Token: 1}), "",
			fault.AccessDenied, "has expired"},
		{"again, known by its idempotency token", withToken, connect(ConnectProcess{Token: 1, Idempotency: "run-a"}),
			"ProcessResumed", "", ""},
		{"again, with a new idempotency token", withToken, connect(ConnectProcess{Token: 1, Idempotency: "run-b"}),
			"ProcessResumed", "", ""},
		{"again, with a wrong token", withToken, connect(ConnectProcess{Token: 9, Idempotency: "run-a"}), "",
			fault.AccessDenied, "not one of compute"},
		{"back with the token of its start, which has expired", func(w *world) {
			withToken(w)
			w.do(ReadyProcess{ProcessKey: key("a"), Port: 1})
			for range 4 * 60 { // four hours
				w.wait(time.Minute)
				w.do(ReportHealth{key("a"), true})
			}
			w.do(IssueToken{"host-1"})
			w.do(LoseProcess{ProcessKey: key("a")})
		}, connect(ConnectProcess{Token: 1, Idempotency: "run-a"}), "ProcessResumed", "", ""},
		{"back for the answer after it ended itself",
			func(w *world) { idle(w); w.do(EndProcess{key("a")}); w.wait(time.Minute - 1) },
			connect(ConnectProcess{Idempotency: "run-a"}), "", "", ""},
		{"too late for the answer", func(w *world) { idle(w); w.do(EndProcess{key("a")}); w.wait(time.Minute) },
			connect(ConnectProcess{Idempotency: "run-a"}), "", fault.AccessDenied, "Process ids must be unique"},
		{"back for the answer with a wrong token", func(w *world) { idle(w); w.do(EndProcess{key("a")}) },
			connect(ConnectProcess{Token: 9, Idempotency: "run-a"}), "", fault.AccessDenied,
			"Process ids must be unique"},
		{"after it ended itself, unmarked", func(w *world) { idle(w); w.do(EndProcess{key("a")}) },
			connect(ConnectProcess{}), "", fault.AccessDenied, "Process a has ended"},
		{"back for the answer with a new idempotency token",
			func(w *world) { idle(w); w.do(EndProcess{key("a")}); w.wait(9 * time.Minute) },
			connect(ConnectProcess{Idempotency: "run-b"}), "", "", ""},
		{"back for the answer with a new idempotency token and a wrong token",
			func(w *world) { idle(w); w.do(EndProcess{key("a")}) },
			connect(ConnectProcess{Token: 9, Idempotency: "run-b"}), "", fault.AccessDenied, "not one of compute"},
		{"a new process with the id of one that ended itself", func(w *world) { idle(w); w.do(EndProcess{key("a")}) },
			connect(ConnectProcess{Idempotency: "run-b", NewRun: true}), "ProcessConnected", "", ""},
		{"a new process with the id of one that was given up",
			func(w *world) { idle(w); w.do(LoseProcess{ProcessKey: key("a")}); w.wait(200 * time.Second) },
			connect(ConnectProcess{Idempotency: "run-b", NewRun: true}), "", fault.AccessDenied, "Process a has ended"},
		{"no new process after all", idle, connect(ConnectProcess{Idempotency: "run-b", NewRun: true}),
			"ProcessResumed", "",
			""},
		{"after it was given up", func(w *world) {
			idle(w)
			w.do(LoseProcess{ProcessKey: key("a")})
			w.wait(200 * time.Second)
		},
			connect(ConnectProcess{Idempotency: "run-b"}), "", fault.AccessDenied, "Process a has ended"},
		{"after it was forgotten", func(w *world) { idle(w); w.do(EndProcess{key("a")}); w.wait(10 * time.Minute) },
			connect(ConnectProcess{Idempotency: "run-a"}), "ProcessConnected", "", ""},
		{"one too many", func(w *world) {
			host1(w)
			for i := range 50 {
				w.do(ConnectProcess{ProcessKey: key(fmt.Sprint(i))})
			}
		}, connect(ConnectProcess{}), "", fault.AccessDenied, "already runs 50 server processes"},
		{"where one has ended", func(w *world) {
			host1(w)
			for i := range 50 {
				w.do(ConnectProcess{ProcessKey: key(fmt.Sprint(i))})
			}
			w.do(EndProcess{key("17")})
		}, connect(ConnectProcess{}), "ProcessConnected", "", ""},
	})
}

func TestLoseProcess(t *testing.T) {
	lose := when(LoseProcess{ProcessKey: key("a")})
	runCases(t, []commandCase{
		{"an unknown one", nil, lose, "", "", ""},
		{"a connected one", started, lose, "ProcessLost", "", ""},
		{"a lost one", func(w *world) { started(w); w.do(LoseProcess{ProcessKey: key("a")}) }, lose, "", "", ""},
		{"an ended one", over, lose, "", "", ""},
	})
}

func TestInterrupt(t *testing.T) {
	runCases(t, []commandCase{
		{"without processes", host1, when(Interrupt{}), "", "", ""},
		{"with one", started, when(Interrupt{}), "Interrupted", "", ""},
		{"with one that has ended", over, when(Interrupt{}), "", "", ""},
		{"with one that is lost already", func(w *world) {
			started(w)
			w.do(LoseProcess{ProcessKey: key("a")})
		}, when(Interrupt{}),
			"Interrupted", "", ""},
	})
}

func TestReadyProcess(t *testing.T) {
	ready := func(port int32) func(*world) Command { return when(ReadyProcess{ProcessKey: key("a"), Port: port}) }
	runCases(t, []commandCase{
		{"an unknown one", host1, ready(7777), "", fault.NotFound, "Server process a on compute host-1 is not known"},
		{"a started one", started, ready(7777), "ProcessBecameReady", "", ""},
		{"the lowest port", started, ready(1), "ProcessBecameReady", "", ""},
		{"the highest port", started, ready(60000), "ProcessBecameReady", "", ""},
		{"no port", started, ready(0), "", fault.InvalidRequest, "Port 0 is not between 1 and 60000"},
		{"too high a port", started, ready(60001), "", fault.InvalidRequest, "Port 60001"},
		{"again", idle, ready(8888), "", "", ""},
		{"while it hosts", playing, ready(7777), "", "", ""},
		{"after its end", over, ready(7777), "", fault.NotFound, "or has ended"},
	})
}

func TestReportHealth(t *testing.T) {
	good, bad := when(ReportHealth{key("a"), true}), when(ReportHealth{key("a"), false})
	twice := func(w *world) { playing(w); w.do(ReportHealth{key("a"), false}); w.do(ReportHealth{key("a"), false}) }
	runCases(t, []commandCase{
		{"of an unknown one", host1, good, "", fault.NotFound, "not known"},
		{"before ProcessReady", started, good, "", fault.InvalidRequest, "has not called ProcessReady"},
		{"good", idle, good, "HealthReported", "", ""},
		{"bad", idle, bad, "HealthReported", "", ""},
		{"bad for the third time", twice, bad, "GameSessionEnded FleetEventAdded ProcessHasEnded", "", ""},
		{"good after two bad ones", twice, good, "HealthReported", "", ""},
		{"bad, good, bad", func(w *world) {
			twice(w)
			w.do(ReportHealth{key("a"), true})
		}, bad, "HealthReported", "", ""},
		{"after its end", over, good, "", fault.NotFound, "has ended"},
	})
}

func TestEndProcess(t *testing.T) {
	end := when(EndProcess{key("a")})
	runCases(t, []commandCase{
		{"an unknown one", host1, end, "", fault.NotFound, "not known"},
		{"a started one", started, end, "ProcessHasEnded", "", ""},
		{"an idle one", idle, end, "ProcessHasEnded", "", ""},
		{"one with a game", playing, end, "GameSessionEnded ProcessHasEnded", "", ""},
		{"one that was asked to", stopping, end, "GameSessionEnded ProcessHasEnded", "", ""},
		{"one whose game timed out", timedOut, end, "ProcessHasEnded", "", ""},
		{"again", over, end, "", "", ""},
	})
}

func TestCreateGameSession(t *testing.T) {
	create := when(creation("game"))
	other := creation("game")
	other.Fingerprint = []byte("other")
	limited := creation("second")
	limited.MaxActivations = 1
	none := creation("game")
	none.MaxActivations = 0
	runCases(t, []commandCase{
		{"without a compute", nil, create, "", fault.FleetCapacityExceeded,
			"Unable to reserve a process on fleet fleet-1."},
		{"with a process that is not ready", started, create, "", fault.FleetCapacityExceeded, "Unable to reserve"},
		{"with a free process", idle, create, "GameSessionCreated", "", ""},
		{"with a lost process", func(w *world) { idle(w); w.do(LoseProcess{ProcessKey: key("a")}) }, create, "",
			fault.FleetCapacityExceeded, "Unable"},
		{"with a process that came back",
			func(w *world) {
				idle(w)
				w.do(LoseProcess{ProcessKey: key("a")})
				w.do(ConnectProcess{ProcessKey: key("a")})
			},
			create, "GameSessionCreated", "", ""},
		{"with a busy process", playing, when(creation("second")), "", fault.FleetCapacityExceeded, "Unable"},
		{"with a process that has hosted", timedOut, when(creation("second")), "", fault.FleetCapacityExceeded,
			"Unable"},
		{"while too many activate", func(w *world) { hosting(w); w.ready(key("b")) }, when(limited), "",
			fault.FleetCapacityExceeded, "Unable"},
		{"when they are active", func(w *world) {
			playing(w)
			w.ready(key("b"))
		}, when(limited), "GameSessionCreated", "",
			""},
		{"with no activations allowed", idle, when(none), "", fault.FleetCapacityExceeded, "Unable"},
		{"the same again", hosting, create, "", "", ""},
		{"the same again, when it is over", over, create, "", "", ""},
		{"the same id for another", hosting, when(other), "", fault.IdempotentParameterMismatch,
			"id game exists already"},
		{"the same id, when it is forgotten",
			func(w *world) { over(w); w.do(ForgetGameSessions{[]uint64{1}}); w.ready(key("b")) }, create,
			"GameSessionCreated", "", ""},
		{"beyond the last number", func(w *world) { idle(w); w.room.header.Sessions = maxOrdinal }, create, "",
			fault.LimitExceeded, "as many game sessions as it can number"},
	})
}

func TestActivateGameSession(t *testing.T) {
	activate := func(process, session string) func(*world) Command {
		return when(ActivateGameSession{key(process), session})
	}
	runCases(t, []commandCase{
		{"of an unknown process", host1, activate("a", "game"), "", fault.NotFound, "not known"},
		{"before ProcessReady", started, activate("a", "game"), "", fault.InvalidRequest,
			"has not called ProcessReady"},
		{"of an idle process", idle, activate("a", "game"), "", fault.InvalidRequest,
			"game is not hosted by server process a"},
		{"its own", hosting, activate("a", "game"), "GameSessionActivated", "", ""},
		{"another's", func(w *world) { hosting(w); w.ready(key("b")) }, activate("b", "game"), "", fault.InvalidRequest,
			"not hosted by server process b"},
		{"again", playing, activate("a", "game"), "", "", ""},
		{"when it is terminating", stopping, activate("a", "game"), "", fault.InvalidGameSessionStatus,
			"game is TERMINATING"},
		{"when it has timed out", timedOut, activate("a", "game"), "", fault.InvalidGameSessionStatus,
			"game is TERMINATED"},
		{"after its end", over, activate("a", "game"), "", fault.NotFound, "has ended"},
	})
}

func TestUpdateGameSession(t *testing.T) {
	rename := when(UpdateGameSession{ID: "game", Name: "new"})
	many := func(from, n int) (properties []Property) {
		for i := range n {
			properties = append(properties, Property{fmt.Sprint(from + i), "x"})
		}
		return properties
	}
	with := func(p []Property) func(*world) Command { return when(UpdateGameSession{ID: "game", Properties: p}) }
	full := func(w *world) { playing(w); w.do(UpdateGameSession{ID: "game", Properties: many(0, 16)}) }
	runCases(t, []commandCase{
		{"an unknown one", nil, rename, "", fault.NotFound,
			"Game session game not found in fleet fleet-1, location custom-home"},
		{"an activating one", hosting, rename, "", fault.InvalidGameSessionStatus, "game is ACTIVATING"},
		{"an active one", playing, rename, "GameSessionUpdated", "", ""},
		{"a terminating one", stopping, rename, "", fault.InvalidGameSessionStatus, "game is TERMINATING"},
		{"one that is over", over, rename, "", fault.InvalidGameSessionStatus, "game is TERMINATED"},
		{"as many properties as it may have", playing, with(many(0, 16)), "GameSessionUpdated", "", ""},
		{"the same properties again", full, with(many(0, 16)), "GameSessionUpdated", "", ""},
		{"one property too many", full, with(many(16, 1)), "", fault.InvalidRequest,
			"would have 17 game properties; 16 are allowed"},
	})
}

func TestSetPolicy(t *testing.T) {
	set := func(p Policy) func(*world) Command { return when(SetPolicy{key("a"), "game", p}) }
	runCases(t, []commandCase{
		{"of an unknown process", nil, set(DenyAll), "", fault.NotFound, "not known"},
		{"of another game session", playing, when(SetPolicy{key("a"), "other", DenyAll}), "", fault.InvalidRequest,
			"other is not hosted"},
		{"deny", playing, set(DenyAll), "GameSessionUpdated", "", ""},
		{"deny while it activates", hosting, set(DenyAll), "GameSessionUpdated", "", ""},
		{"the policy that it has", playing, set(AcceptAll), "", "", ""},
		{"neither", playing, set("NOT_SET"), "", fault.InvalidRequest, `"NOT_SET" is not ACCEPT_ALL or DENY_ALL`},
		{"nothing", playing, set(""), "", fault.InvalidRequest, "not ACCEPT_ALL"},
		{"while it terminates", stopping, set(DenyAll), "", fault.InvalidGameSessionStatus, "TERMINATING"},
		{"when it has timed out", timedOut, set(DenyAll), "", fault.InvalidGameSessionStatus, "TERMINATED"},
	})
}

func TestTerminateGameSession(t *testing.T) {
	end := when(TerminateGameSession{"game"})
	runCases(t, []commandCase{
		{"an unknown one", nil, end, "", fault.NotFound, "Game session game not found"},
		{"an activating one", hosting, end, "GameSessionTerminating ProcessAskedToEnd", "", ""},
		{"an active one", playing, end, "GameSessionTerminating ProcessAskedToEnd", "", ""},
		{"again", stopping, end, "", "", ""},
		{"one that is over", over, end, "", fault.InvalidGameSessionStatus, "game is TERMINATED"},
	})
}

func TestForgetGameSessions(t *testing.T) {
	runCases(t, []commandCase{
		{"none", over, when(ForgetGameSessions{}), "", "", ""},
		{"an unknown one", over, when(ForgetGameSessions{[]uint64{5}}), "", "", ""},
		{"a living one", playing, when(ForgetGameSessions{[]uint64{1}}), "", "", ""},
		{"one that is over", over, when(ForgetGameSessions{[]uint64{1, 5}}), "GameSessionsForgotten", "", ""},
		{"one whose process lives", timedOut, when(ForgetGameSessions{[]uint64{1}}), "GameSessionsForgotten", "", ""},
	})
}

func TestReservePlayers(t *testing.T) {
	reserve := func(n int) func(*world) Command {
		c := ReservePlayers{GameSession: "game"}
		for i := range n {
			c.Players = append(c.Players, NewPlayer{PlayerID: fmt.Sprint("player-", i), Random: [8]byte{1, byte(i)}})
		}
		return when(c)
	}
	two := func(w *world) { playing(w); w.reserve("game", "ada", "bob") }
	before := func(w *world) []PlayerSessionID {
		playing(w)
		return w.reservation(reserve(2)(w))
	}
	others := func(change func([]NewPlayer)) func(*world) Command {
		return func(w *world) Command {
			c := reserve(2)(w).(ReservePlayers)
			change(c.Players)
			return c
		}
	}
	one, none := int32(1), int32(0)
	runCases(t, []commandCase{
		{"in an unknown game session", nil, reserve(1), "", fault.NotFound, "Game session game not found"},
		{"in an activating one", hosting, reserve(1), "", fault.InvalidGameSessionStatus, "game is ACTIVATING"},
		{"in a terminating one", stopping, reserve(1), "", fault.InvalidGameSessionStatus, "game is TERMINATING"},
		{"in one that is over", over, reserve(1), "", fault.InvalidGameSessionStatus, "game is TERMINATED"},
		{"all places", playing, reserve(3), "PlayersReserved", "", ""},
		{"one more than all", playing, reserve(4), "", fault.GameSessionFull,
			"has 3 free player slots of 3; 4 were asked for"},
		{"the last place", two, reserve(1), "PlayersReserved", "", ""},
		{"one more than the last", two, reserve(2), "", fault.GameSessionFull, "has 1 free player slots of 3"},
		{"after the maximum was lowered", func(w *world) { two(w); w.do(UpdateGameSession{ID: "game", Maximum: &one}) },
			reserve(1), "", fault.GameSessionFull, "has 0 free player slots of 1"},
		{"in one without places", func(w *world) { playing(w); w.do(UpdateGameSession{ID: "game", Maximum: &none}) },
			reserve(1), "", fault.GameSessionFull, "of 0"},
		{"against the policy", func(w *world) {
			playing(w)
			w.do(SetPolicy{key("a"), "game", DenyAll})
		}, reserve(1), "",
			fault.InvalidGameSessionStatus, "DENY_ALL"},
		{"a place that was freed", func(w *world) {
			playing(w)
			ids := w.reserve("game", "ada", "bob", "cid")
			w.do(RemovePlayer{key("a"), "game", ids[1]})
		}, reserve(1), "PlayersReserved", "", ""},
		{"once more", func(w *world) { before(w) }, reserve(2), "", "", ""},
		{"once more in a game session that is over", func(w *world) {
			before(w)
			w.do(EndProcess{key("a")})
		}, reserve(2), "", "", ""},
		{"once more when they have left", func(w *world) {
			ids := before(w)
			w.do(AcceptPlayer{key("a"), "game", ids[0]})
			w.do(RemovePlayer{key("a"), "game", ids[1]})
			w.do(RemovePlayer{key("a"), "game", ids[0]})
			w.wait(RepeatedWithin)
		}, reserve(2), "", "", ""},
		{"an id that is another player's", func(w *world) { before(w) },
			others(func(p []NewPlayer) { p[0].PlayerID = "eve" }), "", fault.Conflict, "exists already"},
		{"an id in use beside a new one", func(w *world) { before(w) },
			others(func(p []NewPlayer) { p[1].Random = [8]byte{9} }), "", fault.Conflict, "exists already"},
		{"a new id beside one in use", func(w *world) { before(w) },
			others(func(p []NewPlayer) { p[0].Random = [8]byte{9} }),
			"", fault.Conflict, "exists already"},
	})
}

// What became of a reservation or a claim may not have been heard: whoever asks once more gets the same
// player sessions.
func TestReservedOnceMore(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.reserve("game", "zoe")
	c := ReservePlayers{GameSession: "game", Players: []NewPlayer{{PlayerID: "ada", Random: w.random()},
		{PlayerID: "bob", Random: w.random()}}}
	ids := w.reservation(c)
	if again := w.reservation(c); !slices.Equal(ids, again) {
		t.Errorf("got %v, want %v", again, ids)
	}
	w.do(RemovePlayer{key("a"), "game", ids[0]})
	w.reserve("game", "cid")
	r := w.do(c).(Reservation)
	if r.Players[0].ID != ids[0] || r.Players[0].Status != Completed || r.Players[1].ID != ids[1] ||
		r.Players[1].Status != Reserved {
		t.Errorf("got %+v and %+v", r.Players[0], r.Players[1])
	}

	w.active("other", key("b"))
	w.active("third", key("c"))
	claim := ClaimGameSession{Name: "claimed", Maximum: 3, Player: NewPlayer{PlayerID: "eve", Random: w.random()}}
	first := w.do(claim).(Reservation)
	events, answer, err := w.try(claim)
	again, _ := answer.(Reservation)
	if err != nil || len(events) > 0 || len(again.Players) != 1 || again.Players[0].ID != first.Players[0].ID ||
		again.GameSession.ID != first.GameSession.ID {
		t.Errorf("got %v, %+v, %v", events, answer, err)
	}
}

// players is a game with ada who has come, bob who has not, and cid who has left.
func players(w *world) []PlayerSessionID {
	playing(w)
	ids := w.reserve("game", "ada", "bob", "cid")
	w.do(AcceptPlayer{key("a"), "game", ids[0]})
	w.do(RemovePlayer{key("a"), "game", ids[2]})
	return ids
}

func TestAcceptAndRemovePlayer(t *testing.T) {
	accept := func(session string, player int) func(*world) Command {
		return func(w *world) Command { return AcceptPlayer{key("a"), session, playerNumber(w, player)} }
	}
	remove := func(session string, player int) func(*world) Command {
		return func(w *world) Command { return RemovePlayer{key("a"), session, playerNumber(w, player)} }
	}
	given := func(w *world) { players(w) }
	ending := func(w *world) { players(w); w.do(TerminateGameSession{"game"}) }
	runCases(t, []commandCase{
		{"accept who has not come", given, accept("game", 1), "PlayerAccepted", "", ""},
		{"accept who has come", given, accept("game", 0), "", "", ""},
		{"accept who has left", given, accept("game", 2), "", fault.Conflict, "is COMPLETED instead of RESERVED"},
		{"accept who came too late", func(w *world) { players(w); w.wait(time.Minute) }, accept("game", 1), "",
			fault.Conflict, "is TIMEDOUT instead of RESERVED"},
		{"accept an unknown one", given, accept("game", 9), "", fault.NotFound, "not found in game session game"},
		{"accept for another game", given, accept("other", 1), "", fault.InvalidRequest, "other is not hosted"},
		{"accept while the game terminates", ending, accept("game", 1), "PlayerAccepted", "", ""},
		{"accept without a process", nil, when(AcceptPlayer{key("a"), "game", PlayerSessionID{}}), "", fault.NotFound,
			"not known"},
		{"accept while the game activates", hosting, when(AcceptPlayer{key("a"), "game", PlayerSessionID{}}), "",
			fault.NotFound, "Player session"},

		{"remove who has come", given, remove("game", 0), "PlayerRemoved", "", ""},
		{"remove who has not", given, remove("game", 1), "PlayerRemoved", "", ""},
		{"remove who has left", given, remove("game", 2), "", "", ""},
		{"remove an unknown one", given, remove("game", 9), "", fault.NotFound, "not found in game session game"},
		{"remove from another game", given, remove("other", 0), "", fault.InvalidRequest, "other is not hosted"},
		{"remove while the game terminates", ending, remove("game", 0), "PlayerRemoved", "", ""},
		{"remove without a process", nil, when(RemovePlayer{key("a"), "game", PlayerSessionID{}}), "", fault.NotFound,
			"not known"},
	})
}

// playerNumber is the id of a player of the only game; an unknown one beyond them.
func playerNumber(w *world, n int) PlayerSessionID {
	if g, ok := w.room.GameSessionAt(1); ok && n < len(g.PlayerSessions()) {
		return g.PlayerSessions()[n].ID
	}
	return newPlayerSessionID(w.room.address, 1, [8]byte{9})
}

// TestPlayersOfAGameThatIsOver: accepting is refused, removing is done already.
func TestPlayersOfAGameThatIsOver(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	id := w.reserve("game", "ada")[0]
	w.room.Apply(&GameSessionEnded{Ordinal: 1, At: w.now})
	if _, _, err := w.room.Handle(w.now, AcceptPlayer{key("a"), "game", id}); !fault.Is(err,
		fault.InvalidGameSessionStatus) {
		t.Errorf("accept gave %v", err)
	}
	if events, _, err := w.room.Handle(w.now, RemovePlayer{key("a"), "game", id}); err != nil || len(events) > 0 {
		t.Errorf("remove gave %v, %v", events, err)
	}
}
