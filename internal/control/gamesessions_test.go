package control

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestIdempotencyTokens(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(3)
	in := object{"FleetId": fleet, "Location": "custom-a", "MaximumPlayerSessionCount": 2, "IdempotencyToken": "tok-1",
		"GameProperties": []object{}}
	first := text(w.must("CreateGameSession", in), "GameSession", "GameSessionId")
	if !strings.HasSuffix(first, "/custom-a/tok-1") {
		t.Errorf("the token does not end the id %s", first)
	}
	again := w.must("CreateGameSession", in)
	if got := text(again, "GameSession", "GameSessionId"); got != first {
		t.Errorf("the same call gave %s and %s", first, got)
	}
	synonym := clone(in)
	delete(synonym, "IdempotencyToken")
	delete(synonym, "GameProperties")
	synonym["GameSessionId"] = "tok-1"
	if got := text(w.must("CreateGameSession", synonym), "GameSession", "GameSessionId"); got != first {
		t.Errorf("the older name of the token gave %s", got)
	}
	other := clone(in)
	other["Name"] = "other"
	w.refused(fault.IdempotentParameterMismatch, "CreateGameSession", other)
	same(t, at(w.must("DescribeFleetUtilization", object{"FleetIds": []string{fleet}}), "FleetUtilization", 0,
		"ActiveServerProcessCount"), "3")
	var pushed int
	for _, s := range sockets {
		pushed += len(s.pushes)
	}
	if pushed != 1 {
		t.Errorf("%d processes were asked to start it, want 1", pushed)
	}
}

// The token stays taken when the game session has ended, and has left memory.
func TestTokensStayTakenInHistory(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(1)
	token := object{"IdempotencyToken": "tok-1"}
	id := w.active(fleet, token, sockets...)
	sockets[0].ok(sockets[0].end())
	w.archived(id)
	out := w.must("CreateGameSession", object{"FleetId": fleet, "Location": "custom-a", "MaximumPlayerSessionCount": 2,
		"IdempotencyToken": "tok-1"})
	if text(out, "GameSession", "GameSessionId") != id || text(out, "GameSession", "Status") != "TERMINATED" {
		t.Errorf("the same call gave %v, want the game session that is over", out)
	}
	w.refused(fault.IdempotentParameterMismatch, "CreateGameSession",
		object{"FleetId": fleet, "Location": "custom-a", "MaximumPlayerSessionCount": 3, "IdempotencyToken": "tok-1"})

	w.elapse(31 * 24 * time.Hour) // the history has let go of it
	w.process(fleet, "c1", w.token(fleet, "c1"), "late")
	if id2 := w.create(fleet, token); id2 != id || w.status(id) != "ACTIVATING" {
		t.Errorf("after the retention the token gave %s, %s", id2, w.status(id))
	}
}

// A client that repeats a call, because its answer got lost, sends the same
// invocation id.
func TestRetriesOfACallGiveTheSameGameSession(t *testing.T) {
	w := newWorld(t)
	fleet, _ := w.host(3)
	in := object{"FleetId": fleet, "Location": "custom-a", "MaximumPlayerSessionCount": 2}
	call := func(principal, invocation string) string {
		out, err := w.callAs(WithCall(w.ctx, Call{Principal: principal, Invocation: invocation}), "CreateGameSession",
			in)
		if err != nil {
			t.Fatal(err)
		}
		return text(out, "GameSession", "GameSessionId")
	}
	first := call("AKIA1", "0001")
	if again := call("AKIA1", "0001"); again != first {
		t.Errorf("the retry made %s beside %s", again, first)
	}
	if !strings.Contains(first, "/gsess-") {
		t.Errorf("%s does not end in gsess-<uuid>", first)
	}
	if other := call("AKIA2", "0001"); other == first {
		t.Error("another caller's invocation gave the same game session")
	}
	if other := call("AKIA1", "0002"); other == first {
		t.Error("another invocation gave the same game session")
	}
}

