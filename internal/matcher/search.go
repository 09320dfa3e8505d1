package matcher

import (
	"cmp"
	"math"
	"slices"

	"github.com/tidwall/btree"
)

// A search looks for a match with one ticket, the key, at one level. Its slices are reused.
type search struct {
	pool       *Pool
	candidates []candidate // compatible tickets, in the order in which they are tried
	ranks      []rank
	scratch    []candidate // of zones and classify
	subset     []candidate
	rest       []int // by candidate: the players from it on
	atLevel    int   // the last candidate whose age has the level; -1: none

	best    []assigned // the match that was found, and its players
	players int

	work   int  // since it was last set to 0
	depth  int  // budget of searches in depth with the key
	left   int  // of the budget, in the present pass
	cut    bool // not everything was tried
	greedy bool // one pass, without backtracking

	partial  int       // players of the largest partial match; -1: not recorded
	lacks    string    // what it lacks
	failures []Failure // by rules, of matches tried meanwhile

	found              []zone
	backfillCandidates []candidate // backfill tickets compatible with the key
	olderThan          *entry      // only backfill tickets older than this one; nil: all
}

// A candidate is a ticket compatible with the key, as far as a test of the two can decide.
type candidate struct {
	*entry
	mask mask // common locations with the key
	rank int  // index of its first rank
}

func (h *search) init(p *Pool) { h.pool, h.partial = p, -1 }

// form searches a match of the key and new tickets at a level.
func (h *search) form(key *entry, l int) (found bool) {
	p := h.pool
	level := p.levels[l]
	h.best, h.players = h.best[:0], 0
	if !key.alone.has(l) || !level.fits(key) || !key.group.fills(p.kinds, level.quotas, key) {
		return false
	}
	most := p.options.Batch - 1
	if !key.group.lastFailed {
		most = p.firstBatch
	}
	players, atLevel := h.gather(key, l, most)
	if len(h.candidates) == most && most < p.options.Batch-1 {
		if players >= level.least() && atLevel && h.quickCheck(key, level) {
			return true
		}
		players, atLevel = h.gather(key, l, p.options.Batch-1)
	}
	if players < level.least() || !atLevel {
		return false
	}
	zones := slices.DeleteFunc(h.zones(key, l), func(s zone) bool { return !h.quotas(key, level, s) })
	if len(zones) == 0 {
		return false
	}
	h.order(level, key)
	h.greedy, h.left = true, math.MaxInt
	if h.pass(nil, key, level, h.candidates) {
		key.group.lastFailed = false
		return true
	}
	h.greedy = false
	h.classify()
	h.bySimilarity(key)
	h.left = h.depth
	before := h.left
	for _, s := range zones {
		if h.left <= 0 {
			h.cut = true
			break
		}
		if found = h.pass(nil, key, level, h.within(s)); found {
			break
		}
	}
	h.depth = h.left
	p.credit = max(0, p.credit-(before-h.left))
	key.group.lastFailed = !found
	return found
}

// refill searches a match of the key and a backfill ticket at a level, the oldest backfill ticket first. Its players
// are in their teams before the key takes an open slot. Each backfill ticket has its share of the budget.
func (h *search) refill(key *entry, l int) (found bool) {
	p := h.pool
	level := p.levels[l]
	h.best, h.players = h.best[:0], 0
	if !key.alone.has(l) || !level.fits(key) || !h.gatherBackfills(key, l) {
		return false
	}
	h.gather(key, l, p.options.Batch-1)
	h.greedy = false
	left := max(minDepth, h.depth)
	for i := 0; i < len(h.backfillCandidates) && !found; i++ {
		b := h.backfillCandidates[i].entry
		if i == 0 || len(p.sorts) > 0 {
			h.order(level, b, key)
			h.classify()
			h.bySimilarity(key)
		}
		share := max(leastShare, left/(len(h.backfillCandidates)-i))
		h.left = share
		found = h.pass(b, key, level, h.candidates)
		left -= share - h.left
		p.credit = max(0, p.credit-(share-h.left))
	}
	h.depth = max(0, min(h.depth, left))
	return found
}

