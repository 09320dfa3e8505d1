package matcher

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// small is the state for matches of at most 40 players. See the package documentation for fresh tickets and keys.
type small struct {
	latencyRules         []latencyRule // of all levels
	latencyRulesPerLevel int
	latencyRule          int    // index in a level's latencyRules of the rule that every match obeys; -1: none
	band                 *band  // nil: no number attribute limits matches
	similarBy            int    // column of the number that tickets are ordered by; -1: none
	shared               []int  // columns of strings that are equal in a match
	kinds                []kind // that quotas of some level count
	round                uint64 // of gather, so that each ticket is taken once
	sorts                []int  // indexes of sort rules
	sortedBy             []int  // columns of sortByAttributes, of numbers or texts
	groups               map[shared]*group
	firstBatch           int                    // candidates of the quick check
	inGroupOrder         func(a, b *entry) bool // the order of a group
	fresh                *btree.BTreeG[*entry]  // keys to try, by keyOrder
	backfills            int                    // matchable backfill tickets
	due                  *btree.BTreeG[*entry]  // by the time of their next step
	ages                 []int                  // entries by level
	trial                *trial
	search               search
	credit               int // budget of searches in depth
	random               uint64
	worked               int // by all searches that found nothing
}

// Limits of work, which is counted in tickets tried and visited: a few million a second.
const (
	workOfCall  = 2_500           // then Match pauses
	workOfKey   = 5               // for a key without compatible tickets
	stepsOfCall = 500             // entries that reach another level
	maxDepth    = 6_000           // of one search in depth
	minDepth    = 30              // even without credit
	leastShare  = 16              // of each backfill ticket tried with a key
	fullCredit  = 200_000         // maximum
	perArrival  = 60              // credit for each added ticket
	perSecond   = 25_000          // credit for each second
	lookFactor  = 8               // tickets visited per ticket of a batch
	firstRetry  = 4 * time.Second // of a key whose search was cut short
	lastRetry   = time.Minute     // maximum, reached in fourfold steps
	jitter      = time.Second     // backward clock steps up to this are ignored
	farthest    = 140 * 365 * 24 * time.Hour
)

// shared holds the strings that are equal in all tickets of a match; rules check further ones.
type shared [3]int32

// A group is the tickets with equal shared strings.
type group struct {
	order      *btree.BTreeG[*entry] // new tickets, by inGroupOrder
	backfills  *btree.BTreeG[*entry] // backfill tickets, oldest first
	kinds      []members             // of the new tickets, by kind
	lastFailed bool                  // the last search in depth found nothing
}

// members are the tickets of a group that have players of a kind.
type members struct {
	order   *btree.BTreeG[*entry] // by inGroupOrder
	players int                   // of the kind
}

func (p *Pool) newGroup() *group {
	g := &group{order: ordered(p.inGroupOrder), backfills: ordered(older), kinds: make([]members, len(p.kinds))}
	for k := range g.kinds {
		g.kinds[k].order = ordered(p.inGroupOrder)
	}
	return g
}

// count adds a new ticket to its kinds, or removes it (sign -1).
func (g *group) count(kinds []kind, e *entry, sign int) {
	for k := range kinds {
		n := kinds[k].of(e)
		switch {
		case n == 0 || e.ticket.Backfill:
			continue
		case sign > 0:
			g.kinds[k].order.Set(e)
		default:
			g.kinds[k].order.Delete(e)
		}
		g.kinds[k].players += sign * n
	}
}

// of returns the set that holds a ticket.
func (g *group) of(e *entry) *btree.BTreeG[*entry] {
	if e.ticket.Backfill {
		return g.backfills
	}
	return g.order
}

// smallEntry is the state of an entry for the search of small matches.
type smallEntry struct {
	masks     []mask  // by latency rule
	alone     bitset  // levels at which the rules accept it alone
	value     float64 // in the band
	signature uint64  // equal for tickets that rules cannot tell apart; 0: unique
	group     *group
	class     int     // equal for candidates with equal signature and level
	round     uint64  // of the last gather that visited it
	counts    []count // by rule
	fresh     bool
	whole     bool // to try at all levels
	from      int  // else the first level to try
	second    bool // tried without success in the matches that backfillPriority puts first
	cut       bool // that search was cut short
	tried     bool // as a key
	due       time.Duration
	retry     time.Duration // last interval
	retryAt   time.Duration // never: no retry
}

const never = time.Duration(math.MaxInt64)

