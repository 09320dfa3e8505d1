package router

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

const (
	// RepeatWithin is the time after the start of a call within which it is attempted again: longer than a shard has no
	// owner, 12 s. An attempt may take as long as a node waits for another one, 10 s, and callers wait for longer than
	// both.
	RepeatWithin = 15 * time.Second

	// firstPause and longestPause limit the pause between two attempts, which doubles. There is none before the second
	// attempt, because a shard that recovers makes it wait.
	firstPause, longestPause = 10 * time.Millisecond, 500 * time.Millisecond
)

// Ask sends a command to a shard and returns its answer, which is durable; the zero value for a command without one. It
// repeats a command that was not executed because the shard failed or had no owner. If that is unknown, it repeats the
// command only if a second execution changes nothing. The error has shard.ErrOutcomeUnknown in its chain if the command
// may have been executed.
func Ask[A any](ctx context.Context, s *Shard, c region.Command) (a A, err error) {
	err = s.Persist(ctx, region.Repeatable(c), func() error {
		answer, err := s.Do(ctx, c)
		a, _ = answer.(A)
		return err
	})
	return a, s.unanswered(err)
}

// AskRoom is Ask for a fleet location.
func AskRoom[A any](ctx context.Context, r *Router, room fleet.RoomID, c fleet.Command) (A, error) {
	return Ask[A](ctx, r.RoomShard(room), region.RoomCommand{Room: room, Command: c})
}

// Look calls look with the state of a shard, on the shard's own loop: look must be quick, and may be called several
// times. With (*region.Machine).Freeze as look, it returns a frozen copy.
func Look[T any](ctx context.Context, s *Shard, look func(*region.Machine) T) (found T, err error) {
	err = s.Persist(ctx, true, func() error {
		var seen T // look may still be running when Read has failed
		err := s.Read(ctx, func(m *region.Machine) { seen = look(m) })
		if err == nil {
			found = seen
		}
		return err
	})
	return found, s.unanswered(err)
}

// An unansweredError names the shard that did not answer.
type unansweredError struct {
	shard int
	error // the last attempt's
}

func (e *unansweredError) Unwrap() error { return e.error }

// unanswered adds the shard to the error of a call that has waited for it in vain.
func (s *Shard) unanswered(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || shard.IsTemporary(err) {
		return &unansweredError{s.seen.commit.Shard, err}
	}
	return err
}

// UnansweredShard returns the shard that Ask or Look has waited for in vain, if that is why it failed.
func UnansweredShard(err error) (shard int, ok bool) {
	var e *unansweredError
	if errors.As(err, &e) {
		return e.shard, true
	}
	return 0, false
}

// InRoom is Look for a fleet location; the zero value if nothing was ever registered there.
func InRoom[T any](ctx context.Context, r *Router, id fleet.RoomID, look func(*fleet.Room) T) (T, error) {
	return Look(ctx, r.RoomShard(id), func(m *region.Machine) (found T) {
		if room, ok := m.Room(id); ok {
			found = look(room)
		}
		return found
	})
}

// GameSession returns a game session that is in memory; nil if there is none.
func (r *Router) GameSession(ctx context.Context, room fleet.RoomID, id string) (*fleet.GameSession, error) {
	return InRoom(ctx, r, room, func(room *fleet.Room) *fleet.GameSession {
		g, _ := room.GameSession(id)
		return g
	})
}

// Rooms returns frozen copies of the rooms of a fleet, by location; of one location if it is given. Rooms of locations
// that were removed from the fleet are included for as long as they have game sessions.
func (r *Router) Rooms(ctx context.Context, id, location string) ([]*fleet.Room, error) {
	shards := r.shards
	if location != "" {
		shards = []*Shard{r.RoomShard(fleet.RoomID{Fleet: fleet.ID(id), Location: location})}
	}
	var rooms []*fleet.Room
	for _, s := range shards {
		view, err := Look(ctx, s, (*region.Machine).Freeze)
		if err != nil {
			return nil, err
		}
		for _, r := range view.Rooms() {
			if r.ID().Fleet == fleet.ID(id) && (location == "" || r.ID().Location == location) {
				rooms = append(rooms, r)
			}
		}
	}
	slices.SortFunc(rooms, func(a, b *fleet.Room) int { return strings.Compare(a.ID().Location, b.ID().Location) })
	return rooms, nil
}

// Catalog returns a frozen view of the catalog, in which everything is durable. It includes everything that was durable
// before any call was answered.
func (r *Router) Catalog() *catalog.State { return r.view.Load() }

// Change sends a command to the catalog. When it returns without an error, Catalog includes the outcome on all nodes: a
// caller may continue with any of them.
func (r *Router) Change(ctx context.Context, c catalog.Command) error {
	s := r.shards[region.CatalogShard]
	_, err := Ask[any](ctx, s, region.CatalogCommand{Command: c})
	if err == nil && r.cfg.Cluster != nil {
		r.cfg.Cluster.Spread(ctx, region.CatalogShard, s.Newest())
	}
	return err
}

// Submit is Ask without waiting and without the answer: done is called once, by a goroutine that must not be blocked.
// within limits the repetitions. Later commands may overtake a command that is repeated.
func Submit(s *Shard, within time.Duration, c region.Command, done func(error)) {
	s.Submit(c, func(_ any, err error) {
		if err != nil && mayRepeat(err, region.Repeatable(c)) &&
			s.router.Go(func() { done(s.resubmit(within, c, err)) }) {
			return
		}
		done(err)
	})
}

// resubmit continues after the first attempt has failed.
func (s *Shard) resubmit(within time.Duration, c region.Command, first error) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return s.Persist(ctx, region.Repeatable(c), func() (err error) {
		if err, first = first, nil; err == nil {
			_, err = s.Do(ctx, c)
		}
		return err
	})
}

// mayRepeat reports whether a command whose attempt failed may be sent again.
func mayRepeat(err error, repeatable bool) bool {
	return shard.IsTemporary(err) || repeatable && errors.Is(err, shard.ErrOutcomeUnknown)
}

// Persist makes attempts until one succeeds, or fails permanently. After one with an unknown outcome it makes another
// only if the command is repeatable.
func (s *Shard) Persist(ctx context.Context, repeatable bool, attempt func() error) error {
	clock := s.router.cfg.Clock
	began := clock.Now()
	var unknown error // of an attempt
	for pause := time.Duration(0); ; pause = min(max(firstPause, 2*pause), longestPause) {
		err := attempt()
		if errors.Is(err, shard.ErrOutcomeUnknown) {
			unknown = err
		}
		switch {
		case mayRepeat(err, repeatable) && ctx.Err() == nil &&
			clock.Since(began) < RepeatWithin && (pause == 0 || s.router.Pause(ctx, pause)):
		case unknown != nil && errors.Is(err, shard.ErrNotDone): // this attempt was not, one before it may have been
			return unknown
		default:
			return err
		}
	}
}
