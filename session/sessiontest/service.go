package sessiontest

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/session"
)

// A Service is a session service in memory, which Remote reaches. Its game servers are at 127.0.0.1, each session at a
// port of its own from 7777 on; Connector connects to them.
//
// It accepts every fleet id and none, and no filter but "hasAvailablePlayerSessions=true". Sessions are sorted by age.
type Service struct {
	Faults
	// Capacity is the maximum number of running sessions; 0 for no limit.
	Capacity int
	// Manual leaves sessions activating and placements pending until Activate and Fulfil.
	Manual bool
	// NoMatch is for tests of games without matchmaking: matchmaking calls then return ErrUnsupported.
	NoMatch bool
	// NoWatch is for tests of games whose service does not report changes: WatchTicket returns ErrUnsupported, and
	// clients poll.
	NoWatch bool

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when anything changes
	region     string
	last       int // number of the newest id
	sessions   map[string]*gameSession
	placements map[string]*session.Placement
	queued     map[string]session.CreateSessionOnQueueRequest
	tickets    map[string]*session.Ticket
	accepted   map[string][]string // by ticket, the players who have accepted
	players    map[string][]string // of each ticket
}

// Remote returns the provider that reaches the service, for session.Config.Remote. It is a session.Matchmaker, a
// TicketWatcher and a Releaser too.
func (s *Service) Remote() session.Provider { return provider{s} }

type provider struct{ *Service }

// A gameSession is a session with its slots.
type gameSession struct {
	config session.SessionConfig
	token  string
	build  int32
	places map[string]*place // by player session id
}

// A place is the slot of a player in a session.
type place struct {
	session.Reservation
	taken bool // the player has connected
}

// lock locks the service and, for the zero value, makes its maps.
func (s *Service) lock() (unlock func()) {
	s.mu.Lock()
	if s.sessions == nil {
		s.changed = make(chan struct{})
		s.sessions = make(map[string]*gameSession)
		s.placements = make(map[string]*session.Placement)
		s.queued = make(map[string]session.CreateSessionOnQueueRequest)
		s.tickets = make(map[string]*session.Ticket)
		s.accepted = make(map[string][]string)
		s.players = make(map[string][]string)
	}
	return s.mu.Unlock
}

// notify wakes the calls that wait for a change.
func (s *Service) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Service) id(kind string) string {
	s.last++
	return kind + "-" + strconv.Itoa(s.last)
}

// Configure implements session.Provider. Without a region it is "test-region-1".
func (s provider) Configure(ctx context.Context, region string) error {
	if err := s.enter(ctx, "Configure"); err != nil {
		return err
	}
	defer s.lock()()
	s.region = cmp.Or(region, "test-region-1")
	return nil
}

// Region returns the region of the last Configure.
func (s *Service) Region() string {
	defer s.lock()()
	return s.region
}

// begin begins a call of the service, which must be configured.
func (s *Service) begin(ctx context.Context, op string) error {
	if err := s.enter(ctx, op); err != nil {
		return err
	}
	defer s.lock()()
	if s.region == "" {
		return session.Errorf(op, session.ErrNotConfigured, "call Configure first")
	}
	return nil
}

// CreateSession implements session.Provider.
func (s provider) CreateSession(ctx context.Context, r session.CreateSessionRequest) (string, error) {
	if err := s.begin(ctx, "CreateSession"); err != nil {
		return "", err
	}
	defer s.lock()()
	for id, g := range s.sessions {
		if r.IdempotencyToken != "" && g.token == r.IdempotencyToken {
			return id, nil
		}
	}
	g, err := s.create("CreateSession", session.SessionConfig{
		SessionName: r.SessionName, CreatorID: r.CreatorID, SessionProperties: maps.Clone(r.SessionProperties),
		MaxPlayer: r.MaxPlayer, FleetID: cmp.Or(r.FleetID, r.AliasID), Location: r.Location,
	})
	if err != nil {
		return "", err
	}
	g.token = r.IdempotencyToken
	return g.config.SessionID, nil
}

// create makes a session. The lock is held.
func (s *Service) create(op string, c session.SessionConfig) (*gameSession, error) {
	running := 0
	for _, g := range s.sessions {
		if g.config.Status == session.StatusActive || g.config.Status == session.StatusActivating {
			running++
		}
	}
	if s.Capacity > 0 && running >= s.Capacity {
		return nil, session.Errorf(op, session.ErrUnavailable, "all %d sessions of the fleet are in use", s.Capacity)
	}
	c.SessionID = s.id("session")
	c.CreationTime = time.Unix(int64(s.last), 0).UTC()
	c.IPAddress, c.Port = "127.0.0.1", 7776+s.last
	c.Status, c.StatusReason = session.StatusActive, string(session.StatusNotSet)
	if s.Manual {
		c.Status = session.StatusActivating
	}
	g := &gameSession{config: c, places: make(map[string]*place)}
	s.sessions[c.SessionID] = g
	s.notify()
	return g, nil
}

// CreateSessionOnQueue implements session.Provider.
func (s provider) CreateSessionOnQueue(ctx context.Context, r session.CreateSessionOnQueueRequest) (string, error) {
	if err := s.begin(ctx, "CreateSessionOnQueue"); err != nil {
		return "", err
	}
	defer s.lock()()
	if _, ok := s.placements[r.PlacementID]; ok {
		return "", session.Errorf("CreateSessionOnQueue", session.ErrExists, "there is a placement %s", r.PlacementID)
	}
	s.placements[r.PlacementID] = &session.Placement{PlacementID: r.PlacementID, Status: "PENDING"}
	s.queued[r.PlacementID] = r
	if s.Manual {
		return r.PlacementID, nil
	}
	return r.PlacementID, s.fulfil(r.PlacementID)
}

// fulfil makes the session of a placement. The lock is held.
func (s *Service) fulfil(id string) error {
	r := s.queued[id]
	g, err := s.create("CreateSessionOnQueue", session.SessionConfig{
		SessionName: r.SessionName, SessionProperties: maps.Clone(r.SessionProperties), MaxPlayer: r.MaxPlayer,
		FleetID: r.QueueName,
	})
	if err != nil {
		return err
	}
	g.config.Status = session.StatusActive
	p := s.placements[id]
	p.Status, p.SessionID, p.IPAddress, p.Port = "FULFILLED", g.config.SessionID, g.config.IPAddress, g.config.Port
	return nil
}

// Placement implements session.Provider.
func (s provider) Placement(ctx context.Context, id string) (session.Placement, error) {
	if err := s.begin(ctx, "Placement"); err != nil {
		return session.Placement{}, err
	}
	defer s.lock()()
	p, ok := s.placements[id]
	if !ok {
		return session.Placement{}, session.Errorf("Placement", session.ErrNotFound, "there is no placement %s", id)
	}
	return *p, nil
}
