package operator

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLooks: fifty clients share a look, unless it is too old, failed, or may be from before their first signal.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l looks
		var mu sync.Mutex
		var failed error
		count := 0
		read := func() (snapshot, error) {
			mu.Lock()
			count++
			err := failed
			mu.Unlock()
			time.Sleep(10 * time.Millisecond) // in the bubble
			return snapshot{id: "s"}, err
		}
		clients := func(k lookKey, first bool) (reads int) {
			mu.Lock()
			count = 0
			mu.Unlock()
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if s, err := l.take(t.Context(), k, time.Now(), first, read); err == nil && s.id != "s" {
						t.Errorf("%+v", s)
					}
				})
			}
			all.Wait()
			return count
		}
		ada, ben := lookKey{topic: "overview", user: "ada"}, lookKey{topic: "overview", user: "ben"}
		for _, c := range []struct {
			what  string
			key   lookKey
			first bool
			after time.Duration
			reads int
		}{
			{"the first looks", ada, true, 0, 50}, {"soon", ada, false, lookAge / 2, 0},
			{"later", ada, false, lookAge, 1}, {"another caller", ben, false, 0, 1},
		} {
			time.Sleep(c.after)
			if got := clients(c.key, c.first); got != c.reads {
				t.Errorf("%s: %d reads, want %d", c.what, got, c.reads)
			}
		}
		time.Sleep(2 * lookAge)
		mu.Lock()
		failed = errors.New("no")
		mu.Unlock()
		if got := clients(ada, false); got != 50 {
			t.Errorf("after a failure: %d reads", got)
		}
		time.Sleep(2 * lookAge)
		l.exchange(ben, &look{begun: time.Now(), done: make(chan struct{})}, true) // one that never ends
		if len(l.all) != 1 {
			t.Errorf("%d looks are kept", len(l.all))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.take(ctx, ben, time.Now(), false, read); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that waits for another one: %v", err)
		}
	})
}
