package gcpace

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 3200},
		{16 * mib, 800},
		{32 * mib, 400},
		{64 * mib, 400},
		{128 * mib, 400},
		{256 * mib, 200},
		{512 * mib, 100},
		{4096 * mib, 100},
	} {
		if got := percent(Headroom{128 * mib, 512 * mib}, c.live); got != c.want {
			t.Errorf("with %d bytes alive the pace is %d, want %d", c.live, got, c.want)
		}
	}
	if got := percent(Headroom{}, 16*mib); got != 100 {
		t.Errorf("without headroom the pace is %d", got)
	}
}

// The pace follows the live memory, and stop brings back the one of before.
func TestKeep(t *testing.T) {
	t.Setenv("GOGC", "")
	runtime.GC() // without what other tests have left
	before := pace()
	stop := Keep(Headroom{64 << 20, 64 << 20})
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
	defer Keep(Headroom{64 << 20, 64 << 20})()
	if pace() != before {
		t.Errorf("the pace is %d, not the operator's %d", pace(), before)
	}
}

func pace() int {
	percent := debug.SetGCPercent(usual)
	debug.SetGCPercent(percent)
	return percent
}
