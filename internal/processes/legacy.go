package processes

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A LegacyConnector opens connections of game servers on server SDK 3 and 4, which have no credentials and name neither
// fleet nor compute. The control plane implements it.
type LegacyConnector interface {
	// ConnectLegacy connects the process with this address and id: to the running one, or as a new one.
	ConnectLegacy(ctx context.Context, r LegacyRequest) (LegacyConnection, error)

	// LegacyState describes the process of a connection, for operators.
	LegacyState(ctx context.Context, key Key) LegacyState
}

// LegacyRequest is what is known of a game server on server SDK 3 or 4 when it connects.
type LegacyRequest struct {
	Address                 string // of its machine
	ProcessID               string
	SDKVersion, SDKLanguage string
	HostingOnly             bool // connect to a process that hosts a game session, or fail with NotFound
	Acknowledges            bool // Started will be called for each game session that is pushed
	Push                    func(Push)
	Replaced                func()
	Moved                   func(LegacyConnection) // called when the process has moved to another fleet: use this one
}

// LegacyState describes a process for operators.
type LegacyState struct {
	Status      fleet.ProcessStatus // 0: unknown
	Connected   bool
	GameSession string // its id; "" for none
	Session     fleet.GameSessionStatus
}

// LegacyPast is what a process did before its present connection.
type LegacyPast struct {
	Ready bool // it has called ProcessReady
	Ended bool // it has called ProcessReady, and the service ended it since
}

// A LegacyConnection is a Connection with what only old processes do.
type LegacyConnection interface {
	Connection

	// Key names the process.
	Key() Key

	// Before returns what happened before this connection.
	Before() LegacyPast

	// Release ends a game session; the process can then host the next one.
	Release(gameSession string, done func(error))

	// Started reports whether the process has accepted the game session that was pushed. With an error the game session
	// ends.
	Started(gameSession string, err error)

	// Unknown reports that it is not known whether the process has accepted the game session, which stays.
	Unknown(gameSession string, err error)

	// Crashed reports that the process has ended without notice. It returns at once.
	Crashed()
}

// Attach connects a process that its endpoint has authenticated. An ended process with its id is another one.
func (c *Connections) Attach(ctx context.Context, r *LegacyRequest, key Key, past LegacyPast) (*Attached, error) {
	n := c.newConnection(&ConnectRequest{SDKVersion: r.SDKVersion, SDKLanguage: r.SDKLanguage, Push: r.Push,
		Replaced: r.Replaced}, key)
	n.announcement.Legacy, n.legacy = true, r
	if _, err := n.open(ctx); err != nil {
		return nil, err
	}
	return &Attached{n, past}, nil
}

// An Attached is a connection that was opened with Attach.
type Attached struct {
	*connection
	past LegacyPast
}

// Key names the process.
func (a *Attached) Key() Key { return a.key }

// Before implements LegacyConnection.
func (a *Attached) Before() LegacyPast { return a.past }

// Release implements LegacyConnection.
func (a *Attached) Release(gameSession string, done func(error)) {
	if id, ok := a.sessionID(gameSession, done); ok {
		a.mu.Lock()
		a.session, a.started = namedSession{}, "" // the next one may have the same id
		a.mu.Unlock()
		a.submit(fleet.ReleaseProcess{ProcessKey: a.key.Process, GameSession: id}, done)
	}
}

// Started implements LegacyConnection.
func (a *Attached) Started(gameSession string, err error) {
	if err == nil {
		a.all.starts.settle(gameSession, nil)
		return
	}
	a.Release(gameSession, func(error) { a.all.starts.settle(gameSession, err) })
}

// Unknown implements LegacyConnection.
func (a *Attached) Unknown(gameSession string, err error) { a.all.starts.settle(gameSession, err) }

// Crashed implements LegacyConnection.
func (a *Attached) Crashed() {
	a.registry.drop(a.connection)
	a.registry.shard.Post(a.command(fleet.LoseProcess{ProcessKey: a.key.Process, Crashed: true}))
}

// BecomeReady is Activate, and waits for it.
func (a *Attached) BecomeReady(ctx context.Context, p *fleet.Process) error {
	command := fleet.ReadyProcess{ProcessKey: a.key.Process, Port: p.Port, LogPaths: p.LogPaths}
	_, err := router.Ask[*fleet.Process](ctx, a.registry.shard, a.command(command))
	return err
}

