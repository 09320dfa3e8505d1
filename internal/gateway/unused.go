package gateway

import (
	"container/list"
	"context"
	"sync"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// unused limits the unused game sessions per caller: those that it created and no player has joined. Without the limit
// one caller could occupy every game server. The counts are in memory: each gateway counts for itself, from zero after
// a restart.
type unused struct {
	most int // per caller; 0 is no limit

	mu  sync.Mutex
	all *list.List // of *holding, the oldest first
	by  map[string][]*list.Element
}

// A holding is a game session that counts against its caller, from the begin of its creation.
type holding struct {
	caller    string
	session   string // "" until it is known
	placement string // of an asynchronous creation; "" for others
}

// maxHoldings limits the memory of all callers together. The oldest holding is removed first: its game session was
// usually used or has ended.
const maxHoldings = 10_000

func newUnused(most int) *unused {
	return &unused{most: most, all: list.New(), by: make(map[string][]*list.Element)}
}

// take counts a new game session against its caller; nil if the caller has too many.
func (u *unused) take(caller string) *list.Element {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.by[caller]) >= u.most {
		return nil
	}
	if u.all.Len() >= maxHoldings {
		u.remove(u.all.Front())
	}
	e := u.all.PushBack(&holding{caller: caller})
	u.by[caller] = append(u.by[caller], e)
	return e
}

// release removes a holding. The holding may be nil.
func (u *unused) release(e *list.Element) {
	if e == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.remove(e)
}

// remove is release; the lock is held.
func (u *unused) remove(e *list.Element) {
	h := e.Value.(*holding)
	kept := u.by[h.caller][:0:0]
	for _, other := range u.by[h.caller] {
		if other != e {
			kept = append(kept, other)
		}
	}
	if u.by[h.caller] = kept; len(kept) == 0 {
		delete(u.by, h.caller)
	}
	u.all.Remove(e)
}

// settle records the result of a creation. A game session of an earlier request is not counted again.
func (u *unused) settle(e *list.Element, out *created) {
	if e == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if out.replayed {
		u.remove(e)
		return
	}
	h := e.Value.(*holding)
	if h.session = out.sessionID; out.placement != nil {
		h.placement = out.placement.PlacementId
	}
}

// of returns copies of the holdings of a caller.
func (u *unused) of(caller string) map[*list.Element]holding {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[*list.Element]holding, len(u.by[caller]))
	for _, e := range u.by[caller] {
		all[e] = *e.Value.(*holding)
	}
	return all
}

// hold counts a new game session against its caller, or fails if the caller has too many unused ones. The element is
// nil without a limit.
func (g *Gateway) hold(ctx context.Context, caller string) (*list.Element, error) {
	if g.unused.most == 0 {
		return nil, nil
	}
	if e := g.unused.take(caller); e != nil {
		return e, nil
	}
	for e, h := range g.unused.of(caller) { // only at the limit, which most callers never reach
		free, err := g.isFree(ctx, h)
		if err != nil {
			return nil, err
		}
		if free {
			g.unused.release(e)
		}
	}
	if e := g.unused.take(caller); e != nil {
		return e, nil
	}
	return nil, fail(LimitExceeded,
		"You have created %d game sessions that no player has entered, which is the limit. "+
			"Have a player enter one, or wait until one ends.", g.unused.most)
}

// isFree reports whether a holding no longer counts: a player has joined its game session, or it has ended.
func (g *Gateway) isFree(ctx context.Context, h holding) (bool, error) {
	id := h.session
	if h.placement != "" {
		out, err := g.queues.DescribeGameSessionPlacement(ctx,
			&wire.DescribeGameSessionPlacementInput{PlacementId: h.placement})
		if fault.Is(err, fault.NotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		switch p := out.GameSessionPlacement; p.Status {
		case wire.GameSessionPlacementStatePending:
			return false, nil
		case wire.GameSessionPlacementStateFulfilled:
			id = p.GameSessionArn
		default:
			return true, nil
		}
	}
	if id == "" { // it is being created
		return false, nil
	}
	s, err := g.service.DescribeGameSession(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	if err != nil || ending(s) {
		return err == nil, err
	}
	return g.entered(ctx, id)
}

// entered reports whether a player is or was connected to a game session. A RESERVED player session does not count.
func (g *Gateway) entered(ctx context.Context, id string) (bool, error) {
	for _, status := range []wire.PlayerSessionStatus{
		wire.PlayerSessionStatusActive, wire.PlayerSessionStatusCompleted,
	} {
		out, err := g.service.DescribePlayerSessions(ctx, &wire.DescribePlayerSessionsInput{
			GameSessionId: id, PlayerSessionStatusFilter: string(status),
		})
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		for i := range out.PlayerSessions { // a service without filters returns all
			if out.PlayerSessions[i].Status == status {
				return true, nil
			}
		}
	}
	return false, nil
}
