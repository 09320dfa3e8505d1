package gcpace

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		headroom, live uint64
		want           int
	}{
		{128 * mib, 0, 12_800},
		{128 * mib, 16 * mib, 800},
		{128 * mib, 128 * mib, 100},
		{128 * mib, 4096 * mib, 100},
		{0, 16 * mib, 100},
	} {
		if got := percent(c.headroom, c.live); got != c.want {
			t.Errorf("percent(%d, %d) = %d, want %d", c.headroom, c.live, got, c.want)
		}
	}
}

// The pace follows the live memory, and stop brings back the one of before.
func TestKeep(t *testing.T) {
	t.Setenv("GOGC", "")
	runtime.GC() // without what other tests have left
	before := pace()
	stop := Keep(64 << 20)
	if pace() <= usual {
		t.Errorf("with little memory the pace is %d", pace())
	}
	memory := make([]byte, 128<<20)
	for pace() != usual { // the runtime calls some time behind a collection
		runtime.GC()
	}
	runtime.KeepAlive(memory)
	stop()
	if pace() != before {
		t.Errorf("after the stop the pace is %d, not %d", pace(), before)
	}
}

func TestOperatorsChoice(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := pace()
	defer Keep(64 << 20)()
	if pace() != before {
		t.Errorf("the pace is %d, not the operator's %d", pace(), before)
	}
}

func pace() int {
	percent := debug.SetGCPercent(usual)
	debug.SetGCPercent(percent)
	return percent
}
