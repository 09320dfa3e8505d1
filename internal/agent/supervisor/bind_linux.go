package supervisor

import "syscall"

// bind ends the game server with its supervisor.
func bind(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
