package server

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// usualPace is Go's own pace: what GOGC is when nobody sets it.
const usualPace = 100

// headroomShare is the headroom between the bounds, in bytes for a byte that is alive.
const headroomShare = 4

// A headroom is how many bytes are allocated between two collections: four for each byte that is alive, within these
// bounds.
type headroom struct{ least, most uint64 }

// PaceCollector sets the pace of the garbage collector for a process that serves, until stop is called, which restores
// the pace before. When the operator has set GOGC, that stays as it is, and a memory limit (GOMEMLIMIT) goes before the
// headroom. Two at a time would undo each other's work.
//
// By default a collection begins when as much was allocated as is alive. A service of 20 MB that allocates 500 MB a
// second, as one of two processors does at full load, then collects 25 times a second, and spends a fifth of its time
// on that. Here a collection begins after a headroom, or after as much as is alive where that is more: large services
// are paced as usual. The cost of a collection grows with what is alive: at 20,000 sockets it takes half a second of
// processor time. So the headroom grows too, and the share of the time that collections take stays the same.
func PaceCollector() (stop func()) {
	return keepPace(headroom{least: 128 << 20, most: 512 << 20})
}

func keepPace(h headroom) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	p := &pacer{headroom: h}
	before := p.pace()
	p.arm()
	return func() { p.stop(before) }
}

// A pacer looks at the live memory after each collection.
type pacer struct {
	headroom headroom

	mu      sync.Mutex
	percent int // the pace at this time
	stopped bool
}

// arm has the runtime call again behind the next collection, which finds that nobody needs the sentinel any more.
func (p *pacer) arm() {
	sentinel := new(*pacer)
	runtime.AddCleanup(sentinel, (*pacer).collected, p)
}

// collected is called behind each collection.
func (p *pacer) collected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.pace()
		p.arm()
	}
}

func (p *pacer) stop(before int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	debug.SetGCPercent(before)
}

// pace sets the pace that fits the live memory, and returns the one before. Each change stops the program for a moment,
// so that small ones are left out.
func (p *pacer) pace() (before int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	want := collectorPace(p.headroom, live[0].Value.Uint64())
	if before = p.percent; before == 0 || want > before+before/8 || want < before-before/8 {
		p.percent = want
		return debug.SetGCPercent(want)
	}
	return before
}

// collectorPace is the pace, in percent of what is alive, that gives a headroom. The runtime takes no less than 4 MB
// for alive.
func collectorPace(h headroom, live uint64) int {
	live = max(live, 4<<20)
	room := min(max(headroomShare*live, h.least), h.most)
	return max(usualPace, int(100*room/live))
}
