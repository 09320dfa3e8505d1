package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
)

// What the log says.
const (
	missing = "acknowledged records are missing"
	unread  = "the journal's mark cannot be read"
)

// openLogged opens an engine whose log can be read; the caller closes it.
func openLogged(t *testing.T, dir string) (*jetstream.Engine, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	e, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir,
		Log: slog.New(slog.NewTextHandler(&lockedWriter{w: &out}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return e, &out
}

// written makes a directory with a journal of some records.
func written(t *testing.T, records int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	e := open(t, dir)
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	for last := range uint64(records) {
		if _, err := j.Append(t.Context(), last, record(last+1)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// change changes the one file of the journal.
func change(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "MUSTER_SHARD_0", "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the journal's files are %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The records behind a cut are named in the log, once, and the journal goes on.
func TestCutJournal(t *testing.T) {
	dir := written(t, 9)
	change(t, dir, func(data []byte) []byte { return data[:len(data)-1] })
	for start, want := range []bool{true, false} {
		e, out := openLogged(t, dir)
		j := shardJournal(t, e, 0)
		if _, _, err := j.LoadSnapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(out.String(), missing); said != want || want &&
			!strings.Contains(out.String(), "first_missing=9 last_missing=9 missing=1") {
			t.Errorf("start %d: the log says\n%s", start, out)
		}
		if last := replayFrom(t, j, 0); last != 8 {
			t.Errorf("start %d: the journal ends with %d, want 8", start, last)
		}
		mustClose(t, e)
	}
	e, _ := openLogged(t, dir)
	defer mustClose(t, e)
	if seq, err := shardJournal(t, e, 0).Append(t.Context(), 8, record(9)); err != nil || seq != 9 {
		t.Errorf("the next append became %d, %v", seq, err)
	}
}

// A journal whose damage leaves no state fails.
func TestNoState(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"nothing is left":          func([]byte) []byte { return nil },
		"the beginning is garbled": func(data []byte) []byte { data[30]++; return data },
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t, 9)
			change(t, dir, damage)
			e, _ := openLogged(t, dir)
			defer mustClose(t, e)
			if _, _, err := shardJournal(t, e, 0).LoadSnapshot(t.Context()); !errors.Is(err, journal.ErrMissing) {
				t.Errorf("got %v, want ErrMissing", err)
			}
		})
	}
}

// A mark that cannot be read is said so, and is no reason to fail.
func TestGarbledMark(t *testing.T) {
	for _, text := range []string{"1", strings.Repeat("x", 20) + "\n"} {
		dir := written(t, 3)
		if err := os.WriteFile(filepath.Join(dir, "MUSTER_SHARD_0.last"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, out := openLogged(t, dir)
		if _, _, err := shardJournal(t, e, 0).LoadSnapshot(t.Context()); err != nil {
			t.Error(err)
		}
		mustClose(t, e)
		if s := out.String(); !strings.Contains(s, unread) || strings.Contains(s, missing) {
			t.Errorf("the log says\n%s", s)
		}
		mark, err := os.ReadFile(filepath.Join(dir, "MUSTER_SHARD_0.last"))
		if want := fmt.Sprintf("%020d\n", 3); err != nil || string(mark) != want {
			t.Errorf("the mark is %q, want %q; %v", mark, want, err)
		}
	}
}

// A directory without marks is one of an earlier release.
func TestNoMark(t *testing.T) {
	dir := written(t, 3)
	if err := os.Remove(filepath.Join(dir, "MUSTER_SHARD_0.last")); err != nil {
		t.Fatal(err)
	}
	e, out := openLogged(t, dir)
	defer mustClose(t, e)
	if _, _, err := shardJournal(t, e, 0).LoadSnapshot(t.Context()); err != nil || out.Len() > 0 {
		t.Errorf("got %v, and the log says\n%s", err, out)
	}
}

// The end of the history that is missing is named in the log, once.
func TestCutHistory(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir)
	h, err := e.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := h.Append(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, e)
	// As if two more had been there.
	err = os.WriteFile(filepath.Join(dir, "MUSTER_HISTORY.last"), fmt.Appendf(nil, "%020d\n", 5), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		e, out := openLogged(t, dir)
		if _, err := e.History(t.Context()); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(out.String(), "first_missing=4 last_missing=5"); said != want {
			t.Errorf("the log says\n%s", out)
		}
		mustClose(t, e)
	}
}

// When the server gives a stream up, those who wait are told at once, and every
// later call.
func TestBroken(t *testing.T) {
	e, _ := openLogged(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	if _, err := j.Append(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	jetstream.Say(e, "Filestore [MUSTER_SHARD_0] Critical write error: %v", "write 1.blk: no space left on device")
	if err := e.Broken(t.Context()); !errors.Is(err, journal.ErrBroken) ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("the engine says %v", err)
	}
	if _, err := j.Append(t.Context(), 1, nil); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("append: %v", err)
	}
	if err := j.SaveSnapshot(t.Context(), 1, journaltest.Writing("state")); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("snapshot: %v", err)
	}
	h, err := e.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Append(t.Context(), nil); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("history: %v", err)
	}
}

// TestCertificatesOfOtherCAs are reported once, with what to do.
func TestCertificatesOfOtherCAs(t *testing.T) {
	e, log := openLogged(t, t.TempDir())
	const format = "127.0.0.1:9222 - rid:7 - TLS route handshake error: %v"
	for range 3 {
		jetstream.Say(e, format, "tls: failed to verify certificate: x509: certificate signed by unknown authority")
		jetstream.Say(e, format, "remote error: tls: bad certificate")
		jetstream.Say(e, format, "EOF")
	}
	mustClose(t, e)
	if text := log.String(); strings.Count(text, "do not trust each other's certificates") != 1 ||
		!strings.Contains(text, "muster cluster init") || strings.Count(text, "handshake error: EOF") != 1 {
		t.Errorf("logged\n%s", text)
	}
}

// TestStreamWithoutSum: a process that is killed while it makes a stream, or changes its configuration, leaves a
// description of it without its checksum, or with that of the one before. What the stream has later is not lost.
func TestStreamWithoutSum(t *testing.T) {
	for name, damage := range map[string]func(sum string) error{
		"no checksum":      os.Remove,
		"another checksum": func(sum string) error { return os.WriteFile(sum, []byte("0123456789abcdef"), 0o600) },
		"an empty file":    func(sum string) error { return os.WriteFile(sum, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := open(t, dir)
			j := shardJournal(t, e, 0)
			for last := range uint64(9) {
				if _, err := j.Append(t.Context(), last, record(last+1)); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.SaveSnapshot(t.Context(), 5, journaltest.Writing("state")); err != nil {
				t.Fatal(err)
			}
			mustClose(t, e)
			sums, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "meta.sum"))
			if err != nil || len(sums) < 2 {
				t.Fatalf("the checksums are %q, %v", sums, err)
			}
			for _, sum := range sums {
				if err := damage(sum); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				e := open(t, dir)
				j := shardJournal(t, e, 0)
				if seq, data := snapshotOf(t, j); seq != 5 || data != "state" {
					t.Errorf("the snapshot is %d %q", seq, data)
				}
				if last := replayFrom(t, j, 5); last != 9 {
					t.Errorf("the journal ends with %d, want 9", last)
				}
				mustClose(t, e)
			}
		})
	}
}
