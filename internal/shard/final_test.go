package shard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A journal that can no longer write ends the shard, and its callers are told.
func TestBrokenJournalEndsTheShard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j})
		mustDo(t, s, command{Name: "a", N: 1}, 1)
		j.FailAppend(fmt.Errorf("%w: no space left on device", journal.ErrBroken))
		if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); fault.Of(err) == nil ||
			fault.Of(err).Kind != fault.InternalService {
			t.Errorf("the command gives %v", err)
		}
		synctest.Wait()
		if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); fault.Of(err) == nil ||
			fault.Of(err).Kind != fault.ServiceUnavailable {
			t.Errorf("a later command gives %v", err)
		}
		if err := stop(); !errors.Is(err, journal.ErrBroken) {
			t.Errorf("Run gives %v", err)
		}
	})
}

// incomplete is a journal without its beginning, and without a snapshot.
type incomplete struct{ journal.Journal }

func (incomplete) Replay(context.Context, uint64, func(uint64, []byte) error) error {
	return fmt.Errorf("%w: there are 7 to 9", journal.ErrMissing)
}

// A journal that is not complete ends the shard before it serves.
func TestIncompleteJournalEndsTheShard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, stop := run(t, toyConfig{Journal: incomplete{memory.New(memory.Config{})}})
		if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); fault.Of(err) == nil ||
			fault.Of(err).Kind != fault.ServiceUnavailable {
			t.Errorf("a command gives %v", err)
		}
		if err := stop(); !errors.Is(err, journal.ErrMissing) {
			t.Errorf("Run gives %v", err)
		}
	})
}
