package access

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A slot is what a password is hashed in, one at a time. It limits what hashing costs, however many passwords are
// guessed: after a hash it rests for a multiple of the time that the hash took. On a busy machine a hash takes longer,
// and so does the rest.
type slot struct {
	taken chan struct{}
	rest  time.Duration // times the hash's time
	most  time.Duration // that a slot rests
}

// hashWait is how long a password waits for a slot.
const hashWait = 2 * time.Second

// newSlot returns the slot of a node, which takes half of a processor: a dozen people can sign in each second.
func newSlot() slot { return slot{make(chan struct{}, 1), 1, 250 * time.Millisecond} }

// newSuspectSlot returns the slot for addresses that have failed of late. It takes an eighth of a processor, so that
// 99 of 100 calls take as long as without guessing, and people at other addresses do not wait for those who guess.
func newSuspectSlot() slot { return slot{make(chan struct{}, 1), 7, 500 * time.Millisecond} }

// takeSlot waits until a password of an address may be hashed, and returns what frees the slot. The error is a
// ThrottlingException, or that of ctx. The slot is the right one at the time when it is free: of passwords that wait
// together, the first can turn out to be wrong.
func (a *Access) takeSlot(ctx context.Context, from Origin) (done func(), err error) {
	timer := a.cfg.Clock.NewTimer(hashWait)
	defer timer.Stop()
	for {
		s := a.slotFor(from)
		select {
		case s.taken <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.Chan():
			return nil, fault.New(fault.Throttling, "Too many people sign in at the moment. Try again later.")
		}
		if s == a.slotFor(from) {
			begun := a.now()
			return func() { s.free(a.cfg.Clock, a.now().Sub(begun)) }, nil
		}
		<-s.taken
	}
}

// slotFor returns the slot for the passwords of an address.
func (a *Access) slotFor(from Origin) *slot {
	if a.delays.suspected(from.Address, a.now()) {
		return &a.suspectSlot
	}
	return &a.slot
}

// free frees a slot after it has rested.
func (s *slot) free(clock clockwork.Clock, used time.Duration) {
	if used <= 0 {
		<-s.taken
		return
	}
	clock.AfterFunc(min(s.rest*used, s.most), func() { <-s.taken })
}
