package machine

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

func capacity() (milliCPUs int32, memory uint64) {
	memory, _ = unix.SysctlUint64("hw.memsize") // 0: unknown
	return 0, memory
}

// loadAverage reads struct loadavg: three fixed-point numbers, and the scale after padding.
// Source: XNU, bsd/sys/resource.h and bsd/sys/sysctl.h.
func loadAverage() (float64, bool) {
	raw, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(raw) < 24 {
		return 0, false
	}
	scale := binary.LittleEndian.Uint64(raw[16:])
	if scale == 0 {
		return 0, false
	}
	return float64(binary.LittleEndian.Uint32(raw)) / float64(scale), true
}

func freeMemory() (uint64, bool) {
	pages, err := unix.SysctlUint32("vm.page_free_count")
	return uint64(pages) * uint64(os.Getpagesize()), err == nil //nolint:gosec // positive
}
