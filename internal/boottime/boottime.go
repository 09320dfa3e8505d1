// Package boottime is a clock for leases: nobody sets it, and it goes on while the machine is
// suspended. The monotonic clock of package time does not everywhere: it stands still meanwhile
// on Linux and macOS.
//
// It does not notice when a hypervisor stops the whole virtual machine: nothing within it does.
package boottime

import "time"

// Now returns the time since a moment that stays the same while the program runs. It is safe
// for many goroutines.
func Now() time.Duration { return now() }
