package lan

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := newLimiter(Limits{RepliesPerAsker: 2, Replies: 5})
	asker := func(i byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, i}) }
	count := func(a netip.Addr) (allowed int) {
		for range 100 {
			if l.allow(a, now) {
				allowed++
			}
		}
		return allowed
	}
	// Addresses whose hashes fall together share a bucket: take some that do not.
	var askers []netip.Addr
	buckets := map[*rate.Limiter]bool{}
	for i := byte(1); len(askers) < 4; i++ {
		if bucket := l.of(asker(i)); !buckets[bucket] {
			buckets[bucket] = true
			askers = append(askers, asker(i))
		}
	}
	for i, want := range []int{4, 4, 2, 0} {
		if got := count(askers[i]); got != want {
			t.Errorf("asker %d gets %d replies, want %d", i, got, want)
		}
	}
	now = now.Add(time.Second)
	for i, want := range []int{2, 2, 1, 0} {
		if got := count(askers[i]); got != want {
			t.Errorf("a second later asker %d gets %d replies, want %d", i, got, want)
		}
	}
	now = now.Add(time.Minute)
	if got := count(askers[0]); got != 4 {
		t.Errorf("a minute later an asker gets %d replies at a time, want 4", got)
	}
}
