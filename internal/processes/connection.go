package processes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A connection is one socket of one server process. It implements Connection.
type connection struct {
	all          *Connections
	registry     *registry
	key          Key
	announcement fleet.ConnectProcess
	signed       bool   // it has no token, and will receive one
	endpoint     string // where it reconnects with the token; only if signed
	push         func(Push)
	replaced     func()
	legacy       *LegacyRequest // nil: it is on server SDK 5

	mu      sync.Mutex
	session namedSession // the last one in a request
	started string       // the game session that was pushed; never push one twice over a socket
	ending  bool         // TerminateProcess was pushed
	asked   int          // how often the process has asked again for what was pushed
	early   bool         // no process yet: the one with its id has ended, and this may be that one
	closed  bool         // the socket has closed
	renewed time.Time    // when RefreshConnection was pushed last; zero: never
	over    sync.Once
}

func (n *connection) command(c fleet.Command) region.RoomCommand {
	return region.RoomCommand{Room: n.key.Room, Command: c}
}

// submit sends a command to the room without waiting.
func (n *connection) submit(c fleet.Command, done func(error)) {
	router.Submit(n.registry.shard, callLimit, n.command(c), done)
}

// open announces a new connection and makes it the primary one of its process.
func (n *connection) open(ctx context.Context) (Connection, error) {
	n.registry.expect(n)
	process, err := router.Ask[*fleet.Process](ctx, n.registry.shard, n.command(n.announcement))
	switch {
	case errors.Is(err, shard.ErrOutcomeUnknown):
		n.registry.abandon(n)
		return nil, err
	case n.registry.arrived(n): // the process is new: there is nothing to push
		return n, nil
	case fault.Is(err, fault.NotFound) && !n.signed:
		return nil, fault.New(fault.AccessDenied,
			"Compute %s is not registered in fleet %s", n.key.Process.Compute, n.key.Room.Fleet)
	case err != nil:
		return nil, err
	case process.Status == fleet.ProcessEnded: // it has reconnected because an answer was lost
		if process.Idempotency == n.announcement.Idempotency {
			n.replacedOnce()
		} else { // or it is a new one with the same id
			n.setEarly(true)
		}
		return n, nil
	}
	if old := n.registry.install(n); old != nil {
		old.replacedOnce()
	}
	if err := n.catchUp(ctx); err != nil {
		n.Disconnected()
		return nil, err
	}
	return n, nil
}

// announce reports to the room that the process has this connection, and catches up.
func (n *connection) announce(ctx context.Context) error {
	if _, err := router.Ask[*fleet.Process](ctx, n.registry.shard, n.command(n.announcement)); err != nil {
		return err
	}
	return n.catchUp(ctx)
}

// catchUp pushes what follows from the state of the process, unless the connection is not the primary one any more.
func (n *connection) catchUp(ctx context.Context) error {
	asked := n.timesAsked()
	type state struct {
		process *fleet.Process
		session *fleet.GameSession
	}
	found, err := router.InRoom(ctx, n.all.router, n.key.Room, func(r *fleet.Room) (found state) {
		if p, ok := r.Process(n.key.Process); ok {
			found.process = p
			found.session, _ = r.GameSessionAt(p.Session)
		}
		return found
	})
	process, session := found.process, found.session
	switch {
	case err != nil:
		return err
	case n.registry.primary(n.key) != n:
		return nil
	case process == nil || process.Status == fleet.ProcessEnded:
		return fault.New(fault.AccessDenied,
			"Process %s has ended. Process ids must be unique between executions.", n.key.Process.ID)
	case !process.Connected:
		return n.announce(ctx) // the end of the previous connection was recorded after the start of this one
	}
	if session != nil && session.Status == fleet.Activating && process.Status == fleet.ProcessHosting {
		n.startGameSession(n.all.sessionPush(n.key.Room, session), asked)
	}
	for _, update := range n.registry.takeMissed(n) {
		n.push(update)
	}
	if process.TerminateBy != 0 {
		n.terminate(process.TerminateBy, asked)
	}
	return nil
}

