package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// byHeader distinguishes callers by a header of the test, as the guard does by keys and addresses.
func byHeader(c *Config) {
	c.Caller = func(r *http.Request) string { return cmp.Or(r.Header.Get("From"), "nobody") }
}

// TestUnusedGameSessionsAreBounded creates game sessions that no player joins.
func TestUnusedGameSessionsAreBounded(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"] = 100
	d := openGateway(t, w, byHeader, func(c *Config) { c.MaxUnused = 2 })
	create := func(from, player string) reply {
		return d.ask(http.MethodPost, "/create_session", createBody("n", player, 4), "From", from)
	}
	first := create("here", "ada").wantStatus(t, 200)
	create("here", "bob").wantStatus(t, 200)
	refused := create("here", "cid")
	refused.wantCode(t, LimitExceeded)
	if !strings.Contains(refused.field("error"), "2 game sessions that no player has entered") {
		t.Errorf("the answer %s does not say which limit", refused.text)
	}
	again := create("here", "ada").wantStatus(t, 200)
	if again.field("PlayerSessionId") != first.field("PlayerSessionId") {
		t.Errorf("a repeat got another slot: %s", again.text)
	}
	create("there", "dan").wantStatus(t, 200)

	// A player enters one and leaves it: it is used for good.
	w.do(func() {
		for _, p := range w.players {
			if p.PlayerId == "ada" {
				p.Status = wire.PlayerSessionStatusCompleted
			}
		}
	})
	create("here", "cid").wantStatus(t, 200)
	create("here", "eve").wantCode(t, LimitExceeded)

	// One ends.
	w.do(func() {
		for _, s := range w.sessions {
			if p := w.players[len(w.players)-1]; s.GameSessionId == p.GameSessionId {
				s.Status = wire.GameSessionStatusTerminated
			}
		}
	})
	create("here", "eve").wantStatus(t, 200)
	create("here", "fay").wantCode(t, LimitExceeded)
}

// TestFailedCreationIsNotHeld creates more often in vain than game sessions may be held.
func TestFailedCreationIsNotHeld(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, byHeader, func(c *Config) { c.MaxUnused = 1 })
	w.fails["CreatePlayerSessions"] = fault.Internal(errors.New("as the test wants"))
	for range 3 {
		d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 4)).wantCode(t, Internal)
		for len(d.g.unused.of("nobody")) > 0 { // it is released soon after the answer
			runtime.Gosched()
		}
	}
}

// TestPlacementsAreBounded counts the placements of a queue, also asynchronous ones.
func TestPlacementsAreBounded(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"] = 100
	d := openGateway(t, w, func(c *Config) { c.MaxUnused, c.Queues, c.Default = 2, w, Target{Queue: testQueue} })
	for _, wait := range []string{"true", "false"} {
		d.ask(http.MethodPost, "/v1/sessions", `{"name":"n","maxPlayers":2,"wait":`+wait+`}`)
	}
	d.ask(http.MethodPost, "/v1/sessions", `{"name":"n","maxPlayers":2,"wait":false}`).wantCode(t, LimitExceeded)
	w.do(func() {
		for _, s := range w.sessions {
			s.Status = wire.GameSessionStatusTerminated
		}
	})
	for range 2 {
		d.ask(http.MethodPost, "/v1/sessions", `{"name":"n","maxPlayers":2,"wait":false}`).wantStatus(t, 202)
	}
}

// TestPlayerIndexIsNobody has two machines send the id that the plug-in sends for a
// player without an identity, and the same name of a session.
func TestPlayerIndexIsNobody(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, byHeader)
	create := func(from, player string) reply {
		return d.ask(http.MethodPost, "/create_session", createBody("Player's Session", player, 4), "From",
			from).wantStatus(t, 200)
	}
	mine, again, other := create("a", "0"), create("a", "0"), create("b", "0")
	if again.field("PlayerSessionId") != mine.field("PlayerSessionId") {
		t.Errorf("a repeat from the same address got another slot")
	}
	if other.field("PlayerSessionId") == mine.field("PlayerSessionId") {
		t.Errorf("two machines were given one slot: %s", other.text)
	}
	join := func(from string) string {
		return d.ask(http.MethodPost, "/join_session", joinBody(mine.field("GameSessionId"), "0"), "From",
			from).wantStatus(t, 200).field("PlayerSessionId")
	}
	if b := join("b"); b == mine.field("PlayerSessionId") || b != join("b") || b == join("c") {
		t.Errorf("two machines were given one slot, or a repeat another one")
	}
	if named := create("a", "ada"); named.field("PlayerSessionId") != create("b", "ada").field("PlayerSessionId") {
		t.Errorf("a player with an identity who moved was given a second slot")
	}
}
