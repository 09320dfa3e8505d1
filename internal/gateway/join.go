package gateway

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A newPlayer is a request for a player session.
type newPlayer struct {
	id, data string
	origin   string // see call.origin
}

// reserve creates player sessions in a game session, all or none, in the order of players.
func (g *Gateway) reserve(ctx context.Context, id string, players []newPlayer) ([]wire.PlayerSession, error) {
	in := &wire.CreatePlayerSessionsInput{GameSessionId: id, PlayerIds: make([]string, len(players))}
	for i, p := range players {
		in.PlayerIds[i] = p.id
		if p.data != "" {
			if in.PlayerDataMap == nil {
				in.PlayerDataMap = make(map[string]string)
			}
			in.PlayerDataMap[p.id] = p.data
		}
	}
	out, err := g.service.CreatePlayerSessions(ctx, in)
	if err != nil {
		f := asFailure(failed(ctx, err, SessionNotFound, SessionNotJoinable))
		_, f.players = errors.AsType[*fault.Error](err)
		return nil, f
	}
	return inOrder(out.PlayerSessions, players)
}

// join creates a player session for one player, or returns the one that is RESERVED already: a repeated request must
// not take a second slot, even while the first one is in progress. If the player id is not an identity, the slot must
// be of the same origin.
func (g *Gateway) join(ctx context.Context, id string, player newPlayer) (*wire.PlayerSession, error) {
	unlock, err := g.joins.lock(ctx, id+"\x00"+player.id)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer unlock()
	slots, err := g.reserved(ctx, player.id)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		p := &slots[i]
		same := player.origin == "" || g.slots.has(p.PlayerSessionId, player.origin)
		if p.GameSessionId == id && same && incomplete(p) == nil {
			return p, nil
		}
	}
	made, err := g.reserve(ctx, id, []newPlayer{player})
	if err != nil {
		return nil, err
	}
	if player.origin != "" {
		g.slots.add(made[0].PlayerSessionId, player.origin)
	}
	return &made[0], nil
}

// joinAll is join for one player. Several players get new player sessions with every request, all or none.
func (g *Gateway) joinAll(ctx context.Context, id string, players []newPlayer) ([]wire.PlayerSession, error) {
	if len(players) > 1 {
		return g.reserve(ctx, id, players)
	}
	slot, err := g.join(ctx, id, players[0])
	if err != nil {
		return nil, err
	}
	return []wire.PlayerSession{*slot}, nil
}

// inOrder returns player sessions in the order of the players. It fails if one is missing or incomplete.
func inOrder(got []wire.PlayerSession, players []newPlayer) ([]wire.PlayerSession, error) {
	byPlayer := make(map[string]*wire.PlayerSession, len(got))
	for i := range got {
		byPlayer[got[i].PlayerId] = &got[i]
	}
	list := make([]wire.PlayerSession, len(players))
	for i, p := range players {
		s := byPlayer[p.id]
		if err := incomplete(s); err != nil {
			return nil, err
		}
		list[i] = *s
	}
	return list, nil
}

// incomplete returns a failure for a player session without an id or an endpoint: the oldest clients would wait for
// ever.
func incomplete(p *wire.PlayerSession) error {
	if p == nil || p.PlayerSessionId == "" || p.IpAddress == "" || p.Port.Or(0) <= 0 {
		return &failure{code: Internal,
			err: errors.New("the service returned a player session without an id, an address or a port")}
	}
	return nil
}

// checkBuild applies the BuildCheck to a client that joins.
func (c *call) checkBuild(id string, build wire.Opt[int32]) error {
	if !build.IsSet() || c.g.buildCheck == BuildOff {
		return nil
	}
	s, err := c.g.service.DescribeGameSession(c.ctx, id)
	if err != nil {
		return failed(c.ctx, err, SessionNotFound, Internal)
	}
	of, ok := buildOf(s)
	if !ok || of == build {
		return nil
	}
	if c.g.buildCheck == BuildWarn {
		if suppressed, ok := c.g.lines.Allow("other build"); ok {
			c.g.log.Warn("a client joins a game session of another build",
				"build", build.Or(0), "game_session_build", of.Or(0), "suppressed", suppressed)
		}
		return nil
	}
	return fail(BuildMismatch, "The game session is for build %d, the client is build %d.", of.Or(0), build.Or(0))
}

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

// keyLocks is one lock per key. The zero value is ready to use.
type keyLocks struct {
	mu  sync.Mutex
	all map[string]*keyLock
}

type keyLock struct {
	held  chan struct{} // full while the lock is held
	users int           // holders and waiters; guarded by keyLocks.mu
}

// lock waits for the lock of a key. The error is ctx's.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k := l.get(key)
	select {
	case k.held <- struct{}{}:
		return func() {
			<-k.held
			l.put(key, k)
		}, nil
	case <-ctx.Done():
		l.put(key, k)
		return nil, ctx.Err()
	}
}

func (l *keyLocks) get(key string) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.all[key]
	if !ok {
		if l.all == nil {
			l.all = make(map[string]*keyLock)
		}
		k = &keyLock{held: make(chan struct{}, 1)}
		l.all[key] = k
	}
	k.users++
	return k
}

func (l *keyLocks) put(key string, k *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.all, key)
	}
}
