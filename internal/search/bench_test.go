package search

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// million is how many docs the benchmarks search. The oldest seven tenths of
// the sessions are full, as in a fleet that fills one session after another;
// each has a mode (5 values), a map (20) and a room code of its own.
const million = 1_000_000

type benchData struct {
	index *Index
	docs  []*Doc // in order of Key
}

// bench builds the docs once for all benchmarks of the process.
var bench = sync.OnceValue(func() benchData {
	data := benchData{NewIndex(), make([]*Doc, million)}
	const prefix = "arn:aws:gamelift:eu-west-1::gamesession/fleet-11111111-2222-3333-4444-555555555555/custom-attic/"
	for i := range data.docs {
		d := &Doc{
			Key: uint64(i), Prefix: prefix, ID: fmt.Sprintf("gsess-%032x", i*7919), Name: fmt.Sprintf("Session %d", i),
			Properties: []Property{{"mode", fmt.Sprint(i % 5)}, {"map", fmt.Sprint(i % 20)},
				{"room", fmt.Sprintf("R%d", i)}},
			Maximum: 16, Players: int32(i % 16), Created: event.Time(1_700_000_000_000 + i/4),
		}
		if i < million/10*7 {
			d.Players = d.Maximum
		}
		data.docs[i] = d
		data.index.Put(d)
	}
	return data
})

// scan is the naive answer: filter all, sort all, cut.
func (b benchData) scan(q Query) []Hit {
	var hits []Hit
	for _, d := range b.docs {
		if q.Filter.Match(d) {
			r := q.Sort.rank(d, q.Source)
			hits = append(hits, Hit{d, r.position()})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return naiveCompare(q.Sort, a.Position, b.Position) })
	return hits[:min(q.Limit, len(hits))]
}

// BenchmarkSearch is one page of 20 hits out of 1,000,000 sessions, through the
// index and by scanning; it reports the 99th percentile beside the mean.
func BenchmarkSearch(b *testing.B) {
	queries := []struct{ name, filter, sort string }{
		{"available-by-creation", "hasAvailablePlayerSessions=true", "creationTimeMillis ASC"},
		{"available-newest-first", "hasAvailablePlayerSessions=true", "creationTimeMillis DESC"},
		{"available-and-map-by-creation", "hasAvailablePlayerSessions=true AND gameSessionProperties.map='7'",
			"creationTimeMillis ASC"},
		{"unique-property", "gameSessionProperties.room='R654321'", ""},
		{"id", "gameSessionId='" + bench().docs[777].Prefix + bench().docs[777].ID + "'", ""},
		{"full-scan-no-hit", "maximumSessions>16", "playerSessionCount DESC"},
		{"full-scan-by-players", "playerSessionCount<16", "playerSessionCount DESC"},
		{"full-scan-by-name", "gameSessionProperties.mode<>'3'", "gameSessionName ASC"},
		{"frequent-property-by-players", "gameSessionProperties.mode='3'", "playerSessionCount ASC"},
		{"available-no-hit", "hasAvailablePlayerSessions=true AND maximumSessions>16", ""},
		{"recent-by-creation", "creationTimeMillis>1700000249000", "creationTimeMillis ASC"},
	}
	ways := map[string]func(Query) []Hit{"index": bench().index.Search, "naive": bench().scan}
	for _, query := range queries {
		f, _ := mustParse(query.filter)
		q := Query{Filter: f, Sort: mustSort(query.sort), Limit: 20}
		for _, way := range []string{"index", "naive"} {
			b.Run(query.name+"/"+way, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					ways[way](q)
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

// BenchmarkPut is one change to one of 1,000,000 sessions, without and with a
// copy taken before each change.
func BenchmarkPut(b *testing.B) {
	change := func(b *testing.B, edit func(d *Doc, i int), before func(x *Index)) {
		x := bench().index.Copy()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			before(x)
			old, _ := x.Get(uint64(i*7919) % million)
			d := *old
			edit(&d, i)
			x.Put(&d)
		}
	}
	join := func(d *Doc, _ int) { d.Players, d.Maximum = d.Players+1, d.Players+2 }
	rename := func(d *Doc, i int) { d.Name = fmt.Sprint(i) }
	nothing := func(*Index) {}
	b.Run("join", func(b *testing.B) { change(b, join, nothing) })
	b.Run("join-after-copy", func(b *testing.B) { change(b, join, func(x *Index) { x.Copy() }) })
	b.Run("rename", func(b *testing.B) { change(b, rename, nothing) })
	b.Run("copy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bench().index.Copy()
		}
	})
}

func BenchmarkParseFilter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseFilter("hasAvailablePlayerSessions=true AND gameSessionProperties.map='oasis'"); err != nil {
			b.Fatal(err)
		}
	}
}
