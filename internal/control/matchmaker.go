package control

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/ruleset"
)

// afterPanic is how long a configuration whose matching panicked rests. The tickets
// that did it are still there, and end by their time-out at last.
const afterPanic = 10 * time.Second

// A matchmaker searches the pool of one matchmaking configuration. It sleeps until
// a ticket comes or an expansion of the rule set begins, and never polls.
type matchmaker struct {
	matching      *matching
	configuration matchmaking.Configuration
	cancel        context.CancelFunc
	wake          chan struct{}
	seen          *catalog.MatchmakingConfiguration // by the driver

	mu   sync.Mutex
	news makerNews

	// The goroutine's own.
	searching map[string]*seeker // also those in a proposal that is not answered
	moved     []string           // tickets whose place the pool has yet to learn
	questions []question         // that wait until it has
	proposals map[string]int     // the rounds of tickets in such proposals
	settings  *catalog.MatchmakingConfiguration
	set       *ruleset.Set
	pool      *matcher.Pool // nil: to be made
	rest      time.Time     // nothing is matched before
	due       time.Time     // when to look again without news; zero: never
}

// makerNews is what a matchmaker has not seen yet. Of each ticket only the newest
// counts, so it does not grow while matching takes its time.
type makerNews struct {
	begin     bool               // all tickets from before are to be forgotten
	changes   map[string]*seeker // by ticket; nil: it has left
	settled   []settled
	questions []question
	reload    bool // the catalog has changed
}

// settled is a proposal that was answered.
type settled struct {
	tickets []matchmaking.Proposed
	err     error
}

// A question asks why a ticket waits. The answer always fits into the channel.
type question struct {
	ticket        string
	configuration string // its id
	answer        chan explained
}

type explained struct {
	explanation matcher.Explanation
	err         error
}

func startMatchmaker(ctx context.Context, m *matching, c matchmaking.Configuration) *matchmaker {
	ctx, cancel := context.WithCancel(ctx)
	k := &matchmaker{
		matching: m, configuration: c, cancel: cancel, wake: make(chan struct{}, 1),
		searching: map[string]*seeker{}, proposals: map[string]int{},
	}
	m.working.Go(func() {
		defer cancel()
		k.run(ctx)
	})
	return k
}

func (k *matchmaker) stop() { k.cancel() }

// The methods up to tell say what has happened. They do not wait.

func (k *matchmaker) begin() {
	k.tell(func(n *makerNews) { *n = makerNews{begin: true, questions: n.questions, reload: n.reload} })
}

func (k *matchmaker) enter(s *seeker) {
	k.tell(func(n *makerNews) { n.change(s.ticket.ID, s) })
}

func (k *matchmaker) leave(ticket string) {
	k.tell(func(n *makerNews) { n.change(ticket, nil) })
}

func (k *matchmaker) settle(tickets []matchmaking.Proposed, err error) {
	k.tell(func(n *makerNews) { n.settled = append(n.settled, settled{tickets, err}) })
}

func (k *matchmaker) ask(q question) {
	k.tell(func(n *makerNews) { n.questions = append(n.questions, q) })
}

func (k *matchmaker) reload() {
	k.tell(func(n *makerNews) { n.reload = true })
}

func (k *matchmaker) tell(note func(*makerNews)) {
	k.mu.Lock()
	note(&k.news)
	k.mu.Unlock()
	wake(k.wake)
}

func (n *makerNews) change(ticket string, s *seeker) {
	if n.changes == nil {
		n.changes = map[string]*seeker{}
	}
	n.changes[ticket] = s
}

// run matches until ctx is done.
func (k *matchmaker) run(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := k.step()
		if err != nil {
			k.log().Error("matching failed; the configuration rests", "err", err)
			k.pool, k.rest = nil, k.now().Add(afterPanic)
			k.due = k.rest
		}
		if !more {
			k.sleep(ctx)
		}
	}
	k.questions = append(k.questions, k.take().questions...)
	k.refuse()
}

func (k *matchmaker) log() *slog.Logger {
	return k.matching.plane.cfg.Log.With("configuration", k.configuration.Name)
}

func (k *matchmaker) take() makerNews {
	k.mu.Lock()
	defer k.mu.Unlock()
	news := k.news
	k.news = makerNews{}
	return news
}

