//go:build unix

package crash

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/damage"
	"github.com/muster-gg/muster/e2e/report"
)

// What the service says about damage.
const (
	recordsAreMissing = "acknowledged records are missing"
	endIsMissing      = "the end of the journal is missing"
	snapshotIsDamaged = "a snapshot is damaged"
	givesNoState      = "is damaged: move it away, and restore a backup in its place (muster restore)"
)

// A wreck is a service that has acknowledged one alias after the other, each a
// record of its own, and has ended. Copies of its directory are damaged.
type wreck struct {
	*trial
	made int
}

func newWreck(t *testing.T, snapshotEvery int) *wreck {
	t.Helper()
	w := &wreck{trial: newTrial(t, plan{})}
	w.service.options = []string{"--shards", "1", "--snapshot-every", fmt.Sprint(snapshotEvery), "--log-level", "debug"}
	w.ctx = t.Context()
	w.service.start(w.ctx)
	w.connect()
	t.Cleanup(w.http.CloseIdleConnections)
	return w
}

func aliasName(n int) string { return fmt.Sprintf("alias-%04d", n) }

func (w *wreck) make(n int) {
	w.t.Helper()
	for range n {
		name := aliasName(w.made)
		_, err := w.client.CreateAlias(w.ctx, &gamelift.CreateAliasInput{
			Name: &name, Description: &name,
			RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: &name},
		})
		w.must(err)
		w.made++
	}
}

// makeUntil makes aliases until so many snapshots are whole, and a few more.
func (w *wreck) makeUntil(snapshots int) {
	w.t.Helper()
	for w.service.Log.Counted() < snapshots {
		w.make(1)
	}
	w.make(3)
}

// damaged copies the directory, damages the copy, and gives a service for it.
func (w *wreck) damaged(t *testing.T, harm func(store)) *service {
	t.Helper()
	s := newService(t, w.random, w.service.options)
	if err := os.CopyFS(s.data, os.DirFS(w.service.data)); err != nil {
		t.Fatal(err)
	}
	harm(store{damage.Store{T: t, Dir: s.data}})
	return s
}

// kept starts a service and counts the aliases, which must be the first ones
// without a gap.
func (w *wreck) kept(t *testing.T, s *service) int {
	t.Helper()
	s.start(w.ctx)
	u := &trial{t: t, ctx: w.ctx, service: s, http: w.http, calls: w.calls, found: &report.Findings{}}
	u.connect()
	names := slices.Sorted(maps.Keys(u.seeAliases()))
	for i, name := range names {
		if name != aliasName(i) {
			t.Errorf("alias %d of %d is %s: there is a gap", i, len(names), name)
		}
	}
	u.complain()
	if len(names) > w.made {
		t.Errorf("there are %d aliases, %d were made", len(names), w.made)
	}
	return len(names)
}

