package matcher

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/ruleset"
)

// A search is what a pool keeps for matches of at most 40 players.
//
// A match becomes possible in two ways only: by a ticket that comes, or by one that steps
// to another level. Such tickets are fresh; each of them is tried as the key of a match,
// that is, with those who can go with it, until it has one or there is none. So what was
// tried in vain is not tried again, however many tickets wait.
type search struct {
	reaches         []reach // latency rules of all levels
	reachesPerLevel int
	reach           int    // index in a level's reaches of the rule that every match obeys; -1: none
	band            *band  // nil: no attribute keeps tickets apart
	like            int    // column of the number that tickets go by; -1: none
	shared          []int  // columns of strings of which a match has one
	kinds           []kind // that quotas of some level count
	round           uint64 // of gather, to take each ticket once
	sorts           []int  // rules that sort
	sortedBy        []int  // columns of sortByAttributes, of numbers or texts
	groups          map[shared]*group
	few             int                    // candidates that may do instead of all of a batch
	nearer          func(a, b *entry) bool // the order of a group
	fresh           *btree.BTreeG[*entry]  // to try as keys, in the order of urgent
	backfills       int                    // backfill tickets that some match may have
	due             *btree.BTreeG[*entry]  // by what happens next
	ages            []int                  // entries by level
	trial           *trial
	hunt            hunt
	credit          int // work that may go into searches deeper than one pass
	random          uint64
	worked          int // work of all searches that found nothing
}

// Work is counted in tickets tried and looked at: a few million a second.
const (
	workOfCall  = 2_500           // after which Match pauses
	workOfKey   = 5               // for a key that nobody can go with
	stepsOfCall = 500             // entries that come to another level
	maxDepth    = 6_000           // of one search in depth
	minDepth    = 30              // even without credit
	leastShare  = 16              // of each backfill ticket that is tried with a key
	fullCredit  = 200_000         // what a quiet pool saves
	perArrival  = 60              // credit for each ticket that comes
	perSecond   = 25_000          // and for time that passes
	lookFactor  = 8               // tickets looked at, for each of a batch
	firstRetry  = 4 * time.Second // of a key for which not everything was tried
	lastRetry   = time.Minute     // it grows fourfold up to here
	jitter      = time.Second     // a clock that goes back by less stands still
	farthest    = 140 * 365 * 24 * time.Hour
)

// Shared are the strings that all tickets of a match have alike; further ones are left to
// the rules.
type shared [3]int32

// A group is tickets that have the shared strings in common.
type group struct {
	order     *btree.BTreeG[*entry] // new tickets, by neighbours
	backfills *btree.BTreeG[*entry] // backfill tickets, oldest first
	kinds     []members             // of the new tickets, by kind
	vain      bool                  // the last search in depth found nothing
}

// Members are the tickets of a group that have players of a kind.
type members struct {
	order   *btree.BTreeG[*entry] // as that of the group
	players int                   // of the kind
}

func (p *Pool) newGroup() *group {
	g := &group{order: ordered(p.nearer), backfills: ordered(older), kinds: make([]members, len(p.kinds))}
	for k := range g.kinds {
		g.kinds[k].order = ordered(p.nearer)
	}
	return g
}

// count adds a new ticket to its kinds, or takes it out of them (sign -1).
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

// of is where a ticket is kept.
func (g *group) of(e *entry) *btree.BTreeG[*entry] {
	if e.ticket.Backfill {
		return g.backfills
	}
	return g.order
}

// searching is what the search keeps of an entry.
type searching struct {
	masks   []mask  // by reach
	alone   bitset  // by level: whether the rules let it be in a match at all
	value   float64 // in the band
	alike   uint64  // equal for tickets that rules cannot tell apart; 0: none is alike
	group   *group
	class   int     // of the hunt: equal for candidates that are alike
	round   uint64  // of the hunt: of the gathering that saw it last
	counts  []count // by rule
	fresh   bool
	whole   bool // not only a step made it fresh
	from    int  // fresh by a step: the first level that was not tried
	second  bool // fresh, and tried in vain in the matches that backfillPriority puts first
	cut     bool // not everything was tried then
	tried   bool // as a key, since it came
	due     time.Duration
	retry   time.Duration // how long it was left alone the last time
	retryAt time.Duration // never: not at all
}

