package control

import (
	"context"
	"errors"
	"time"

	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

const (
	// repeatWithin is for how long after its beginning a call is attempted again: longer than a shard is without
	// an owner, 12 s. An attempt may take as long as a node waits for another one, 10 s, and callers wait for
	// longer than both.
	repeatWithin = 15 * time.Second

	// firstPause and longestPause bound the wait between two attempts, which doubles. There is none
	// before the second one: a shard that recovers lets it wait.
	firstPause, longestPause = 10 * time.Millisecond, 500 * time.Millisecond
)

// do has a shard carry out a command, and again when it was not carried out because the shard failed
// or had no owner. When that is unknown, it repeats the command if its second time changes nothing. The error
// has shard.ErrOutcomeUnknown in its chain when the command may have been carried out.
func (p *Plane) do(ctx context.Context, s *regionShard, c region.Command) (answer any, err error) {
	err = p.persist(ctx, region.Repeatable(c), func() (err error) {
		answer, err = s.Do(ctx, c)
		return err
	})
	return answer, err
}

// look calls read with the machine of a shard, as Replica.Read does, and again when that failed: read may
// be called several times, and must set what it found anew.
func (p *Plane) look(ctx context.Context, s *regionShard, read func(*region.Machine)) error {
	return p.persist(ctx, true, func() error { return s.Read(ctx, read) })
}

// viewOf is a frozen copy of the machine of a shard.
func (p *Plane) viewOf(ctx context.Context, s *regionShard) (view *region.Machine, err error) {
	err = p.persist(ctx, true, func() (err error) {
		view, err = s.View(ctx)
		return err
	})
	return view, err
}

// submit is do without waiting and without the answer: done is called once, by a goroutine that must not be held up.
// A command that is repeated may be overtaken by those submitted later.
func (p *Plane) submit(s *regionShard, c region.Command, done func(error)) {
	s.Submit(c, func(_ any, err error) {
		if err != nil && mayRepeat(err, region.Repeatable(c)) && p.work.start(func() { done(p.resubmit(s, c, err)) }) {
			return
		}
		done(err)
	})
}

// resubmit goes on after the first attempt has failed.
func (p *Plane) resubmit(s *regionShard, c region.Command, first error) error {
	ctx, cancel := context.WithTimeout(context.Background(), processCall)
	defer cancel()
	return p.persist(ctx, region.Repeatable(c), func() (err error) {
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

// persist makes attempts until one succeeds, or fails for a reason of its own. After one with an unknown
// outcome it makes another only if the command is repeatable.
func (p *Plane) persist(ctx context.Context, repeatable bool, attempt func() error) error {
	began := p.cfg.Clock.Now()
	var unknown error // of an attempt
	for pause := time.Duration(0); ; pause = min(max(firstPause, 2*pause), longestPause) {
		err := attempt()
		if errors.Is(err, shard.ErrOutcomeUnknown) {
			unknown = err
		}
		switch {
		case mayRepeat(err, repeatable) && ctx.Err() == nil &&
			p.cfg.Clock.Since(began) < repeatWithin && (pause == 0 || p.pause(ctx, pause)):
		case unknown != nil && errors.Is(err, shard.ErrNotDone): // this attempt was not, one before it may have been
			return unknown
		default:
			return err
		}
	}
}
