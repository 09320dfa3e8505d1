//go:build unix

package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/history"
	"github.com/muster-gg/muster/gameserver"
)

// A slot is a place on a compute where one game server process runs after the other.
type slot struct {
	*trial
	compute  string
	location string
	resident bool // its game session goes on as long as the trial

	mu      sync.Mutex
	current *process // nil between two processes
}

// A process is one game server process: a real one, but for that it shares this test's
// process.
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
		p := &process{slot: s, port: int(s.ports.Add(1)),
			Server: gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})}
		if err := p.start(ctx); err != nil {
			if ctx.Err() == nil {
				s.found.Lost("process %s was not let in: %v", p.name(), err)
			}
			p.finish()
			return
		}
		s.set(p)
		select {
		case <-p.Done():
			if err := p.Err(); err != nil && ctx.Err() == nil {
				s.found.Lost("the socket of process %s: %v", p.name(), err)
			}
		case <-ctx.Done():
		}
		s.set(nil)
		p.finish()
	}
}

func (s *slot) set(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = p
}

// now is the present process, nil if there is none.
func (s *slot) now() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

func (p *process) name() string { return fmt.Sprintf("%s:%d", p.slot.compute, p.port) }

// finish closes the connection and waits for what is still running.
func (p *process) finish() {
	p.Close()
	p.Wait()
}

// start connects and says that the process is ready.
func (p *process) start(ctx context.Context) error {
	t := p.slot.trial
	if err := p.Connect(ctx, t.parameters(p.slot.compute)); err != nil {
		return err
	}
	return untilAnswered(ctx, func() error {
		return p.ProcessReady(ctx, gameserver.ProcessParameters{Port: p.port, OnStartGameSession: p.host,
			OnProcessTerminate: p.end})
	})
}

// untilAnswered repeats a request whose reply did not come: no node was there for longer
// than a request waits. The requests that it is for may be repeated.
func untilAnswered(ctx context.Context, request func() error) error {
	for {
		err := request()
		if outcome, _ := calls.OutcomeOf(err); outcome != calls.Unanswered || ctx.Err() != nil ||
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
	placed := false
	t.games.change(g.GameSessionID, func(k *game) {
		if k.process != nil {
			t.found.Doubled("game session %s was given to processes %s and %s", k.arn, k.process.name(), p.name())
		}
		k.process, k.location = p, p.slot.location
		placed = k.input == nil
	})
	if placed { // its creation was nobody's call, and has happened by now
		t.history.Add(history.Operation{Session: g.GameSessionID, Action: history.Create,
			Maximum: int32(g.MaximumPlayerSessionCount)})
	}
	op := t.history.Begin(history.Operation{Session: g.GameSessionID, Action: history.Activate})
	err := untilAnswered(t.ctx, func() error { return p.ActivateGameSession(t.ctx) })
	outcome, fault := calls.OutcomeOf(err)
	t.note(op, outcome, fault, nil)
	if outcome != calls.Acknowledged {
		if t.ctx.Err() == nil && !p.isEnding() {
			t.found.Lost("process %s could not activate game session %s: %v", p.name(), g.GameSessionID, err)
		}
		return
	}
	p.mu.Lock()
	p.active = true
	p.mu.Unlock()
	t.games.change(g.GameSessionID, func(k *game) { k.active = true })
}

// tell makes a request about a player.
func (p *process) tell(action history.Action, s *seat, request func(context.Context) error) {
	t := p.slot.trial
	op := t.history.Begin(history.Operation{Session: p.GameSessionID(), Action: action, Players: []string{s.player}})
	err := request(t.ctx)
	outcome, fault := calls.OutcomeOf(err)
	if outcome == calls.Refused && p.isEnding() {
		// It may have happened. A node that ends before it answers has the request sent again, to another node, which
		// refuses it after the end of the process.
		outcome = calls.Unanswered
	}
	t.note(op, outcome, fault, nil)
	if outcome == calls.Refused {
		t.found.Lost("%s of process %s was refused: %v", action, p.name(), err)
	}
}

// A doorman lets players into the game sessions of a location and out of them, as their game
// servers do, over their sockets.
type doorman struct {
	*trial
	location string
	random   *rand.Rand
}

// step makes one request.
func (d *doorman) step() {
	of, _ := d.games.playing(d.location, d.random)
	if of == nil {
		return
	}
	p := of.process
	switch choice := d.random.IntN(100); {
	case choice < 50:
		if s := d.games.take(of, reserved); s != nil {
			p.tell(history.Accept, s, func(ctx context.Context) error { return p.AcceptPlayerSession(ctx, s.id) })
			d.games.move(s, playing)
		}
	case choice < 98:
		if s := d.games.take(of, playing); s != nil {
			p.tell(history.Remove, s, func(ctx context.Context) error { return p.RemovePlayerSession(ctx, s.id) })
		}
	case !p.slot.resident:
		p.end()
	}
}

// end says goodbye, and lets the next process start. It does nothing the second time.
func (p *process) end() {
	t := p.slot.trial
	p.mu.Lock()
	first, arn := !p.ending, p.arn
	p.ending = true
	p.mu.Unlock()
	if !first {
		return
	}
	if arn = cmp.Or(arn, p.GameSessionID()); arn == "" {
		t.found.Lost("process %s was asked to end, and nobody wanted that", p.name())
		return
	}
	t.games.change(arn, func(k *game) { k.ending = true })
	op := t.history.Begin(history.Operation{Session: arn, Action: history.End})
	outcome, fault := calls.OutcomeOf(p.ProcessEnding(t.ctx))
	t.note(op, outcome, fault, nil)
	p.Close()
}

// isEnding reports whether the process ends, or has been asked to.
func (p *process) isEnding() bool {
	_, ordered := p.TerminationTime()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending || ordered
}

// resting reports whether the process waits for a game session, or hosts one.
func (p *process) resting() bool {
	if p.isEnding() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active || p.GameSessionID() == ""
}

// rests reports whether the slot's process is connected and at rest. The reply to a request
// shows that the connection works, and that everything that the service had to push before
// has come.
func (s *slot) rests(ctx context.Context) bool {
	p := s.now()
	if p == nil || !p.resting() {
		return false
	}
	_, err := p.GetComputeCertificate(ctx)
	return err == nil && p.resting() && p == s.now()
}
