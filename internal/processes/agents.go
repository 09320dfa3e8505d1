package processes

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An AgentConnector opens connections of agents, which start and watch the server processes of a compute. Agents
// implements it.
type AgentConnector interface {
	// ConnectAgent authenticates an agent. The error is a *fault.Error: AccessDenied for a bad or expired token, an
	// unknown compute or a wrong fleet; InvalidRequest for missing parameters; else internal.
	ConnectAgent(ctx context.Context, r AgentRequest) (AgentConnection, error)
}

// An AgentRequest is what an agent sends when it connects.
type AgentRequest struct {
	FleetID, ComputeName string
	Authorization        string          // the compute's auth token
	Push                 func(AgentPush) // sends a push; must not block
	Muster               bool            // it is muster agent, which takes the pushes that are Muster's own
}

// An AgentConnection answers for an agent that is connected over one socket. A compute may have several: an agent
// opens the next one before it closes the last. All of them get the pushes.
type AgentConnection interface {
	// Heartbeat reports the state of the compute and the processes that the agent has started.
	Heartbeat(ctx context.Context, b AgentHeartbeat) (AgentHealth, error)
	// RuntimeConfiguration returns what the agent has to run. It is NotFound if the fleet has none.
	RuntimeConfiguration() (*wire.RuntimeConfiguration, error)
	// RoleCredentials returns keys of the role of the fleet for a session of that name; nil if it has none.
	RoleCredentials(session string) (*RoleKeys, error)
	// ProcessExited reports the end of a process that the agent has started, or could not start. detail is a sentence
	// for people; "": none. It can be repeated.
	ProcessExited(ctx context.Context, process, reason, detail string) error
	// PutLines reports lines of a process, which a FollowLogPush has asked for. It is NotFound if they are not read any
	// more.
	PutLines(stream string, l LogLines) error
	// Disconnected reports that the socket has closed. It returns at once.
	Disconnected()
}

// A ComputeStatus is the state of a compute, as agents name it. Source: GameLift Agent, ComputeStatus.
type ComputeStatus string

// The states. Interrupted is Terminating because the machine is taken away.
const (
	ComputeInitializing ComputeStatus = "Initializing"
	ComputeActivating   ComputeStatus = "Activating"
	ComputeActive       ComputeStatus = "Active"
	ComputeTerminating  ComputeStatus = "Terminating"
	ComputeInterrupted  ComputeStatus = "Interrupted"
	ComputeTerminated   ComputeStatus = "Terminated"
)

// An AgentHeartbeat is what an agent reports of its compute.
type AgentHeartbeat struct {
	Status    ComputeStatus
	Processes []string       // ids of those that run
	Backoffs  []AgentBackoff // nil: not reported, as by GameLift's agent
	Builds    []string       // ids of builds from which it starts requested processes; nil: not reported
}

// An AgentBackoff is a program that waits after crashes.
type AgentBackoff struct {
	fleet.Backoff               // without Next
	Wait          time.Duration // from now on
}

// AgentHealth answers a heartbeat.
type AgentHealth struct {
	// Status is Active when a process of the compute is ready, Terminating when the compute is not registered any more,
	// else Initializing, after which an agent starts processes.
	Status                  ComputeStatus
	Unhealthy, Unregistered []string // of the reported processes
}

// An AgentPush is a message to an agent that is no answer: ProcessRegisteredPush, SessionActivatedPush, ForceExitPush,
// StartTerminationPush, RuntimeUpdatedPush, StartProcessPush or FollowLogPush. An agent ignores those about processes
// that it does not know, but for StartProcessPush.
type AgentPush interface{ agentPush() }

// ProcessRegisteredPush reports that a process has called ProcessReady.
type ProcessRegisteredPush struct {
	ProcessID string
	LogPaths  []string // at least one: agents ignore the message without
}

// SessionActivatedPush reports that a process hosts a game session.
type SessionActivatedPush struct{ ProcessID, GameSessionID string }

// ForceExitPush asks to end a process at once.
type ForceExitPush struct {
	ProcessID string
	Reason    fleet.ExitReason
}

