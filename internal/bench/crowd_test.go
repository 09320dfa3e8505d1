package bench

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// The tickets that wait make no match, and about as many are matched as come
// beside them.
func TestCrowd(t *testing.T) {
	const wanted = 1000
	set, err := ruleset.Parse(Fives)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	crowd := NewCrowd(1, "ticket-", wanted, []string{"a", "b", "c", "d", "e", "f"})
	pool := matcher.NewPool(set, matcher.Options{})
	for _, ticket := range crowd.Waiting(set, now) {
		pool.Add(ticket)
		if matchAll(pool, now) != nil {
			t.Fatal("tickets that wait make a match")
		}
	}
	if n := pool.Len(); n < wanted*9/10 || n > wanted {
		t.Errorf("%d tickets wait, want about %d", n, wanted)
	}
	before, matched := pool.Len(), 0
	for range 5 * wanted {
		pool.Add(crowd.Ticket(now))
		matched += len(matchAll(pool, now))
	}
	if growth := pool.Len() - before; matched+growth != 5*wanted || growth < -wanted/5 || growth > wanted/5 {
		t.Errorf("of %d tickets %d were matched; %d waited before, %d after", 5*wanted, matched, before, pool.Len())
	}
}
