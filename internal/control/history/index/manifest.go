package index

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble ends the program when it cannot write its manifest, mostly because the disk is full. The index must not cause
// that: a failed write is reported to fail, from then on the manifest is not written any more, and Pebble sees no
// error. So the files stay as they were before the failure, or are incomplete, as after a crash.

// manifestFS is a file system with such manifests.
type manifestFS struct {
	vfs.FS
	fail func(error) error
}

func (fs manifestFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	if err != nil || !strings.HasPrefix(fs.PathBase(name), "MANIFEST") {
		return file, err
	}
	return &manifest{File: file, fail: fs.fail}, nil
}

// Unwrap returns the file system below.
func (fs manifestFS) Unwrap() vfs.FS { return fs.FS }

type manifest struct {
	vfs.File
	fail   func(error) error
	failed atomic.Bool
}

// pass reports an error to fail and hides it from Pebble.
func (m *manifest) pass(err error) {
	if err != nil {
		m.failed.Store(true)
		_ = m.fail(err)
	}
}

func (m *manifest) Write(data []byte) (int, error) {
	if !m.failed.Load() {
		_, err := m.File.Write(data)
		m.pass(err)
	}
	return len(data), nil
}

func (m *manifest) Sync() error {
	if !m.failed.Load() {
		m.pass(m.File.Sync())
	}
	return nil
}

func (m *manifest) SyncData() error {
	if !m.failed.Load() {
		m.pass(m.File.SyncData())
	}
	return nil
}

func (m *manifest) SyncTo(length int64) (full bool, err error) {
	if !m.failed.Load() {
		full, err = m.File.SyncTo(length)
		m.pass(err)
	}
	return full, nil
}
