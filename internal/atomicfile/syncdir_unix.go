//go:build !windows

package atomicfile

import (
	"errors"
	"os"
)

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
