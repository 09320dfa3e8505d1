package atomicfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/muster-gg/muster/internal/atomicfile"
)

func TestWriteReplacesAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"first, which is longer", "second"} {
		if err := atomicfile.Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, "absent", "f"), nil, 0o600); err == nil {
		t.Error("wrote into a directory that does not exist")
	}
	occupied := filepath.Join(dir, "occupied", "x")
	if err := os.MkdirAll(occupied, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Dir(occupied), nil, 0o600); err == nil {
		t.Error("replaced a directory")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestWriteFor: the file has its owner as soon as it has its name.
func TestWriteFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	err := atomicfile.WriteFor(path, []byte("x"), 0o600, os.Getuid(), os.Getgid())
	if runtime.GOOS == "windows" {
		if err == nil {
			t.Error("a file was given away")
		}
		return
	}
	if info, statErr := os.Stat(path); err != nil || statErr != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v, %v", err, statErr, info)
	}
	if os.Geteuid() != 0 && atomicfile.WriteFor(path, nil, 0o600, 0, 0) == nil {
		t.Error("another user can give files to root")
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := atomicfile.SyncDir(filepath.Join(dir, "absent")); err == nil && runtime.GOOS != "windows" {
		t.Error("synced a directory that does not exist")
	}
}