// gatherBackfills collects the backfill tickets compatible with a new ticket, and reports whether there are any.
func (h *search) gatherBackfills(key *entry, l int) bool {
	p := h.pool
	h.backfillCandidates = h.backfillCandidates[:0]
	own := h.locations(key, l) // locations of the key
	looked := 0
	key.group.backfills.Scan(func(e *entry) bool {
		if h.olderThan != nil && !older(e, h.olderThan) {
			return false
		}
		if looked++; looked > lookFactor*p.options.Batch || len(h.backfillCandidates) == p.options.Batch-1 {
			h.cut = true
			return false
		}
		if common := own & h.locations(e, l); common != 0 && h.mayBeAt(e, l) && p.levels[l].compatible(key, e) {
			h.backfillCandidates = append(h.backfillCandidates, candidate{entry: e, mask: common})
		}
		return true
	})
	h.work += len(h.backfillCandidates) + looked/lookFactor
	return len(h.backfillCandidates) > 0
}

// mayBeAt reports whether a match of the level may include a ticket besides others.
func (h *search) mayBeAt(e *entry, l int) bool {
	if h.pool.set.Algorithm.OldestAge {
		return e.level <= l && e.alone.has(l)
	}
	return e.level >= l && e.alone.has(l)
}

// locations returns the locations of a ticket at a level.
func (h *search) locations(e *entry, l int) mask {
	if h.pool.latencyRule < 0 {
		return ^mask(0)
	}
	return e.masks[l*h.pool.latencyRulesPerLevel+h.pool.latencyRule]
}

// quotas reports whether the key and the candidates of a zone have enough players of each kind.
func (h *search) quotas(key *entry, l *level, s zone) bool {
	for _, q := range l.quotas {
		k := &h.pool.kinds[q.kind]
		n := k.of(key)
		for i := 0; i < len(h.candidates) && n < q.least; i++ {
			if h.at(s, h.candidates[i]) {
				n += k.of(h.candidates[i].entry)
			}
		}
		if n < q.least {
			return false
		}
	}
	return true
}

// bySimilarity puts the candidates most similar to the key first: a search in depth varies the last ones first. Sort
// rules have precedence.
func (h *search) bySimilarity(key *entry) {
	if h.pool.similarBy < 0 || h.pool.band != nil || len(h.pool.sorts) > 0 {
		return
	}
	slices.SortStableFunc(h.candidates, func(a, b candidate) int {
		return cmp.Compare(math.Abs(a.value-key.value), math.Abs(b.value-key.value))
	})
}

// quickCheck makes one pass with the first tickets of the batch. In a crowded pool they suffice for a full match, which
// is as good as any.
func (h *search) quickCheck(key *entry, level *level) (found bool) {
	if !h.quotas(key, level, everywhere) {
		return false
	}
	h.order(level, key)
	h.greedy, h.left = true, math.MaxInt
	if h.pass(nil, key, level, h.candidates) && h.players == level.most() {
		return true
	}
	h.best, h.players = h.best[:0], 0
	return false
}

// most returns the maximum number of players of a match without a backfill ticket.
func (l *level) most() (n int) {
	for _, s := range l.teams {
		n += s.max
	}
	return n
}

// least returns the minimum number of players of a match.
func (l *level) least() int {
	n := 0
	for _, s := range l.teams {
		n += s.min
	}
	return max(1, n)
}

// gather collects at most most tickets compatible with the key: first those for rare quotas, then any. It returns the
// number of players, with the key's, and whether one ticket has the age of the level.
func (h *search) gather(key *entry, l, most int) (players int, atLevel bool) {
	p, level := h.pool, h.pool.levels[l]
	h.candidates = h.candidates[:0]
	p.round++
	key.round = p.round
	g := gathering{search: h, key: key, level: l, own: h.locations(key, l), players: key.players(),
		atLevel: key.level == l}
	for _, q := range level.quotas {
		k := &key.group.kinds[q.kind]
		if 2*k.order.Len() < key.group.order.Len() {
			g.from(k.order, len(h.candidates)+most/(1+len(level.quotas)))
		}
	}
	if g.from(key.group.order, most) {
		h.cut = h.cut || len(h.candidates) < most || most == p.options.Batch-1
	}
	return g.players, g.atLevel
}

// A gathering collects candidates.
type gathering struct {
	*search
	key     *entry
	level   int
	own     mask // locations of the key
	players int  // of the key and the candidates
	atLevel bool // one of them has the age of the level
}

