package main

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps a Ctrl-C in the terminal from a started program, which is stopped when its work is done.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt ends a process: Windows has no request to end.
func interrupt(p *os.Process) error { return p.Kill() }
