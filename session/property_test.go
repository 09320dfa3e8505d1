package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/muster-gg/muster/session"
)

// Whatever is called, in whatever order and from wherever, with failures,
// cancellations and a Close in the middle: every call completes once, sessions
// stay within their graph, and nothing is left.
func TestRandomInterleavings(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWorld(t, func(c *session.Config) { c.FallbackToLAN = seed%2 == 0 })
			moves := watchMoves(w.Client)
			p := &players{world: w, results: []session.SearchResult{w.found(t), {SessionID: "lan", LAN: true, IPAddress: "10.0.0.2", Port: 7777}}}
			var wait sync.WaitGroup
			for player := range uint64(4) {
				wait.Go(func() { p.play(rand.New(rand.NewPCG(seed, player)), 60) })
			}
			if seed%4 == 3 {
				wait.Go(func() {
					if err := w.Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			w.end(t)
			moves.check(t)
			p.check(t)
		})
	}
}

// players make calls at random and remember them.
type players struct {
	*world
	results []session.SearchResult
	mu      sync.Mutex
	made    []madeCall
}

type madeCall struct {
	id   session.OpID
	done <-chan struct{}
	err  func() error
}

func note[T any](p *players, op *session.Op[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = append(p.made, madeCall{op.ID(), op.Done(), op.Err})
}

func (p *players) play(r *rand.Rand, calls int) {
	for range calls {
		if r.IntN(4) == 0 {
			p.disturb(r)
		}
		ctx, cancel := context.WithCancel(context.Background())
		p.one(ctx, r)
		if r.IntN(5) == 0 {
			cancel()
		}
		defer cancel()
	}
}

// disturb lets a call fail.
func (p *players) disturb(r *rand.Rand) {
	boom := session.Errorf("Test", session.ErrTransport, "boom")
	switch r.IntN(3) {
	case 0:
		p.service.Fail([]string{"Host", "Reserve", "Find"}[r.IntN(3)], boom)
	case 1:
		p.connector.Fail([]string{"Connect", "Close"}[r.IntN(2)], boom)
	case 2:
		p.lan.Fail([]string{"Announce", "Update", "Search"}[r.IntN(3)], boom)
	}
}

// one makes a call.
func (p *players) one(ctx context.Context, r *rand.Rand) {
	n, name := p.Named(), []string{"a", "b"}[r.IntN(2)]
	settings := small
	settings.IsLANMatch = r.IntN(2) == 0
	switch r.IntN(16) {
	case 0, 1:
		note(p, n.CreateAsync(ctx, name, settings))
	case 2, 3:
		note(p, n.StartAsync(ctx, name))
	case 4:
		note(p, n.JoinAsync(ctx, name, p.results[r.IntN(2)]))
	case 5:
		note(p, n.UpdateAsync(ctx, name, settings))
	case 6, 7:
		note(p, n.EndAsync(ctx, name))
	case 8, 9:
		note(p, n.DestroyAsync(ctx, name))
	case 10:
		note(p, n.RegisterPlayerAsync(ctx, name, "bob"))
	case 11:
		note(p, n.UnregisterPlayerAsync(ctx, name, "bob"))
	case 12:
		note(p, n.FindAsync(ctx, session.FindQuery{LAN: settings.IsLANMatch}))
	case 13:
		note(p, n.CancelFindAsync(ctx))
	case 14:
		note(p, p.JoinSessionAsync(ctx, session.JoinSessionRequest{SessionID: p.results[0].SessionID, PlayerID: "ada"}))
	case 15:
		note(p, p.LeaveSessionAsync(ctx))
	}
}

// check looks at the completions, after Close.
func (p *players) check(t *testing.T) {
	t.Helper()
	completed := make(map[session.OpID][]error)
	for _, e := range p.events() {
		if done, ok := e.(interface{ Outcome() session.Completion }); ok {
			completed[done.Outcome().Op] = append(completed[done.Outcome().Op], done.Outcome().Err)
		}
	}
	for _, made := range p.made {
		select {
		case <-made.done:
		default:
			t.Errorf("call %d is not complete", made.id)
		}
		errs := completed[made.id]
		if len(errs) == 0 && errors.Is(made.err(), session.ErrClosed) {
			continue // called after Close
		}
		if len(errs) != 1 || !errors.Is(errs[0], made.err()) {
			t.Errorf("call %d: completions %v, error %v", made.id, errs, made.err())
		}
		if err := made.err(); err != nil && !slices.ContainsFunc(session.Kinds, func(kind error) bool { return errors.Is(err, kind) }) {
			t.Errorf("call %d: an error of no kind: %v", made.id, err)
		}
	}
}
