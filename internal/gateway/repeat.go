package gateway

import (
	"regexp"
	"sync"
)

// playerIndex is a player id that names nobody: the AWS-SAMUEL plug-in sends the
// index of the local player, "0" as a rule, when the player has no identity.
var playerIndex = regexp.MustCompile(`^[0-9]$`)

// origin returns where a request for a player came from if the player's id alone does
// not tell whether an equal request is a repeat; "" if it does. See
// docs/decisions/0033-player-ids-without-identity.md.
func (c *call) origin(player string) string {
	if c.g.subject(c.r) != "" || !playerIndex.MatchString(player) {
		return ""
	}
	return c.g.caller(c.r)
}

// given remembers which slots were given to which origin, so that a repeated request
// to join is recognised where the player's id does not suffice. The zero value is
// ready to use.
type given struct {
	mu    sync.Mutex
	to    map[string]string // player session id to origin
	order []string          // player session ids, the oldest first
}

// maxGiven bounds the memory; the oldest is forgotten first. A slot stays reserved
// for a minute, as a rule.
const maxGiven = 10_000

func (n *given) note(playerSession, origin string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.to == nil {
		n.to = make(map[string]string)
	}
	if len(n.order) >= maxGiven {
		delete(n.to, n.order[0])
		n.order = n.order[1:]
	}
	n.to[playerSession] = origin
	n.order = append(n.order, playerSession)
}

// was reports whether a slot was given to an origin.
func (n *given) was(playerSession, origin string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.to[playerSession] == origin
}
