package bench

import (
	"runtime"
	"time"
)

// spareFiles are the open files that a run needs besides the sockets of its
// server processes.
const spareFiles = 2*helpers + 64

// A usage is what a program has used up since it was started.
type usage struct {
	cpu         time.Duration // user and system
	allocations uint64        // objects on the heap
}

// ownUsage is that of this program.
func ownUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{cpu: OwnCPU(), allocations: m.Mallocs}
}
