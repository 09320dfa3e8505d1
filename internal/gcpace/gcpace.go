// Package gcpace paces Go's garbage collector for a server whose live memory is
// small beside what it allocates.
//
// By default a collection begins when as much was allocated as is alive. A
// service of 20 MB that allocates 500 MB a second then collects 25 times a second,
// and spends a fifth of its time on that. Here a collection begins after a
// headroom, or after as much as is alive where that is more: large services are
// paced as usual.
//
// What a collection costs grows with what is alive: at 20,000 sockets it takes half
// a second of processor time, and whoever calls meanwhile notices. So the headroom
// grows too, and the share of the time that collections take stays the same.
package gcpace

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// usual is Go's own pace: what GOGC is when nobody sets it.
const usual = 100

// share is the headroom between the bounds, in bytes for a byte that is alive.
const share = 4

// A Headroom is how many bytes are allocated between two collections: four for each
// byte that is alive, within these bounds.
type Headroom struct{ Least, Most uint64 }

// Serve is the headroom of muster serve. At full load a service of two processors
// allocates some 500 MB a second; a small one gains little from more than the least.
var Serve = Headroom{Least: 128 << 20, Most: 512 << 20}

// Keep paces the collector of this process until stop is called, which brings
// back the pace of before. When the operator has set GOGC, that stays as it is, and
// a memory limit (GOMEMLIMIT) goes before the headroom. Two at a time would undo each
// other's work.
func Keep(h Headroom) (stop func()) {
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
	headroom Headroom

	mu      sync.Mutex
	percent int // the pace at this time
	stopped bool
}

// arm has the runtime call again behind the next collection, which finds that
// nobody needs the sentinel any more.
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

// pace sets the pace that fits the live memory, and returns the one before. Each
// change stops the program for a moment, so that small ones are left out.
func (p *pacer) pace() (before int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	want := percent(p.headroom, live[0].Value.Uint64())
	if before = p.percent; before == 0 || want > before+before/8 || want < before-before/8 {
		p.percent = want
		return debug.SetGCPercent(want)
	}
	return before
}

// percent is the pace, in percent of what is alive, that gives a headroom. The runtime
// takes no less than 4 MB for alive.
func percent(h Headroom, live uint64) int {
	live = max(live, 4<<20)
	headroom := min(max(share*live, h.Least), h.Most)
	return max(usual, int(100*headroom/live))
}
