package server

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestCollectorPace(t *testing.T) {
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
		if got := collectorPace(headroom{128 * mib, 512 * mib}, c.live); got != c.want {
			t.Errorf("with %d bytes alive the pace is %d, want %d", c.live, got, c.want)
		}
	}
	if got := collectorPace(headroom{}, 16*mib); got != 100 {
		t.Errorf("without headroom the pace is %d", got)
	}
}

// The pace follows the live memory, and stop brings back the one of before.
func TestPaceFollowsLiveMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	runtime.GC() // without what other tests have left
	before := currentPace()
	stop := keepPace(headroom{256 << 20, 256 << 20})
	if currentPace() <= usualPace {
		t.Errorf("with little memory the pace is %d", currentPace())
	}
	memory := make([]byte, 512<<20)
	for currentPace() != usualPace { // the runtime calls some time behind a collection
		runtime.GC()
	}
	runtime.KeepAlive(memory)
	stop()
	if currentPace() != before {
		t.Errorf("after the stop the pace is %d, not %d", currentPace(), before)
	}
}

func TestOperatorsPaceStays(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := currentPace()
	defer keepPace(headroom{256 << 20, 256 << 20})()
	if currentPace() != before {
		t.Errorf("the pace is %d, not the operator's %d", currentPace(), before)
	}
}

func currentPace() int {
	percent := debug.SetGCPercent(usualPace)
	debug.SetGCPercent(percent)
	return percent
}