// A count is how often a rule was evaluated.
type count struct{ passed, failed int32 }

func (p *Pool) newSearch() {
	p.credit = fullCredit
	p.random = uint64(p.options.Seed) //nolint:gosec // any bits will do
	p.groups = map[shared]*group{}
	p.fresh = ordered(p.keyOrder)
	p.due = ordered(func(a, b *entry) bool {
		if a.due != b.due {
			return a.due < b.due
		}
		return a.seq < b.seq
	})
	p.ages = make([]int, len(p.levels))
	p.findFilters()
	p.findSimilarity()
	p.inGroupOrder = p.groupOrder()
	p.findSorts()
	p.firstBatch = p.options.Batch - 1
	if firstBatch := 3 * p.set.MaxPlayers(); firstBatch < p.firstBatch && len(p.sorts) == 0 {
		p.firstBatch = firstBatch
	}
	p.trial = newTrial(p)
	p.search.init(p)
}

// fills reports whether the group with a key has the players that quotas require.
func (g *group) fills(kinds []kind, quotas []quota, key *entry) bool {
	for _, q := range quotas {
		n := g.kinds[q.kind].players
		if key.ticket.Backfill { // other keys are counted already
			n += kinds[q.kind].of(key)
		}
		if n < q.least {
			return false
		}
	}
	return true
}

// epoch is the zero of the pool's clock.
var epoch = time.Unix(0, 0).UTC()

// since converts to the pool's clock, limited so that ages cannot overflow.
func since(t time.Time) time.Duration {
	return max(-farthest, min(farthest, t.Sub(epoch)))
}

// prepareSmall sets the search state of an entry. The error names the rule that rejects the ticket at every age.
func (p *Pool) prepareSmall(e *entry) error {
	e.retryAt = never
	e.counts = make([]count, len(p.set.Rules))
	e.masks = make([]mask, len(p.latencyRules))
	for i, r := range p.latencyRules {
		e.masks[i] = maskOf(e.pings[r.column], r.most)
	}
	matchable, broken := false, -1
	p.trial.silent = true
	for i := range p.levels {
		broken = p.tryAlone(e, i)
		if broken < 0 {
			e.alone.add(i)
		}
		matchable = matchable || broken < 0
	}
	p.trial.silent = false
	if matchable {
		return nil
	}
	last := p.levels[len(p.levels)-1]
	return fmt.Errorf("rule %s rejects the ticket in any match: %s", last.rules[broken].Name,
		p.figures(last, broken, e))
}

// figures returns the figures of a rule for a ticket alone in the last team.
func (p *Pool) figures(l *level, rule int, e *entry) string {
	t := p.trial
	t.clear(l)
	t.add(e, len(t.teams)-1)
	defer t.clear(l)
	return t.figures(rule)
}

// tryAlone returns the rule that the ticket breaks at a level in every team; -1: none.
func (p *Pool) tryAlone(e *entry, level int) (broken int) {
	t := p.trial
	t.clear(p.levels[level])
	for team := range t.teams {
		t.add(e, team)
		broken, _ = t.evaluate()
		t.drop()
		if broken < 0 || e.ticket.Backfill {
			break
		}
	}
	return broken
}

func (p *Pool) addSmall(e *entry) {
	if p.similarBy >= 0 {
		e.value = e.numbers[p.similarBy][0]
	}
	e.signature = p.signatureOf(e)
	var key shared
	for i, column := range p.shared {
		key[i] = e.texts[column][0] + 1
	}
	e.group = p.groups[key]
	if e.group == nil {
		e.group = p.newGroup()
		p.groups[key] = e.group
	}
	e.group.of(e).Set(e)
	e.group.count(p.kinds, e, 1)
	p.backfills += asInt(e.ticket.Backfill)
	p.ages[e.level]++
	p.credit = min(fullCredit, p.credit+perArrival)
	p.schedule(e)
	p.refresh(e, true, 0)
}

func (p *Pool) removeSmall(e *entry) {
	e.group.of(e).Delete(e)
	e.group.count(p.kinds, e, -1)
	p.backfills -= asInt(e.ticket.Backfill)
	if e.group.order.Len()+e.group.backfills.Len() == 0 {
		var key shared
		for i, column := range p.shared {
			key[i] = e.texts[column][0] + 1
		}
		delete(p.groups, key)
	}
	p.ages[e.level]--
	if e.fresh {
		p.fresh.Delete(e)
	}
	if e.due != never {
		p.due.Delete(e)
	}
}

