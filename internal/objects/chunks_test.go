package objects_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/objects"
)

func putChunk(t *testing.T, s *objects.Store, data string) (hash string) {
	t.Helper()
	hash, err := s.PutChunk([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestChunks(t *testing.T) {
	dir, clock := t.TempDir(), clockwork.NewFakeClockAt(now)
	s := open(t, dir, clock)
	hash := putChunk(t, s, "part")
	if data, err := s.Chunk(hash); err != nil || string(data) != "part" || !s.HasChunk(hash) {
		t.Errorf("%q, %v", data, err)
	}
	for name, s := range map[string]*objects.Store{"open": s, "opened again": open(t, dir, clock)} {
		path := filepath.Join(dir, "chunks", hash[:2], hash)
		if err := os.WriteFile(path, []byte("prat"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Chunk(hash); !errors.Is(err, fs.ErrNotExist) || s.HasChunk(hash) {
			t.Errorf("%s: a damaged chunk is there: %v", name, err)
		}
		putChunk(t, s, "part")
	}
	if err := errors.Join(s.DeleteChunk(hash), s.DeleteChunk(hash)); err != nil || files(t, s, "chunks") != 0 {
		t.Errorf("after the deletion %d chunks: %v", files(t, s, "chunks"), err)
	}
	_, missing := s.Chunk("../x")
	if err := s.DeleteChunk("../x"); err == nil || missing == nil || s.HasChunk("../x") {
		t.Error("a path is a hash")
	}
}

// TestOldChunksAreDeleted: a chunk is kept for a day after it was written last.
func TestOldChunksAreDeleted(t *testing.T) {
	dir, clock := t.TempDir(), clockwork.NewFakeClockAt(now)
	s := open(t, dir, clock)
	old, again := putChunk(t, s, "old"), putChunk(t, s, "again")
	clock.Advance(time.Hour)
	putChunk(t, s, "again")
	clock.Advance(objects.ChunkRetention - time.Minute)
	s = open(t, dir, clock)
	if s.HasChunk(old) || !s.HasChunk(again) {
		t.Errorf("old: %t, again: %t", s.HasChunk(old), s.HasChunk(again))
	}
}

// TestMaxChunks: the chunks of pushes that never end do not fill the disk.
func TestMaxChunks(t *testing.T) {
	dir := t.TempDir()
	limited := func() *objects.Store {
		s, err := objects.Open(objects.Config{Dir: dir, Clock: clockwork.NewFakeClockAt(now), MaxChunks: 10,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := limited()
	first := putChunk(t, s, "12345")
	putChunk(t, s, "12345") // which counts once
	putChunk(t, s, "67890")
	for name, s := range map[string]*objects.Store{"open": s, "opened again": limited()} {
		if _, err := s.PutChunk([]byte("x")); objects.CodeOf(err) != objects.SlowDown {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.DeleteChunk(first); err != nil {
		t.Fatal(err)
	}
	putChunk(t, s, "x")
}

// TestIndex: an index is deleted with its blob.
func TestIndex(t *testing.T) {
	clock := clockwork.NewFakeClockAt(now)
	s := open(t, t.TempDir(), clock)
	for name, drop := range map[string]func(hash string) error{
		"deleted": s.Delete,
		"swept": func(string) error {
			clock.Advance(2 * time.Hour)
			_, err := s.Sweep(t.Context(), func(string) bool { return false })
			return err
		},
	} {
		hash := commit(t, s, []byte(name))
		if err := s.PutIndex(hash, []byte("places")); err != nil {
			t.Fatal(err)
		}
		if index, err := s.Index(hash); err != nil || !bytes.Equal(index, []byte("places")) {
			t.Errorf("%s: %q, %v", name, index, err)
		}
		if err := drop(hash); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Index(hash); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Index(strings.Repeat("z", 64)); err == nil {
		t.Error("an index of no hash")
	}
}
