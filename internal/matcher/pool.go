package matcher

import (
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/ruleset"
)

// A Ticket is one or more players who want to be matched together.
type Ticket struct {
	ID       string
	Start    time.Time // its age counts from here
	Players  []Player
	Backfill bool // the players of a running game session, who have their teams
}

// A Player is one player of a ticket.
type Player struct {
	ID         string
	Attributes map[string]ruleset.Value // by name; undeclared ones are ignored
	Latency    map[string]int           // location → milliseconds; nil: none reported
	Team       string                   // of a backfill ticket
}

// A Match is tickets that fit together.
type Match struct {
	Tickets []*Ticket // oldest first; a backfill ticket stands first
	Teams   []Team    // all teams of the set, also empty ones
	Metrics []Metric  // what was evaluated on the way to this match
}

// A Team is the players of one team of a match: those of a backfill ticket first.
type Team struct {
	Name    string
	Players []Player
}

// A Metric counts the evaluations of one rule. Sort rules have none.
type Metric struct {
	Rule           string
	Passed, Failed int
}

// Options are what a pool needs to know besides the rule set.
type Options struct {
	Additional int   // places of the match that stay open (AdditionalPlayerCount)
	Batch      int   // tickets that are tried with one another; 0: 100
	Seed       int64 // of the random batches
}

// A Pool is the open tickets of one matchmaking configuration. One goroutine uses
// it.
type Pool struct {
	set     *ruleset.Set
	options Options
	levels  []*level // at least one
	columns columns

	entries   map[string]*entry     // by ticket id
	waiting   *btree.BTreeG[*entry] // of large matches: those that can be matched, oldest first
	strings   table                 // of attributes and player ids
	locations table                 // of latencies
	arrivals  uint64
	now       time.Duration // of the last call of Match

	values [][]ruleset.Value // scratch of prepare, by slot and player
	places []int32           // locations
	names  []string
	each   []float64

	balanced int // column of the balanced attribute, if the set has one

	search // what matches of at most 40 players need
	large  // what larger ones need
}

// NewPool makes an empty pool.
func NewPool(set *ruleset.Set, o Options) *Pool {
	if o.Batch <= 0 {
		o.Batch = 100
	}
	p := &Pool{set: set, options: o, entries: map[string]*entry{}, waiting: ordered(older)}
	p.compile(o.Additional)
	if set.Algorithm.Balanced {
		p.balanced = p.columns.number(set.Algorithm.BalancedBy, "")
	}
	if set.Large() {
		p.newLarge()
	} else {
		p.newSearch()
	}
	return p
}

// ordered is an empty ordered set of entries.
func ordered(less func(a, b *entry) bool) *btree.BTreeG[*entry] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

// Add puts a ticket into the pool. The pool keeps it; it must not change any more.
// Adding an id again replaces the ticket.
func (p *Pool) Add(t *Ticket) {
	p.Remove(t.ID)
	e := p.prepare(t)
	p.entries[t.ID] = e
	if e.unmatchable != "" {
		return
	}
	e.level = p.at(e.age(p.now))
	if p.set.Large() {
		p.waiting.Set(e)
		p.addLarge(e)
	} else {
		p.addSmall(e)
	}
}

// Remove takes a ticket out, if it is there.
func (p *Pool) Remove(id string) {
	e, ok := p.entries[id]
	if !ok {
		return
	}
	delete(p.entries, id)
	defer p.release(e) // the indexes below still compare its strings
	if e.unmatchable != "" {
		return
	}
	if p.set.Large() {
		p.waiting.Delete(e)
		p.removeLarge(e)
	} else {
		p.removeSmall(e)
	}
}

// Len is the number of tickets in the pool, those that can never be matched included.
func (p *Pool) Len() int { return len(p.entries) }

// Match forms one match of the tickets in the pool and takes them out of it; ok is
// false when none can be formed, until a ticket comes or Due has passed. Each call
// does a bounded amount of work: more reports that it ended before all was tried
// that can have changed, so that the caller looks after its other work and calls
// again, at once.
func (p *Pool) Match(now time.Time) (m *Match, ok, more bool) {
	if p.set.Large() {
		return p.matchLarge(now)
	}
	return p.matchSmall(now)
}