// StartTerminationPush asks to stop the compute.
type StartTerminationPush struct{}

// RuntimeUpdatedPush reports that the runtime configuration of the fleet has changed. It is pushed to muster agent
// alone: GameLift's agent reads the configuration every five minutes.
type RuntimeUpdatedPush struct{}

// StartProcessPush asks to start a process of another build than the fleet's own in the next slot that is free. It is
// pushed to muster agent alone, and may be pushed again.
type StartProcessPush struct{ ProcessID, BuildID string }

func (ProcessRegisteredPush) agentPush() {}
func (StartProcessPush) agentPush()      {}
func (SessionActivatedPush) agentPush()  {}
func (ForceExitPush) agentPush()         {}
func (StartTerminationPush) agentPush()  {}
func (RuntimeUpdatedPush) agentPush()    {}

// AgentsConfig configures the connections of agents. All fields are required.
type AgentsConfig struct {
	Router *router.Router
	Clock  clockwork.Clock
	Log    *slog.Logger

	// Runtime returns the runtime configuration of a fleet, or a NotFound fault.
	Runtime func(fleetID string) (*wire.RuntimeConfiguration, error)

	// Role is as in Config.
	Role func(room fleet.RoomID, compute, role, session string) (*RoleKeys, error)
}

// Agents are the connections of agents to this node. What an agent must know follows from the state of its room: a
// fact about a compute has each of its connections read that state, and push what it has not pushed before. Its methods
// are safe for concurrent use.
type Agents struct {
	AgentsConfig
	number atomic.Int32 // of connections

	mu   sync.Mutex
	open map[computeKey]map[*agent]struct{}
	// starting has the ACTIVATING game sessions on computes with a connection.
	starting map[ordinalKey]computeKey
	logs     map[string]*LogStream // by id
}

type computeKey struct {
	room fleet.RoomID
	name string
}

type ordinalKey struct {
	room    fleet.RoomID
	session uint64
}

// NewAgents returns the connections of a region, with none open.
func NewAgents(cfg AgentsConfig) *Agents {
	return &Agents{AgentsConfig: cfg, open: map[computeKey]map[*agent]struct{}{},
		starting: map[ordinalKey]computeKey{}, logs: map[string]*LogStream{}}
}

// roomOf returns the room of a compute whose fleet is given by id or ARN.
func roomOf(r *router.Router, fleetID, compute string) (fleet.RoomID, error) {
	id := fleetID
	if parsed, ok := arn.ParseFleet(id); ok {
		id = parsed
	}
	location, ok := r.Catalog().ComputeLocation(id, compute)
	if !ok {
		return fleet.RoomID{}, fault.New(fault.AccessDenied,
			"Compute %s is not registered in fleet %s. Call RegisterCompute.", compute, fleetID)
	}
	return fleet.RoomID{Fleet: fleet.ID(id), Location: location}, nil
}

// ConnectAgent implements AgentConnector.
func (all *Agents) ConnectAgent(ctx context.Context, r AgentRequest) (AgentConnection, error) {
	room, err := all.AuthorizeCompute(ctx, r.FleetID, r.ComputeName, r.Authorization)
	if err != nil {
		return nil, err
	}
	a := &agent{all: all, key: computeKey{room, r.ComputeName}, push: r.Push, muster: r.Muster,
		pushed: map[string]pushed{}}
	all.add(a)
	a.wake()
	return a, nil
}

func (all *Agents) add(a *agent) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[a.key] == nil {
		all.open[a.key] = map[*agent]struct{}{}
	}
	all.open[a.key][a] = struct{}{}
	all.number.Add(1)
}

func (all *Agents) remove(a *agent) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if _, open := all.open[a.key][a]; !open {
		return
	}
	delete(all.open[a.key], a)
	if len(all.open[a.key]) == 0 {
		delete(all.open, a.key)
		all.endLogs(a.key)
		maps.DeleteFunc(all.starting, func(_ ordinalKey, c computeKey) bool { return c == a.key })
	}
	all.number.Add(-1)
}

