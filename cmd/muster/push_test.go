package main

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/mustertest"
)

// TestPush uploads a directory, and then what has changed in it.
func TestPush(t *testing.T) {
	s := mustertest.Start(t)
	environ := rootEnviron(s)
	root := filepath.Join(t.TempDir(), "arena")
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, data, 0o755)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	large := make([]byte, 20<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large)
	write("bin/server", large)
	write("readme.txt", []byte("read me"))
	write("empty", nil)
	push := func(args ...string) (made pushResult) {
		t.Helper()
		out := expect(t, environ, exitOK, append([]string{"push", root, "--json"}, args...), "is READY: ")
		if err := json.Unmarshal([]byte(out.stdout), &made); err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := push("--build-version", "1.2.0")
	if first.Files != 3 || first.Size != 20<<20+7 || first.Chunks < 8 || first.Sent < 20<<20 {
		t.Errorf("first %+v", first)
	}
	var view control.BuildView
	shown := expect(t, environ, exitOK, []string{"get", "builds", first.Build, "-o", "json"})
	var list control.BuildList
	if err := json.Unmarshal([]byte(shown.stdout), &list); err != nil || len(list.Builds) != 1 {
		t.Fatalf("%s: %v", shown.stdout, err)
	}
	if view = list.Builds[0]; view.Name != "arena" || view.Version != "1.2.0" || view.Status != "READY" ||
		view.Files != 3 || view.Unpacked != first.Size {
		t.Errorf("%+v", view)
	}
	if same := push(); same.Build == first.Build || same.Chunks != 0 || same.Sent > 100_000 {
		t.Errorf("unchanged %+v", same)
	}
	large[10<<20] ^= 1
	write("bin/server", large)
	if changed := push(); changed.Chunks < 1 || changed.Chunks > 2 || changed.Sent > 9<<20 {
		t.Errorf("one byte changed %+v", changed)
	}
	id := expect(t, environ, exitOK, []string{"push", root, "--operating-system", "WINDOWS_2022"}).stdout
	if !strings.HasPrefix(id, "build-") || strings.Count(id, "\n") != 1 {
		t.Errorf("printed %q", id)
	}
}

// TestPushOfLinks: links are kept, except for Windows.
func TestPushOfLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("links need a privilege on Windows: this test has nothing to check there")
		return
	}
	environ := rootEnviron(mustertest.Start(t))
	root := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(root, "server-1"), []byte("code"), 0o600),
		os.Symlink("server-1", filepath.Join(root, "server"))); err != nil {
		t.Fatal(err)
	}
	expect(t, environ, exitOK, []string{"push", root}, "2 files, 4 bytes")
	expect(t, environ, exitOK, []string{"push", root, "--operating-system", "WINDOWS_2022"}, "2 files, 8 bytes")
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "users")); err != nil {
		t.Fatal(err)
	}
	expect(t, environ, exitFailure, []string{"push", root}, `link "users" leads out of the build`)
}

func TestPushFails(t *testing.T) {
	environ := rootEnviron(mustertest.Start(t))
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, environ, exitFailure, []string{"push", empty}, "has no files")
	expect(t, environ, exitFailure, []string{"push", filepath.Join(empty, "missing")}, "missing")
	expect(t, environ, exitMisuse, []string{"push"}, "an argument is missing")
	expect(t, nil, exitMisuse, []string{"push", empty}, "no endpoint")
	one := filepath.Dir(file)
	expect(t, environ, exitFailure, []string{"push", one, "--operating-system", "DOS"}, "operatingSystem")
	expect(t, environ, exitFailure, []string{"push", one, "--secret-key", "wrong"}, "InvalidSignatureException")
	expect(t, environ, exitFailure, []string{"push", file}, "is not a directory")
	expect(t, environ, exitFailure, []string{"push", "./nope"}, "muster: there is no directory ./nope")
}

// TestPushOfAFileThatChanges: what is sent is what was listed.
func TestPushOfAFileThatChanges(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "server")
	if err := os.WriteFile(path, []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := scanTree(t.Context(), root, "", &pushStatus{})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"cord", "co"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.read([]string{tree.files[0].SHA256}); err == nil ||
			!strings.Contains(err.Error(), "server was changed while it was read") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestCounted(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "instance", "0 instances"}, {1, "server process", "1 server process"},
		{2, "server process", "2 server processes"},
	} {
		if got := counted(c.n, c.noun); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
