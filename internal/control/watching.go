package control

import (
	"context"
	"errors"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
)

// DescribeGameSession describes one game session, also one in the history.
func (sr *sessionReader) DescribeGameSession(ctx context.Context, gameSessionArn string) (*wire.GameSession, error) {
	room, g, err := sr.findSession(ctx, gameSessionArn)
	if err != nil {
		return nil, err
	}
	return sr.gameSession(room, g), nil
}

// WatchGameSession calls changed with a game session, and again whenever it or the number of its players has changed,
// until it is TERMINATED, ctx is done or changed returns an error. Changes in quick succession may be combined.
func (p *Plane) WatchGameSession(
	ctx context.Context, gameSessionArn string, changed func(*wire.GameSession) error,
) error {
	room, g, err := p.findSession(ctx, gameSessionArn)
	if err != nil {
		return err
	}
	news, end := p.watches.Add(sessionKey{room, g.Ordinal})
	defer end()
	for {
		// It is read again even the first time: it may have changed before the watch started.
		if _, g, err = p.findSession(ctx, gameSessionArn); err != nil {
			return err
		}
		if err := changed(p.gameSession(room, g)); err != nil || g.HasEnded() {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// AwaitGameSession returns a game session as soon as it is not ACTIVATING any more.
func (p *Plane) AwaitGameSession(ctx context.Context, gameSessionArn string) (*wire.GameSession, error) {
	var arrived *wire.GameSession
	err := p.WatchGameSession(ctx, gameSessionArn, func(g *wire.GameSession) error {
		if g.Status == wire.GameSessionStatusActivating {
			return nil
		}
		arrived = g
		return errSeen
	})
	if arrived != nil {
		return arrived, nil
	}
	return nil, err
}

// errSeen ends a watch that is not needed any more.
var errSeen = errors.New("seen")

// sessionKey identifies a game session in watches.
type sessionKey struct {
	room    fleet.RoomID
	ordinal uint64
}

// Changes returns a channel that has an element after something has changed in a shard of this node. The caller calls
// end.
func (p *Plane) Changes() (changed <-chan struct{}, end func()) { return p.changes.Add(struct{}{}) }

func (p *Plane) notifyWatches(c *router.Commit) {
	if c.Recovered {
		p.watches.NotifyAll()
	}
	if !p.watches.Any() {
		return
	}
	for i, f := range c.Facts {
		if ordinal := fleet.ChangedGameSession(f.Body); ordinal != 0 {
			p.watches.Notify(sessionKey{c.Rooms[i], ordinal})
		}
	}
}
