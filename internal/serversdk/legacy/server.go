package legacy

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/processes"
)

// A link is a socket of a game server.
type link interface {
	// push sends a push. started is called once with the answer to it, if the protocol has one: nil if the game server
	// has accepted it.
	push(p push, started func(error))
}

// about is what a game server says of itself.
type about struct{ language, version, protocol string }

// acknowledges reports whether the game server acknowledges pushes.
func (a about) acknowledges() bool { return a.protocol == socketIO }

// The protocols, as reports show them.
const (
	socketIO = "socket.io"
	overHTTP = "http"
)

// A server is one game server over all its sockets.
type server struct {
	endpoint   *Endpoint
	key        serverKey
	connecting sync.Mutex // held while it connects

	mu      sync.Mutex
	about   about
	conn    processes.LegacyConnection // nil: not connected
	links   []link                     // open sockets
	asking  map[link]bool              // sockets over which requests have come
	pending int                        // requests
	opened  time.Time                  // when the first of the present sockets was opened
	left    time.Time                  // when the last socket was closed, or it was created

	readyOver link // the socket over which ProcessReady came; nil: none since the process was connected
	ended     bool // the process has ended
	toldToEnd bool // TerminateProcess was pushed

	pushed    string          // the game session that was pushed last
	pushedAt  time.Time       // zero: it was held
	accepted  string          // the game session that the game server has accepted last
	activated string          // and activated
	held      clockwork.Timer // pushes a game session again; see hold

	requests    map[string]int // for reports, by message
	lastRequest string
	lastAt      time.Time
	healthAt    time.Time
	lastError   string
}

func (s *server) learn(a about) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.language != "" || s.about.protocol == "" {
		s.about = a
	}
}

// processID is the id of its process in the service.
func (s *server) processID() string {
	if s.key.number == 0 {
		return s.key.pid
	}
	return s.key.pid + "." + strconv.Itoa(s.key.number+1)
}

func (s *server) sdk() about {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.about
}

func (s *server) connection() processes.LegacyConnection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// connect connects the process, unless it is connected. With hostingOnly it must host a game session.
func (s *server) connect(ctx context.Context, hostingOnly bool) error {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	if s.connection() != nil {
		return nil
	}
	return s.reconnect(ctx, hostingOnly)
}

// reconnect connects the process. The caller holds connecting.
func (s *server) reconnect(ctx context.Context, hostingOnly bool) error {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	s.mu.Lock()
	s.conn, s.readyOver, s.ended, s.toldToEnd = nil, nil, false, false
	about := s.about
	s.mu.Unlock()
	conn, err := s.endpoint.Servers.ConnectLegacy(ctx, processes.LegacyRequest{
		Address: s.key.address, ProcessID: s.processID(), SDKVersion: about.version, SDKLanguage: about.language,
		HostingOnly: hostingOnly, Acknowledges: about.acknowledges(),
		Push: s.push, Replaced: s.processEnded,
		Moved: func(c processes.LegacyConnection) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.conn = c
		},
	})
	if err != nil {
		return err
	}
	if !conn.Before().Ready { // a new process, whose game session may have the id of an earlier one
		s.forgetSession()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
	return nil
}

// forgetSession forgets the game session that the game server has started: the next one may have the same id.
func (s *server) forgetSession() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushed, s.accepted, s.activated = "", "", ""
}

// processEnded is called when the service has ended the process, or it has connected to another node.
func (s *server) processEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if len(s.links) == 0 { // it was connected by HTTP alone
		s.conn, s.left = nil, s.endpoint.Clock.Now()
	}
}

// open adds a socket, unless there are too many.
func (s *server) open(l link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openLocked(l)
}

func (s *server) openLocked(l link) bool {
	if len(s.links) >= maxSockets {
		return false
	}
	if len(s.links) == 0 {
		s.opened = s.endpoint.Clock.Now()
	}
	s.links = append(s.links, l)
	return true
}

// openFirst adds a socket over which a request has come, if there is no other one.
func (s *server) openFirst(l link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) > 0 || !s.openLocked(l) {
		return false
	}
	s.asking = map[link]bool{l: true}
	return true
}