// Due is when the next step of an expansion begins for a ticket in the pool, or when a
// search that was cut short for want of time goes on; after that Match may find more.
// Zero: never.
func (p *Pool) Due() time.Time {
	if p.set.Large() {
		return p.dueLarge()
	}
	return p.dueSmall()
}

// Unmatchable says why no match can ever have a ticket that is in the pool; "" when one
// can. Such a ticket stays until it is removed.
func (p *Pool) Unmatchable(id string) string {
	if e := p.entries[id]; e != nil {
		return e.unmatchable
	}
	return ""
}

// Metrics are the evaluations of a ticket that is in the pool, since it came: those in which it
// was tried in a match. nil: there is no such ticket.
func (p *Pool) Metrics(id string) []Metric {
	e, ok := p.entries[id]
	switch {
	case !ok:
		return nil
	case p.set.Large():
		return p.metricsLarge(e)
	case e.counts == nil: // it was never tried
		return p.metrics(make([]count, len(p.set.Rules)))
	default:
		return p.metrics(e.counts)
	}
}

// Explain says why a ticket waits: ok is false when it is not in the pool. It takes
// the ticket as the anchor of a match of its own and tries everybody else, up to some
// thousands.
func (p *Pool) Explain(id string, now time.Time) (x Explanation, ok bool) {
	e, ok := p.entries[id]
	if !ok {
		return x, false
	}
	x = Explanation{Ticket: id, Age: now.Sub(e.ticket.Start), Pool: p.Len(), Unmatchable: e.unmatchable, Rejections: []Rejection{}}
	x.AgeSeconds = x.Age.Seconds()
	switch {
	case e.unmatchable != "":
	case p.set.Large():
		p.explainLarge(e, now, &x)
	default:
		p.tick(now)
		p.explainSmall(e, &x)
	}
	return x, true
}

// An Explanation says why a ticket waits.
type Explanation struct {
	Ticket      string        `json:"ticketId"`
	Age         time.Duration `json:"-"`
	AgeSeconds  float64       `json:"ageSeconds"`
	Pool        int           `json:"poolSize"`              // tickets in the pool, this one included
	Unmatchable string        `json:"unmatchable,omitempty"` // why no match can ever have it: "player p1 has no value for arena, which has no default"
	Largest     int           `json:"largestMatch"`          // players of the largest valid partial match that was found with it
	Missing     string        `json:"missing,omitempty"`     // what that match lacks: "team north has 0 of at least 1 players"
	Candidates  int           `json:"candidates"`            // tickets that were tried beside it
	Rejections  []Rejection   `json:"rejections"`            // by rule, most first; of the candidates that were tried alone beside it
	Failures    []Failure     `json:"failures,omitempty"`    // by rule, most first; of the larger matches that were tried with it
	Next        *Expansion    `json:"nextExpansion,omitempty"`
}

// A Rejection is how many candidates a rule turned away.
type Rejection struct {
	Rule       string `json:"rule"` // "" for the sizes of the teams
	Candidates int    `json:"candidates"`
	Example    string `json:"example,omitempty"` // a ticket that was turned away, with the figures: "t-9: distance 51, at most 50"
}

// A Failure is how many matches a rule turned away that had all their players, or more
// than two tickets. Not for large matches.
type Failure struct {
	Rule    string `json:"rule"`
	Matches int    `json:"matches"`
	Example string `json:"example,omitempty"` // the figures of one of them: "distance 51, at most 50"
}

// An Expansion is the next step of the rule set that concerns this ticket.
type Expansion struct {
	In      time.Duration `json:"-"`
	Seconds float64       `json:"inSeconds"`
	Changes []Change      `json:"changes"`
	Admits  int           `json:"admits"` // candidates that were turned away now and would not be then
}

// A Change is what a step of an expansion sets.
type Change struct {
	Target string `json:"target"` // rules[RankGap].maxDistance
	From   string `json:"from"`
	To     string `json:"to"`
}
