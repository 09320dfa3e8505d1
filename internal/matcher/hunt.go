package matcher

import (
	"cmp"
	"math"
	"slices"

	"github.com/tidwall/btree"
)

// A hunt looks for a match with one ticket, the key, at one level. Its slices are used again
// and again.
type hunt struct {
	pool       *Pool
	candidates []candidate // tickets that can go with the key, as they are tried
	ranks      []rank
	lines      []candidate // the same and the key, in the order of the band
	subset     []candidate
	rest       []int // by candidate: the players from it on
	apt        int   // the last candidate that has the age of the level; -1: none

	best    []seated // the match that was found, and its players
	players int

	work  int  // done since it was last set to 0
	depth int  // what searches in depth may do yet for the key
	left  int  // the same of the present pass
	cut   bool // not everything was tried
	once  bool // one pass, without going back

	partial  int       // players of the largest partial match; -1: nobody wants to know
	lacks    string    // what that lacks
	failures []Failure // by rules, of matches that were tried meanwhile

	found    []spot
	openings []candidate // backfill tickets that can go with the key
	elder    *entry      // of the match that was found: only older backfill tickets are wanted; nil: all are
}

// A candidate is a ticket that can go with the key, as far as a look at the two can tell.
type candidate struct {
	*entry
	mask mask // locations that it has in common with the key
	rank int  // index of its first rank
}

func (h *hunt) init(p *Pool) { h.pool, h.partial = p, -1 }