// leave removes a socket. After the last one the process is lost; if the game server has said that it is leaving, and
// not that its process ends, it has crashed.
func (s *server) leave(l link, leaving bool) {
	s.mu.Lock()
	s.links = slices.DeleteFunc(s.links, func(other link) bool { return other == l })
	delete(s.asking, l)
	if s.readyOver == l {
		s.readyOver = gone{}
	}
	conn, ended := s.conn, s.ended
	last := len(s.links) == 0
	if last {
		s.conn, s.left = nil, s.endpoint.Clock.Now()
	}
	s.mu.Unlock()
	switch {
	case !last || conn == nil:
	case leaving && !ended:
		conn.Crashed()
	default:
		conn.Disconnected()
	}
}

// gone stands for a socket that was closed.
type gone struct{ link }

func (s *server) leftBefore(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.links) == 0 && s.conn == nil && (s.ended || s.left.Before(t))
}

// A readiness is what ProcessReady means.
type readiness int

const (
	firstReady   readiness = iota // of the connected process
	readyAgain                    // the same call again
	newRun                        // of a new process with the pID of an earlier one
	otherProcess                  // of another running process with the same pID
)

// readiness finds out what a ProcessReady over a socket means, and records the socket.
//
// A process calls ProcessReady once. So a second call over another socket, while the first is open, is another process
// with the same pID: the port to Node.js of therealsamf sends that of its parent. After the first socket has closed,
// or after the process has ended, it is a new process: an editor runs the game again, or a container restarted.
func (s *server) readiness(l link) readiness {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.conn != nil && s.conn.Before().Ready
	_, closed := s.readyOver.(gone)
	switch {
	case s.conn == nil || s.ended || closed || s.readyOver == nil && before:
		return newRun
	case s.readyOver == nil:
		s.readyOver = l
		return firstReady
	case s.readyOver == l || !s.about.acknowledges():
		return readyAgain
	default:
		return otherProcess
	}
}

// begin makes the game server a new process.
func (s *server) begin(ctx context.Context, l link) error {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	s.mu.Lock()
	conn, ended := s.conn, s.ended
	s.mu.Unlock()
	s.forgetSession()
	if conn != nil && !ended { // without the lock: a push may wait for it
		conn.Crashed()
	}
	if err := s.reconnect(ctx, false); err != nil {
		return err
	}
	s.mu.Lock()
	s.readyOver, conn = l, nil
	if len(s.links) == 0 { // closed meanwhile
		conn, s.conn = s.conn, nil
	}
	s.mu.Unlock()
	if conn != nil {
		conn.Disconnected()
	}
	return nil
}

// split makes a socket, with the one for its pushes, that of another game server with the same pID.
func (s *server) split(ctx context.Context, l *socket) (*server, error) {
	other := s.another(l)
	for _, k := range s.separate(l) {
		if k != l && !other.open(k) {
			continue // it stays
		}
		if closed := k.move(other); closed {
			other.leave(k, false)
		}
	}
	return other, other.begin(ctx, l)
}

// another returns a server with the same pID and no other socket, and adds the socket.
func (s *server) another(l *socket) *server {
	key := s.key
	for {
		key.number++
		if other := s.endpoint.join(key, s.sdk()); other.openFirst(l) {
			return other
		}
	}
}

// separate removes a socket that has sent ProcessReady, and the one for pushes that was opened next to it: an SDK opens
// both at about the same time, and nothing else shows that they belong together. With one socket for pushes, or none,
// each process keeps what it has.
func (s *server) separate(l *socket) []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.links, link(l))
	var mates []int
	for i, other := range s.links {
		if _, ok := other.(*socket); ok && !s.asking[other] {
			mates = append(mates, i)
		}
	}
	leaving := []*socket{l}
	if len(mates) > 1 {
		distance := func(i int) int { return max(2*(i-at), 2*(at-i)+1) } // of two equal ones the later
		nearest := slices.MinFunc(mates, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
		leaving = append(leaving, s.links[nearest].(*socket))
	}
	for _, k := range leaving {
		s.links = slices.DeleteFunc(s.links, func(o link) bool { return o == link(k) })
		delete(s.asking, k)
	}
	return leaving
}