// refuse answers those who ask when there is no answer.
func (k *matchmaker) refuse() {
	for _, q := range k.questions {
		q.answer <- explained{err: fault.New(fault.ServiceUnavailable, "Matchmaking configuration %s is not being matched at this moment. Try again.", k.configuration.Name)}
	}
	k.questions = nil
}

// step looks at what is new and makes at most one match. A panic is an error of
// this configuration alone.
func (k *matchmaker) step() (more bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			k.refuse() // whatever happens
			more, err = false, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	news := k.take()
	k.note(&news)
	k.due = k.rest
	if k.pool == nil && (k.resting() || !k.ready()) {
		k.refuse()
		return false, nil
	}
	if k.follow() {
		return true, nil
	}
	k.explainAll()
	if k.resting() {
		return false, nil
	}
	now := k.now()
	match, found, more := k.pool.Match(now)
	if found {
		k.propose(match, now)
	}
	k.due = k.pool.Due()
	return found || more, nil
}

// note takes over what is new, apart from the pool.
func (k *matchmaker) note(n *makerNews) {
	k.questions = append(k.questions, n.questions...)
	if n.begin {
		clear(k.searching)
		clear(k.proposals)
		k.pool = nil
	}
	if n.reload {
		k.renew()
	}
	for id, s := range n.changes {
		k.moved = append(k.moved, id)
		if s == nil {
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
			k.log().Warn("a match was not proposed; trying again", "err", p.err)
			k.rest = k.now().Add(again)
		}
	}
}

// movesOfStep is how many tickets a step moves into the pool or out of it, so that a
// crowd of them keeps nobody waiting who stops the service.
const movesOfStep = 64

// follow makes the pool hold the tickets that are searching and in no proposal. It
// reports whether there are more to move.
func (k *matchmaker) follow() (more bool) {
	n := min(movesOfStep, len(k.moved))
	for _, id := range k.moved[:n] {
		k.place(id)
	}
	if k.moved = k.moved[n:]; len(k.moved) == 0 {
		k.moved = nil
	}
	return len(k.moved) > 0
}

// place puts a ticket where it belongs: into the pool or out of it. Those of a
// proposal that was taken have left before its answer came.
func (k *matchmaker) place(id string) {
	if s, ok := k.waiting(id); ok {
		k.pool.Add(s.ticket)
	} else {
		k.pool.Remove(id)
	}
}

// waiting finds a ticket that belongs into the pool.
func (k *matchmaker) waiting(id string) (*seeker, bool) {
	s, ok := k.searching[id]
	if !ok {
		return nil, false
	}
	round, proposed := k.proposals[id]
	return s, !proposed || round != s.round
}

// renew takes over what the catalog says now. A pool of another rule set is made
// anew.
func (k *matchmaker) renew() {
	c, ok := k.matching.configuration(k.configuration)
	if !ok || k.pool == nil {
		return
	}
	set, err := k.matching.sets.of(k.matching.plane.catalog(), c)
	if err != nil || set != k.set || openPlaces(c) != openPlaces(k.settings) {
		k.pool = nil
	}
	k.settings = c
}

// openPlaces is how many places of its matches stay open.
func openPlaces(c *catalog.MatchmakingConfiguration) int {
	if c.Standalone {
		return 0
	}
	return int(c.AdditionalPlayers)
}

// ready reports whether there is a pool, which it makes if need be.
func (k *matchmaker) ready() bool {
	if k.pool != nil {
		return true
	}
	c, ok := k.matching.configuration(k.configuration)
	if !ok {
		return false // about to be stopped
	}
	set, err := k.matching.sets.of(k.matching.plane.catalog(), c)
	if err != nil {
		k.log().Error("nothing is matched", "err", err)
		k.rest = k.now().Add(afterPanic)
		k.due = k.rest
		return false
	}
	k.settings, k.set = c, set
	k.pool = matcher.NewPool(set, matcher.Options{Additional: openPlaces(c), Seed: rand.Int64()})
	k.moved = slices.Collect(maps.Keys(k.searching))
	return true
}

// resting reports whether matching has to wait for something that failed.
func (k *matchmaker) resting() bool { return k.now().Before(k.rest) }

// sleep waits for news, for the next expansion, or for the end of a rest.
func (k *matchmaker) sleep(ctx context.Context) {
	var due <-chan time.Time
	if !k.due.IsZero() {
		timer := k.matching.plane.cfg.Clock.NewTimer(k.due.Sub(k.now()))
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-k.wake:
	case <-due:
	case <-ctx.Done():
	}
}

