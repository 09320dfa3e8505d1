package usage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func cpu() (float64, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9, nil
}

func resident() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var all, pages uint64
	if _, err := fmt.Sscan(string(text), &all, &pages); err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %q: %w", text, err)
	}
	return pages * uint64(os.Getpagesize()), nil
}
