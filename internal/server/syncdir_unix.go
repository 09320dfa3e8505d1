//go:build !windows

package server

import "os"

// syncDir puts the names in a directory on disk.
func syncDir(path string) (err error) {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer closing(&err, d.Close)
	return d.Sync()
}
