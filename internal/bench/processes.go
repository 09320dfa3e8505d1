package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// sessionLimit is how long a game session may take to reach its process, or to be activated there.
	sessionLimit = 20 * time.Second
	// requestLimit is how long a reply may take. Source: server SDK 5, SERVICE_CALL_TIMEOUT.
	requestLimit = 20 * time.Second
	// healthInterval is the interval of health reports, plus or minus healthJitter. Source: server SDK 5,
	// HEALTHCHECK_INTERVAL and HEALTHCHECK_MAX_JITTER.
	healthInterval = 60 * time.Second
	healthJitter   = 10 * time.Second
)

var (
	// errNoGameSession: a created game session was not activated.
	errNoGameSession = errors.New("game session not activated in time")
	// errNoReply: a request was not answered.
	errNoReply = fmt.Errorf("no reply in time: %w", os.ErrDeadlineExceeded)
	// errEnded: the process was ended by this program.
	errEnded = errors.New("the process has ended")
)

// A process is a game server. It stays connected until it ends, and does not reconnect.
type process struct {
	socket *gameSocket
	place  int           // number of its location
	ids    string        // prefix of its request ids
	gone   chan struct{} // closed when the socket is no longer read

	mu      sync.Mutex
	start   func(session string) // receives the game session to host, on the reading goroutine
	last    uint64               // number of the last request
	waiting []awaited
	session string
	failure error       // why requests fail
	health  *time.Timer // until the next report; nil while not ready
}

type awaited struct {
	number uint64
	action string
	done   func(error)
}

// connect creates a game server and connects it, not yet ready.
func (s *site) connect(ctx context.Context, c *conn, number int) (*process, error) {
	host, err := s.compute(ctx, c, number)
	if err != nil {
		return nil, err
	}
	at, path, err := parseSocketURL(s.socketURL, s.cfg.TLS)
	if err != nil {
		return nil, err
	}
	socket, err := dialSocket(ctx, at, path, url.Values{
		"pID": {rand.Text()}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"}, "ComputeId": {host.name},
		"FleetId":          {s.fleet},
		"IdempotencyToken": {rand.Text()}, "Authorization": {host.token},
	})
	if err != nil {
		return nil, err
	}
	return newProcess(socket, s.location(number)), nil
}

func newProcess(socket *gameSocket, place int) *process {
	p := &process{
		socket: socket, place: place, gone: make(chan struct{}),
		ids: fmt.Sprintf("%08x-%04x-4000-8000-", mathrand.Uint32(), mathrand.Uint32()>>16),
	}
	go p.run()
	return p
}

// run receives messages until the socket is closed.
func (p *process) run() {
	defer close(p.gone)
	p.fail(p.socket.read(p.receive))
}

// fail ends all pending requests and the health reports. The first reason is kept.
func (p *process) fail(reason error) {
	p.socket.close()
	p.mu.Lock()
	if p.failure == nil {
		p.failure = reason
	}
	waiting := p.waiting
	p.waiting = nil
	if p.health != nil {
		p.health.Stop()
	}
	p.mu.Unlock()
	for _, w := range waiting {
		w.done(reason)
	}
}

func (p *process) receive(message []byte) {
	if id := member(message, "RequestId"); len(id) > idSize {
		p.replied(id[1:], message)
		return
	}
	if textMember(message, "Action") == "CreateGameSession" {
		id := textMember(message, "GameSessionId")
		p.mu.Lock()
		known := p.session == id // the service repeats it until the activation
		p.session = id
		start := p.start
		p.mu.Unlock()
		if !known && start != nil {
			start(id)
		}
	}
}

const (
	idSize     = len("00000000-0000-4000-8000-000000000000") // of a request
	idCounting = len("000000000000")                         // its last digits, hexadecimal
)

// replied completes a request.
func (p *process) replied(id, message []byte) {
	number, err := strconv.ParseUint(string(id[idSize-idCounting:idSize]), 16, 64)
	if err != nil {
		return
	}
	w, ok := p.complete(number)
	if !ok {
		return
	}
	var status int
	for _, digit := range member(message, "StatusCode") {
		if digit < '0' || digit > '9' {
			break
		}
		status = status*10 + int(digit-'0')
	}
	if status != http.StatusOK {
		w.done(&refusal{w.action, status, textMember(message, "ErrorMessage")})
		return
	}
	w.done(nil)
}

// complete removes a pending request.
func (p *process) complete(number uint64) (awaited, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting {
		if w.number == number {
			end := len(p.waiting) - 1
			p.waiting[i] = p.waiting[end]
			p.waiting[end] = awaited{}
			p.waiting = p.waiting[:end]
			return w, true
		}
	}
	return awaited{}, false
}

// messages holds buffers for requests.
var messages = sync.Pool{New: func() any { b := make([]byte, 0, socketBuffer); return &b }}

