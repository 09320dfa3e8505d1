//go:build !linux && !darwin && !windows

package machine

func capacity() (milliCPUs int32, memory uint64) { return 0, 0 }

func loadAverage() (float64, bool) { return 0, false }

func freeMemory() (uint64, bool) { return 0, false }
