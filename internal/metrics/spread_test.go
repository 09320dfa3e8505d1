package metrics

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

func (n *node) spread(of Timing, period time.Duration) []Spread {
	n.t.Helper()
	list, err := n.Spread(context.Background(), of, []float64{.5, .99}, begin, begin.Add(time.Hour), period)
	if err != nil {
		n.t.Fatal(err)
	}
	return list
}

// TestCallTimes: the calls of each 10 s are recorded, also over a restart of the process, whose histogram begins anew.
func TestCallTimes(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	h := Histogram{Bounds: []float64{.001, .0025, 10}}
	n.cfg.Calls = func() Histogram { h.Counts = slices.Clone(h.Counts); return h }
	n.start()
	h.Counts, h.Count, h.Sum = []uint64{0, 0, 0}, 0, 0
	n.frames(10 * time.Second)
	h.Counts, h.Count, h.Sum = []uint64{8, 10, 10}, 10, .01
	n.frames(10 * time.Second)
	h.Counts, h.Count, h.Sum = []uint64{8, 14, 14}, 15, 60
	n.frames(20 * time.Second)
	n.start()
	h.Counts, h.Count, h.Sum = []uint64{2, 2, 2}, 2, .001
	n.frames(20 * time.Second)
	got := n.spread(APICalls, 10*time.Second)
	want := []Spread{{begin.Add(10 * time.Second), 10, []float64{.0005 + .0005*5/8, .002425}},
		{begin.Add(20 * time.Second), 5, []float64{.001 + .0015*2.5/4, 10}}, {begin.Add(40 * time.Second), 2,
			[]float64{.00075, .000995}}}
	if len(got) != len(want) {
		t.Fatalf("%+v, want %d periods", got, len(want))
	}
	for i, w := range want {
		same := slices.EqualFunc(got[i].Quantiles, w.Quantiles,
			func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
		if !got[i].At.Equal(w.At) || got[i].Count != w.Count || !same {
			t.Errorf("%+v, want %+v", got[i], w)
		}
	}
	if minutes := n.spread(APICalls, time.Minute); len(minutes) != 1 || minutes[0].Count != 17 {
		t.Errorf("by minutes: %+v", minutes)
	}
	for _, s := range n.List(false) {
		if len(s.Dimensions) == 0 {
			t.Errorf("%v is listed as a metric of CloudWatch", s)
		}
	}
}

// TestPlacementTimes adds up the placements of all queues.
func TestPlacementTimes(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	if got := n.spread(Placements, time.Minute); len(got) != 0 {
		t.Errorf("without a placement: %+v", got)
	}
	c := &router.Commit{Shard: 0}
	for i, queue := range []string{"ranked", "duel"} {
		request := placement.Request{ID: queue, Queue: queue}
		for _, body := range []any{
			&placement.PlacementStarted{Request: request, At: at(0), Deadline: at(60)},
			&placement.PlacementEnded{ID: queue, At: at(float64(1 + i)), Status: placement.TimedOut},
		} {
			c.Facts = append(c.Facts, event.Fact{Room: region.PlacementsRoom, Body: body})
			c.Rooms = append(c.Rooms, fleet.RoomID{})
		}
	}
	n.Observe(c)
	n.frames(time.Minute)
	if got := n.spread(Placements, time.Minute); len(got) != 1 || got[0].Count != 2 || got[0].Quantiles[0] != 1 {
		t.Errorf("got %+v, want 2 placements", got)
	}
}