func (k *matchmaker) now() time.Time { return k.matching.plane.cfg.Clock.Now() }

// propose submits a match. The answer comes by way of the driver's inbox, where it
// stands behind the facts that the proposal leads to.
func (k *matchmaker) propose(found *matcher.Match, now time.Time) {
	c := matchmaking.Propose{ID: uuid.NewString(), Settings: k.terms(), Tickets: make([]matchmaking.Proposed, len(found.Tickets))}
	for i, t := range found.Tickets {
		round := k.searching[t.ID].round
		c.Tickets[i] = matchmaking.Proposed{ID: t.ID, Round: round}
		k.proposals[t.ID] = round
	}
	c.Teams, c.Settings.Capacity = k.teams(found, now)
	for _, m := range found.Metrics {
		c.Metrics = append(c.Metrics, matchmaking.Metric{Rule: m.Rule, Passed: m.Passed, Failed: m.Failed})
	}
	m := k.matching
	m.plane.ticketShard().Submit(region.MatchmakingCommand{Command: c}, func(_ any, err error) {
		m.inbox.put(answered{k, c.Tickets, err})
	})
}

func (k *matchmaker) terms() matchmaking.MatchSettings {
	c := k.settings
	t := matchmaking.MatchSettings{
		Configuration: k.configuration, Standalone: c.Standalone, AutomaticBackfill: c.AutomaticBackfill && !c.Standalone,
		RequestTimeout: c.RequestTimeout,
	}
	if c.AcceptanceRequired {
		t.Acceptance = c.AcceptanceSeconds()
	}
	return t
}

// teams are the teams of a match with their sizes at its age, and how many players
// they can have in all.
func (k *matchmaker) teams(found *matcher.Match, now time.Time) (teams []matchmaking.Team, capacity int32) {
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
func (k *matchmaker) age(found *matcher.Match, now time.Time) time.Duration {
	byStart := func(a, b *matcher.Ticket) int { return a.Start.Compare(b.Start) }
	if k.set.Algorithm.OldestAge {
		return now.Sub(slices.MinFunc(found.Tickets, byStart).Start)
	}
	return now.Sub(slices.MaxFunc(found.Tickets, byStart).Start)
}

// explainAll answers those who ask.
func (k *matchmaker) explainAll() {
	for len(k.questions) > 0 {
		q := k.questions[0]
		e, ok := k.pool.Explain(q.ticket, k.now())
		k.questions = k.questions[1:]
		if ok {
			q.answer <- explained{explanation: e}
		} else {
			q.answer <- explained{err: justMatched(q.ticket)}
		}
	}
}

// justMatched says that a ticket has left its pool since it was looked at.
func justMatched(ticket string) error {
	return fault.New(fault.InvalidRequest, "Matchmaking ticket %s has just been matched", ticket)
}

// pass hands a question to the matchmaker of its configuration.
func (m *matching) pass(q question) {
	if k := m.makers[q.configuration]; k != nil {
		k.ask(q)
		return
	}
	q.answer <- explained{err: fault.New(fault.InvalidRequest, "The configuration of matchmaking ticket %s is gone", q.ticket)}
}

// ruleSets are the rule sets that are in use, read and checked.
type ruleSets struct {
	mu   sync.Mutex
	byID map[string]readRuleSet
}

type readRuleSet struct {
	name string
	set  *ruleset.Set
}

// of is the rule set of a configuration.
func (r *ruleSets) of(catalog *catalog.State, c *catalog.MatchmakingConfiguration) (*ruleset.Set, error) {
	record, ok := catalog.RuleSet(c.RuleSet)
	if !ok {
		return nil, fault.New(fault.InvalidRequest, "Matchmaking configuration %s has no rule set any more: %s is gone", c.Name, c.RuleSet)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if read, ok := r.byID[record.ID]; ok {
		return read.set, nil
	}
	set, err := ruleset.Parse(record.Body)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "Rule set %s cannot be used: %v", record.Name, err)
	}
	if r.byID == nil {
		r.byID = map[string]readRuleSet{}
	}
	r.byID[record.ID] = readRuleSet{record.Name, set}
	return set, nil
}

// tidy forgets those that were deleted.
func (r *ruleSets) tidy(catalog *catalog.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, read := range r.byID {
		if record, ok := catalog.RuleSet(read.name); !ok || record.ID != id {
			delete(r.byID, id)
		}
	}
}