// refresh queues an entry as a key, for all levels or for those from one on.
func (p *Pool) refresh(e *entry, whole bool, from int) {
	if !e.fresh {
		e.whole, e.from = false, from
	}
	e.whole = e.whole || whole
	e.from = min(e.from, from)
	p.enqueue(e, false)
}

// enqueue queues an entry as a key for its first or second turn.
func (p *Pool) enqueue(e *entry, second bool) {
	if e.fresh && e.second == second {
		return
	}
	if e.fresh {
		p.fresh.Delete(e)
	}
	e.fresh, e.second, e.cut = true, second, second && e.cut
	p.fresh.Set(e)
}

// keyOrder orders keys: first turns before second ones, then by backfillPriority, then by age.
func (p *Pool) keyOrder(a, b *entry) bool {
	if a.second != b.second {
		return b.second
	}
	if c := p.byPriority(a, b); c != 0 {
		return c < 0
	}
	return older(a, b)
}

// byPriority orders entries by backfillPriority.
func (p *Pool) byPriority(a, b *entry) int {
	switch p.set.Algorithm.BackfillPriority {
	case ruleset.HighPriority:
		return asInt(b.ticket.Backfill) - asInt(a.ticket.Backfill)
	case ruleset.LowPriority:
		return asInt(a.ticket.Backfill) - asInt(b.ticket.Backfill)
	default:
		return 0
	}
}

// schedule sets the time of an entry's next level or retry.
func (p *Pool) schedule(e *entry) {
	if e.due != 0 && e.due != never {
		p.due.Delete(e)
	}
	e.due = e.retryAt
	if e.level+1 < len(p.levels) {
		e.due = min(e.due, e.start+p.levels[e.level+1].from)
	}
	if e.due != never {
		p.due.Set(e)
	}
}

// tick advances the pool's clock; more reports that entries remain to be advanced.
func (p *Pool) tick(now time.Time) (more bool) {
	at := since(now)
	switch {
	case at < p.now-jitter:
		p.now = at
		for _, e := range p.matchable() {
			p.step(e)
		}
	case at > p.now:
		p.credit = min(fullCredit, p.credit+int(min(time.Hour, at-p.now)/(time.Second/perSecond)))
		p.now = at
	}
	e, ok := p.due.Min()
	for n := 0; ok && e.due <= p.now; n++ {
		if n == stepsOfCall {
			return true
		}
		p.step(e)
		e, ok = p.due.Min()
	}
	return false
}

// matchable returns the entries that some match may include, oldest first.
func (p *Pool) matchable() []*entry {
	all := make([]*entry, 0, len(p.entries))
	for _, e := range p.entries {
		if e.unmatchable == "" {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq))
	})
	return all
}

// step makes an entry fresh if it reached another level or its retry is due.
func (p *Pool) step(e *entry) {
	level := p.at(e.age(p.now))
	if level != e.level {
		p.refresh(e, level < e.level, e.level+1)
		p.ages[e.level]--
		p.ages[level]++
		e.level = level
	}
	if e.retryAt <= p.now {
		e.retryAt = never
		p.refresh(e, true, 0)
	}
	p.schedule(e)
}

func (p *Pool) dueSmall() time.Time {
	e, ok := p.due.Min()
	if !ok {
		return time.Time{}
	}
	return epoch.Add(e.due)
}

func (p *Pool) matchSmall(now time.Time) (m *Match, ok, more bool) {
	more = p.tick(now)
	for work := 0; work < workOfCall; {
		e, ok := p.fresh.PopMin()
		if !ok {
			return nil, false, more
		}
		e.fresh = false
		p.search.work = workOfKey
		if p.try(e) {
			m := p.take()
			return m, true, more || p.fresh.Len() > 0
		}
		work += p.search.work
		p.worked += p.search.work
	}
	return nil, false, more || p.fresh.Len() > 0
}