// search looks for a match of the key and new tickets at a level.
func (h *hunt) search(key *entry, l int) (found bool) {
	p := h.pool
	level := p.levels[l]
	h.best, h.players = h.best[:0], 0
	if !key.alone.has(l) || !level.room(key) || !key.group.fills(p.kinds, level.quotas, key) {
		return false
	}
	most := p.options.Batch - 1
	if !key.group.vain {
		most = p.few
	}
	players, apt := h.gather(key, l, most)
	if len(h.candidates) == most && most < p.options.Batch-1 {
		if players >= level.least() && apt && h.glance(key, level) {
			return true
		}
		players, apt = h.gather(key, l, p.options.Batch-1)
	}
	if players < level.least() || !apt {
		return false
	}
	spots := slices.DeleteFunc(h.spots(key, l), func(s spot) bool { return !h.quotas(key, level, s) })
	if len(spots) == 0 {
		return false
	}
	h.order(level, key)
	h.once, h.left = true, math.MaxInt
	if h.pass(nil, key, level, h.candidates) {
		key.group.vain = false
		return true
	}
	h.once = false
	h.classify()
	h.byLikeness(key)
	h.left = h.depth
	before := h.left
	for _, s := range spots {
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
	key.group.vain = !found
	return found
}

// refill looks for a match of the key and a backfill ticket at a level, the oldest backfill ticket first. Its players are
// in their teams before the key takes an open slot. Each has its share of the work that may be done.
func (h *hunt) refill(key *entry, l int) (found bool) {
	p := h.pool
	level := p.levels[l]
	h.best, h.players = h.best[:0], 0
	if !key.alone.has(l) || !level.room(key) || !h.gatherBackfills(key, l) {
		return false
	}
	h.gather(key, l, p.options.Batch-1)
	h.once = false
	left := max(minDepth, h.depth)
	for i := 0; i < len(h.openings) && !found; i++ {
		b := h.openings[i].entry
		if i == 0 || len(p.sorts) > 0 {
			h.order(level, b, key)
			h.classify()
			h.byLikeness(key)
		}
		share := max(leastShare, left/(len(h.openings)-i))
		h.left = share
		found = h.pass(b, key, level, h.candidates)
		left -= share - h.left
		p.credit = max(0, p.credit-(share-h.left))
	}
	h.depth = max(0, min(h.depth, left))
	return found
}

// gatherBackfills collects the backfill tickets that can go with a new ticket, and reports whether there are any.
func (h *hunt) gatherBackfills(key *entry, l int) bool {
	p := h.pool
	h.openings = h.openings[:0]
	own := h.locations(key, l)
	looked := 0
	key.group.backfills.Scan(func(e *entry) bool {
		if h.elder != nil && !older(e, h.elder) {
			return false
		}
		if looked++; looked > lookFactor*p.options.Batch || len(h.openings) == p.options.Batch-1 {
			h.cut = true
			return false
		}
		if common := own & h.locations(e, l); common != 0 && h.mayBeAt(e, l) && p.levels[l].mayMeet(key, e) {
			h.openings = append(h.openings, candidate{entry: e, mask: common})
		}
		return true
	})
	h.work += len(h.openings) + looked/lookFactor
	return len(h.openings) > 0
}

// mayBeAt reports whether a match of the level may have a ticket beside others.
func (h *hunt) mayBeAt(e *entry, l int) bool {
	if h.pool.set.Algorithm.OldestAge {
		return e.level <= l && e.alone.has(l)
	}
	return e.level >= l && e.alone.has(l)
}

// locations are the locations of a ticket at a level.
func (h *hunt) locations(e *entry, l int) mask {
	if h.pool.reach < 0 {
		return ^mask(0)
	}
	return e.masks[l*h.pool.reachesPerLevel+h.pool.reach]
}

// quotas reports whether there are enough players of each kind among the key and those of the candidates that are at a
// spot.
func (h *hunt) quotas(key *entry, l *level, s spot) bool {
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

// byLikeness sorts the candidates for a search in depth, which tries the first ones in all
// ways before it comes to the last: those that are like the key first. Sort rules come
// before.
func (h *hunt) byLikeness(key *entry) {
	if h.pool.like < 0 || h.pool.band != nil || len(h.pool.sorts) > 0 {
		return
	}
	slices.SortStableFunc(h.candidates, func(a, b candidate) int {
		return cmp.Compare(math.Abs(a.value-key.value), math.Abs(b.value-key.value))
	})
}

// glance tries the pass with the first few tickets of the batch. In a crowded pool they
// are enough for a full match, which is as good as any.
func (h *hunt) glance(key *entry, level *level) (found bool) {
	if !h.quotas(key, level, everywhere) {
		return false
	}
	h.order(level, key)
	h.once, h.left = true, math.MaxInt
	if h.pass(nil, key, level, h.candidates) && h.players == level.most() {
		return true
	}
	h.best, h.players = h.best[:0], 0
	return false
}

// most is how many players a match has at most, without a backfill ticket.
func (l *level) most() (n int) {
	for _, s := range l.teams {
		n += s.max
	}
	return n
}

// least is how many players a match has at least.
func (l *level) least() int {
	n := 0
	for _, s := range l.teams {
		n += s.min
	}
	return max(1, n)
}

// gather collects tickets that can go with the key, at most so many: first those of the kinds that quotas want and that are
// the fewer, then any. It returns the players of all of them and the key, and whether one has the age of the level.
func (h *hunt) gather(key *entry, l, most int) (players int, apt bool) {
	p, level := h.pool, h.pool.levels[l]
	h.candidates = h.candidates[:0]
	p.round++
	key.round = p.round
	g := gathering{hunt: h, key: key, level: l, own: h.locations(key, l), players: key.players(), apt: key.level == l}
	for _, q := range level.quotas {
		k := &key.group.kinds[q.kind]
		if 2*k.order.Len() < key.group.order.Len() {
			g.from(k.order, len(h.candidates)+most/(1+len(level.quotas)))
		}
	}
	if g.from(key.group.order, most) {
		h.cut = h.cut || len(h.candidates) < most || most == p.options.Batch-1
	}
	return g.players, g.apt
}

// A gathering is one collection of candidates.
type gathering struct {
	*hunt
	key     *entry
	level   int
	own     mask // locations of the key
	players int  // of the key and the candidates
	apt     bool // one of them has the age of the level
}

// from takes tickets of an order until there are so many; cut reports that it did not look at all of them.
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
		if common == 0 || !level.mayMeet(g.key, e) {
			return true
		}
		e.round = p.round
		g.candidates = append(g.candidates, candidate{entry: e, mask: common})
		g.players += e.players()
		g.apt = g.apt || e.level == g.level
		return true
	})
	g.work += looked / lookFactor
	return cut
}