func TestCreatorLimit(t *testing.T) {
	w := newWorld(t)
	fleet, _ := w.host(1)
	w.must("UpdateFleetAttributes", object{"FleetId": fleet,
		"ResourceCreationLimitPolicy": object{"NewGameSessionsPerCreator": 2, "PolicyPeriodInMinutes": 15}})
	mine := func(token string) object {
		return object{"FleetId": fleet, "Location": "custom-a", "MaximumPlayerSessionCount": 2, "CreatorId": "me",
			"IdempotencyToken": token}
	}
	w.must("CreateGameSession", mine("a"))
	w.must("CreateGameSession", mine("a")) // no new one: not counted
	w.elapse(10 * time.Minute)
	w.process(fleet, "c1", w.token(fleet, "c1"), "second")
	w.process(fleet, "c1", w.token(fleet, "c1"), "third")
	w.must("CreateGameSession", mine("b"))
	w.refused(fault.LimitExceeded, "CreateGameSession", mine("c"))
	w.must("CreateGameSession", mine("b"))
	you := mine("d")
	you["CreatorId"] = "you"
	w.must("CreateGameSession", you)

	w.elapse(5*time.Minute + time.Millisecond) // a has left the window; all processes are taken
	for range 5 {
		w.refused(fault.FleetCapacityExceeded, "CreateGameSession", mine("e")) // given back each time
	}
	w.process(fleet, "c1", w.token(fleet, "c1"), "more")
	w.must("CreateGameSession", mine("e"))
	w.refused(fault.LimitExceeded, "CreateGameSession", mine("f"))

	w.must("UpdateFleetAttributes", object{"FleetId": fleet,
		"ResourceCreationLimitPolicy": object{"NewGameSessionsPerCreator": 0, "PolicyPeriodInMinutes": 0}})
	w.refused(fault.FleetCapacityExceeded, "CreateGameSession", mine("f"))
}

// A change that was answered is seen by the next request, at every endpoint.
func TestReadYourWrites(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(20)
	for range sockets {
		id := w.create(fleet, object{"MaximumPlayerSessionCount": 1})
		if w.status(id) != "ACTIVATING" {
			t.Fatal("created, and not found")
		}
		for _, s := range sockets {
			select {
			case <-s.pushes:
				s.ok(s.activate(id))
				found := func(filter string) int {
					out := w.must("SearchGameSessions",
						object{"FleetId": fleet, "FilterExpression": "gameSessionId='" + id + "' AND " + filter})
					return len(out["GameSessions"].([]any))
				}
				if found("hasAvailablePlayerSessions=true") != 1 {
					t.Fatal("activated, and not found by a search")
				}
				player := text(w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": "p"}),
					"PlayerSession", "PlayerSessionId")
				if found("hasAvailablePlayerSessions=true") != 0 || found("playerSessionCount=1") != 1 {
					t.Fatal("reserved, and a search still shows the place")
				}
				s.ok(s.accept(id, player))
				out := w.must("DescribePlayerSessions", object{"PlayerSessionId": player})
				if got := text(out, "PlayerSessions", 0, "Status"); got != "ACTIVE" {
					t.Fatalf("accepted, and shown as %s", got)
				}
				s.ok(s.end())
				if found("maximumSessions=1") != 0 || w.status(id) != "TERMINATED" {
					t.Fatal("ended, and still found")
				}
			default:
			}
		}
	}
}

