package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// treeHash is a hash of all that is below a directory: names, modes, times and contents.
func treeHash(t *testing.T, root string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, path, info.Mode(), info.ModTime().UnixNano())
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintln(sum, len(data))
		sum.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// newerData is a data directory with a journal, whose layout is of the given version.
func newerData(t *testing.T, dir string, version int) {
	t.Helper()
	engine, err := jetstream.Open(t.Context(), jetstream.Config{Dir: filepath.Join(dir, journalDir),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	j, err := engine.Journal(t.Context(), 0)
	if err == nil {
		_, err = j.Append(t.Context(), 0, []byte("record"))
	}
	if err := errors.Join(err, engine.Close()); err != nil {
		t.Fatal(err)
	}
	// A later layout may have other fields, and other types in those that are known.
	text := fmt.Sprintf(`{"version":%d,"region":"us-east-1","account":"000000000000","shards":{"journals":4}}`, version)
	if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDirectoryOfANewerRelease: whatever opens a data directory refuses one whose layout
// is newer, says so, and leaves it as it was, to the byte.
func TestDirectoryOfANewerRelease(t *testing.T) {
	out := t.TempDir()
	dir := filepath.Join(out, "n1")
	newerData(t, dir, layoutVersion+1)
	before := treeHash(t, out)
	c := config.Default()
	c.Data, c.Listen, c.Gateway.Listen = dir, "127.0.0.1:0", ""
	for name, open := range map[string]func() error{
		"CheckData":   func() error { return CheckData(dir) },
		"Run":         func() error { return Run(t.Context(), c) },
		"OpenData":    func() error { _, _, err := OpenData(t.Context(), dir, nil); return err },
		"InitCluster": func() error { _, err := InitCluster(out, []string{"n1", "n2"}, prepared); return err },
	} {
		err := open()
		want := fmt.Sprintf("%s was written by a newer Muster: its layout has version %d, and this Muster knows "+
			"version %d", dir, layoutVersion+1, layoutVersion)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", name, err, want)
		}
		if treeHash(t, out) != before {
			t.Fatalf("%s has changed the directory", name)
		}
	}
	if _, err := Restore(t.Context(), dir, strings.NewReader("none"), nil); err == nil ||
		treeHash(t, out) != before {
		t.Errorf("a restore into the directory gives %v", err)
	}
}

// TestCheckData accepts directories that this release can use, and those that are still to
// be made.
func TestCheckData(t *testing.T) {
	dir := t.TempDir()
	for _, ok := range []string{dir, filepath.Join(dir, "absent")} {
		if err := CheckData(ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for text, ok := range map[string]bool{`{"version":1,"region":"us-east-1","account":"000000000000",` +
		`"shards":4}`: true, `{"version":"one"}`: false, `{`: false} {
		if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := CheckData(dir); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), identityFile) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestExplainData also holds the text for a directory without permission, which root never sees.
func TestExplainData(t *testing.T) {
	dir := t.TempDir()
	denied := &fs.PathError{Op: "open", Path: filepath.Join(dir, "region.json"), Err: fs.ErrPermission}
	other := errors.New("other")
	if err := ExplainData(dir, denied); !errors.Is(err, fs.ErrPermission) ||
		!strings.Contains(err.Error(), "this user may not read and write "+dir+": give it the permission") {
		t.Errorf("got %v", err)
	}
	if ExplainData(dir, nil) != nil || ExplainData(dir, other) != other {
		t.Error("other errors are changed")
	}
}
