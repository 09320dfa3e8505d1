// Package atomicfile replaces small files as a whole.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file atomically and durably. After an error the file is as before.
func Write(path string, data []byte, mode os.FileMode) error { return write(path, data, mode, nil) }

// WriteFor is Write of a file that another user owns, by its user and group ids. It needs the rights to give files
// away, and does not work on Windows.
func WriteFor(path string, data []byte, mode os.FileMode, uid, gid int) error {
	return write(path, data, mode, func(f *os.File) error { return f.Chown(uid, gid) })
}

func write(path string, data []byte, mode os.FileMode, give func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil && give != nil {
		err = give(f)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// A temporary file starts with mode 0600. Windows has no such modes.
	if err = os.Chmod(f.Name(), mode); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
