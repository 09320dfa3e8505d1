//go:build unix && !linux

package supervisor

import "syscall"

// bind does nothing: the system has no such binding.
func bind(*syscall.SysProcAttr) {}
