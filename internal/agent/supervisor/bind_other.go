//go:build unix && !linux

package supervisor

import (
	"os"
	"syscall"
)

// bind does nothing: the system has no such binding.
func bind(*syscall.SysProcAttr) {}

// enter does nothing: the system has no cgroups.
func enter(*syscall.SysProcAttr, *os.File) {}

// renouncePrivileges does nothing.
func renouncePrivileges() error { return nil }
