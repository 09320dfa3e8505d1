package figures

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// guideSets are rule sets after the examples of the FlexMatch guide.
const guideSets = "../../internal/matcher/ruleset/testdata/guide/*.json"

// An example is a rule set of the guide beside a population for it.
type example struct {
	name    string
	set     *ruleset.Set
	misfits float64 // share of the tickets
	waiting int     // tickets in the pool
}

// hopelessShare is the share of misfits in a pool of which most cannot be matched.
const hopelessShare = 0.9

// examples are all rule sets, each with a population that can be matched and with one of which most cannot.
func examples(tb testing.TB) (all []example) {
	tb.Helper()
	files, err := filepath.Glob(guideSets)
	must(tb, err)
	for _, file := range files {
		body, err := os.ReadFile(file)
		must(tb, err)
		set, err := ruleset.Parse(string(body))
		must(tb, err)
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		all = append(all, example{name + "/fit", set, 0, 20_000},
			example{name + "/misfits", set, hopelessShare, 20_000})
	}
	return all
}

// BenchmarkExamples is a ticket that comes to a pool of 20,000, at 2,000 tickets a second of the pool's clock: it is
// matched, or leaves as the oldest one when there are more. The pool with a population that fits is full before the
// first match is looked for, so that its tickets do not have to wait. Making the tickets is not measured.
func BenchmarkExamples(b *testing.B) {
	for _, e := range examples(b) {
		var q *queue
		b.Run(e.name, func(leaf *testing.B) {
			if q == nil {
				q = e.open(b)
			}
			used, matched := q.pass(leaf.N)
			leaf.ReportMetric(0, "ns/op")
			leaf.ReportMetric(float64(leaf.N)/used.Seconds(), "tickets/s")
			leaf.ReportMetric(float64(used.Microseconds())/float64(leaf.N), "cpu-µs/op")
			leaf.ReportMetric(float64(q.pool.Len()), "waiting")
			tell("%s: %.0f tickets a CPU second, %d of %d matched, %d wait", e.name, float64(leaf.N)/used.Seconds(),
				matched, leaf.N, q.pool.Len())
		})
	}
}

// A queue is the tickets of an example that come to a pool and leave it.
type queue struct {
	example
	tb     testing.TB
	pool   *matcher.Pool
	coming []*matcher.Ticket
	inside []*matcher.Ticket // and some that were matched, oldest first
	made   int               // populations
	now    time.Time
}

func (e example) open(tb testing.TB) *queue {
	tb.Helper()
	q := &queue{example: e, tb: tb, pool: matcher.NewPool(e.set, matcher.Options{}),
		now: time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)}
	q.prepare(2 * e.waiting)
	for q.pool.Len() < e.waiting && len(q.coming) > 0 {
		q.enter()
		if e.misfits > 0 {
			q.match(math.MaxInt)
		}
	}
	return q
}

// prepare makes tickets. Each population has ids of its own.
func (q *queue) prepare(n int) {
	for len(q.coming) < n {
		p := matchsim.DefaultPopulation()
		q.made++
		p.Tickets, p.Seed, p.Rate, p.Misfits = q.waiting, uint64(q.made), 2000, q.misfits
		var text bytes.Buffer
		must(q.tb, matchsim.Generate(&text, q.set, p))
		tickets, err := matchsim.ReadTickets(&text, q.set)
		must(q.tb, err)
		for _, t := range tickets {
			t.ID = strings.Repeat("+", q.made) + t.ID
		}
		q.coming = append(q.coming, tickets...)
	}
}

func (q *queue) enter() {
	t := q.coming[0]
	q.coming = q.coming[1:]
	q.now = q.now.Add(betweenTickets)
	t.Start = q.now
	q.inside = append(q.inside, t)
	q.pool.Add(t)
}

// match forms matches until so many tickets are in them.
func (q *queue) match(enough int) (tickets int) {
	for more := true; more && tickets < enough; {
		var m *matcher.Match
		var ok bool
		if m, ok, more = q.pool.Match(q.now); ok {
			tickets += len(m.Tickets)
			more = true
		}
	}
	return tickets
}

// pass lets so many tickets come, and as many leave.
func (q *queue) pass(n int) (used time.Duration, matched int) {
	q.prepare(n)
	before := bench.OwnCPU()
	for range n {
		q.enter()
		switch {
		case q.misfits > 0:
			matched += q.match(math.MaxInt)
		case q.pool.Len() > q.waiting:
			matched += q.match(1) // then the pool fills up again
		}
		for q.pool.Len() > q.waiting {
			q.pool.Remove(q.inside[0].ID)
			q.inside = q.inside[1:]
		}
	}
	return bench.OwnCPU() - before, matched
}