// around visits the new tickets of an order of the key's group that are in the band with it, until visit returns false:
// all of them when they are few; else those that are nearest to the key, or without any order, and when those were tried
// in vain, some random ones.
func (p *Pool) around(key *entry, l int, order *btree.BTreeG[*entry], visit func(*entry) bool) {
	switch {
	case p.band != nil:
		p.aroundBand(key, order, p.band.width[l], visit)
	case order.Len() <= p.options.Batch:
		order.Scan(visit)
	case key.retry == 0 && (p.like >= 0 || p.set.Algorithm.Sorted):
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

// nearest visits the tickets before the key until there is half a batch of them, then
// those behind it, and then the others.
func (p *Pool) nearest(key *entry, order *btree.BTreeG[*entry], visit func(*entry) bool) {
	looked, from := 0, len(p.hunt.candidates)
	var left *entry // where the first half ends
	order.Descend(key, func(e *entry) bool {
		looked++
		if looked > lookFactor*p.options.Batch/2 || len(p.hunt.candidates) >= from+(p.options.Batch-1-from)/2 {
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
	// Rounding may bring in a ticket that is a hair too far, never leave one out: the look
	// at the difference is the same as the rule's.
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
	order.Ascend(first, func(e *entry) bool { return p.nearer(e, begin) && inBand(e) })
}

// pass tries the candidates in their order beside the key, in each team. The players of a backfill ticket, if there is
// one, are in their teams before.
func (h *hunt) pass(backfill, key *entry, l *level, candidates []candidate) bool {
	t := h.pool.trial
	t.clear(l)
	if backfill != nil {
		t.add(backfill, 0)
	}
	h.rest = append(h.rest[:0], make([]int, len(candidates)+1)...)
	h.apt = -1
	for i := len(candidates) - 1; i >= 0; i-- {
		h.rest[i] = h.rest[i+1] + candidates[i].players()
		if h.apt < 0 && h.pool.levels[candidates[i].level] == l {
			h.apt = i
		}
	}
	done := h.place(key, candidates, -1)
	t.clear(l)
	return done && len(h.best) > 0
}

// place puts a ticket into one team after the other and goes on with the candidates behind
// it. It reports whether the search is over.
func (h *hunt) place(e *entry, candidates []candidate, at int) (over bool) {
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
		veto, good := t.judge()
		if h.partial >= 0 {
			h.note(veto, good)
		}
		if veto < 0 {
			if t.complete() {
				h.keep(good)
			}
			if h.onward(candidates, at+1) {
				return true
			}
		}
		t.drop()
		if h.left <= 0 {
			h.cut = true
			return true
		}
		if e.ticket.Backfill || veto >= 0 && t.level.rules[veto].anyTeam {
			return false // no other team would do
		}
	}
	return false
}

// keep takes note of a trial that has all its players: it is a match when all rules hold.
func (h *hunt) keep(good bool) {
	t := h.pool.trial
	switch {
	case good && t.players > h.players:
		h.best, h.players = append(h.best[:0], t.tickets...), t.players
	case !good && !t.silent:
		t.fail()
	}
}

// onward tries the candidates from one on. The first way down takes whatever fits: it is
// the one pass through the batch of the guide, and the match is the largest that it came
// by. Only when it came by none the search goes back and tries other ways.
func (h *hunt) onward(candidates []candidate, from int) (over bool) {
	t := h.pool.trial
	if !h.full() {
		var vain bitset
		for i := from; i < len(candidates); i++ {
			if h.partial < 0 && h.players == 0 && (h.rest[i] < t.missing() || t.apt == 0 && i > h.apt) {
				break
			}
			e := candidates[i].entry
			if !h.once && vain.has(e.class) {
				continue
			}
			if h.place(e, candidates, i) {
				return true
			}
			vain.add(e.class) // whoever is alike would be tried in vain too
		}
	}
	return h.once || h.players > 0
}

// A teamSet is a set of teams by index. Small matches have at most 40 players, so no more
// teams.
type teamSet uint64

// nextTeam is the team for a ticket among those not tried: first those that lack players, then
// the one with the fewest; -1 when no other has room. Of empty teams that are all the same to
// the rules one try is enough.
func (h *hunt) nextTeam(e *entry, tried teamSet) int {
	t := h.pool.trial
	if e.ticket.Backfill {
		if tried == 0 && t.fits(e) {
			return 0
		}
		return -1
	}
	best, lacks := -1, false
	var empty teamSet // twins that were tried empty
	for i, s := range t.sizes() {
		n := t.teams[i].players
		twin := teamSet(1) << t.level.twins[i]
		if tried&(1<<i) != 0 {
			if n == 0 {
				empty |= twin
			}
			continue
		}
		if n+e.players() > s.max || n == 0 && empty&twin != 0 {
			continue
		}
		short := n < s.min
		if best < 0 || short && !lacks || short == lacks && n < t.teams[best].players {
			best, lacks = i, short
		}
	}
	return best
}

// full reports whether no place is free.
func (h *hunt) full() bool {
	t := h.pool.trial
	for i, s := range t.sizes() {
		if t.teams[i].players < s.max {
			return false
		}
	}
	return true
}

// classify numbers the candidates so that those have one number that rules cannot tell apart.
func (h *hunt) classify() {
	h.lines = append(h.lines[:0], h.candidates...)
	slices.SortFunc(h.lines, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.alike, b.alike), cmp.Compare(a.level, b.level))
	})
	class := 0
	for i, c := range h.lines {
		if i > 0 && (c.alike == 0 || c.alike != h.lines[i-1].alike || c.level != h.lines[i-1].level) {
			class++
		}
		c.class = class
	}
}

// A bitset is a set of small numbers; those that are too large for it are not in it.
type bitset [2]uint64

func (s *bitset) has(n int) bool { return n < 128 && s[n>>6]&(1<<(n&63)) != 0 }

func (s *bitset) add(n int) {
	if n < 128 {
		s[n>>6] |= 1 << (n & 63)
	}
}
