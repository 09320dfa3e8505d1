package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

var began = time.Date(2026, 11, 28, 7, 30, 0, 0, time.UTC)

func open(t *testing.T, dir string, size int64, clock clockwork.Clock) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, MaxSize: size, Clock: clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Store) put(key Key, text string) error {
	w, err := s.Create(key, int64(len(text)))
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return w.Commit()
}

func text(t *testing.T, s *Store, key Key) string {
	t.Helper()
	f, err := s.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// TestRetention: a log is found for 14 days, also after a restart, and its file is deleted then.
func TestRetention(t *testing.T) {
	clock, dir := clockwork.NewFakeClockAt(began), t.TempDir()
	s := open(t, dir, 1<<20, clock)
	key := KeyOf("fleet-1", "box/1", "p-1")
	if err := s.put(key, "first"); err != nil {
		t.Fatal(err)
	}
	if err := s.put(key, "second"); err != nil {
		t.Fatal(err)
	}
	if got := s.hours["2026-11-28T07"]; *got != (hour{1, 6}) {
		t.Errorf("after a repetition the hour has %+v", got)
	}
	w, err := s.Create(key, 10)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "half") // the service is killed
	clock.Advance(Retention - time.Second)
	s = open(t, dir, 1<<20, clock)
	if left, err := os.ReadDir(s.temp()); err != nil || len(left) > 0 {
		t.Errorf("temporary files: %v, %v", left, err)
	}
	if err := s.countLate(t.Context()); err != nil || *s.hours["2026-11-28T07"] != (hour{1, 6}) {
		t.Errorf("after a restart the hours are %+v, %v", s.hours, err)
	}
	if got := text(t, s, key); got != "second" {
		t.Errorf("before its end the log is %q", got)
	}
	clock.Advance(time.Second)
	if got := text(t, s, key); got != "" {
		t.Errorf("after its end the log is %q", got)
	}
	clock.Advance(2 * time.Hour)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "2026-11-28T07")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the hour is left: %v", err)
	}
}

// TestFull: the oldest hours make room, but not the present one.
func TestFull(t *testing.T) {
	clock := clockwork.NewFakeClockAt(began)
	s := open(t, t.TempDir(), 10, clock)
	var keys []Key
	for i := range 4 {
		keys = append(keys, KeyOf("fleet-1", "box-1", fmt.Sprint("p-", i)))
	}
	for i := range 2 {
		if err := s.put(keys[i], "12345"); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
	}
	if err := s.put(keys[2], "1"); err != nil {
		t.Fatal(err)
	}
	if text(t, s, keys[0]) != "" || text(t, s, keys[1]) != "12345" || text(t, s, keys[2]) != "1" {
		t.Error("not the oldest log was deleted")
	}
	w, err := s.Create(keys[3], 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.put(keys[3], "1"); !errors.Is(err, ErrFull) {
		t.Errorf("beside a log that is being written: %v", err)
	}
	w.Abort()
	if err := s.put(keys[3], "123456789"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestKey(t *testing.T) {
	if KeyOf("a", "bc", "d") == KeyOf("ab", "c", "d") {
		t.Error("two processes have one key")
	}
	key := KeyOf("a", "b", "c")
	for text, want := range map[string]bool{
		string(key): true, string(key[1:]): false, "../" + string(key[3:]): false, "": false,
		"A" + string(key[1:]): false,
	} {
		if _, ok := ParseKey(text); ok != want {
			t.Errorf("ParseKey(%q) = %v", text, ok)
		}
	}
}
