package metrics

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestValues encodes values of each form.
func TestValues(t *testing.T) {
	columns := make([]aggregate, len(matchmakings.columns))
	for i := range columns {
		if !matchmakings.columns[i].kind.ownCount() {
			columns[i].count = 6
		}
	}
	columns[currentTickets] = aggregate{6 * 41, 41, 41, 6}
	columns[ticketsStarted] = aggregate{-3.25, -4, 7.5, 6}
	columns[ticketsFailed] = aggregate{math.MaxFloat64, -math.MaxFloat64, 1e300, 6}
	columns[timeToMatch] = aggregate{12.125, .5, 3, 9}
	columns[timeToTicketCancel] = aggregate{0, 0, 0, 6}
	data := string(appendValues(nil, matchmakings, columns, 6))
	got, n, err := values(data, matchmakings)
	if err != nil || n != 6 || !slices.Equal(got, columns) {
		t.Errorf("decoded %v, %d, %v, want %v", got, n, err, columns)
	}
	for i, want := range columns {
		if got := valueAt(data, matchmakings, i); got != want {
			t.Errorf("column %d alone: %v, want %v", i, got, want)
		}
	}
	if got, _, err := values(data, rules); err != nil || len(got) != 2 || got[0] != columns[0] {
		t.Errorf("with columns of a later release: %v, %v", got, err)
	}
}

func TestRecords(t *testing.T) {
	f := frame{node: "one", at: begin}
	for i := range 3 {
		e := encoded{entity{byFleetLocation, "fleet", strings.Repeat("x", i)}, strings.Repeat("v", partBytes/2)}
		f.entities = append(f.entities, e)
		f.totals = append(f.totals, e)
	}
	c := newCodec()
	records := c.records(f)
	if len(records) < 3 {
		t.Errorf("%d records for more than 3 MiB", len(records))
	}
	all := frame{node: f.node, at: f.at}
	for _, r := range records {
		part, err := c.frame(r)
		if err != nil || part.node != f.node || !part.at.Equal(f.at) {
			t.Fatalf("%+v, %v", part, err)
		}
		all.entities = append(all.entities, part.entities...)
		all.totals = append(all.totals, part.totals...)
	}
	if !reflect.DeepEqual(all, f) {
		t.Error("the parts are not the frame")
	}
	if parts := c.records(frame{at: begin}); len(parts) != 1 {
		t.Errorf("%d records for an empty frame", len(parts))
	}
	for _, damaged := range [][]byte{nil, {2}, {recordVersion}, records[0][:100]} {
		if got, err := c.frame(damaged); err == nil && len(got.entities) > 0 {
			t.Errorf("%d bytes were read as a frame", len(damaged))
		}
	}
}

// FuzzRecord decodes anything: it must not panic, and what it accepts encodes to the same.
func FuzzRecord(f *testing.F) {
	c := newCodec()
	good := frame{node: "one", at: begin, entities: []encoded{{entity{byQueue, "arena", ""}, "\x06\x02\x08"}}}
	f.Add(c.records(good)[0])
	f.Add([]byte{recordVersion})
	f.Fuzz(func(t *testing.T, record []byte) {
		first, err := c.frame(record)
		if err != nil {
			return
		}
		if first.check() == nil {
			for _, e := range first.entities {
				for i := range e.family().columns {
					valueAt(e.values, e.family(), i)
				}
			}
		}
		var all []encoded
		for _, r := range c.records(first) {
			again, err := c.frame(r)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, again.entities...)
		}
		if len(all) != len(first.entities) || len(all) > 0 && !reflect.DeepEqual(all, first.entities) {
			t.Errorf("%v, want %v", all, first.entities)
		}
	})
}

// FuzzValues decodes any values.
func FuzzValues(f *testing.F) {
	f.Add("\x06\x02\x08")
	f.Add("\x06\x03\x08\x00\x08\x0c")
	f.Fuzz(func(t *testing.T, data string) {
		all, n, err := values(data, queues)
		if err != nil || n > 1<<20 || n < 0 {
			return
		}
		again, _, err := values(string(appendValues(nil, queues, all, n)), queues)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range again {
			zero := !queues.columns[i].kind.ownCount() && all[i].sum == 0 && all[i].min == 0 && all[i].max == 0
			if a != all[i] && !zero && !(queues.columns[i].kind.ownCount() && all[i].count == 0) {
				t.Errorf("column %d: %v, want %v", i, a, all[i])
			}
		}
	})
}

