package gameserver_test

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/muster-gg/muster/gameserver"
)

// TestStorm lets many come and go at the same time, some with the ticket of
// another, some twice, while the end begins: whoever may have been ACTIVE at the
// service is given back there, once.
func TestStorm(t *testing.T) {
	const players, tickets = 200, 120
	h := newHost(t, newService(t), keeping).active()
	accepted := make(map[string]int) // what the service has said
	h.s.set(func() {
		h.s.respond["AcceptPlayerSession"] = func(body string) string {
			if rand.N(4) == 0 {
				return `"StatusCode":409,"ErrorMessage":"ConflictException: no"`
			}
			accepted[ticketIn(t, body)]++
			return `"StatusCode":200`
		}
	})
	var all sync.WaitGroup
	for n := range players {
		all.Go(func() {
			c := gameserver.PlayerConnection{ConnectionID: uint64(n),
				PlayerSessionID: player(n % tickets).PlayerSessionID}
			var leaving sync.WaitGroup
			if rand.N(3) == 0 { // hangs up while joining
				leaving.Go(func() { _ = h.HandlePlayerLeaveSession(t.Context(), c) })
			}
			err := h.ValidatePlayerJoinSession(t.Context(), c)
			if err == nil && rand.N(2) == 0 {
				_ = h.HandlePlayerLeaveSession(t.Context(), c)
			}
			leaving.Wait()
			if n == players/2 {
				h.HandleDestroySession()
			}
		})
	}
	all.Wait()
	h.ends()

	asked, removed := count(t, h.s.sent("AcceptPlayerSession")), count(t, h.s.sent("RemovePlayerSession"))
	for ticket := range asked {
		// One that was refused is given back too if whoever asked had left before.
		if n := removed[ticket]; n < accepted[ticket] || n > asked[ticket] {
			t.Errorf("%s was asked for %d times, accepted %d times and given back %d times", ticket, asked[ticket],
				accepted[ticket], n)
		}
		delete(removed, ticket)
	}
	if len(removed) > 0 {
		t.Errorf("given back without having been asked for: %v", removed)
	}
}

// ticketIn is the player session that a request is about.
func ticketIn(t *testing.T, body string) string {
	var m struct{ PlayerSessionId string }
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Error(err)
	}
	return m.PlayerSessionId
}

// count counts the requests about each player session.
func count(t *testing.T, bodies []string) map[string]int {
	n := make(map[string]int)
	for _, body := range bodies {
		n[ticketIn(t, body)]++
	}
	return n
}
