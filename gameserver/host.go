package gameserver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/life"
	"github.com/muster-gg/muster/session"
)

const (
	destroyLimit = 30 * time.Second
	drainLimit   = 10 * time.Second
	emptyLimit   = 10 * time.Second
	resumeLimit  = 10 * time.Second
)

// A Host is the session interface of a game server: it hosts the one game session of the process, with callbacks in a
// fixed order, and ends the process.
//
//	host := gameserver.NewHost(gameserver.Config{})
//	callbacks := gameserver.SessionCallbacks{OnCreateSessionBegin: load, OnDestroySessionBegin: save}
//	if _, err := host.Subscribe(callbacks); err != nil {
//		return err
//	}
//	if err := host.Init(ctx, params); err != nil {
//		return err
//	}
//	if err := host.NotifyProcessReady(ctx, 7777); err != nil {
//		return err
//	}
//	err := host.Wait() // for the end
//
// Its Server has the calls that are not here. A Host needs these for itself: ProcessReady, ActivateGameSession,
// AcceptPlayerSession, RemovePlayerSession, ProcessEnding and Close. The methods may be called concurrently, and from
// callbacks unless documented otherwise. NewHost makes it: Init of a zero value fails with ErrInvalid.
//
// # The end
//
// The process ends once, for the first of these reasons: the service asks for it, the process or its game session could
// not be made ready, OnCreateSessionBegin failed, the last player has left and Config.EmptyLimit has passed, the
// connection is lost for good, HandleDestroySession, or Close. Then, in this order: further players are rejected,
// OnDestroySessionBegin, the player sessions of the remaining players are ended, the end of the process is reported to
// the service, OnDestroySessionEnd, the connection is closed, Done. Each step has a limit, so that the end comes
// whatever a callback does. Source: O3DE AWSGameLift Gem, AWSGameLiftServerManager, in which OnDestroySessionBegin can
// stop the end altogether.
type Host struct {
	cfg       Config
	log       *slog.Logger
	clock     clockwork.Clock
	server    *Server
	callbacks sequence
	ending    context.Context // done when the end begins
	beginEnd  context.CancelFunc
	running   sync.WaitGroup
	done      chan struct{}

	visits  sync.Mutex // guards players, dueAt and due
	players *roster
	dueAt   time.Time       // when due fires; zero if there is none
	due     clockwork.Timer // for the deadline of players

	mu          sync.Mutex
	initialized bool
	subscribers []*SessionCallbacks
	session     *GameSession // nil before there is one
	life        life.Life
	err         error // see Err
}

// NewHost makes a Host that is not connected. It starts nothing.
func NewHost(cfg Config) *Host {
	cfg.fill()
	cfg.DestroyLimit = cmp.Or(max(cfg.DestroyLimit, 0), destroyLimit)
	cfg.DrainLimit = cmp.Or(max(cfg.DrainLimit, 0), drainLimit)
	cfg.EmptyLimit = max(cmp.Or(cfg.EmptyLimit, emptyLimit), 0)
	cfg.ResumeLimit = max(cmp.Or(cfg.ResumeLimit, resumeLimit), 0)
	ending, beginEnd := context.WithCancel(context.Background())
	return &Host{
		cfg: cfg, log: cfg.Log, clock: cfg.clock, server: New(cfg), players: newRoster(cfg),
		ending: ending, beginEnd: beginEnd, done: make(chan struct{}),
	}
}

// Server returns the connection of the Host, for the calls that the Host does not offer.
func (h *Host) Server() *Server { return h.server }

// Init connects the process to the service (InitSDK in the official SDKs), as Server.Connect does. A second Init is
// refused with ErrConnected, and one after the end has begun with ErrEnding. After a failure make a new Host.
func (h *Host) Init(ctx context.Context, params ServerParameters) error {
	const action = "Init"
	if h.server == nil {
		return invalid(action, "the Host is a zero value: make it with NewHost")
	}
	if h.isEnding() {
		return failed(action, ErrEnding)
	}
	if err := h.server.Connect(ctx, params); err != nil {
		return as(action, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isEnding() {
		return failed(action, ErrEnding)
	}
	h.initialized = true
	h.running.Go(func() {
		<-h.server.Done()
		h.terminate("the connection is closed", nil)
	})
	return nil
}

// NotifyProcessReady reports that the process can host a game session, whose players connect to the port. The callbacks
// may be called before it returns. It fails without effect before Init, with ErrNotConnected, and after a success, with
// ErrReady. Any other failure ends the process.
func (h *Host) NotifyProcessReady(ctx context.Context, port int, logPaths ...string) error {
	const action = "NotifyProcessReady"
	if !h.isInitialized() {
		return failed(action, ErrNotConnected)
	}
	err := as(action, h.server.ProcessReady(ctx, ProcessParameters{
		Port: port, LogPaths: logPaths,
		OnStartGameSession:  h.create,
		OnUpdateGameSession: h.update,
		OnHealthCheck:       h.healthy,
		OnProcessTerminate:  func() { h.terminate("the service asks for it", nil) },
		inOrder:             h.callbacks.add,
	}))
	if err != nil && !errors.Is(err, ErrReady) {
		h.terminate("the process could not be made ready", err)
	}
	return err
}

// healthy is the health that is reported once a minute.
func (h *Host) healthy() bool { return h.isInitialized() && h.sessionHealthCheck() == nil }

func (h *Host) isInitialized() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.initialized
}

// SessionConfig returns the game session in its present state; false before there is one.
func (h *Host) SessionConfig() (SessionConfig, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session == nil {
		return SessionConfig{Status: session.StatusNotSet, StatusReason: noReason}, false
	}
	return sessionConfig(*h.session, h.life.State()), true
}

// CertificatePath is the file with the certificate that the players' connections are to be encrypted with; "" if the
// compute has none.
func (h *Host) CertificatePath(ctx context.Context) (string, error) {
	const action = "CertificatePath"
	if !h.isInitialized() {
		return "", failed(action, ErrNotConnected)
	}
	c, err := h.server.GetComputeCertificate(ctx)
	return c.CertificatePath, as(action, err)
}