// A service whose journal was cut off serves what is whole, and says which
// acknowledged records are gone.
func TestCutJournal(t *testing.T) {
	t.Parallel()
	w := newWreck(t, 1000)
	w.make(20)
	w.service.Kill()
	for name, c := range map[string]struct {
		records int // that are cut, the first of them in part
		at      func(m damage.Message) int
	}{
		"not":                        {},
		"in the last length":         {1, func(damage.Message) int { return 2 }},
		"in the last head":           {1, func(damage.Message) int { return damage.MessageHead - 1 }},
		"in the last record":         {1, func(m damage.Message) int { return m.Size / 2 }},
		"before the last byte":       {1, func(m damage.Message) int { return m.Size - 1 }},
		"between two records":        {1, func(damage.Message) int { return 0 }},
		"in the third last record":   {3, func(m damage.Message) int { return m.Size / 3 }},
		"in the tenth last record":   {10, func(m damage.Message) int { return m.Size - 8 }},
		"garbled in the fifth last":  {5, nil},
		"garbled in the second last": {2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var first, last uint64
			s := w.damaged(t, func(s store) {
				if c.records > 0 {
					s.Change(records, func(data []byte, all []damage.Message) []byte {
						m := all[len(all)-c.records]
						first, last = m.Seq, all[len(all)-1].Seq
						if c.at != nil {
							return data[:m.Offset+c.at(m)]
						}
						data[m.Offset+m.Size/2]++
						return data
					})
				}
			})
			if n := w.kept(t, s); n != w.made-c.records {
				t.Errorf("%d aliases of %d are there, %d records were damaged", n, w.made, c.records)
			}
			s.Kill() // after which its log is complete
			told := s.Log.Says("level=ERROR", recordsAreMissing,
				fmt.Sprintf("first_missing=%d last_missing=%d", first, last))
			if told != (c.records > 0) || told != s.Log.Says(recordsAreMissing) {
				t.Errorf("the log is wrong about records %d to %d\n%s", first, last, s.Log.Tail())
			}
			n := w.kept(t, s)
			s.Kill()
			if n != w.made-c.records || s.Log.Says(recordsAreMissing) {
				t.Errorf("%d aliases of %d are there at the second start, and the log says\n%s", n, w.made-c.records,
					s.Log.Tail())
			}
		})
	}
	t.Run("everything", func(t *testing.T) {
		w.damaged(t, func(s store) {
			s.Change(records, func([]byte, []damage.Message) []byte { return nil })
		}).refuse(w.ctx, givesNoState)
	})
	t.Run("the file", func(t *testing.T) {
		w.damaged(t, func(s store) {
			if err := os.Remove(s.NewestBlock(records)); err != nil {
				t.Fatal(err)
			}
		}).refuse(w.ctx, givesNoState)
	})
}

// A service whose newest snapshot is damaged starts from the older one, or from
// the journal when that is complete, and loses nothing.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	w := newWreck(t, 100)
	w.makeUntil(1)
	if n := w.service.Log.Counted(); n != 1 {
		t.Fatalf("%d snapshots were written", n)
	}
	w.service.Kill()
	t.Run("the only one", func(t *testing.T) {
		w.whole(t, func(s store) { s.garble(1) })
	})
	w.service.start(w.ctx)
	w.makeUntil(3)
	w.service.Kill()
	t.Run("the newest one is garbled", func(t *testing.T) {
		w.whole(t, func(s store) { s.garble(1) })
	})
	t.Run("the newest one is cut short", func(t *testing.T) {
		w.whole(t, store.cutSnapshot)
	})
	t.Run("all", func(t *testing.T) {
		w.damaged(t, func(s store) { s.garble(2) }).refuse(w.ctx, givesNoState)
	})
	t.Run("the journal ends before it", func(t *testing.T) {
		s := w.damaged(t, func(s store) {
			s.Change(records, func(data []byte, all []damage.Message) []byte { return data[:all[len(all)-60].Offset] })
		})
		n := w.kept(t, s)
		s.Kill() // after which its log is complete
		if n >= w.made || !s.Log.Says("level=ERROR", endIsMissing) || !s.Log.Says("level=ERROR", recordsAreMissing) {
			t.Errorf("%d aliases of %d are there\n%s", n, w.made, s.Log.Tail())
		}
		n = w.kept(t, s)
		s.Kill()
		if n >= w.made || s.Log.Says(recordsAreMissing) {
			t.Errorf("%d aliases of %d are there at the second start\n%s", n, w.made, s.Log.Tail())
		}
	})
	w.service.start(w.ctx)
	w.service.Stop()
	w.service.awaitEnd() // now the engine takes its files for right
	t.Run("after a stop", func(t *testing.T) {
		w.whole(t, func(s store) { s.garble(1) })
	})
	t.Run("all, after a stop", func(t *testing.T) {
		w.damaged(t, func(s store) { s.garble(2) }).refuse(w.ctx, givesNoState)
	})
}

// whole damages a snapshot: everything must be there, and the log must say what
// was wrong.
func (w *wreck) whole(t *testing.T, harm func(store)) {
	t.Helper()
	s := w.damaged(t, harm)
	if n := w.kept(t, s); n != w.made {
		t.Errorf("%d aliases of %d are there", n, w.made)
	}
	s.Kill() // after which its log is complete
	if !s.Log.Says("level=ERROR", snapshotIsDamaged) || s.Log.Says(recordsAreMissing) {
		t.Errorf("the log does not say what was wrong\n%s", s.Log.Tail())
	}
}