// try searches a match with a key. Matches that backfillPriority puts last are left to a second turn of the key.
func (p *Pool) try(key *entry) (found bool) {
	h := &p.search
	if key.tried && p.credit == 0 && key.retry < lastRetry {
		p.retry(key)
		return false
	}
	h.cut, h.depth = key.cut, max(minDepth, min(maxDepth, p.credit))
	priority := p.set.Algorithm.BackfillPriority
	switch {
	case p.backfills == 0 || key.ticket.Backfill:
		found = p.tryLevels(key, h.form)
	case priority == ruleset.NormalPriority:
		found = p.tryByAge(key)
	case key.second == (priority == ruleset.LowPriority):
		found = p.tryLevels(key, h.refill)
	default:
		found = p.tryLevels(key, h.form)
	}
	switch {
	case found:
	case p.backfills > 0 && priority != ruleset.NormalPriority && !key.second && !key.ticket.Backfill:
		key.cut = h.cut
		p.enqueue(key, true)
		return false
	case h.cut:
		p.retry(key)
	}
	if key.tried && !found {
		p.credit = max(0, p.credit-h.work)
	}
	key.tried = true
	return found
}

// retry delays a key that has no credit or was not tried completely. After lastRetry it is tried in any case.
func (p *Pool) retry(key *entry) {
	key.retry = min(lastRetry, max(firstRetry, 4*key.retry))
	key.retryAt = p.now + key.retry
	p.schedule(key)
}

// tryByAge searches a match of new tickets, and prefers one with a backfill ticket that is older than all of them.
func (p *Pool) tryByAge(key *entry) (found bool) {
	h := &p.search
	defer func() { h.olderThan = nil }()
	if !p.tryLevels(key, h.form) {
		return p.tryLevels(key, h.refill)
	}
	best, players := slices.Clone(h.best), h.players
	for _, e := range best {
		if h.olderThan == nil || older(e.entry, h.olderThan) {
			h.olderThan = e.entry
		}
	}
	for _, e := range best {
		if (e.entry == key || e.fresh) && p.tryLevels(e.entry, h.refill) {
			if !slices.ContainsFunc(h.best, func(s assigned) bool { return s.entry == key }) {
				p.enqueue(key, false)
			}
			return true
		}
	}
	h.best, h.players = best, players
	return true
}

// tryLevels searches at the levels that a match with the key can have: that of its newest ticket, or of its oldest.
func (p *Pool) tryLevels(key *entry, search func(key *entry, level int) bool) (found bool) {
	if p.set.Algorithm.OldestAge {
		last := key.level
		if key.whole {
			last = len(p.levels) - 1
		}
		for l := key.level; l <= last && !found; l++ {
			found = p.ages[l] > 0 && search(key, l)
		}
		return found
	}
	first := key.from
	if key.whole {
		first = 0
	}
	for l := key.level; l >= first && !found; l-- {
		found = p.ages[l] > 0 && search(key, l)
	}
	return found
}

// take returns the match that was found and removes its tickets.
func (p *Pool) take() *Match {
	tickets := p.search.best
	if p.set.Algorithm.Balanced {
		p.evenOut(tickets)
	}
	slices.SortFunc(tickets, func(a, b assigned) int {
		switch {
		case a.ticket.Backfill != b.ticket.Backfill:
			if a.ticket.Backfill {
				return -1
			}
			return 1
		case older(a.entry, b.entry):
			return -1
		default:
			return 1
		}
	})
	m := &Match{Tickets: make([]*Ticket, len(tickets)), Teams: make([]Team, len(p.set.Teams))}
	for i, t := range p.set.Teams {
		m.Teams[i].Name = t.Name
	}
	totals := make([]count, len(p.set.Rules))
	for i, e := range tickets {
		m.Tickets[i] = e.ticket
		for k, player := range e.ticket.Players {
			team := e.team
			if e.ticket.Backfill {
				team = e.teamOf[k]
			}
			m.Teams[team].Players = append(m.Teams[team].Players, player)
		}
		for r, c := range e.counts {
			totals[r].passed += c.passed
			totals[r].failed += c.failed
		}
	}
	m.Metrics = p.metrics(totals)
	for _, e := range tickets {
		p.Remove(e.ticket.ID)
	}
	return m
}

// metrics returns the counts of all rules but sort rules.
func (p *Pool) metrics(counts []count) []Metric {
	metrics := make([]Metric, 0, len(counts))
	for i, c := range counts {
		if r := p.set.Rules[i]; r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			metrics = append(metrics, Metric{Rule: r.Name, Passed: int(c.passed), Failed: int(c.failed)})
		}
	}
	return metrics
}

// next returns a random number below n (SplitMix64).
func (p *Pool) next(n int) int {
	p.random += 0x9e3779b97f4a7c15
	z := p.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(z^z>>31, uint64(n)) //nolint:gosec // n is a length
	return int(hi)                          //nolint:gosec // less than n
}
