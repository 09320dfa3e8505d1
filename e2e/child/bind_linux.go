package child

import (
	"os/exec"
	"syscall"
)

// bind has a process killed when the thread ends that starts it, and with it when the test ends in a way that runs no
// cleanup.
func bind(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