// Bring moves an idle process from one of the rooms to another one, where it is ready at once, and reports whether
// there was one. prepare is called before a process moves.
func (c *Connections) Bring(ctx context.Context, to fleet.RoomID, from []fleet.RoomID,
	prepare func(*fleet.Compute) error) (bool, error) {
	for _, room := range from {
		idle, err := router.InRoom(ctx, c.router, room, idleProcesses)
		if err != nil {
			return false, err
		}
		for _, p := range idle {
			n := c.registryOf(room).primary(Key{room, p.ProcessKey})
			if n == nil || n.legacy == nil {
				continue
			}
			if err := prepare(p.compute); err != nil {
				return false, err
			}
			if err := n.move(ctx, to, p.Process); !fault.Is(err, fault.Conflict) {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// idleProcesses returns the processes that can host a game session, the one that has waited for longest first.
func idleProcesses(r *fleet.Room) (idle []idleProcess) {
	r.Processes(func(p *fleet.Process) bool {
		compute, ok := r.Compute(p.Compute)
		if ok && p.Status == fleet.ProcessIdle && p.Connected && p.TerminateBy == 0 {
			idle = append(idle, idleProcess{p, compute})
		}
		return true
	})
	slices.SortStableFunc(idle, func(a, b idleProcess) int { return cmp.Compare(a.Ready, b.Ready) })
	return idle
}

type idleProcess struct {
	*fleet.Process
	compute *fleet.Compute
}

// move ends the process in its room, and connects it to another one. It is a Conflict if the process is not idle any
// more. If the service stops in between, the process is moved when it reconnects, because its record says that it was
// moved.
func (n *connection) move(ctx context.Context, to fleet.RoomID, p *fleet.Process) error {
	leave := n.command(fleet.MoveProcess{ProcessKey: n.key.Process})
	if _, err := router.Ask[any](ctx, n.registry.shard, leave); err != nil {
		return err
	}
	moved, err := n.all.Attach(ctx, n.legacy, Key{to, n.key.Process}, LegacyPast{Ready: true})
	if err == nil {
		n.legacy.Moved(moved)
		err = moved.BecomeReady(ctx, p)
	}
	if err != nil { // it cannot host anything now, so it has to end and start again
		n.terminate(n.all.router.Now(), n.timesAsked())
	}
	return err
}

// starts are the creations of game sessions that wait until a process has accepted theirs.
type starts struct {
	mu      sync.Mutex
	waiting map[string][]*Start // by the id of the game session
}

// A Start is a creation that may wait for its process.
type Start struct {
	all     *starts
	session string
	pushed  bool
	settled chan error
}

// ExpectStart prepares to wait for the process of a game session that will be created. Call End afterwards.
func (c *Connections) ExpectStart(gameSessionID string) *Start {
	s := &Start{all: &c.starts, session: gameSessionID, settled: make(chan error, 1)}
	c.starts.mu.Lock()
	defer c.starts.mu.Unlock()
	if c.starts.waiting == nil {
		c.starts.waiting = map[string][]*Start{}
	}
	c.starts.waiting[gameSessionID] = append(c.starts.waiting[gameSessionID], s)
	return s
}

// Wait waits until the process has accepted the game session, and returns why it has not. It returns at once if the
// process does not report it, or is connected to another node.
func (s *Start) Wait(ctx context.Context) error {
	s.all.mu.Lock()
	pushed := s.pushed
	s.all.mu.Unlock()
	if !pushed {
		return nil
	}
	select {
	case err := <-s.settled:
		return err
	case <-ctx.Done():
		return fault.New(fault.ServiceUnavailable, "The game server has not answered yet. Try again.")
	}
}

// End forgets the creation.
func (s *Start) End() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	left := slices.DeleteFunc(s.all.waiting[s.session], func(w *Start) bool { return w == s })
	if s.all.waiting[s.session] = left; len(left) == 0 {
		delete(s.all.waiting, s.session)
	}
}

func (s *starts) pushed(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiting[session] {
		w.pushed = true
	}
}

// settle ends the waiting. A second call for the same game session does nothing.
func (s *starts) settle(session string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiting[session] {
		select {
		case w.settled <- err:
		default:
		}
	}
}
