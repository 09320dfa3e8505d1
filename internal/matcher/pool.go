package matcher

import (
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A Ticket is one or more players to be matched together.
type Ticket struct {
	ID       string
	Start    time.Time // its age counts from here
	Players  []Player
	Backfill bool // the players of a running game session, which have their teams
}

// A Player is one player of a ticket.
type Player struct {
	ID         string
	Attributes map[string]ruleset.Value // by name; undeclared ones are ignored
	Latency    map[string]int           // location → milliseconds; nil: none reported
	Team       string                   // of a backfill ticket
}

// A Match is tickets that satisfy the rule set together.
type Match struct {
	Tickets []*Ticket // oldest first, after the backfill ticket if there is one
	Teams   []Team    // all teams of the set, including empty ones
	Metrics []Metric  // evaluations until this match was found
}

// A Team is the players of one team of a match, those of a backfill ticket first.
type Team struct {
	Name    string
	Players []Player
}

// A Metric counts the evaluations of one rule. Sort rules have none.
type Metric struct {
	Rule           string
	Passed, Failed int
}

// Options configure a pool.
type Options struct {
	Additional int   // slots of the match that stay open (AdditionalPlayerCount)
	Batch      int   // tickets tried together; 0: 100
	Seed       int64 // of the random batches
}

// A Pool holds the open tickets of one matchmaking configuration. It is not safe for concurrent use.
type Pool struct {
	set     *ruleset.Set
	options Options
	levels  []*level // at least one
	columns columns

	entries   map[string]*entry     // by ticket id
	waiting   *btree.BTreeG[*entry] // for large matches: matchable tickets, oldest first
	strings   table                 // attributes and player ids
	locations table                 // of latencies
	arrivals  uint64
	now       time.Duration // time of the last call of Match

	values [][]ruleset.Value // scratch of prepare, by slot and player
	common []int32           // scratch of nameLocations and foldPings
	names  []string
	each   []float64

	balanced int // column of the balanced attribute, if the set has one

	small // state for matches of at most 40 players
	large // state for larger matches
}

// NewPool returns an empty pool.
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

// ordered returns an empty ordered set of entries.
func ordered(less func(a, b *entry) bool) *btree.BTreeG[*entry] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

// Add adds a ticket, which the pool keeps: it must not change any more. A ticket with the same id is replaced.
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

// Remove removes a ticket, if the pool has it.
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

// Len returns the number of tickets in the pool, including those that can never be matched.
func (p *Pool) Len() int { return len(p.entries) }

// Match forms one match of the tickets in the pool and removes them. ok is false when no match is possible until a
// ticket is added or Due has passed. Each call does a bounded amount of work; more reports that it stopped early and
// should be called again.
func (p *Pool) Match(now time.Time) (m *Match, ok, more bool) {
	if p.set.Large() {
		return p.matchLarge(now)
	}
	return p.matchSmall(now)
}

// Due returns when Match may find more: when the next step of an expansion begins for a ticket, or when a search that
// was cut short is retried. The zero time means never.
func (p *Pool) Due() time.Time {
	if p.set.Large() {
		return p.dueLarge()
	}
	return p.dueSmall()
}

// Unmatchable returns why no match can ever include a ticket; "" when one can. Such a ticket stays until it is removed.
func (p *Pool) Unmatchable(id string) string {
	if e := p.entries[id]; e != nil {
		return e.unmatchable
	}
	return ""
}

// Metrics returns the evaluations of a ticket since it was added; nil if the pool does not have it.
func (p *Pool) Metrics(id string) []Metric {
	e, ok := p.entries[id]
	switch {
	case !ok:
		return nil
	case p.set.Large():
		return p.metricsLarge(e)
	case e.counts == nil: // never tried
		return p.metrics(make([]count, len(p.set.Rules)))
	default:
		return p.metrics(e.counts)
	}
}

// Explain returns why a ticket waits; ok is false when the pool does not have it. It tries the ticket with up to some
// thousands of others.
func (p *Pool) Explain(id string, now time.Time) (x Explanation, ok bool) {
	e, ok := p.entries[id]
	if !ok {
		return x, false
	}
	age := now.Sub(e.ticket.Start)
	x = Explanation{Ticket: id, Age: age, AgeSeconds: age.Seconds(), Pool: p.Len(),
		Unmatchable: e.unmatchable, Rejections: []Rejection{}}
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
	Pool        int           `json:"poolSize"`              // number of tickets, including this one
	Unmatchable string        `json:"unmatchable,omitempty"` // why no match can ever include it
	Largest     int           `json:"largestMatch"`          // players of the largest valid partial match found
	Missing     string        `json:"missing,omitempty"`     // what it lacks: "team north has 0 of at least 1 players"
	Candidates  int           `json:"candidates"`            // tickets checked
	Rejections  []Rejection   `json:"rejections"`            // of candidates checked alone with it; by rule, most first
	Failures    []Failure     `json:"failures,omitempty"`    // of larger matches tried with it; by rule, most first
	Next        *Expansion    `json:"nextExpansion,omitempty"`
}

// A Rejection counts the candidates that a rule rejected.
type Rejection struct {
	Rule       string `json:"rule"` // "" for the sizes of the teams
	Candidates int    `json:"candidates"`
	Example    string `json:"example,omitempty"` // a rejected ticket and the figures: "t-9: distance 51, at most 50"
}

// A Failure counts the tried matches that a rule rejected: those with all players, or with more than two tickets. There
// are none for large matches.
type Failure struct {
	Rule    string `json:"rule"`
	Matches int    `json:"matches"`
	Example string `json:"example,omitempty"` // the figures of one: "distance 51, at most 50"
}

// An Expansion is the next expansion step for this ticket.
type Expansion struct {
	In      time.Duration `json:"-"`
	Seconds float64       `json:"inSeconds"`
	Changes []Change      `json:"changes"`
	Admits  int           `json:"admits"` // candidates rejected now that would be accepted then
}

// A Change is a property that an expansion step sets.
type Change struct {
	Target string `json:"target"` // rules[RankGap].maxDistance
	From   string `json:"from"`
	To     string `json:"to"`
}
