//go:build unix

package supervisor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A followed output is read while it is written.
type followed struct {
	*testing.T
	*output
	*Follower
	buf []byte
}

func newFollowed(t *testing.T, tail int64, before ...string) *followed {
	t.Helper()
	dir := t.TempDir()
	f := &followed{T: t, output: newOutput(dir, func() time.Time { return record.Started }), buf: make([]byte, 96<<10)}
	f.write(before...)
	f.Follower = Follow(dir, tail)
	return f
}

func (f *followed) write(lines ...string) {
	for _, l := range lines {
		f.line("out", []byte(l), false, true)
	}
}

// take returns the text of all lines that there are, and whether lines were skipped.
func (f *followed) take() (lines []string, skipped bool) {
	f.Helper()
	for {
		text, skip, err := f.Next(f.buf)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) == 0 && !skip {
			return lines, skipped
		}
		skipped = skipped || skip
		for line := range strings.Lines(string(text)) {
			lines = append(lines, strings.TrimSuffix(line[len("2026-01-02T03:04:05.000000Z out "):], "\n"))
		}
	}
}

func TestFollow(t *testing.T) {
	f := newFollowed(t, 60, "first", "second", "third")
	if lines, skipped := f.take(); strings.Join(lines, " ") != "third" || skipped {
		t.Errorf("the tail is %q, %v", lines, skipped)
	}
	f.write("fourth")
	if lines, _ := f.take(); strings.Join(lines, " ") != "fourth" {
		t.Errorf("then %q", lines)
	}
	f = newFollowed(t, 1000)
	f.write("first")
	if lines, _ := f.take(); strings.Join(lines, " ") != "first" {
		t.Errorf("of a new file: %q", lines)
	}
}

// TestFollowRotated: a reader that keeps up misses nothing, one that does not skips lines, and reports it.
func TestFollowRotated(t *testing.T) {
	f := newFollowed(t, 0, "before")
	next := 0
	check := func(lines []string) {
		t.Helper()
		for _, l := range lines {
			if want := fmt.Sprintf("%01000d", next); l != want {
				t.Fatalf("line %.20q..., want the number %d", strings.TrimLeft(l, "0"), next)
			}
			next++
		}
	}
	written := 0
	write := func(n int) {
		for range n {
			f.write(fmt.Sprintf("%01000d", written))
			written++
		}
	}
	for range 40 {
		write(500) // half of what may be unread
		lines, skipped := f.take()
		check(lines)
		if skipped {
			t.Fatal("lines were skipped")
		}
	}
	if next != written || !Cut(f.output.dir) {
		t.Errorf("%d of %d lines were read; cut %v", next, written, Cut(f.output.dir))
	}
	write(10000)
	lines, skipped := f.take()
	if !skipped || len(lines) == 0 || len(lines) > 4*maxBehind/1000 || !slices.IsSorted(lines) ||
		lines[len(lines)-1] != fmt.Sprintf("%01000d", written-1) {
		t.Errorf("behind: %d lines, skipped %v", len(lines), skipped)
	}
}

func TestWholeOutput(t *testing.T) {
	f := newFollowed(t, 0, "only")
	if Cut(f.output.dir) {
		t.Error("an output is cut that is not")
	}
	all, err := Output(f.output.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if text, err := io.ReadAll(all); err != nil || string(text) != "2026-01-02T03:04:05.000000Z out only\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPrune: directories whose logs are not stored are kept longer.
func TestPrune(t *testing.T) {
	parent := t.TempDir()
	for i := range 8 {
		dir := filepath.Join(parent, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		exit := Exit{Ended: record.Started.Add(time.Duration(i) * time.Second)}
		if err := writeJSON(dir, endedFile, record); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(dir, exitFile, exit); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := Note(dir, Notes{Reason: "x"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	dropped, err := Prune(parent, 1, 3)
	left, _ := filepath.Glob(filepath.Join(parent, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if err != nil || dropped != 1 || strings.Join(left, " ") != "2 4 6 7" {
		t.Errorf("left %v, dropped %d, %v", left, dropped, err)
	}
	dir := filepath.Join(parent, "2")
	if found, err := Find(dir); err != nil || found.Notes == nil || found.Notes.Reason != "x" {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := Stored(dir); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(dir); err != nil || found.Notes != nil {
		t.Errorf("after it was stored: %+v, %v", found, err)
	}
}
