//go:build !unix

package api_test

import "time"

// cpuTime is the processor time that this process has used: not known here.
func cpuTime() time.Duration { return 0 }
