//go:build unix && !linux

package hasher

import "syscall"

func lowerPriority() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) }
