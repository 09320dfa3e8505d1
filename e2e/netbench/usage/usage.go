// Package usage measures what the calling process uses.
package usage

import (
	"runtime"
	"runtime/debug"
)

// Usage is what a process has used since it began, and what it holds now.
type Usage struct {
	CPU      float64 `json:"cpu"`      // seconds, user and system
	Mallocs  uint64  `json:"mallocs"`  // objects allocated in the Go heap
	Heap     uint64  `json:"heap"`     // bytes in use by the Go heap and by stacks of goroutines
	Resident uint64  `json:"resident"` // bytes of the process in memory
}

// Now measures.
func Now() (Usage, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := Usage{Mallocs: m.Mallocs, Heap: m.HeapInuse + m.StackInuse}
	var err error
	if u.CPU, err = cpu(); err != nil {
		return u, err
	}
	u.Resident, err = resident()
	return u, err
}

// Collected measures after a garbage collection, and after the system got back what is free.
func Collected() (Usage, error) {
	runtime.GC() // what sync.Pool holds survives one collection
	debug.FreeOSMemory()
	return Now()
}
