package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

// sessionLimit is how long a game session may take to reach its process, or to
// be activated there.
const sessionLimit = 20 * time.Second

// errNoGameSession says that a game session was created and never heard of again.
var errNoGameSession = errors.New("game session not activated in time")

// A process is a game server.
type process struct {
	server *gameserver.Server
	place  int // number of its location
}

// connect makes a game server and connects it. It is not yet ready.
func (s *site) connect(ctx context.Context, c *conn, number int) (*process, error) {
	host, err := s.compute(ctx, c, number)
	if err != nil {
		return nil, err
	}
	server := gameserver.New(gameserver.Config{TLSConfig: s.cfg.TLS, Getenv: func(string) string { return "" }})
	err = server.Connect(ctx, gameserver.ServerParameters{
		WebSocketURL: s.socketURL, HostID: host.name, FleetID: s.fleet, AuthToken: host.token,
	})
	if err != nil {
		server.Close()
		return nil, err
	}
	return &process{server, s.location(number)}, nil
}

// ready says that a game server waits for a game session.
func (p *process) ready(ctx context.Context, start func(gameserver.GameSession)) error {
	return p.server.ProcessReady(ctx, gameserver.ProcessParameters{Port: 7777, OnStartGameSession: start})
}

// end tells the service that the process ends, and disconnects.
func (p *process) end(ctx context.Context) error {
	err := p.server.ProcessEnding(ctx)
	p.server.Close()
	p.server.Wait()
	return err
}

// startPool starts processes that wait, each for one game session, which it
// activates at once.
func (s *site) startPool(ctx context.Context, n int) error {
	if limit := openFiles(); uint64(n)+spareFiles > limit {
		return fmt.Errorf("%d server processes need as many open files, and this program may have %d: raise the limit (ulimit -n) or use a smaller pool", n, limit)
	}
	s.cfg.Note(fmt.Sprintf("starting %d server processes", n))
	return s.each(ctx, n, func(_ context.Context, c *conn, i int) error {
		p, err := s.connect(ctx, c, i)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.processes = append(s.processes, p)
		s.mu.Unlock()
		return p.ready(ctx, func(g gameserver.GameSession) {
			s.arrivals.find(g.GameSessionID).settle(p, p.server.ActivateGameSession(ctx))
		})
	})
}

// endProcesses ends those that run.
func (s *site) endProcesses(ctx context.Context) error {
	if len(s.processes) > 0 {
		s.cfg.Note(fmt.Sprintf("ending %d server processes", len(s.processes)))
	}
	var mu sync.Mutex
	var errs []error
	err := s.each(ctx, len(s.processes), func(ctx context.Context, _ *conn, i int) error {
		if err := s.processes[i].end(ctx); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
		return nil
	})
	s.processes = nil
	if len(errs) > 0 {
		err = errors.Join(err, fmt.Errorf("%d server processes did not end well, the first: %w", len(errs), errs[0]))
	}
	return err
}

// An arrival is a game session that has reached its process. Who created it and
// who activates it meet here, in either order.
type arrival struct {
	settled chan struct{}
	process *process
	err     error // of the activation
}

// settle says that the activation was answered. It is called once.
func (a *arrival) settle(p *process, err error) {
	a.process, a.err = p, err
	close(a.settled)
}

// arrivals are the game sessions that one side has heard of and not the other.
type arrivals struct {
	mu   sync.Mutex
	byID map[string]*arrival
}

func (a *arrivals) find(id string) *arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.byID[id]
	if found == nil {
		if a.byID == nil {
			a.byID = map[string]*arrival{}
		}
		found = &arrival{settled: make(chan struct{})}
		a.byID[id] = found
	}
	return found
}

// await waits until a game session is ACTIVE, and forgets it.
func (a *arrivals) await(ctx context.Context, limit *time.Timer, id string) (*process, error) {
	found := a.find(id)
	limit.Reset(sessionLimit)
	defer limit.Stop()
	select {
	case <-found.settled:
	case <-limit.C:
		return nil, errNoGameSession
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.mu.Lock()
	delete(a.byID, id)
	a.mu.Unlock()
	return found.process, found.err
}
