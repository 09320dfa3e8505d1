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
// cancellations and a Close in the middle: every call completes once, and
// nothing is left.
func TestRandomInterleavings(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWorld(t, func(c *session.Config) { c.FallbackToLAN = seed%2 == 0 })
			p := &players{world: w, results: []session.SearchResult{w.found(t),
				{SessionID: "lan", LAN: true, IPAddress: "10.0.0.2", Port: 7777}}}
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
			if worked := p.check(t); worked == 0 && seed%4 != 3 { // else Close may have come first
				t.Error("no call has worked")
			}
		})
	}
}

// players make calls at random and remember them.
type players struct {
	*world
	results []session.SearchResult
	mu      sync.Mutex
	made    []*session.Op
}

func (p *players) note(op *session.Op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = append(p.made, op)
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
	var call func(context.Context) error
	switch r.IntN(16) {
	case 0, 1:
		call = func(ctx context.Context) error { return n.Create(ctx, name, settings) }
	case 2, 3:
		call = func(ctx context.Context) error { return n.Start(ctx, name) }
	case 4:
		call = func(ctx context.Context) error { return n.Join(ctx, name, p.results[r.IntN(2)]) }
	case 5:
		call = func(ctx context.Context) error { return n.Update(ctx, name, settings) }
	case 6, 7:
		call = func(ctx context.Context) error { return n.End(ctx, name) }
	case 8, 9:
		call = func(ctx context.Context) error { return n.Destroy(ctx, name) }
	case 10:
		call = func(ctx context.Context) error { return n.RegisterPlayer(ctx, name, "bob") }
	case 11:
		call = func(ctx context.Context) error { return n.UnregisterPlayer(ctx, name, "bob") }
	case 12:
		call = func(ctx context.Context) error {
			_, err := n.Find(ctx, session.FindRequest{LAN: settings.IsLANMatch})
			return err
		}
	case 13:
		call = n.CancelFind
	case 14:
		call = func(ctx context.Context) error {
			return p.JoinSession(ctx, session.JoinSessionRequest{SessionID: p.results[0].SessionID, PlayerID: "ada"})
		}
	case 15:
		call = p.LeaveSession
	}
	p.note(p.Async(ctx, call))
}

// check looks at the completions, after Close, and counts those without an error.
func (p *players) check(t *testing.T) (worked int) {
	t.Helper()
	completed := make(map[session.OpID][]error)
	for _, e := range p.events() {
		if done, ok := e.(session.Complete); ok {
			completed[done.Op] = append(completed[done.Op], done.Err)
		}
	}
	for _, made := range p.made {
		select {
		case <-made.Done():
		default:
			t.Errorf("call %d is not complete", made.ID())
		}
		errs := completed[made.ID()]
		if len(errs) == 0 && errors.Is(made.Err(), session.ErrClosed) {
			continue // called after Close
		}
		if len(errs) != 1 || !errors.Is(errs[0], made.Err()) {
			t.Errorf("call %d: completions %v, error %v", made.ID(), errs, made.Err())
		}
		err := made.Err()
		if err == nil {
			worked++
		} else if !slices.ContainsFunc(session.Kinds, func(kind error) bool { return errors.Is(err, kind) }) {
			t.Errorf("call %d: an error of no kind: %v", made.ID(), err)
		}
	}
	return worked
}