const never = time.Duration(math.MaxInt64)

// A count is how often a rule was evaluated.
type count struct{ passed, failed int32 }

func (p *Pool) newSearch() {
	p.credit = fullCredit
	p.random = uint64(p.options.Seed) //nolint:gosec // all bits are as good
	p.groups = map[shared]*group{}
	p.fresh = ordered(p.urgent)
	p.due = ordered(func(a, b *entry) bool {
		if a.due != b.due {
			return a.due < b.due
		}
		return a.seq < b.seq
	})
	p.ages = make([]int, len(p.levels))
	p.findFilters()
	p.liken()
	p.nearer = p.neighbours()
	p.findSorts()
	p.few = p.options.Batch - 1
	if few := 3 * p.set.MaxPlayers(); few < p.few && len(p.sorts) == 0 {
		p.few = few
	}
	p.trial = newTrial(p)
	p.hunt.init(p)
}

// fills reports whether the group has the players that quotas want, with those of a key.
func (g *group) fills(kinds []kind, quotas []quota, key *entry) bool {
	for _, q := range quotas {
		n := g.kinds[q.kind].players
		if key.ticket.Backfill { // other keys are among them
			n += kinds[q.kind].of(key)
		}
		if n < q.least {
			return false
		}
	}
	return true
}

// epoch is when the clocks of pools begin.
var epoch = time.Unix(0, 0).UTC()

// since is a time on the pool's clock. Times beyond a lifetime are all the same, so that
// ages cannot overflow.
func since(t time.Time) time.Duration {
	return max(-farthest, min(farthest, t.Sub(epoch)))
}

// prepareSmall fills what the search needs of an entry. The error says which rule it
// breaks all alone, at every age.
func (p *Pool) prepareSmall(e *entry) error {
	e.retryAt = never
	e.counts = make([]count, len(p.set.Rules))
	e.masks = make([]mask, len(p.reaches))
	for i, r := range p.reaches {
		e.masks[i] = maskOf(e.pings[r.column], r.most)
	}
	matchable, veto := false, -1
	p.trial.silent = true
	for i := range p.levels {
		veto = p.tryAlone(e, i)
		if veto < 0 {
			e.alone.add(i)
		}
		matchable = matchable || veto < 0
	}
	p.trial.silent = false
	if matchable {
		return nil
	}
	last := p.levels[len(p.levels)-1]
	return fmt.Errorf("rule %s turns it away whoever else is there: %s", last.rules[veto].Name, p.figures(last, veto, e))
}

// figures is what a rule says of a ticket that is alone in a match: in the last team,
// whose veto tryAlone gives.
func (p *Pool) figures(l *level, rule int, e *entry) string {
	t := p.trial
	t.clear(l)
	t.add(e, len(t.teams)-1)
	defer t.clear(l)
	return t.figures(rule)
}

// tryAlone is the rule that the ticket breaks at a level in whichever team; -1: none.
func (p *Pool) tryAlone(e *entry, level int) (veto int) {
	t := p.trial
	t.clear(p.levels[level])
	for team := range t.teams {
		t.add(e, team)
		veto, _ = t.judge()
		t.drop()
		if veto < 0 || e.ticket.Backfill {
			break
		}
	}
	return veto
}

