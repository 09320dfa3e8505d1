package instance

import (
	"io/fs"
	"os/exec"
)

// groupOf does nothing: only the installer itself is ended when its context is done.
func groupOf(*exec.Cmd) {}

// sharable reports whether a file may be a hard link of that of a build: no, because the attribute that protects a file
// is removed with any of its links.
func sharable(fs.FileMode) bool { return false }
