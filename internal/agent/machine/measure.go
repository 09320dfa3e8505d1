package machine

import (
	"math"
	"runtime"
)

// Capacity returns the CPUs, in thousandths, and the memory that this process may use. The memory is 0 if it is not
// known.
func Capacity() (milliCPUs int32, memoryMiB int64) {
	milliCPUs, memory := capacity()
	if own := runtime.NumCPU() * 1000; milliCPUs <= 0 || int(milliCPUs) > own {
		milliCPUs = int32(min(own, math.MaxInt32)) //nolint:gosec // bounded
	}
	return milliCPUs, mebibytes(memory)
}

// mebibytes returns whole MiB; too many bytes are those of no machine.
func mebibytes(bytes uint64) int64 { return int64(bytes >> 20) } //nolint:gosec // 44 bits

// MeasureLoad returns the load of this machine.
func MeasureLoad() (m Measure) {
	if load, ok := loadAverage(); ok && load >= 0 && !math.IsInf(load, 0) {
		m.Load = &load
	}
	if free, ok := freeMemory(); ok {
		m.FreeMemoryMiB = new(mebibytes(free))
	}
	return m
}