// Observe processes a commit of a shard, on its commit goroutine.
func (all *Agents) Observe(commit *router.Commit) {
	if all.number.Load() == 0 {
		return
	}
	for i, f := range commit.Facts {
		room := commit.Rooms[i]
		switch e := f.Body.(type) {
		case *fleet.ProcessRequested:
			all.wake(computeKey{room, e.Compute})
		case *fleet.ProcessBecameReady:
			all.wake(computeKey{room, e.Compute})
		case *fleet.ProcessHasEnded:
			all.wake(computeKey{room, e.Compute})
		case *fleet.ComputeDeregistered:
			all.wake(computeKey{room, e.Name})
		case *fleet.GameSessionCreated:
			all.expect(ordinalKey{room, e.Ordinal}, computeKey{room, e.Host.Compute})
		case *fleet.GameSessionActivated:
			all.wake(all.takeStarting(ordinalKey{room, e.Ordinal}))
		case *fleet.GameSessionEnded:
			all.takeStarting(ordinalKey{room, e.Ordinal})
		case *catalog.RuntimeConfigurationUpdated:
			all.runtimeUpdated(fleet.ID(e.Fleet))
		}
	}
}

// runtimeUpdated notifies the agents of a fleet.
func (all *Agents) runtimeUpdated(id fleet.ID) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for key, agents := range all.open {
		if key.room.Fleet != id {
			continue
		}
		for a := range agents {
			if a.muster { // GameLift's logs an error, and reads it at intervals
				a.push(RuntimeUpdatedPush{})
			}
		}
	}
}

// wake has the connections of a compute read its state.
func (all *Agents) wake(key computeKey) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for a := range all.open[key] {
		a.wake()
	}
}

// expect records an ACTIVATING game session on a compute with a connection.
func (all *Agents) expect(session ordinalKey, on computeKey) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.open[on]) > 0 {
		all.starting[session] = on
	}
}

func (all *Agents) takeStarting(session ordinalKey) computeKey {
	all.mu.Lock()
	defer all.mu.Unlock()
	on := all.starting[session]
	delete(all.starting, session)
	return on
}

// An agent is one socket of the agent of a compute. It implements AgentConnection.
type agent struct {
	all  *Agents
	key  computeKey
	push func(AgentPush)

	muster bool // see AgentRequest

	mu      sync.Mutex
	reading bool            // a goroutine reads the state
	again   bool            // the state may have changed since
	closed  bool            // the socket has closed
	timer   clockwork.Timer // wakes when the next process must have exited; nil: none

	// Of the goroutine that reads.
	pushed   map[string]pushed // by process
	stopping bool              // StartTerminationPush was pushed
}

// pushed is what has been pushed about a process over a socket.
type pushed struct {
	registered, exit bool
	requested        bool   // StartProcessPush was pushed
	session          string // the game session's id
}

// exitLimit is how long a process may take to exit after ProcessEnding. Source: API reference, EventCode
// SERVER_PROCESS_PROCESS_EXIT_TIMEOUT.
const exitLimit = 30 * time.Second

// noLogs is the log path of a process that has none: an agent ignores a registration without. It must be below
// /local/game, and must not exist, because agents upload and delete what they find.
const noLogs = "/local/game/.no-logs"

// computeState is what a connection reads of its room.
type computeState struct {
	compute   *fleet.Compute // nil: it is not registered
	processes []hostedProcess
}

type hostedProcess struct {
	*fleet.Process
	session string // id of its game session, which was activated; "" for none
}

// read reads the state of the compute. It records ACTIVATING game sessions in the same turn of the shard's loop, before
// they can be activated.
func (a *agent) read(ctx context.Context) (computeState, error) {
	return router.InRoom(ctx, a.all.Router, a.key.room, func(r *fleet.Room) (s computeState) {
		s.compute, _ = r.Compute(a.key.name)
		r.ProcessesOf(a.key.name, func(p *fleet.Process) bool {
			hosted := hostedProcess{Process: p}
			if g, ok := r.GameSessionAt(p.Session); ok && p.Status == fleet.ProcessHosting {
				switch g.Status {
				case fleet.Activating:
					a.all.expect(ordinalKey{a.key.room, g.Ordinal}, a.key)
				case fleet.Active:
					hosted.session = g.ID
				}
			}
			s.processes = append(s.processes, hosted)
			return true
		})
		return s
	})
}

