//go:build unix

package supervisor

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/muster-gg/muster/internal/agent/cgroup"
)

// A group is the process group of a game server, which leads a session of its own.
type group struct{}

func (group) start(c *exec.Cmd, spec *Spec) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	bind(c.SysProcAttr)
	RunAs(c, spec.User)
	if spec.NoNewPrivs {
		if err := renouncePrivileges(); err != nil {
			return err
		}
	}
	if spec.Cgroup != "" {
		dir, err := cgroup.Enter(spec.Cgroup)
		if err != nil {
			return err
		}
		defer dir.Close() //nolint:errcheck // nothing was written
		enter(c.SysProcAttr, dir)
	}
	return c.Start()
}

// RunAs has a command run as a user, which may be nil. Its SysProcAttr must be set.
func RunAs(c *exec.Cmd, u *User) {
	if u != nil {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
}

// give gives an end of a pipe to a user, so that its programs can open /dev/stdout.
func (u *User) give(f *os.File) {
	if u != nil {
		_ = f.Chown(int(u.UID), int(u.GID)) // not every system has owners of pipes
	}
}

// signal asks the group to end, or ends it.
func (group) signal(pid int, kill bool) {
	s := syscall.SIGTERM
	if kill {
		s = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, s) // it may have ended
}

// exitCode returns the exit code, or the negative number of the signal.
func exitCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int(status.Signal())
	}
	return s.ExitCode()
}

// maxRSS returns the most memory that was resident in bytes; 0: unknown.
func maxRSS(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) //nolint:unconvert // its type differs between systems
	}
	return int64(usage.Maxrss) << 10 //nolint:unconvert // likewise
}

// detach has a supervisor outlive this process, and the signals of its terminal.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