// hosted pushes the game session for which the process was requested. After a failure the process gets it when it
// connects again.
func (n *connection) hosted() {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	err := n.catchUp(ctx)
	n.all.router.WarnUnless(err == nil, "game session of a requested process not pushed", "err", err)
}

// resume announces the connection to a shard that has recovered and considers no connection open.
func (n *connection) resume(ctx context.Context) {
	err := n.announce(ctx)
	if fault.Is(err, fault.AccessDenied) || fault.Is(err, fault.NotFound) { // the process has ended
		n.registry.drop(n)
		n.replacedOnce()
		return
	}
	n.registry.loseOrphan(n) // the socket may have closed meanwhile
	n.all.router.WarnUnless(err == nil || ctx.Err() != nil, "server process not announced again", "err", err)
}

// timesAsked returns how often the process has asked again for what was pushed.
func (n *connection) timesAsked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// startGameSession pushes a game session, unless it was pushed, or the process has asked again since asked was taken,
// before the state was read: it may have begun the game session since.
func (n *connection) startGameSession(push CreateGameSessionPush, asked int) {
	n.mu.Lock()
	first := asked == n.asked && n.started != push.GameSessionID
	if first {
		n.started = push.GameSessionID
	}
	n.mu.Unlock()
	if first {
		if n.legacy != nil && n.legacy.Acknowledges {
			n.all.starts.pushed(push.GameSessionID)
		}
		n.push(push)
	}
}

// terminate asks the process to end, as startGameSession does.
func (n *connection) terminate(by event.Time, asked int) {
	n.mu.Lock()
	first := asked == n.asked && !n.ending
	n.ending = n.ending || first
	n.mu.Unlock()
	if first {
		n.push(TerminateProcessPush{TerminationTime: by.Time()})
	}
}

// ended asks the process to end, unless it ended by itself, and closes the connection.
func (n *connection) ended(e *fleet.ProcessHasEnded) {
	if e.Reason == fleet.EndedByMove { // by the endpoint, which connects it to another room
		return
	}
	if e.Reason != fleet.EndedItself {
		n.terminate(e.At, n.timesAsked())
	}
	n.replacedOnce()
}

func (n *connection) replacedOnce() { n.over.Do(n.replaced) }

// refreshPause is the minimum time between two RefreshConnection pushes over one socket. The server SDKs report their
// health right after the activation and then once a minute, and expect the push again with a report as long as they
// have not moved.
const refreshPause = 30 * time.Second

// refresh issues a token to a process that signed its request, because the server SDKs do not sign again when they
// reconnect. The process moves to the URL that it has dialed itself: it may not be able to use another one, such as
// wss:// with a certificate that it does not know.
func (n *connection) refresh() {
	if !n.signed || !n.refreshDue() {
		return
	}
	command := n.command(fleet.IssueToken{Compute: n.key.Process.Compute})
	n.registry.shard.Submit(command, func(answer any, err error) {
		if grant, ok := answer.(fleet.TokenGrant); ok && err == nil {
			token := n.all.cfg.Token(n.key.Room, grant.Compute.Name, grant.Token.Serial)
			n.push(RefreshConnectionPush{Endpoint: n.endpoint, AuthToken: token})
		}
	})
}

// refreshDue reports whether the last push was long enough ago, and records the next one.
func (n *connection) refreshDue() bool {
	now := n.all.cfg.Clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.renewed.IsZero() && now.Sub(n.renewed) < refreshPause {
		return false
	}
	n.renewed = now
	return true
}

// noteLost reports to the room that the process is not connected. The report cannot be rejected: when the network
// fails, more connections than fit into the queue may be lost at once.
func (n *connection) noteLost() {
	n.registry.shard.Post(n.command(fleet.LoseProcess{ProcessKey: n.key.Process}))
}
