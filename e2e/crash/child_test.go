//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/child"
)

// A service is the binary with its data directory and its address, over all its
// runs.
type service struct {
	*child.Process
	data    string
	address string
	options []string
}

func newService(t *testing.T, random *rand.Rand, options []string) *service {
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data") // is removed after the service has been killed
	s := &service{Process: child.New(t, "the service", binary), data: data, address: child.FreeAddress(t, random),
		options: options}
	s.Log.Count(snapshotWritten)
	return s
}

// ready is the file that is there while the service is ready.
func (s *service) ready() string { return filepath.Join(s.data, "muster.env") }

// start runs the service and returns when it is ready, and how long that took.
func (s *service) start(ctx context.Context) time.Duration {
	s.T.Helper()
	if err := os.Remove(s.ready()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.T.Fatal(err) // a killed run leaves it
	}
	begin := time.Now()
	s.launch()
	s.Await(ctx, func() bool { _, err := os.Stat(s.ready()); return err == nil })
	return time.Since(begin)
}

// refuse runs the service, which must not start but say these words.
func (s *service) refuse(ctx context.Context, words string) {
	s.T.Helper()
	s.launch()
	s.AwaitFailure(ctx, words)
}

// launch runs the service.
func (s *service) launch() {
	s.T.Helper()
	s.Launch(append([]string{"dev", "--quiet", "--no-sample", "--no-machine", "--data", s.data, "--listen", s.address,
		"--gateway-listen", ""},
		s.options...)...)
}

// environment reads what the service says about itself.
func (s *service) environment() map[string]string {
	text, err := os.ReadFile(s.ready())
	if err != nil {
		s.T.Fatal(err)
	}
	return child.Variables(string(text))
}

// awaitEnd waits until the service has stopped gracefully.
func (s *service) awaitEnd() {
	s.T.Helper()
	s.AwaitEnd()
	if _, err := os.Stat(s.ready()); !errors.Is(err, fs.ErrNotExist) {
		s.T.Errorf("muster.env after a graceful stop: %v; want none", err)
	}
}

// snapshotWritten is what a shard logs when a snapshot is whole.
const snapshotWritten = "snapshot written"

// killInSnapshot waits until the one shard writes a snapshot and kills the
// service then. It reports whether that cut the snapshot short.
func (s *service) killInSnapshot(ctx context.Context) (cut bool) {
	s.T.Helper()
	const snapshots = "OBJ_*"
	whole, before := s.Log.Counted(), s.files(snapshots)
	s.Catch(ctx, func() bool {
		if n := s.Log.Counted(); n != whole { // too late for that one
			whole, before = n, s.files(snapshots)
		}
		return s.files(snapshots) != before
	})
	s.Kill()
	return s.Log.Counted() == whole
}

// killInArchiving waits until game sessions that are over move to the history,
// and kills the service then.
func (s *service) killInArchiving(ctx context.Context) {
	s.T.Helper()
	const history = "MUSTER_HISTORY"
	before := s.files(history)
	s.Catch(ctx, func() bool { return s.files(history) != before })
	s.Kill()
}

// files describes the files of the journal's streams with such a name.
func (s *service) files(stream string) string {
	blocks, err := filepath.Glob(filepath.Join(s.data, "journal", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil {
		s.T.Fatal(err)
	}
	var description strings.Builder
	for _, block := range blocks {
		if info, err := os.Stat(block); err == nil {
			fmt.Fprintln(&description, block, info.Size())
		}
	}
	return description.String()
}

// harmIndex deletes the index of the history, or damages one of its files, or does nothing; and says what.
func (s *service) harmIndex(random *rand.Rand) string {
	s.T.Helper()
	index := filepath.Join(s.data, "history.index")
	must := func(err error) {
		if err != nil {
			s.T.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(index, "*"))
	must(err)
	files = slices.DeleteFunc(files, func(file string) bool { // locks and markers are empty
		info, err := os.Stat(file)
		must(err)
		return info.Size() == 0
	})
	file := files[random.IntN(len(files))]
	data, err := os.ReadFile(file)
	must(err)
	switch random.IntN(4) {
	case 0:
		return "the index was left as it was"
	case 1:
		must(os.RemoveAll(index))
		return "the index was deleted"
	case 2:
		must(os.Truncate(file, random.Int64N(int64(len(data)))))
		return filepath.Base(file) + " of the index was truncated"
	}
	data[random.IntN(len(data))] ^= 1 << random.IntN(8)
	must(os.WriteFile(file, data, 0o600))
	return "a bit of " + filepath.Base(file) + " of the index was flipped"
}
