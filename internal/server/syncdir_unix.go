//go:build !windows

package server

import "os"

// syncDir makes the names in a directory durable.
func syncDir(path string) (err error) {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer closing(&err, d.Close)
	return d.Sync()
}
