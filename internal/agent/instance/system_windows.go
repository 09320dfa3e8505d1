package instance

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// groupOf only prepares the attributes: the installer alone is ended when its context is done.
func groupOf(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{} }

// sharable reports whether a file may be a hard link of that of a build: no, because the attribute that protects a file
// is removed with any of its links.
func sharable(fs.FileMode) bool { return false }
