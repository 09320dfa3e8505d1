package gateway

import (
	"regexp"
	"sync"
)

// playerIndex is a player id that is not an identity: the AWS-SAMUEL plug-in sends the index of the local player,
// usually "0", for a player without one.
var playerIndex = regexp.MustCompile(`^[0-9]$`)

// origin returns the caller of a request if the player id is not an identity, so that it cannot show whether an equal
// request is a repeat; "" otherwise. See docs/decisions/0033-player-ids-without-identity.md.
func (c *call) origin(player string) string {
	if c.g.subject(c.r) != "" || !playerIndex.MatchString(player) {
		return ""
	}
	return c.g.caller(c.r)
}

// slotOrigins remembers the origin of player sessions, so that a repeated join is recognised if the player id is not an
// identity. The zero value is ready to use.
type slotOrigins struct {
	mu    sync.Mutex
	to    map[string]string // player session id to origin
	order []string          // player session ids, the oldest first
}

// maxSlotOrigins limits the memory; the oldest is removed first. A slot usually stays reserved for one minute.
const maxSlotOrigins = 10_000

func (n *slotOrigins) add(playerSession, origin string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.to == nil {
		n.to = make(map[string]string)
	}
	if len(n.order) >= maxSlotOrigins {
		delete(n.to, n.order[0])
		n.order = n.order[1:]
	}
	n.to[playerSession] = origin
	n.order = append(n.order, playerSession)
}

// has reports whether a player session was created for an origin.
func (n *slotOrigins) has(playerSession, origin string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.to[playerSession] == origin
}
