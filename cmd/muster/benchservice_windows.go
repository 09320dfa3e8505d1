package main

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps a Ctrl-C in the terminal from a program that is started: it is
// told to end when its work is done.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt ends a process: a program on Windows cannot ask another to.
func interrupt(p *os.Process) error { return p.Kill() }
