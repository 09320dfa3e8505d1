package jetstream_test

import (
	"testing"

	"github.com/muster-gg/muster/internal/journal/jetstream"
)

func TestStored(t *testing.T) {
	t.Parallel()
	for name, engines := range map[string]func(*testing.T) (first, second *jetstream.Engine){
		"alone": func(t *testing.T) (first, second *jetstream.Engine) {
			e := open(t, t.TempDir())
			t.Cleanup(func() { mustClose(t, e) })
			return e, e
		},
		"nodes": func(t *testing.T) (first, second *jetstream.Engine) {
			c := startedCluster(t)
			return c.nodes[0], c.nodes[1]
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := engines(t)
			if _, err := first.Stored(t.Context(), 0); err == nil {
				t.Error("a journal that was never opened is described")
			}
			j := shardJournal(t, first, 0)
			appendRecords(t, j, 1, 12)
			s := must(second.Stored(t.Context(), 0))(t)
			if s.Last != 12 || s.Bytes == 0 || s.Snapshot != nil {
				t.Errorf("%+v", s)
			}
			saveSnapshot(t, j, 8)
			saveSnapshot(t, j, 11)
			s = must(second.Stored(t.Context(), 0))(t)
			n := s.Snapshot
			if s.Last != 12 || n == nil || n.Seq != 11 || n.Bytes != uint64(len("state 11")) || n.Time.IsZero() {
				t.Errorf("%+v with snapshot %+v", s, n)
			}
			if first.Version() == "" {
				t.Error("no version")
			}
		})
	}
}
