package matchdriver

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// afterPanic is how long a configuration rests whose matching failed. The tickets that did it are still there, and end
// by their time-out at last.
const afterPanic = 10 * time.Second

// A Maker searches the pool of one matchmaking configuration. One goroutine at a time calls its methods, beside the
// Driver.
type Maker struct {
	cfg           *Config
	configuration matchmaking.Configuration

	catalog   *catalog.State
	searching map[string]*seeker // also those in a proposal that is not answered
	moved     []string           // tickets that the pool has yet to take in or out
	questions []question         // that wait until it has
	proposals map[string]int     // the rounds of tickets in such proposals
	settings  *catalog.MatchmakingConfiguration
	set       *ruleset.Set
	pool      *matcher.Pool // nil: to be made
	rest      time.Time     // nothing is matched before
	due       time.Time     // when to look again without news; zero: never
}

// News are what a Maker has not seen yet. Of each ticket only the newest counts, so they do not grow while matching
// takes its time.
type News struct {
	begin     bool               // all tickets from before are to be forgotten
	changes   map[string]*seeker // by ticket; nil: it has left
	settled   []settled
	questions []question
	catalog   *catalog.State // nil: as before
}

func (n *News) change(ticket string, s *seeker) {
	if n.changes == nil {
		n.changes = map[string]*seeker{}
	}
	n.changes[ticket] = s
}

// settled is a proposal that was answered.
type settled struct {
	tickets []matchmaking.Proposed
	err     error
}

// A question asks why a ticket waits.
type question struct {
	ticket string
	answer func(matcher.Explanation, error)
}

func newMaker(cfg *Config, c matchmaking.Configuration) *Maker {
	return &Maker{cfg: cfg, configuration: c, searching: map[string]*seeker{}, proposals: map[string]int{}}
}

// Configuration is the name of the matchmaking configuration.
func (k *Maker) Configuration() string { return k.configuration.Name }

// Step looks at what is new, and makes at most one match, which is to be proposed. more: call again, at once.
func (k *Maker) Step(n News, now time.Time) (match *matchmaking.Propose, more bool) {
	k.note(&n, now)
	k.due = k.rest
	if k.pool == nil && (k.resting(now) || !k.ready(now)) {
		k.refuse()
		return nil, false
	}
	if k.follow() {
		return nil, true
	}
	k.explainAll(now)
	if k.resting(now) {
		return nil, false
	}
	found, ok, more := k.pool.Match(now)
	if ok {
		match = k.propose(found, now)
	}
	k.due = k.pool.Due()
	return match, ok || more
}

// Due reports when Step has something to do without News; ok is false if it has nothing.
func (k *Maker) Due() (at time.Time, ok bool) { return k.due, !k.due.IsZero() }

// Break ends a Step that has panicked: the configuration rests, and then begins anew.
func (k *Maker) Break(now time.Time) {
	k.refuse()
	k.pool, k.rest = nil, now.Add(afterPanic)
	k.due = k.rest
}

// End refuses the questions that are left when the Maker has ended.
func (k *Maker) End() { k.refuse() }

// refuse answers those who ask when there is no answer.
func (k *Maker) refuse() {
	for _, q := range k.questions {
		q.answer(matcher.Explanation{}, notMatched(k.configuration))
	}
	k.questions = nil
}

func notMatched(c matchmaking.Configuration) error {
	return fault.New(fault.ServiceUnavailable,
		"Matchmaking configuration %s is not being matched at this moment. Try again.", c.Name)
}

// note takes over what is new, apart from the pool.
func (k *Maker) note(n *News, now time.Time) {
	k.questions = append(k.questions, n.questions...)
	if n.begin {
		clear(k.searching)
		clear(k.proposals)
		k.pool = nil
	}
	if n.catalog != nil {
		k.catalog = n.catalog
		k.renew()
	}
	for _, id := range slices.Sorted(maps.Keys(n.changes)) {
		k.moved = append(k.moved, id)
		if s := n.changes[id]; s == nil {
			delete(k.searching, id)
		} else {
			k.searching[id] = s
		}
	}
	for _, p := range n.settled {
		for _, t := range p.tickets {
			k.moved = append(k.moved, t.ID)
			if round, ok := k.proposals[t.ID]; ok && round == t.Round {
				delete(k.proposals, t.ID)
			}
		}
		if p.err != nil { // the shard is too busy, or down
			k.cfg.Failed("proposal of "+k.configuration.Name, p.err)
			k.rest = now.Add(retryAfter)
		}
	}
}

// movesOfStep is how many tickets a step moves into the pool or out of it, so that a crowd of them delays no one who
// stops the service.
const movesOfStep = 64

// follow makes the pool hold the tickets that are searching and in no proposal. It reports whether there are more to
// move.
func (k *Maker) follow() (more bool) {
	n := min(movesOfStep, len(k.moved))
	for _, id := range k.moved[:n] {
		k.move(id)
	}
	if k.moved = k.moved[n:]; len(k.moved) == 0 {
		k.moved = nil
	}
	return len(k.moved) > 0
}

// move takes a ticket into the pool or out of it. Those of a proposal that was taken have left before its answer came.
func (k *Maker) move(id string) {
	if s, ok := k.waiting(id); ok {
		k.pool.Add(s.ticket())
	} else {
		k.pool.Remove(id)
	}
}

// waiting finds a ticket that belongs into the pool.
func (k *Maker) waiting(id string) (*seeker, bool) {
	s, ok := k.searching[id]
	if !ok {
		return nil, false
	}
	round, proposed := k.proposals[id]
	return s, !proposed || round != s.round
}

