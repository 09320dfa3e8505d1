package logs

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

func TestRelative(t *testing.T) {
	unix := &places{work: "/home/game", program: "/home/game/bin"}
	windows := &places{windows: true, work: "/home/game", program: "/home/game/bin"}
	for _, test := range []struct {
		places     *places
		path, want string // "": refused
	}{
		{unix, "/local/game/logs/a.txt", "logs/a.txt"},
		{unix, "/LOCAL/Game/logs/", "logs"},
		{unix, "a.txt", "bin/a.txt"},
		{unix, "../a.txt", "a.txt"},
		{unix, "/home/game/x", "x"},
		{unix, "/local/game/", ""},
		{unix, "/local/game/../secret", ""},
		{unix, "../../secret", ""},
		{unix, "/etc/passwd", ""},
		{unix, "/local/game/*.txt", ""},
		{unix, "/local/game/a\x00b", ""},
		{unix, `C:\Game\a.txt`, ""},
		{unix, "", ""},
		{unix, "/local/game/" + strings.Repeat("x", maxPath), ""},
		{windows, `C:\Game\logs\a*.txt`, "logs/a*.txt"},
		{windows, `c:\game\..\a.txt`, ""},
		{windows, "/local/game/" + strings.Repeat("x", maxPathWindows), ""},
	} {
		got, err := test.places.relative(test.path)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%.40q: %q, %v", test.path, got, err)
		}
	}
}

// FuzzRelative: no path leads out of the directory of the game.
func FuzzRelative(f *testing.F) {
	f.Add("/local/game/a/../../b")
	f.Add("../x")
	p := &places{work: "/home/game", program: "/home/game/bin"}
	f.Fuzz(func(t *testing.T, path string) {
		if rel, err := p.relative(path); err == nil && (!filepath.IsLocal(rel) || rel == ".") {
			t.Errorf("%q: %q", path, rel)
		}
	})
}

func TestShares(t *testing.T) {
	files := []file{{size: 10}, {size: 1}, {size: 100}, {size: 0}}
	if got := shares(files, 21); !slices.Equal(got, []int64{10, 1, 10, 0}) {
		t.Errorf("%v", got)
	}
	if got := shares(files, 1000); !slices.Equal(got, []int64{10, 1, 100, 0}) {
		t.Errorf("%v", got)
	}
}

// An ended game server, with a directory for its files.
func ended(t *testing.T, paths ...string) (*supervisor.Found, string) {
	t.Helper()
	dir, work := t.TempDir(), t.TempDir()
	output := "2026-11-28T07:00:00.000000Z out hello\n2026-11-28T07:00:01.000000Z err oh\n" +
		"2026-11-28T07:00:02.000000Z out \n"
	if err := os.WriteFile(filepath.Join(dir, "output.log"), []byte(output), 0o600); err != nil {
		t.Fatal(err)
	}
	return &supervisor.Found{
		Record: supervisor.Record{ID: "p-1", Fleet: "fleet-1", Compute: "box-1",
			Entry: plan.Entry{LaunchPath: "/local/game/bin/server"}, WorkDir: work, Started: time.Now()},
		Dir: dir, Exit: supervisor.Exit{Code: 3, Ended: time.Now(), MaxRSS: 5},
		Notes: &supervisor.Notes{LogPaths: paths, Reason: "NORMAL_TERMINATION"},
	}, work
}

// unpack returns the files of an archive by name.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string]string{}
	for _, f := range archive.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestArchive(t *testing.T) {
	f, work := ended(t, "/local/game/logs", "single.txt", "/local/game/missing")
	write(t, filepath.Join(work, "logs", "a", "new.txt"), "new")
	write(t, filepath.Join(work, "logs", "old.txt"), "of an earlier process")
	write(t, filepath.Join(work, "bin", "single.txt"), "single")
	old := f.Started.Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(work, "logs", "old.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	if err := os.Symlink(outside, filepath.Join(work, "logs", "link")); err != nil {
		t.Fatal(err)
	}
	path, err := Archive(f)
	if err != nil {
		t.Fatal(err)
	}
	got := unpack(t, path)
	for name, want := range map[string]string{
		"stdout.log":                "2026-11-28T07:00:00.000000Z hello\n2026-11-28T07:00:02.000000Z \n",
		"stderr.log":                "2026-11-28T07:00:01.000000Z oh\n",
		"local/game/logs/a/new.txt": "new",
		"local/game/bin/single.txt": "single",
	} {
		if got[name] != want {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	for _, want := range []string{`"exitCode": 3`, `"reason": "NORMAL_TERMINATION"`, `"maxResidentBytes": 5`} {
		if !strings.Contains(got["process.json"], want) {
			t.Errorf("process.json has no %s: %s", want, got["process.json"])
		}
	}
	if readMe := got["ReadMe.txt"]; !strings.Contains(readMe, "/local/game/missing: there is no file") ||
		!strings.Contains(readMe, "/local/game/logs: ") || len(got) != 6 {
		t.Errorf("%d files, ReadMe.txt:\n%s", len(got), readMe)
	}
	if again, err := Archive(f); err != nil || again != path {
		t.Errorf("the archive is not used again: %v", err)
	}
}

// TestTooLarge: the newest parts of large files are kept.
func TestTooLarge(t *testing.T) {
	f, work := ended(t, "/local/game/logs")
	random := make([]byte, 2000)
	_, _ = rand.Read(random) // never fails
	write(t, filepath.Join(work, "logs", "large"), string(random))
	write(t, filepath.Join(work, "logs", "small"), "small")
	a, err := newArchive(f)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if err := a.write(&limited{io.Discard, 1500}, maxUnpacked); !errors.Is(err, errTooLarge) {
		t.Errorf("without a budget: %v", err)
	}
	path := filepath.Join(f.Dir, "x.zip")
	if err := a.writeFile(path, 1000); err != nil {
		t.Fatal(err)
	}
	got := unpack(t, path)
	if got["local/game/logs/small"] != "small" || got["local/game/logs/large"] != string(random[2000-995:]) {
		t.Errorf("the large file has %d bytes, the small one %q", len(got["local/game/logs/large"]),
			got["local/game/logs/small"])
	}
	if !strings.Contains(got["ReadMe.txt"], "large: the newest 995 of 2000 bytes") {
		t.Errorf("ReadMe.txt: %s", got["ReadMe.txt"])
	}
}

func TestUpload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.zip")
	write(t, path, "an archive")
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPut || r.URL.Path != "/x/agent/logs" || r.URL.Query().Get("ProcessId") != "p-1" ||
			r.Header.Get("Authorization") != "Bearer token" || !bytes.Equal(body, []byte("an archive")) {
			t.Errorf("%s %s %v %q", r.Method, r.URL, r.Header, body)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{"ErrorMessage":"the reason"}`)
	}))
	defer server.Close()
	to, err := URL("ws"+strings.TrimPrefix(server.URL, "http")+"/x/agent?y=1", "fleet-1", "box-1", "p-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		status    int
		ok, final bool
	}{
		{200, true, false}, {400, false, true}, {403, false, false}, {404, false, true}, {429, false, false},
		{413, false, true}, {500, false, false}, {501, false, true}, {503, false, false},
	} {
		status = test.status
		err := Upload(context.Background(), server.Client(), to, "token", path)
		refused, answered := errors.AsType[*RefusedError](err)
		if (err == nil) != test.ok || answered == test.ok || answered && (refused.Final() != test.final ||
			refused.Message != "the reason") {
			t.Errorf("%d: %v", test.status, err)
		}
	}
}