// from adds tickets of an order until there are most candidates; cut reports that it did not visit all.
func (g *gathering) from(order *btree.BTreeG[*entry], most int) (cut bool) {
	p, looked := g.pool, 0
	level := p.levels[g.level]
	p.around(g.key, g.level, order, func(e *entry) bool {
		if looked++; looked > lookFactor*p.options.Batch || len(g.candidates) >= most {
			cut = true
			return false
		}
		if e.round == p.round || !g.mayBeAt(e, g.level) {
			return true
		}
		common := g.own & g.locations(e, g.level)
		if common == 0 || !level.compatible(g.key, e) {
			return true
		}
		e.round = p.round
		g.candidates = append(g.candidates, candidate{entry: e, mask: common})
		g.players += e.players()
		g.atLevel = g.atLevel || e.level == g.level
		return true
	})
	g.work += looked / lookFactor
	return cut
}

// around visits the new tickets of an order that are in the band of the key, until visit returns false. If there are
// few it visits all; else those nearest to the key, or, without any order or after a failed search, random ones.
func (p *Pool) around(key *entry, l int, order *btree.BTreeG[*entry], visit func(*entry) bool) {
	switch {
	case p.band != nil:
		p.aroundBand(key, order, p.band.width[l], visit)
	case order.Len() <= p.options.Batch:
		order.Scan(visit)
	case key.retry == 0 && (p.similarBy >= 0 || p.set.Algorithm.Sorted):
		p.nearest(key, order, visit)
	default:
		from, _ := order.GetAt(p.next(order.Len()))
		stopped := false
		order.Ascend(from, func(e *entry) bool {
			stopped = !visit(e)
			return !stopped
		})
		if !stopped {
			order.Scan(func(e *entry) bool { return e != from && visit(e) })
		}
	}
}

// nearest visits the tickets before the key until there is half a batch of them, then those after it, then the others.
func (p *Pool) nearest(key *entry, order *btree.BTreeG[*entry], visit func(*entry) bool) {
	looked, from := 0, len(p.search.candidates)
	var left *entry // where the first half ends
	order.Descend(key, func(e *entry) bool {
		looked++
		if looked > lookFactor*p.options.Batch/2 || len(p.search.candidates) >= from+(p.options.Batch-1-from)/2 {
			left = e
			return false
		}
		return visit(e)
	})
	stopped := false
	order.Ascend(key, func(e *entry) bool {
		stopped = !visit(e)
		return !stopped
	})
	if left != nil && !stopped {
		order.Descend(left, visit)
	}
}

// aroundBand visits the tickets in the band of the key.
func (p *Pool) aroundBand(key *entry, order *btree.BTreeG[*entry], width float64, visit func(*entry) bool) {
	first := &entry{start: math.MinInt64}
	// The margin covers rounding; inBand compares exactly as the rule does.
	first.value = key.value - width - math.Abs(key.value)*1e-9 - math.Abs(width)*1e-9
	begin := first
	if order.Len() > p.options.Batch {
		begin = &entry{start: math.MinInt64}
		begin.value = key.value - width*float64(p.next(1024))/1024
	}
	stopped := false
	inBand := func(e *entry) bool {
		if math.Abs(e.value-key.value) > width {
			return e.value < key.value
		}
		stopped = !visit(e)
		return !stopped
	}
	order.Ascend(begin, inBand)
	if begin == first || stopped {
		return
	}
	order.Ascend(first, func(e *entry) bool { return p.inGroupOrder(e, begin) && inBand(e) })
}

// pass tries the candidates in their order with the key, in each team. Players of a backfill ticket are in their teams
// before.
func (h *search) pass(backfill, key *entry, l *level, candidates []candidate) bool {
	t := h.pool.trial
	t.clear(l)
	if backfill != nil {
		t.add(backfill, 0)
	}
	h.rest = append(h.rest[:0], make([]int, len(candidates)+1)...)
	h.atLevel = -1
	for i := len(candidates) - 1; i >= 0; i-- {
		h.rest[i] = h.rest[i+1] + candidates[i].players()
		if h.atLevel < 0 && h.pool.levels[candidates[i].level] == l {
			h.atLevel = i
		}
	}
	done := h.tryTeams(key, candidates, -1)
	t.clear(l)
	return done && len(h.best) > 0
}

