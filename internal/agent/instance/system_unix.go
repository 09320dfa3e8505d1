//go:build unix

package instance

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// groupOf has a command and what it starts end when its context is done.
func groupOf(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// sharable reports whether a file may be a hard link of that of a build: this process has no right to write to it.
func sharable(mode fs.FileMode) bool { return mode.Perm()&0o222 == 0 && os.Geteuid() != 0 }
