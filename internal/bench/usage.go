package bench

import (
	"runtime"
	"time"
)

// spareFiles are the open files of a run besides the sockets of its server processes.
const spareFiles = 2*helpers + 64

// A usage is the resource usage of a program since its start.
type usage struct {
	cpu         time.Duration // user and system
	allocations uint64        // objects on the heap
}

func ownUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{cpu: OwnCPU(), allocations: m.Mallocs}
}
