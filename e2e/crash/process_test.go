//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/gameserver"
)

// A slot is a place on a compute where one game server process runs after the
// other.
type slot struct {
	trial   *trial
	compute string
	number  int

	mu      sync.Mutex
	current *process // nil between two processes
	changed chan struct{}
}

// A process is one game server process: a real one, but for that it shares this
// test's process.
type process struct {
	*gameserver.Server
	slot *slot
	port int

	mu     sync.Mutex
	arn    string // of the game session that it was given
	active bool   // it has said that the game session takes players
	ending bool   // it has begun to say goodbye
}

// run keeps a process running until ctx is done.
func (s *slot) run(ctx context.Context) {
	for ctx.Err() == nil {
		p := &process{slot: s, port: int(s.trial.ports.Add(1)),
			Server: gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})}
		if err := p.start(ctx); err != nil {
			if ctx.Err() == nil {
				s.trial.t.Errorf("process %s was not let in: %v", p.name(), err)
			}
			p.finish()
			return
		}
		s.trial.ledger.acknowledge("processes started")
		s.set(p)
		select {
		case <-p.Done():
			if err := p.Err(); err != nil && ctx.Err() == nil {
				s.trial.found.Lost("the socket of process %s: %v", p.name(), err)
			}
		case <-ctx.Done():
		}
		s.set(nil)
		p.finish()
	}
}

func (s *slot) set(p *process) {
	s.mu.Lock()
	s.current = p
	s.mu.Unlock()
	s.wake()
}

// wake tells those who wait that something has changed.
func (s *slot) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// now is the present process, nil if there is none, and a channel that is closed
// when something changes.
func (s *slot) now() (*process, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.changed
}

func (p *process) name() string { return fmt.Sprintf("%s:%d", p.slot.compute, p.port) }

// finish closes the connection and waits for what is still running.
func (p *process) finish() {
	p.Close()
	p.Wait()
}

// start connects with a token that an earlier run of the service may have given.
func (p *process) start(ctx context.Context) error {
	t := p.slot.trial
	err := p.Connect(ctx, gameserver.ServerParameters{
		WebSocketURL: "ws://" + t.service.address, HostID: p.slot.compute, FleetID: t.fleet,
		AuthToken: t.tokens[p.slot.compute],
	})
	if err != nil {
		return err
	}
	return untilAnswered(ctx, func() error {
		return p.ProcessReady(ctx, gameserver.ProcessParameters{Port: p.port, OnStartGameSession: p.host,
			OnProcessTerminate: func() { p.end() }})
	})
}

// untilAnswered repeats a request whose reply did not come: the service was down
// for longer than a request waits.
func untilAnswered(ctx context.Context, request func() error) error {
	for {
		err := request()
		if result, _ := calls.OutcomeOf(err); result != calls.Unanswered || ctx.Err() != nil ||
			errors.Is(err, gameserver.ErrClosed) {
			return err
		}
	}
}

// host is given a game session and says that it takes players.
func (p *process) host(g gameserver.GameSession) {
	t := p.slot.trial
	p.mu.Lock()
	p.arn = g.GameSessionID
	p.mu.Unlock()
	t.ledger.change(p.arn, func(s *session) {
		if s.process != nil {
			t.found.Doubled("game session %s was given to processes %s and %s", s.arn, s.process.name(), p.name())
		}
		s.process = p
		s.ask(active)
	})
	if err := untilAnswered(t.ctx, func() error { return p.ActivateGameSession(t.ctx) }); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if t.ctx.Err() == nil && !p.ending {
			t.found.Lost("process %s could not activate game session %s: %v", p.name(), p.arn, err)
		}
		return
	}
	t.ledger.change(p.arn, func(s *session) {
		s.acknowledge(active)
		t.ledger.count("game sessions activated")
	})
	p.mu.Lock()
	p.active = true
	p.mu.Unlock()
	p.slot.wake()
}

// end says goodbye, and lets the next process start. It does nothing the second
// time.
func (p *process) end() {
	t := p.slot.trial
	p.mu.Lock()
	first, arn := !p.ending, p.arn
	p.ending = true
	p.mu.Unlock()
	if !first {
		return
	}
	if arn != "" {
		t.ledger.change(arn, func(s *session) { s.ask(terminated) })
	}
	begin := time.Now()
	err := p.ProcessEnding(t.ctx)
	switch result, _ := calls.OutcomeOf(err); {
	case result == calls.Acknowledged:
		if arn == "" {
			arn = p.GameSessionID() // it came at the same moment
		}
		if arn != "" {
			t.ledger.change(arn, func(s *session) { s.ask(terminated); s.acknowledge(terminated) })
		}
		t.ledger.acknowledge("processes ended")
	case t.ctx.Err() == nil:
		t.t.Logf("process %s got no answer to its end in %s: %v", p.name(), time.Since(begin).Round(time.Millisecond),
			err)
	}
	p.Close()
}

// resting reports whether the process has nothing under way: it waits for a game
// session, or hosts one.
func (p *process) resting() bool {
	_, ordered := p.TerminationTime()
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ending && !ordered && (p.active || p.GameSessionID() == "")
}

// isEnding reports whether the process ends, or has been asked to.
func (p *process) isEnding() bool {
	_, ordered := p.TerminationTime()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending || ordered
}

// state describes the process, for errors.
func (p *process) state() string {
	if p == nil {
		return "no process runs"
	}
	_, ordered := p.TerminationTime()
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("process %s (%s) was given %q, has %q, active %t, asked to end %t, ending %t, %v", p.name(),
		p.ProcessID(), p.GameSessionID(), p.arn, p.active, ordered, p.ending, p.Err())
}

// settle waits until the slot's process is connected and at rest, and returns
// it. A reply to a request shows that the connection works, and that everything
// that the service had to push before has come.
func (s *slot) settle(ctx context.Context) (*process, error) {
	for {
		p, changed := s.now()
		if p != nil && !p.isEnding() {
			if _, err := p.GetComputeCertificate(ctx); err == nil && p.resting() {
				return p, nil
			}
		}
		if p == nil || !p.resting() {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("slot %s/%d: %w; %s", s.compute, s.number, ctx.Err(), p.state())
		}
	}
}