// tryTeams adds a ticket to one team after the other and continues with the candidates after it. It reports whether the
// search is over.
func (h *search) tryTeams(e *entry, candidates []candidate, at int) (over bool) {
	t := h.pool.trial
	var tried teamSet
	for range t.teams {
		team := h.nextTeam(e, tried)
		if team < 0 {
			return false
		}
		tried |= 1 << team
		h.work++
		h.left--
		t.add(e, team)
		broken, good := t.evaluate()
		if h.partial >= 0 {
			h.record(broken, good)
		}
		if broken < 0 {
			if t.complete() {
				h.keep(good)
			}
			if h.tryRest(candidates, at+1) {
				return true
			}
		}
		t.drop()
		if h.left <= 0 {
			h.cut = true
			return true
		}
		if e.ticket.Backfill || broken >= 0 && t.level.rules[broken].anyTeam {
			return false // other teams would fail, too
		}
	}
	return false
}

// keep stores a trial that has all its players, if it is a match.
func (h *search) keep(good bool) {
	t := h.pool.trial
	switch {
	case good && t.players > h.players:
		h.best, h.players = append(h.best[:0], t.tickets...), t.players
	case !good && !t.silent:
		t.fail()
	}
}

// tryRest tries the candidates from one on. The first descent takes each ticket that fits: it is the one pass of the
// guide, and its largest match is the result. Only if it found none the search backtracks.
func (h *search) tryRest(candidates []candidate, from int) (over bool) {
	t := h.pool.trial
	if !h.full() {
		var failedClasses bitset
		for i := from; i < len(candidates); i++ {
			if h.partial < 0 && h.players == 0 && (h.rest[i] < t.missing() || t.atLevel == 0 && i > h.atLevel) {
				break
			}
			e := candidates[i].entry
			if !h.greedy && failedClasses.has(e.class) {
				continue
			}
			if h.tryTeams(e, candidates, i) {
				return true
			}
			failedClasses.add(e.class) // equal tickets would fail, too
		}
	}
	return h.greedy || h.players > 0
}

// A teamSet is a set of team indexes: a small match has at most 40 teams.
type teamSet uint64

// nextTeam returns the next team to try for a ticket: first those that lack players, then the one with the fewest; -1
// if none is left. Of several empty equivalent teams only one is tried.
func (h *search) nextTeam(e *entry, tried teamSet) int {
	t := h.pool.trial
	if e.ticket.Backfill {
		if tried == 0 && t.fits(e) {
			return 0
		}
		return -1
	}
	best, lacks := -1, false
	var empty teamSet // equivalents tried while empty
	for i, s := range t.sizes() {
		n := t.teams[i].players
		equivalent := teamSet(1) << t.level.equivalents[i]
		if tried&(1<<i) != 0 {
			if n == 0 {
				empty |= equivalent
			}
			continue
		}
		if n+e.players() > s.max || n == 0 && empty&equivalent != 0 {
			continue
		}
		short := n < s.min
		if best < 0 || short && !lacks || short == lacks && n < t.teams[best].players {
			best, lacks = i, short
		}
	}
	return best
}

// full reports whether no slot is free.
func (h *search) full() bool {
	t := h.pool.trial
	for i, s := range t.sizes() {
		if t.teams[i].players < s.max {
			return false
		}
	}
	return true
}

// classify numbers the candidates; those that rules cannot tell apart have the same number.
func (h *search) classify() {
	h.scratch = append(h.scratch[:0], h.candidates...)
	slices.SortFunc(h.scratch, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.signature, b.signature), cmp.Compare(a.level, b.level))
	})
	class := 0
	for i, c := range h.scratch {
		if i > 0 && (c.signature == 0 || c.signature != h.scratch[i-1].signature || c.level != h.scratch[i-1].level) {
			class++
		}
		c.class = class
	}
}

// A bitset is a set of numbers below 128; larger ones are ignored.
type bitset [2]uint64

func (s *bitset) has(n int) bool { return n < 128 && s[n>>6]&(1<<(n&63)) != 0 }

func (s *bitset) add(n int) {
	if n < 128 {
		s[n>>6] |= 1 << (n & 63)
	}
}