// TestSeries finds the column of each series by its name and dimensions, in any order.
func TestSeries(t *testing.T) {
	for set := range setCount {
		e := entity{set: set, a: "name-with-hyphen"}
		if len(dimensions[set]) == 2 || set == byRule {
			e.b = "custom-home"
		}
		n := 0
		e.series(func(s Series, column int) {
			n++
			slices.Reverse(s.Dimensions)
			of, at, ok := find(s)
			want := e
			if !ok || at != column || !slices.Contains(of, want) {
				t.Errorf("%v: found %v, %d, %v", s, of, at, ok)
			}
		})
		if n == 0 && set != bySelf {
			t.Errorf("no series of set %d", set)
		}
	}
	if _, _, ok := find(series("ActiveInstances", "MetricGroups", "all")); !ok {
		t.Error("MetricGroups is not MetricGroup")
	}
	for _, s := range []Series{
		series("ActiveInstances"), series("DesiredInstances", "MetricGroup", "all"), series("Unknown", "FleetId", "f"),
		series("ActiveInstances", "FleetId", "f", "FleetId", "f"), series("Placement ", "QueueName", "q"),
		series("Placement here", "FleetId", "q"), series("ActiveInstances", "FleetId", "f", "Other", "f"),
	} {
		if of, _, ok := find(s); ok {
			t.Errorf("%v was found: %v", s, of)
		}
	}
}

func TestQuantile(t *testing.T) {
	counts := make([]float64, len(waitBounds)+1)
	counts[queues.bucketOf(.7)] = 10 // from .5 to 1
	counts[queues.bucketOf(7)] = 10  // from 5 to 10
	for q, want := range map[float64]float64{0: .5, .25: .75, .5: 1, .75: 7.5, 1: 10} {
		if got := quantile(waitBounds, counts, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	counts[len(waitBounds)] = 1000
	if got := quantile(waitBounds, counts, .99); got != waitBounds[len(waitBounds)-1] {
		t.Errorf("beyond all bounds: %v", got)
	}
}

// TestCatalogue checks what the table must hold.
func TestCatalogue(t *testing.T) {
	for set, f := range catalogue {
		for i, c := range f.columns {
			switch {
			case i >= f.base && c.kind != bucket, i < f.base && c.kind == bucket:
				t.Errorf("set %d: column %d is misplaced", set, i)
			case (c.kind == ratio) != (ratios[f][i] != nil):
				t.Errorf("%s: ratio and its function exclude each other", c.name)
			case c.name == "" && len(c.sets) > 0, c.name != "" && len(c.sets) == 0:
				t.Errorf("%s%s: name without sets, or sets without a name", c.name, c.shown)
			case c.shown != "" && (c.kind == counter) != strings.HasSuffix(c.shown, "_total"):
				t.Errorf("%s: only counters end in _total", c.shown)
			}
		}
	}
}

// BenchmarkQuery reads 7 days of one series in steps of 5 minutes.
func BenchmarkQuery(b *testing.B) {
	l := history{}
	for i := range int64(7 * 288) {
		values := appendValues(nil, fleets, finished(float64(i%40)), 30)
		l.add(i, &frame{entities: []encoded{{roomEntity(home), string(values)}}})
	}
	for b.Loop() {
		l.gather(make([]aggregate, 7*288), 0, roomEntity(home), activeGameSessions, 30)
	}
}

// finished returns the columns of a fleet in which several change.
func finished(v float64) []aggregate {
	columns := make([]aggregate, len(fleets.columns))
	for i := range columns {
		columns[i].sum = v
	}
	finish(fleets, columns)
	return columns
}

// TestMemory bounds the memory of busy and idle series.
func TestMemory(t *testing.T) {
	series := 0
	roomEntity(home).series(func(Series, int) { series++ })
	h := history{}
	size := 0
	for i := range int64(3 * time.Hour / steps[samples].step) {
		values := appendValues(nil, fleets, finished(float64(i%40)), 1)
		size += h.add(i, &frame{entities: []encoded{{roomEntity(home), string(values)}}})
	}
	if per := size / series; per > 10_000 {
		t.Errorf("a series that changes every 10 s takes %d bytes, want at most 10 kB", per)
	}
	idle := 0
	for i := range int64(1000) {
		idle += h.add(i, &frame{node: "idle", entities: []encoded{{roomEntity(home), "\x01"}}})
	}
	if idle > 400 {
		t.Errorf("an entity that does not change takes %d bytes", idle)
	}
}