// wake has a goroutine push what follows from the state. It does not wait.
func (a *agent) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.again = true
	if !a.reading && !a.closed {
		a.reading = a.all.Router.Go(a.follow)
	}
}

// follow reads the state and pushes, until nothing has changed meanwhile. After a failure the next heartbeat starts it
// again.
func (a *agent) follow() {
	for a.proceed() {
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		state, err := a.read(ctx)
		cancel()
		if err == nil {
			a.pushState(&state)
		}
		a.all.Router.WarnUnless(err == nil, "state of a compute not read for its agent", "err", err)
	}
}

// proceed reports whether follow has to read the state, or ends it.
func (a *agent) proceed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reading, a.again = a.again && !a.closed, false
	return a.reading
}

// pushState pushes what the agent has to know or to do, and has not been pushed.
func (a *agent) pushState(s *computeState) {
	if s.compute == nil {
		if !a.stopping {
			a.push(StartTerminationPush{})
		}
		a.stopping = true
		return
	}
	a.stopping = false
	now := a.all.Clock.Now()
	var next time.Time // when a process must have exited
	known := map[string]pushed{}
	for _, p := range s.processes {
		if p.Exited {
			continue
		}
		done := a.pushed[p.ID]
		a.pushProcess(p, &done)
		switch reason, at := forceExit(p.Process); {
		case reason == "" || done.exit:
		case now.Before(at):
			if next.IsZero() || at.Before(next) {
				next = at
			}
		default:
			a.push(ForceExitPush{p.ID, reason})
			done.exit = true
		}
		known[p.ID] = done
	}
	a.pushed = known
	a.wakeAt(next, now)
}

// pushProcess pushes what an agent has to know of a process that runs, or is to be started.
func (a *agent) pushProcess(p hostedProcess, done *pushed) {
	if p.Requested && p.Status != fleet.ProcessEnded && a.muster && !done.requested {
		a.push(StartProcessPush{p.ID, p.Build})
		done.requested = true
	}
	if p.Status != fleet.ProcessIdle && p.Status != fleet.ProcessHosting {
		return
	}
	if !done.registered {
		paths := p.LogPaths
		if len(paths) == 0 {
			paths = []string{noLogs}
		}
		a.push(ProcessRegisteredPush{p.ID, paths})
		done.registered = true
	}
	if p.session != "" && p.session != done.session {
		a.push(SessionActivatedPush{p.ID, a.all.Router.GameSessionARN(a.key.room, p.session)})
		done.session = p.session
	}
}

// forceExit returns why and when the agent has to end a process that has ended for the service; no reason if it has
// not, or ends without. Processes that end with their compute are ended by the agent itself.
func forceExit(p *fleet.Process) (reason fleet.ExitReason, at time.Time) {
	if p.Status != fleet.ProcessEnded {
		return "", at
	}
	switch p.End {
	case fleet.EndedItself:
		return fleet.ExitTimeout, p.Ended.Time().Add(exitLimit)
	case fleet.EndedCrashed:
		return fleet.ExitCrashed, at
	case fleet.EndedUnhealthy:
		return fleet.ExitUnhealthy, at
	case fleet.EndedNeverReady:
		return fleet.ExitReadyTimeout, at
	case fleet.EndedByForce:
		return fleet.ExitForceTerminated, at
	}
	return "", at
}

// wakeAt sets the timer; a zero time stops it.
func (a *agent) wakeAt(at, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if !at.IsZero() && !a.closed {
		a.timer = a.all.Clock.AfterFunc(at.Sub(now), a.wake)
	}
}

