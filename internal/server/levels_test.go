package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/mustertest/ports"
	"github.com/muster-gg/muster/internal/region"
)

// tooNew is a level that this program does not read, and what it says about it.
var (
	tooNew     = region.MaxLevel + 7
	tooNewText = fmt.Sprintf("feature level %d is in force, and this release reads levels up to %d: use the release",
		tooNew, region.MaxLevel)
)

// quietConfig is that of a service for a test.
func quietConfig(data string) config.Config {
	c := config.Default()
	c.Data, c.Listen, c.Gateway.Listen = data, "127.0.0.1:0", ""
	return c
}

// threeNodes prepares the nodes of a cluster, which do not run yet.
func threeNodes(t *testing.T) (nodes []config.Config) {
	t.Helper()
	dir, names := t.TempDir(), []string{"n1", "n2", "n3"}
	if _, err := InitCluster(dir, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	peers := ports.Free(t, rand.IntN, len(names))
	for i, name := range names {
		c := quietConfig(filepath.Join(dir, name))
		c.Shards, c.Cluster.Node, c.Cluster.Listen, c.Cluster.Peers = 0, name, peers[i], peers
		c.Clock, c.Log = clockwork.NewRealClock(), slog.New(slog.DiscardHandler)
		nodes = append(nodes, c)
	}
	return nodes
}

// begin runs a service until stop is called, and returns when it is ready or has ended.
func begin(t *testing.T, c config.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	c.Ready = func(config.Endpoints) { close(ready) }
	go func() {
		defer close(ended)
		ended <- Run(ctx, c)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Errorf("the service has ended: %v", err)
	}
	return stop
}

// A data directory above the level that this release reads is refused before anything in it is opened.
func TestDataAboveOurLevel(t *testing.T) {
	data := t.TempDir()
	text := fmt.Sprintf(`{"version":2,"region":"us-west-2","account":"111122223333","shards":4,"level":%d}`, tooNew)
	if err := os.WriteFile(filepath.Join(data, identityFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before := treeHash(t, data)
	for name, open := range map[string]func() error{
		"Run":      func() error { return Run(t.Context(), quietConfig(data)) },
		"OpenData": func() error { _, _, err := OpenData(t.Context(), data, nil); return err },
	} {
		if err := open(); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), tooNewText) {
			t.Errorf("%s gives %v, want %s", name, err, tooNewText)
		}
		if treeHash(t, data) != before {
			t.Errorf("%s has changed the directory", name)
		}
	}
}

func TestBackupOfANewerRelease(t *testing.T) {
	for _, c := range []struct {
		header backup.Header
		want   string
	}{
		{backup.Header{Layout: 1, Shards: 4}, ""},
		{backup.Header{Layout: 2, Shards: 4, Level: region.MaxLevel}, ""},
		{backup.Header{Layout: 2, Shards: 4, Level: tooNew}, tooNewText},
		{backup.Header{Layout: 3, Shards: 4}, "its layout has version 3"},
	} {
		if err := checkHeader(c.header); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.header, err, c.want)
		}
	}
}

// writtenBackup is the backup of an empty region.
func writtenBackup(t *testing.T, h backup.Header) *io.SectionReader {
	t.Helper()
	engine, err := jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	_, noHistory := engine.History(t.Context())
	_, noFeed := engine.Feed(t.Context())
	_, noJournal := engine.Journal(t.Context(), 0)
	snapshot, err := engine.ConsistentSnapshot(t.Context(), h.Shards, engine)
	if err := errors.Join(noHistory, noFeed, noJournal, err); err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	var to bytes.Buffer
	if err := backup.Write(t.Context(), &to, h, nil, snapshot, nil); err != nil {
		t.Fatal(err)
	}
	return io.NewSectionReader(bytes.NewReader(to.Bytes()), 0, int64(to.Len()))
}

// A backup above the level that this release reads is neither restored nor inspected, and nothing is written.
func TestBackupAboveOurLevel(t *testing.T) {
	file := writtenBackup(t, backup.Header{Region: "us-west-2", Account: "111122223333", Shards: 1, Layout: 2,
		Level: tooNew})
	data := filepath.Join(t.TempDir(), "data")
	if _, err := Restore(t.Context(), data, file, nil); err == nil || !strings.Contains(err.Error(), tooNewText) {
		t.Errorf("restore: %v", err)
	}
	_, _ = file.Seek(0, io.SeekStart) // never fails
	if _, err := RestoreCluster(data, []string{"n1"}, file, time.Now()); err == nil ||
		!strings.Contains(err.Error(), tooNewText) {
		t.Errorf("restore to a cluster: %v", err)
	}
	if _, err := backup.OfFile(file); err == nil || !strings.Contains(err.Error(), tooNewText) {
		t.Errorf("inspect: %v", err)
	}
	if has, err := exists(data); has || err != nil {
		t.Errorf("something was written: %v, %v", has, err)
	}

	file = writtenBackup(t, backup.Header{Region: "us-west-2", Account: "111122223333", Shards: 1, Layout: 2,
		Level: region.MaxLevel})
	if _, err := Restore(t.Context(), data, file, nil); err != nil {
		t.Fatal(err)
	}
	if kept, _, err := readIdentity(data); err != nil || kept.Level != region.MaxLevel || kept.Version != 2 {
		t.Errorf("restored as %+v, %v", kept, err)
	}
}

// A service alone notes in its data directory which level it writes, for releases that do not read it.
func TestLevelIsNoted(t *testing.T) {
	data := t.TempDir()
	for range 2 {
		begin(t, quietConfig(data))()
		if kept, _, err := readIdentity(data); err != nil || kept.Level != region.MaxLevel ||
			kept.Version != layoutOf(region.MaxLevel) {
			t.Errorf("noted %+v, %v", kept, err)
		}
	}
}

// The nodes of a cluster agree on a level, and one that does not read it is refused before it takes
// part. Here it is a newer release that has raised it.
func TestClusterRefusesAnOlderRelease(t *testing.T) {
	nodes := threeNodes(t)
	stops := make([]func(), len(nodes))
	var starting sync.WaitGroup
	for i, c := range nodes {
		starting.Go(func() { stops[i] = begin(t, c) })
	}
	starting.Wait()
	defer stops[0]()
	defer stops[1]()
	stops[2]()

	raiseAs(t, nodes[2], tooNew)
	if err := Run(t.Context(), nodes[2]); err == nil || !strings.Contains(err.Error(), tooNewText) {
		t.Errorf("the node ended with %v, want %s", err, tooNewText)
	}
}

// raiseAs waits until the nodes have agreed on the newest level, and raises it further, as the release of a
// stopped node would.
func raiseAs(t *testing.T, c config.Config, level int) {
	t.Helper()
	c.Clock, c.Log = clockwork.NewRealClock(), slog.New(slog.DiscardHandler)
	journals, err := engineConfig(&c)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := jetstream.Open(t.Context(), journals)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	s := &service{cfg: c, engine: engine}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for raised := false; !raised; <-look.C {
		agreed, err := s.amend(t.Context(), func(all *identity) error {
			if raised = all.Level == region.MaxLevel; raised {
				all.Level = level
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range []string{"n1", "n2", "n3"} {
			if agreed.Nodes[node] != region.MaxLevel {
				t.Fatalf("the nodes have noted %v", agreed.Nodes)
			}
		}
	}
}
