package machine

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX. Source: Windows API, sysinfoapi.h.
type memoryStatus struct {
	length, load                             uint32
	totalPhysical, freePhysical              uint64
	totalPageFile, freePageFile              uint64
	totalVirtual, freeVirtual, freeExtension uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

func readMemory() (s memoryStatus, ok bool) {
	s.length = uint32(unsafe.Sizeof(s))
	done, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s)))
	return s, done != 0
}

func capacity() (milliCPUs int32, memory uint64) {
	s, _ := readMemory() // 0: unknown
	return 0, s.totalPhysical
}

// loadAverage returns nothing: Windows has none.
func loadAverage() (float64, bool) { return 0, false }

func freeMemory() (uint64, bool) {
	s, ok := readMemory()
	return s.freePhysical, ok
}
