package supervisor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// bind ends the game server with its supervisor.
func bind(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// enter starts the game server in a cgroup.
func enter(a *syscall.SysProcAttr, cgroup *os.File) {
	a.UseCgroupFD, a.CgroupFD = true, int(cgroup.Fd())
}

// renouncePrivileges has the processes that this thread starts get no privileges from their programs.
func renouncePrivileges() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }
