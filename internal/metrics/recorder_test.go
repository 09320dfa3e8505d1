package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
)

var begin = time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)

var home = fleet.RoomID{Fleet: "fleet-1", Location: "custom-home"}

// A node is a Recorder with fake shards. Its frames are made by run.
type node struct {
	*Recorder
	t     *testing.T
	clock *clockwork.FakeClock
	cfg   Config
	owned []bool
	rooms map[fleet.RoomID]fleet.Counts
	view  *catalog.State
}

func feedsAt(clock clockwork.Clock) (feeds Feeds) {
	for i := range feeds {
		feeds[i] = memory.NewFeedAt(clock)
	}
	return feeds
}

func newNode(t *testing.T, name string, clock *clockwork.FakeClock, feeds Feeds, shards int) *node {
	n := &node{
		t: t, clock: clock, owned: slices.Repeat([]bool{true}, shards), rooms: map[fleet.RoomID]fleet.Counts{},
		view: catalog.New(catalog.DefaultLimits()),
	}
	n.cfg = Config{
		Node: name, Shards: shards, Feeds: feeds, Retention: DefaultRetention,
		Owned: func(shard int) bool { return n.owned[shard] },
		Rooms: func(_ context.Context, shard int) (map[fleet.RoomID]fleet.Counts, error) {
			rooms := map[fleet.RoomID]fleet.Counts{}
			for id, c := range n.rooms {
				if region.ShardOf(id, shards) == shard {
					rooms[id] = c
				}
			}
			return rooms, nil
		},
		Catalog: func() *catalog.State { return n.view },
		Clock:   clock, Log: slog.New(slog.DiscardHandler), Dropped: func(int) {},
	}
	n.change(
		catalog.CreateLocation{Name: home.Location},
		catalog.CreateFleet{
			ID: string(home.Fleet), ComputeType: "ANYWHERE", Locations: []string{home.Location},
			Attributes: catalog.Attributes{Name: "lab", Cost: "1", MetricGroups: []string{"all"}},
			EventIDs:   []string{"1", "2", "3"},
		})
	n.start()
	return n
}

func (n *node) change(commands ...catalog.Command) {
	n.t.Helper()
	for _, c := range commands {
		events, err := n.view.Decide(event.At(n.clock.Now()), c)
		if err != nil {
			n.t.Fatalf("%T: %v", c, err)
		}
		for _, e := range events {
			n.view.Apply(e)
		}
	}
}

// start makes a new Recorder, as a new process does.
func (n *node) start() {
	n.Recorder = New(n.cfg)
	n.restore(context.Background())
	close(n.restored)
}

// frames makes frames until a time has passed, and stores them.
func (n *node) frames(d time.Duration) {
	n.t.Helper()
	for range d / steps[samples].step {
		n.clock.Advance(steps[samples].step)
		n.tick(context.Background(), n.clock.Now())
		if err := n.storeAll(context.Background()); err != nil {
			n.t.Fatal(err)
		}
	}
}

// commit shows the Recorder facts of a room.
func (n *node) commit(room fleet.RoomID, bodies ...any) {
	c := &router.Commit{Shard: region.ShardOf(room, len(n.owned))}
	for _, body := range bodies {
		c.Facts = append(c.Facts, event.Fact{Room: 1, Body: body})
		c.Rooms = append(c.Rooms, room)
	}
	n.Observe(c)
}

func (n *node) points(s Series, from time.Time, d, period time.Duration) []Point {
	n.t.Helper()
	points, err := n.Points(context.Background(), s, from, from.Add(d), period)
	if err != nil {
		n.t.Fatal(err)
	}
	return points
}

func series(metric string, dimensions ...string) Series {
	s := Series{Metric: metric}
	for pair := range slices.Chunk(dimensions, 2) {
		s.Dimensions = append(s.Dimensions, Dimension{pair[0], pair[1]})
	}
	return s
}

// wantSums fails unless the points have these sums and numbers of samples.
func wantSums(t *testing.T, what string, got []Point, want ...float64) {
	t.Helper()
	var sums []float64
	for _, p := range got {
		sums = append(sums, p.Sum)
	}
	if !slices.Equal(sums, want) {
		t.Errorf("%s: sums %v, want %v", what, sums, want)
	}
}

// scrape returns the values that Prometheus gets, by name and labels.
func (n *node) scrape() map[string]float64 {
	n.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(n.Recorder, 0))
	families, err := registry.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			all[f.GetName()+shownLabels(m)] = m.GetGauge().GetValue() + m.GetCounter().GetValue() +
				m.GetHistogram().GetSampleSum()
		}
	}
	return all
}

func shownLabels(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.Label {
		pairs = append(pairs, l.GetName()+"="+l.GetValue())
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// TestRestart kills the process in the middle of a minute, and starts it again.
func TestRestart(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	activations := series("PlayerSessionActivations", "FleetId", "fleet-1")
	const shown = "muster_fleet_player_session_activations_total{fleet=fleet-1,location=custom-home}"
	for range 15 { // two minutes and a half
		n.commit(home, &fleet.PlayerAccepted{Session: 1})
		n.frames(10 * time.Second)
	}
	n.commit(home, &fleet.PlayerAccepted{Session: 1}) // is lost with the process
	before := n.scrape()[shown]
	clock.Advance(25 * time.Second)
	n.start()
	if after := n.scrape()[shown]; before != 15 || after != before {
		t.Errorf("the counter was %v, and is %v after the restart", before, after)
	}
	clock.Advance(5 * time.Second) // 10:03:00
	n.commit(home, &fleet.PlayerAccepted{Session: 1})
	n.frames(time.Minute)
	wantSums(t, "after the restart", n.points(activations, begin, 10*time.Minute, time.Minute), 6, 6, 3, 1)
	wantSums(t, "in five minutes", n.points(activations, begin, 10*time.Minute, 5*time.Minute), 16)
	if got := n.scrape()[shown]; got != 16 {
		t.Errorf("the counter is %v, want 16", got)
	}
	clock.Advance(20 * time.Hour)
	n.start()
	if got := n.scrape()[shown]; got != 16 {
		t.Errorf("the counter is %v after a day, want 16", got)
	}
	wantSums(t, "from the archive", n.points(activations, begin, time.Hour, time.Minute), 6, 6, 3, 1)
}

// TestRollUps compares all levels after three days, also after a restart.
func TestRollUps(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	s := series("ActiveGameSessions", "FleetId", "fleet-1", "Location", "custom-home")
	sums := map[int64]float64{} // by hour
	for i := range 3 * 24 * 60 {
		if i == 1000 {
			n.start()
		}
		n.rooms[home] = fleet.Counts{Active: i * 7 % 40}
		sums[int64(i/60)] += float64(6 * (i * 7 % 40))
		n.frames(time.Minute)
	}
	for _, period := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour} {
		hourly := map[int64]float64{}
		samples := 0.0
		for _, p := range n.points(s, begin, 72*time.Hour, period) {
			hourly[int64(p.At.Sub(begin)/time.Hour)] += p.Sum
			samples += p.Count
		}
		if samples != 72*360 {
			t.Errorf("%s: %v samples, want %v", period, samples, 72*360)
		}
		for hour, want := range sums {
			if hourly[hour] != want {
				t.Errorf("%s: hour %d has sum %v, want %v", period, hour, hourly[hour], want)
			}
		}
	}
	if got := n.points(s, begin, 72*time.Hour, 10*time.Second); len(got) != 3*360 {
		t.Errorf("%d points of 10 s, want those of 3 hours", len(got))
	}
}

// TestRetention asks for frames that are not kept any more.
func TestRetention(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	s := series("ActiveGameSessions", "FleetId", "fleet-1")
	n.rooms[home] = fleet.Counts{Active: 4}
	n.frames(time.Hour)
	for _, age := range []struct {
		after                 time.Duration
		minutes, fives, hours int
	}{{day, 60, 12, 1}, {16 * day, 0, 12, 1}, {64 * day, 0, 0, 1}, {456 * day, 0, 0, 0}} {
		clock.Advance(begin.Add(age.after).Sub(clock.Now()))
		for period, want := range map[time.Duration]int{
			time.Minute: age.minutes, 5 * time.Minute: age.fives, time.Hour: age.hours,
		} {
			if got := n.points(s, begin, time.Hour, period); len(got) != want {
				t.Errorf("after %s: %d points of %s, want %d", age.after, len(got), period, want)
			}
		}
	}
}

// TestSize: what about 500 series of a busy region take on disk is within twice the estimate of the
// specification, 6 kB a minute and 9 MB a day.
func TestSize(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	feeds := feedsAt(clock)
	n := newNode(t, "", clock, feeds, 1)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 2; i <= 6; i++ {
		id := fmt.Sprint("fleet-", i)
		n.change(catalog.CreateFleet{ID: id, ComputeType: "ANYWHERE", Locations: []string{home.Location},
			Attributes: catalog.Attributes{Name: id, MetricGroups: []string{"all"}},
			EventIDs:   []string{id + "a", id + "b", id + "c"}})
		n.rooms[fleet.RoomID{Fleet: fleet.ID(id), Location: home.Location}] = fleet.Counts{Active: 500}
	}
	n.rooms[home] = fleet.Counts{Active: 500}
	const hour = 60
	for range hour * 6 {
		for id, c := range n.rooms { // up and down, with players that come and go
			active := min(990, max(10, c.Active+random.IntN(21)-10))
			n.rooms[id] = fleet.Counts{Computes: 50, BusyComputes: 40 + random.IntN(11), Processes: 1000, Healthy: 998,
				Active: active, Activating: random.IntN(5), Waiting: 998 - active, Activatable: 998 - active,
				Players: 7*active + random.IntN(active), MaximumPlayers: 8 * active}
			for range random.IntN(10) {
				n.commit(id, &fleet.GameSessionCreated{Ordinal: 1}, &fleet.GameSessionActivated{Ordinal: 1},
					&fleet.PlayerAccepted{Session: 1}, &fleet.GameSessionEnded{Ordinal: 1})
			}
		}
		n.frames(10 * time.Second)
	}
	series := len(n.List(true))
	if series < 300 || series > 700 {
		t.Fatalf("%d series, want about 500", series)
	}
	for l, limit := range [Levels]int{samples: 6 * 6 * series * 2, minutes: 12 * series * 2} {
		if level(l) > minutes {
			break
		}
		bytes := 0
		err := feeds[l].Read(context.Background(), 0, func(_ uint64, record []byte) bool {
			bytes += len(record)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d series take %d bytes a minute in frames of %s", series, bytes/hour, steps[l].step)
		if bytes/hour > limit {
			t.Errorf("%d bytes a minute, want at most %d", bytes/hour, limit)
		}
	}
}

// TestList lists the series of what exists, and for 3 hours of what was deleted.
func TestList(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	n.frames(time.Minute)
	want := map[string]int{}
	for _, s := range n.List(true) {
		var names []string
		for _, d := range s.Dimensions {
			names = append(names, d.Name)
		}
		want[strings.Join(names, ",")]++
		if n.Unit(s.Metric) == "" {
			t.Errorf("%s has no unit", s.Metric)
		}
	}
	for names, number := range map[string]int{
		"FleetId": 22, "FleetId,Location": 22, "MetricGroup": 19, "MetricGroup,Location": 19, "Location": 22,
	} {
		if want[names] != number {
			t.Errorf("%d series of %s, want %d", want[names], names, number)
		}
	}
	if !slices.IsSortedFunc(n.List(true), Series.Compare) {
		t.Error("the list is not sorted")
	}
	n.view = catalog.New(catalog.DefaultLimits())
	n.frames(3 * time.Hour)
	if got := len(n.List(true)); got != 104 {
		t.Errorf("%d recent series 3 hours after the deletion, want 104", got)
	}
	if got := n.scrape(); len(got) == 0 {
		t.Error("the counters are gone within 3 hours")
	}
	n.frames(time.Minute)
	if got := len(n.List(true)); got != 0 {
		t.Errorf("%d recent series later, want 0", got)
	}
	if got := n.scrape(); len(got) != 0 {
		t.Errorf("Prometheus still gets %v", got)
	}
	n.start()
	if got := len(n.List(false)); got != 104 {
		t.Errorf("%d series of the last 14 days after a restart, want 104", got)
	}
}

// TestTwoNodes adds what two nodes record, while a shard moves from one to the other in the middle of a minute.
func TestTwoNodes(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	feeds := feedsAt(clock)
	one, two := newNode(t, "one", clock, feeds, 2), newNode(t, "two", clock, feeds, 2)
	there := fleet.RoomID{Fleet: "fleet-1", Location: "custom-there"}
	for i := 2; region.ShardOf(there, 2) == region.ShardOf(home, 2); i++ {
		there.Location = fmt.Sprint("custom-there-", i)
	}
	rooms := map[fleet.RoomID]fleet.Counts{home: {Active: 3}, there: {Active: 4}}
	for _, n := range []*node{one, two} {
		n.rooms = rooms
		n.change(catalog.CreateLocation{Name: there.Location},
			catalog.AddFleetLocations{Fleet: "fleet-1", Locations: []string{there.Location}, EventIDs: []string{"4"}})
		n.owned[region.ShardOf(there, 2)] = n == two
		n.owned[region.ShardOf(home, 2)] = n == one
	}
	for i := range 12 {
		if i == 9 {
			one.owned[region.ShardOf(home, 2)], two.owned[region.ShardOf(home, 2)] = false, true
		}
		clock.Advance(10 * time.Second)
		for _, n := range []*node{one, two} {
			n.tick(context.Background(), clock.Now())
			if err := n.storeAll(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	one.start() // reads what both have recorded
	for _, period := range []time.Duration{10 * time.Second, time.Minute} {
		for _, p := range one.points(series("ActiveGameSessions", "FleetId", "fleet-1"), begin, time.Hour, period) {
			if p.Sum/p.Count != 7 || p.Minimum != 7 || p.Maximum != 7 || p.Count != float64(period/(10*time.Second)) {
				t.Errorf("both locations: %+v, want 7 throughout", p)
			}
		}
		where := []string{"FleetId", "fleet-1", "Location", "custom-home"}
		for _, p := range one.points(series("ActiveGameSessions", where...), begin, time.Hour, period) {
			if p.Sum/p.Count != 3 || p.Minimum != 3 || p.Maximum != 3 || p.Count != float64(period/(10*time.Second)) {
				t.Errorf("the location that moved: %+v, want 3 throughout", p)
			}
		}
	}
}

// TestSlowJournal fails appends: nothing is lost that fits in memory, and Prometheus sees only what is durable.
func TestSlowJournal(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	feeds := feedsAt(clock)
	n := newNode(t, "", clock, feeds, 1)
	dropped := 0
	n.Recorder.cfg.Dropped = func(more int) { dropped += more }
	feeds[samples].(*memory.Feed).FailAppend(errors.New("disk is slow"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clock.Advance(10 * time.Second)
	n.commit(home, &fleet.PlayerAccepted{Session: 1})
	n.tick(ctx, clock.Now())
	stored := make(chan error)
	go func() { stored <- n.storeAll(ctx) }()
	if err := clock.BlockUntilContext(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if len(n.scrape()) != 0 {
		t.Error("Prometheus sees what is not durable")
	}
	clock.Advance(firstPause)
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if n.scrape()["muster_fleet_player_session_activations_total{fleet=fleet-1,location=custom-home}"] != 1 {
		t.Error("the counter is not 1 after the append")
	}
	for range maxQueued + 1 {
		n.queue.add(samples, frame{}, nil, n.Recorder.cfg.Dropped)
	}
	if dropped != 1 {
		t.Errorf("%d frames were dropped, want 1", dropped)
	}
}

// TestRun lets Run make the frames.
func TestRun(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	n.Recorder = New(n.cfg)
	n.rooms[home] = fleet.Counts{Active: 1}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx) }()
	s := series("ActiveGameSessions", "FleetId", "fleet-1")
	if err := clock.BlockUntilContext(ctx, 1); err != nil { // until there is a ticker
		t.Fatal(err)
	}
	for frames := 1; frames <= 3; frames++ {
		for range 2 { // the second half may pass while the frame is made
			clock.Advance(5 * time.Second)
		}
		for len(n.points(s, begin, time.Minute, 10*time.Second)) < frames {
			runtime.Gosched()
		}
	}
	wantSums(t, "by Run", n.points(s, begin, time.Minute, 10*time.Second), 1, 1, 1)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	n.start()
	wantSums(t, "stored at the end", n.points(s, begin, time.Minute, 10*time.Second), 1, 1, 1)
}

// TestSilentShard keeps the counts of a shard that does not answer.
func TestSilentShard(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	rooms := n.Recorder.cfg.Rooms
	n.Recorder.cfg.Rooms = func(context.Context, int) (map[fleet.RoomID]fleet.Counts, error) {
		return nil, shard.ErrNotDone
	}
	n.commit(home, &fleet.PlayerAccepted{Session: 1})
	n.frames(10 * time.Second)
	n.Recorder.cfg.Rooms = rooms
	n.frames(10 * time.Second)
	activations := series("PlayerSessionActivations", "FleetId", "fleet-1")
	got := n.points(activations, begin, time.Minute, 10*time.Second)
	if len(got) != 1 || got[0].Sum != 1 || !got[0].At.Equal(begin.Add(10*time.Second)) {
		t.Errorf("points are %+v, want one", got)
	}
}

// TestInstances: the numbers of an EC2-type fleet are those of its instances and of its capacity, not of its computes.
func TestInstances(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 1)
	managed := fleet.RoomID{Fleet: "fleet-2", Location: "us-west-2"}
	n.view.Apply(&catalog.ManagedFleetCreated{ID: string(managed.Fleet), Locations: []string{managed.Location},
		Managed: &catalog.Managed{InstanceType: "c5.large"}})
	n.view.Apply(&catalog.CapacitySet{Fleet: string(managed.Fleet), Location: managed.Location,
		Capacity: catalog.Capacity{Min: 1, Max: 9, Desired: 5}})
	for i, status := range []catalog.InstanceStatus{catalog.InstanceActive, catalog.InstanceActive,
		catalog.InstancePending, catalog.InstanceTerminating, catalog.InstanceActive, catalog.InstanceActive} {
		n.view.Apply(&catalog.InstanceCreated{Instance: catalog.Instance{ID: fmt.Sprint("i-", i), Status: status,
			Fleet: string(managed.Fleet), Location: managed.Location, Machine: "box"}})
	}
	n.rooms[managed] = fleet.Counts{Computes: 6, BusyComputes: 3}
	n.frames(10 * time.Second)
	for metric, want := range map[string]float64{"ActiveInstances": 4, "IdleInstances": 1, "PercentIdleInstances": 25,
		"DesiredInstances": 5, "MinInstances": 1, "MaxInstances": 9} {
		s := series(metric, "FleetId", "fleet-2", "Location", "us-west-2")
		wantSums(t, metric, n.points(s, begin, time.Minute, time.Minute), want)
	}
}