// request sends a request. done is called once, at the latest when the socket is closed, and must not block. fields
// appends the members for the action.
func (p *process) request(action string, done func(error), fields func([]byte) []byte) {
	p.mu.Lock()
	failure := p.failure
	p.last++
	number := p.last
	if failure == nil {
		p.waiting = append(p.waiting, awaited{number, action, done})
	}
	p.mu.Unlock()
	if failure != nil {
		done(failure)
		return
	}
	b := messages.Get().(*[]byte)
	defer messages.Put(b)
	*b = append((*b)[:0], '{')
	*b = appendField(*b, "Action", action)
	*b = append(*b, `,"RequestId":"`...)
	*b = append(*b, p.ids...)
	for shift := 4 * (idCounting - 1); shift >= 0; shift -= 4 {
		*b = append(*b, "0123456789abcdef"[number>>shift&0xf])
	}
	*b = append(*b, '"')
	*b = append(fields(*b), '}')
	if err := p.socket.write(opText, *b); err != nil {
		p.fail(err)
	}
}

// A waiter waits for one reply at a time.
type waiter struct {
	reply chan error
	done  func(error)
	limit *time.Timer
}

// waiters are idle waiters.
var waiters = sync.Pool{New: func() any {
	w := &waiter{reply: make(chan error, 1), limit: time.NewTimer(requestLimit)}
	w.done = func(err error) { w.reply <- err }
	return w
}}

// ask sends a request and waits for its reply.
func (p *process) ask(ctx context.Context, action string, fields func([]byte) []byte) error {
	w := waiters.Get().(*waiter)
	w.limit.Reset(requestLimit)
	p.request(action, w.done, fields)
	select {
	case err := <-w.reply:
		w.limit.Stop()
		waiters.Put(w)
		return err
	case <-w.limit.C: // a late reply may arrive: the waiter is not reused
		return errNoReply
	case <-ctx.Done():
		return ctx.Err()
	}
}

func none(b []byte) []byte { return b }

// inSession appends the game session of the process.
func (p *process) inSession(b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return appendField(b, "GameSessionId", p.session)
}

// ready reports the game server ready and starts its health reports. start receives the game session and must not
// block.
func (p *process) ready(ctx context.Context, start func(session string)) error {
	p.mu.Lock()
	p.start = start
	p.mu.Unlock()
	err := p.ask(ctx, "ActivateServerProcess", func(b []byte) []byte {
		return append(b, `,"SdkVersion":"5.6.0","SdkLanguage":"Go","Port":7777,"LogPaths":[]`...)
	})
	if err == nil {
		p.report()
	}
	return err
}

// report reports the health, now and periodically.
func (p *process) report() {
	p.mu.Lock()
	ended := p.failure != nil
	if !ended {
		p.health = time.AfterFunc(healthInterval-healthJitter+mathrand.N(2*healthJitter), p.report)
	}
	p.mu.Unlock()
	if !ended {
		p.request("HeartbeatServerProcess", func(error) {}, func(b []byte) []byte {
			return append(b, `,"HealthStatus":true`...)
		})
	}
}

// accept accepts a player session.
func (p *process) accept(ctx context.Context, ticket string) error {
	return p.ask(ctx, "AcceptPlayerSession", func(b []byte) []byte {
		return appendField(p.inSession(b), "PlayerSessionId", ticket)
	})
}

const activateGameSession = "ActivateGameSession"

// end terminates the process and disconnects.
func (p *process) end(ctx context.Context) error {
	err := p.ask(ctx, "TerminateServerProcess", none)
	p.fail(errEnded)
	<-p.gone
	return err
}

// startPool starts idle processes, each of which activates one game session at once.
func (s *site) startPool(ctx context.Context, n int) error {
	return s.startPoolFor(ctx, n, func(session string) string { return session })
}

// startPoolFor is startPool with a function for the key of a game session's arrival.
func (s *site) startPoolFor(ctx context.Context, n int, key func(session string) string) error {
	if limit := openFiles(); uint64(n)+spareFiles > limit {
		return fmt.Errorf("%d server processes need as many open files, but the limit is %d: "+
			"raise it (ulimit -n) or use a smaller pool", n, limit)
	}
	s.cfg.Note(fmt.Sprintf("starting %d server processes", n))
	return s.each(ctx, n, func(ctx context.Context, c *conn, i int) error {
		p, err := s.launch(ctx, c, i)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.processes = append(s.processes, p)
		s.mu.Unlock()
		return p.ready(ctx, func(session string) {
			p.request(activateGameSession,
				func(err error) { s.arrivals.find(key(session)).settle(p, err) }, p.inSession)
		})
	})
}

const (
	launchLimit = 3 * time.Minute // for all attempts
	firstPause  = time.Second     // between attempts; it doubles
	lastPause   = 30 * time.Second
)

// launch is connect with retries while the service is overloaded.
func (s *site) launch(ctx context.Context, c *conn, number int) (*process, error) {
	begun := s.cfg.Clock.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		p, err := s.connect(ctx, c, number)
		r, refused := errors.AsType[*refusal](err)
		busy := refused && (r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError)
		if !busy || s.cfg.Clock.Since(begun)+pause > launchLimit {
			return p, err
		}
		select {
		case <-s.cfg.Clock.After(pause):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// endProcesses ends the running processes.
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
		err = errors.Join(err, fmt.Errorf("end %d server processes: %w", len(errs), errs[0]))
	}
	return err
}
