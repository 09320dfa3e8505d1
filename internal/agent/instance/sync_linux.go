package instance

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncTree makes the files of a directory durable, with those of its file system.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close()) //nolint:gosec // a descriptor is small
}
