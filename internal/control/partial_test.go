package control

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestPartial: what adds up all shards shows those that answer, and names the others.
func TestPartial(t *testing.T) {
	n := newNet(t, 2)
	w := n.worlds[1]
	w.fleetAt("custom-a", "custom-b", "custom-c", "custom-d")
	briefly := func() context.Context {
		ctx, cancel := context.WithTimeout(w.ctx, 200*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for name, read := range map[string]func(context.Context) (Partial, error){
		"overview": func(ctx context.Context) (Partial, error) {
			o, err := w.Overview(ctx, nil)
			if err != nil {
				return Partial{}, err
			}
			return o.Partial, nil
		},
		"fleets": func(ctx context.Context) (Partial, error) {
			l, err := w.FleetRows(ctx, nil, 100)
			if err != nil {
				return Partial{}, err
			}
			if len(l.Fleets) != 1 {
				t.Errorf("%d fleets", len(l.Fleets))
			}
			return l.Partial, nil
		},
		"game sessions": func(ctx context.Context) (Partial, error) {
			l, err := w.ListSessions(ctx, SessionQuery{Limit: 10})
			if err != nil {
				return Partial{}, err
			}
			return l.Partial, nil
		},
		"ended game sessions": func(ctx context.Context) (Partial, error) {
			l, err := w.EndedSessions(ctx, EndedQuery{Limit: 10})
			if err != nil {
				return Partial{}, err
			}
			return l.Partial, nil
		},
		"search": func(ctx context.Context) (Partial, error) {
			l, err := w.Lookup(ctx, LookupQuery{Text: "custom-a"})
			if err != nil {
				return Partial{}, err
			}
			if len(l.Hits) == 0 || l.Partial != (len(l.MissingShards) > 0) {
				t.Errorf("%+v", l)
			}
			return Partial{l.MissingShards}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := read(w.ctx); err != nil || p.MissingShards != nil {
				t.Errorf("all shards answer: %v, %v", p, err)
			}
			n.take(1)
			if p, err := read(briefly()); err != nil || !slices.Equal(p.MissingShards, []int{1}) {
				t.Errorf("shard 1 has no owner: %v, %v", p, err)
			}
			n.take(0)
			n.take(2)
			if name != "search" { // which has the catalog
				_, err := read(briefly())
				if shard, ok := UnansweredShard(err); !ok || shard != 0 {
					t.Errorf("no shard has an owner: %v", err)
				}
			}
			for i := range n.shards {
				n.give(i, 0)
			}
		})
	}
}