func TestUpdateGameSession(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(1)
	id := w.active(fleet, object{"GameProperties": []object{{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}}},
		sockets...)
	w.must("CreatePlayerSessions", object{"GameSessionId": id, "PlayerIds": []string{"x", "y"}})
	out := w.must("UpdateGameSession", object{
		"GameSessionId": id, "Name": "n", "MaximumPlayerSessionCount": 1, "PlayerSessionCreationPolicy": "DENY_ALL",
		"ProtectionPolicy": "FullProtection",
		"GameProperties":   []object{{"Key": "b", "Value": "3"}, {"Key": "c", "Value": "4"}},
	})
	g := at(out, "GameSession").(object)
	same(t, g["GameProperties"], `[{"Key":"a","Value":"1"},{"Key":"b","Value":"3"},{"Key":"c","Value":"4"}]`)
	if g["Name"] != "n" || g["MaximumPlayerSessionCount"] != 1.0 || g["CurrentPlayerSessionCount"] != 2.0 ||
		g["PlayerSessionCreationPolicy"] != "DENY_ALL" {
		t.Errorf("after the update: %v", g)
	}
	out = w.must("DescribeGameSessionDetails", object{"GameSessionId": id})
	if got := text(out, "GameSessionDetails", 0, "ProtectionPolicy"); got != "FullProtection" {
		t.Errorf("protection policy %s", got)
	}
	var many []object
	for _, k := range "defghijklmnopq" {
		many = append(many, object{"Key": string(k), "Value": "v"})
	}
	// There would be 17 after the merge.
	w.refused(fault.InvalidRequest, "UpdateGameSession", object{"GameSessionId": id, "GameProperties": many})
	sockets[0].quiet()
}

func TestStatusFilters(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(4)
	over := w.active(fleet, nil, sockets...)
	w.must("TerminateGameSession", object{"GameSessionId": over, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	for _, s := range sockets {
		if len(s.pushes) > 0 {
			s.ok(s.end())
			<-s.pushes
		}
	}
	ending := w.active(fleet, nil, sockets...)
	w.must("TerminateGameSession", object{"GameSessionId": ending, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	// Once more changes nothing.
	w.must("TerminateGameSession", object{"GameSessionId": ending, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	for _, s := range sockets {
		for len(s.pushes) > 0 {
			<-s.pushes
		}
	}
	active := w.active(fleet, nil, sockets...)
	starting := w.create(fleet, nil)
	for status, want := range map[string]string{
		"ACTIVE": active, "ACTIVATING": starting, "TERMINATING": ending, "TERMINATED": over,
	} {
		for _, in := range []object{
			{"FleetId": fleet}, {"FleetId": fleet, "Location": "custom-a"}, {"GameSessionId": want},
		} {
			in["StatusFilter"] = status
			got := texts(w.must("DescribeGameSessions", in)["GameSessions"], "GameSessionId")
			if len(got) != 1 || got[0] != want {
				t.Errorf("%v: %v, want %s", in, got, want)
			}
		}
	}
	same(t, w.must("DescribeGameSessions", object{"GameSessionId": over, "StatusFilter": "ACTIVE"}),
		`{"GameSessions":[]}`)
	same(t, w.must("DescribeGameSessions", object{"FleetId": fleet, "Location": "custom-unknown"}),
		`{"GameSessions":[]}`)
}

// MaxConcurrentGameSessionActivations holds for each compute.
func TestActivationLimit(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(3)
	w.must("UpdateRuntimeConfiguration", object{"FleetId": fleet,
		"RuntimeConfiguration": object{"MaxConcurrentGameSessionActivations": 1,
			"GameSessionActivationTimeoutSeconds": 30}})
	first := w.create(fleet, nil)
	w.refused(fault.FleetCapacityExceeded, "CreateGameSession",
		object{"FleetId": fleet, "MaximumPlayerSessionCount": 2})
	w.elapse(31 * time.Second) // the activation times out
	w.await("the end of the activation", func() bool { return w.status(first) == "TERMINATED" })
	if got := w.events(fleet); !strings.HasPrefix(got, "GAME_SESSION_ACTIVATION_TIMEOUT ") {
		t.Errorf("fleet events: %s", got)
	}
	w.active(fleet, nil, without(sockets, first)...)
}

// without lists the sockets that were not asked to start a game session; the
// others have their pushes taken.
func without(sockets []*socket, gameSession string) (rest []*socket) {
	for _, s := range sockets {
		if len(s.pushes) == 0 {
			rest = append(rest, s)
			continue
		}
		for len(s.pushes) > 0 {
			<-s.pushes
		}
	}
	return rest
}
