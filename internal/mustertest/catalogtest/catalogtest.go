// Package catalogtest is a catalog in memory, for tests of packages that only read and change it.
package catalogtest

import (
	"context"
	"sync"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
)

// A Store is a catalog with the default limits. Its methods are safe for concurrent use.
type Store struct {
	clock clockwork.Clock

	mu    sync.Mutex
	state *catalog.State
}

// New returns an empty catalog whose commands have the time of a clock.
func New(clock clockwork.Clock) *Store {
	return &Store{clock: clock, state: catalog.New(catalog.DefaultLimits())}
}

// Catalog returns the state after the last change.
func (s *Store) Catalog() *catalog.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Copy()
}

// Change carries out a command. The error is a *fault.Error.
func (s *Store) Change(_ context.Context, c catalog.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, err := s.state.Decide(event.At(s.clock.Now()), c)
	for _, e := range events {
		s.state.Apply(e)
	}
	return err
}
