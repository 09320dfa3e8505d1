//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps a Ctrl-C in the terminal from a started program, which is stopped when its work is done.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks a process to end.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
