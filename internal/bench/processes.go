package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// A process is a game server on server SDK 5. It stays connected until it ends, and does not reconnect.
type process struct {
	gameConn
	ids string // prefix of its request ids
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
	return newProcess(socket), nil
}

func newProcess(socket *gameSocket) *process {
	p := &process{
		gameConn: newGameConn(socket),
		ids:      fmt.Sprintf("%08x-%04x-4000-8000-", mathrand.Uint32(), mathrand.Uint32()>>16),
	}
	go p.run(p.receive)
	return p
}

func (p *process) receive(message []byte) {
	if id := member(message, "RequestId"); len(id) > idSize {
		p.replied(id[1:], message)
		return
	}
	if textMember(message, "Action") == "CreateGameSession" {
		p.assign(textMember(message, "GameSessionId"))
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

// request sends a request. done is called once, at the latest when the socket is closed, and must not block. fields
// appends the members for the action.
func (p *process) request(action string, done func(error), fields func([]byte) []byte) {
	number, ok := p.begin(action, done)
	if !ok {
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

// ask sends a request and waits for its reply.
func (p *process) ask(ctx context.Context, action string, fields func([]byte) []byte) error {
	return await(ctx, func(done func(error)) { p.request(action, done, fields) })
}

func none(b []byte) []byte { return b }

// inSession appends the game session of the process.
func (p *process) inSession(b []byte) []byte {
	return appendField(b, "GameSessionId", p.gameSession())
}

// ready reports the game server ready and starts its health reports. start receives the game session and must not
// block.
func (p *process) ready(ctx context.Context, start func(session string)) error {
	p.onGameSession(start)
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
	if p.schedule(p.report) {
		p.request("HeartbeatServerProcess", func(error) {}, func(b []byte) []byte {
			return append(b, `,"HealthStatus":true`...)
		})
	}
}

// activate activates the game session of the process.
func (p *process) activate(ctx context.Context) error {
	return p.ask(ctx, activateGameSession, p.inSession)
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
	p.disconnect()
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