func (p *Pool) addSmall(e *entry) {
	if p.like >= 0 {
		e.value = e.numbers[p.like][0]
	}
	e.alike = p.likeness(e)
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

// refresh has an entry tried as a key: at all levels, or at those from one on.
func (p *Pool) refresh(e *entry, whole bool, from int) {
	if !e.fresh {
		e.whole, e.from = false, from
	}
	e.whole = e.whole || whole
	e.from = min(e.from, from)
	p.enqueue(e, false)
}

// enqueue has an entry tried as a key in its first or its second turn.
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

// urgent orders keys. With a priority all keys are tried in the matches that it puts first before one is tried in others:
// high puts those with a backfill ticket first, low those without one. Then older keys come first.
func (p *Pool) urgent(a, b *entry) bool {
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

// schedule sets when something happens to an entry: its next level, or a retry.
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

// tick brings the pool to a time; more reports that it has not brought all entries there.
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

// matchable are the entries that some match may have, oldest first.
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

// step makes an entry fresh when its time has come.
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
		p.hunt.work = workOfKey
		if p.try(e) {
			m := p.take()
			return m, true, more || p.fresh.Len() > 0
		}
		work += p.hunt.work
		p.worked += p.hunt.work
	}
	return nil, false, more || p.fresh.Len() > 0
}

// try searches a match with a key. The matches that backfillPriority puts last are left to a second turn of the key.
func (p *Pool) try(key *entry) (found bool) {
	h := &p.hunt
	if key.tried && p.credit == 0 && key.retry < lastRetry {
		p.retry(key)
		return false
	}
	h.cut, h.depth = key.cut, max(minDepth, min(maxDepth, p.credit))
	priority := p.set.Algorithm.BackfillPriority
	switch {
	case p.backfills == 0 || key.ticket.Backfill:
		found = p.tryLevels(key, h.search)
	case priority == ruleset.NormalPriority:
		found = p.tryByAge(key)
	case key.second == (priority == ruleset.LowPriority):
		found = p.tryLevels(key, h.refill)
	default:
		found = p.tryLevels(key, h.search)
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

// retry leaves a key alone for a while. While there is no credit, what comes to another level or was not tried completely
// waits for its turn, but not for ever: after lastRetry each is tried all the same.
func (p *Pool) retry(key *entry) {
	key.retry = min(lastRetry, max(firstRetry, 4*key.retry))
	key.retryAt = p.now + key.retry
	p.schedule(key)
}

// tryByAge searches a match of new tickets, and prefers one with a backfill ticket that is older than all of these.
func (p *Pool) tryByAge(key *entry) (found bool) {
	h := &p.hunt
	defer func() { h.elder = nil }()
	if !p.tryLevels(key, h.search) {
		return p.tryLevels(key, h.refill)
	}
	best, players := slices.Clone(h.best), h.players
	for _, e := range best {
		if h.elder == nil || older(e.entry, h.elder) {
			h.elder = e.entry
		}
	}
	for _, e := range best {
		if (e.entry == key || e.fresh) && p.tryLevels(e.entry, h.refill) {
			if !slices.ContainsFunc(h.best, func(s seated) bool { return s.entry == key }) {
				p.enqueue(key, false)
			}
			return true
		}
	}
	h.best, h.players = best, players
	return true
}

// tryLevels searches a match with a key at the levels that the match can have: that of its newest
// ticket, or of its oldest one.
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

// take makes the match that was found, and takes its tickets out of the pool.
func (p *Pool) take() *Match {
	tickets := p.hunt.best
	if p.set.Algorithm.Balanced {
		p.evenOut(tickets)
	}
	slices.SortFunc(tickets, func(a, b seated) int {
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
				team = e.seats[k]
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

// metrics are the counts of all rules but those that sort.
func (p *Pool) metrics(counts []count) []Metric {
	metrics := make([]Metric, 0, len(counts))
	for i, c := range counts {
		if r := p.set.Rules[i]; r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			metrics = append(metrics, Metric{Rule: r.Name, Passed: int(c.passed), Failed: int(c.failed)})
		}
	}
	return metrics
}

// next is a random number below n (SplitMix64).
func (p *Pool) next(n int) int {
	p.random += 0x9e3779b97f4a7c15
	z := p.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(z^z>>31, uint64(n)) //nolint:gosec // n is a length
	return int(hi)                          //nolint:gosec // less than n
}