// configured finds the configuration in the catalog.
func (k *Maker) configured() (*catalog.MatchmakingConfiguration, bool) {
	c, ok := k.catalog.MatchmakingConfiguration(k.configuration.Name)
	return c, ok && c.ID == k.configuration.ID
}

// renew takes over a new view of the catalog. A pool of another rule set is made anew.
func (k *Maker) renew() {
	c, ok := k.configured()
	if !ok || k.pool == nil {
		return
	}
	set, err := k.cfg.RuleSet(k.catalog, c)
	if err != nil || set != k.set || openSlots(c) != openSlots(k.settings) {
		k.pool = nil
	}
	k.settings = c
}

// openSlots is how many slots of its matches stay open.
func openSlots(c *catalog.MatchmakingConfiguration) int {
	if c.Standalone {
		return 0
	}
	return int(c.AdditionalPlayers)
}

// ready reports whether there is a pool, which it makes if need be.
func (k *Maker) ready(now time.Time) bool {
	c, ok := k.configured()
	if !ok {
		return false // about to end
	}
	set, err := k.cfg.RuleSet(k.catalog, c)
	if err != nil {
		k.cfg.Failed("rule set of "+k.configuration.Name, err)
		k.rest = now.Add(afterPanic)
		k.due = k.rest
		return false
	}
	var seed [8]byte
	k.cfg.Random(seed[:])
	k.settings, k.set = c, set
	k.pool = matcher.NewPool(set, matcher.Options{
		Additional: openSlots(c), Seed: int64(binary.LittleEndian.Uint64(seed[:])),
	})
	k.moved = slices.Sorted(maps.Keys(k.searching))
	return true
}

// resting reports whether matching has to wait for something that failed.
func (k *Maker) resting(now time.Time) bool { return now.Before(k.rest) }

// propose makes the proposal of a match. Until its answer the tickets are in no other one.
func (k *Maker) propose(found *matcher.Match, now time.Time) *matchmaking.Propose {
	c := &matchmaking.Propose{ID: k.cfg.NewID(), Settings: k.matchSettings()}
	c.Tickets = make([]matchmaking.Proposed, len(found.Tickets))
	for i, t := range found.Tickets {
		round := k.searching[t.ID].round
		c.Tickets[i] = matchmaking.Proposed{ID: t.ID, Round: round}
		k.proposals[t.ID] = round
	}
	c.Teams, c.Settings.Capacity = k.teams(found, now)
	for _, m := range found.Metrics {
		c.Metrics = append(c.Metrics, matchmaking.Metric{Rule: m.Rule, Passed: m.Passed, Failed: m.Failed})
	}
	return c
}

func (k *Maker) matchSettings() matchmaking.MatchSettings {
	c := k.settings
	t := matchmaking.MatchSettings{
		Configuration: k.configuration, Standalone: c.Standalone,
		AutomaticBackfill: c.AutomaticBackfill && !c.Standalone,
		RequestTimeout:    c.RequestTimeout,
	}
	if c.AcceptanceRequired {
		t.Acceptance = c.AcceptanceSeconds()
	}
	return t
}

// teams are the teams of a match with their sizes at its age, and how many players they can have in all.
func (k *Maker) teams(found *matcher.Match, now time.Time) (teams []matchmaking.Team, capacity int32) {
	level := k.set.At(k.age(found, now))
	for i, t := range found.Teams {
		team := matchmaking.Team{Name: t.Name, Max: int32(max(level.Teams[i].Max, len(t.Players)))}
		for _, p := range t.Players {
			team.Players = append(team.Players, p.ID)
		}
		teams = append(teams, team)
		capacity += team.Max
	}
	return teams, capacity
}

// age is the age of a match that expansions go by.
func (k *Maker) age(found *matcher.Match, now time.Time) time.Duration {
	byStart := func(a, b *matcher.Ticket) int { return a.Start.Compare(b.Start) }
	if k.set.Algorithm.OldestAge {
		return now.Sub(slices.MinFunc(found.Tickets, byStart).Start)
	}
	return now.Sub(slices.MaxFunc(found.Tickets, byStart).Start)
}

// explainAll answers those who ask.
func (k *Maker) explainAll(now time.Time) {
	for len(k.questions) > 0 {
		q := k.questions[0]
		e, ok := k.pool.Explain(q.ticket, now)
		k.questions = k.questions[1:]
		if ok {
			q.answer(e, nil)
		} else {
			q.answer(e, JustMatched(q.ticket))
		}
	}
}

// JustMatched is the error of a question about a ticket that has left its pool meanwhile.
func JustMatched(ticket string) error {
	return fault.New(fault.InvalidRequest, "Matchmaking ticket %s has just been matched", ticket)
}

// ticket is the ticket as the pool knows it.
func (s *seeker) ticket() *matcher.Ticket {
	t := &matcher.Ticket{ID: s.id, Start: s.started.Time(), Backfill: s.backfill}
	t.Players = make([]matcher.Player, len(s.players))
	for i := range s.players {
		t.Players[i] = poolPlayer(&s.players[i], s.backfill)
	}
	return t
}

func poolPlayer(p *matchmaking.Player, backfill bool) matcher.Player {
	out := matcher.Player{ID: p.ID, Attributes: make(map[string]ruleset.Value, len(p.Attributes))}
	for _, a := range p.Attributes {
		out.Attributes[a.Name] = a.Value
	}
	if len(p.Latencies) > 0 {
		out.Latency = make(map[string]int, len(p.Latencies))
		for _, l := range p.Latencies {
			out.Latency[l.Location] = int(l.Milliseconds)
		}
	}
	if backfill { // a new ticket may still have the team of a match that came to nothing
		out.Team = p.Team
	}
	return out
}