// Heartbeat implements AgentConnection.
func (a *agent) Heartbeat(ctx context.Context, b AgentHeartbeat) (h AgentHealth, err error) {
	switch b.Status {
	case ComputeInitializing, ComputeActivating, ComputeActive:
	case ComputeTerminating, ComputeInterrupted, ComputeTerminated:
		stop := fleet.StopCompute{Name: a.key.name, Stopped: b.Status == ComputeTerminated}
		_, err := router.AskRoom[any](ctx, a.all.Router, a.key.room, stop)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return h, err
		}
	default:
		return h, fault.New(fault.InvalidRequest, "Status %q is not one of Initializing, Activating, Active, "+
			"Terminating, Interrupted, Terminated", b.Status)
	}
	state, err := a.read(ctx)
	if err != nil {
		return h, err
	}
	if err := a.record(ctx, &state, &b); err != nil {
		return h, err
	}
	a.wake() // for what an earlier failure has left
	return state.health(b.Processes), nil
}

// unsupervised returns those of the processes of a heartbeat that the room does not know to be run by an agent.
func (s *computeState) unsupervised(processes []string) (ids []string) {
	for _, p := range s.processes {
		if !p.Supervised && p.Status != fleet.ProcessEnded && slices.Contains(processes, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// record stores what a heartbeat has reported and the room does not know, once the region's feature level allows it.
func (a *agent) record(ctx context.Context, s *computeState, b *AgentHeartbeat) error {
	var commands []fleet.Command
	if ids := s.unsupervised(b.Processes); len(ids) > 0 {
		commands = append(commands, fleet.SuperviseProcesses{Compute: a.key.name, IDs: ids})
	}
	if s.compute != nil && b.Backoffs != nil {
		report := fleet.ReportBackoffs{Compute: a.key.name}
		for _, r := range b.Backoffs[:min(len(b.Backoffs), fleet.MaxBackoffs)] {
			r.Next = event.At(a.all.Clock.Now().Add(r.Wait))
			report.Backoffs = append(report.Backoffs, r.Backoff)
		}
		if !s.compute.HasBackoffs(report.Backoffs) {
			commands = append(commands, report)
		}
	}
	if s.compute != nil && b.Builds != nil && !slices.Equal(s.compute.Builds, b.Builds) {
		commands = append(commands, fleet.ReportBuilds{Compute: a.key.name, Builds: b.Builds})
	}
	for _, c := range commands {
		_, err := router.AskRoom[any](ctx, a.all.Router, a.key.room, c)
		if err != nil && !fault.Is(err, fault.ServiceUnavailable) && !fault.Is(err, fault.NotFound) {
			return err // else the next heartbeat tries again
		}
	}
	return nil
}

// health answers a heartbeat.
func (s *computeState) health(processes []string) AgentHealth {
	h := AgentHealth{Status: ComputeInitializing}
	known := make(map[string]*fleet.Process, len(s.processes))
	for _, p := range s.processes {
		known[p.ID] = p.Process
		if p.Status == fleet.ProcessIdle || p.Status == fleet.ProcessHosting {
			h.Status = ComputeActive
		}
	}
	if s.compute == nil {
		h.Status = ComputeTerminating
	}
	for _, id := range processes {
		switch p := known[id]; {
		case p == nil:
			h.Unregistered = append(h.Unregistered, id)
		case p.Status == fleet.ProcessEnded && p.End == fleet.EndedUnhealthy && !p.Exited:
			h.Unhealthy = append(h.Unhealthy, id)
		}
	}
	return h
}

// RuntimeConfiguration implements AgentConnection.
func (a *agent) RuntimeConfiguration() (*wire.RuntimeConfiguration, error) {
	return a.all.Runtime(string(a.key.room.Fleet))
}

// RoleCredentials implements AgentConnection.
func (a *agent) RoleCredentials(session string) (*RoleKeys, error) {
	return a.all.Role(a.key.room, a.key.name, "", session)
}

// ProcessExited implements AgentConnection.
func (a *agent) ProcessExited(ctx context.Context, process, reason, detail string) error {
	exit := fleet.ExitProcess{ProcessKey: fleet.ProcessKey{Compute: a.key.name, ID: process},
		Reason: fleet.ExitReason(reason), Detail: detail}
	_, err := router.AskRoom[any](ctx, a.all.Router, a.key.room, exit)
	return err
}

// Disconnected implements AgentConnection.
func (a *agent) Disconnected() {
	a.all.remove(a)
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.wakeAt(time.Time{}, time.Time{})
}
