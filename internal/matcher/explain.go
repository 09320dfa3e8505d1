package matcher

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// mostExplained is how many candidates Explain checks, to limit it to about a second.
const mostExplained = 10_000

// explainSmall completes an explanation for small matches.
func (p *Pool) explainSmall(e *entry, x *Explanation) {
	random, credit, cut := p.random, p.credit, p.search.cut
	p.trial.silent = true
	defer func() {
		p.random, p.credit, p.search.cut = random, credit, cut
		p.trial.silent = false
	}()
	rejected := p.reject(e, x, p.pair)
	p.largest(e, x)
	p.expect(e, rejected, x, p.pair)
}

// A pairing tries two tickets alone in a match after a delay; see pair.
type pairing func(a, b *entry, in time.Duration) (rule int, figures string)

// reject tries all other tickets alone with the ticket, and returns the rejected ones.
func (p *Pool) reject(e *entry, x *Explanation, pair pairing) (rejected []*entry) {
	for _, c := range p.matchable() {
		if c == e {
			continue
		}
		if x.Candidates++; x.Candidates > mostExplained {
			x.Candidates--
			break
		}
		if rule, figures := pair(e, c, 0); rule != admitted {
			rejected = append(rejected, c)
			p.countRejection(x, rule, c, figures)
		}
	}
	slices.SortStableFunc(x.Rejections, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(b.Candidates, a.Candidates), cmp.Compare(a.Rule, b.Rule))
	})
	return rejected
}

// Results of pair besides the index of a rule.
const (
	admitted = -2 // nothing keeps them apart
	noSlot   = -1
)

func (p *Pool) countRejection(x *Explanation, rule int, c *entry, figures string) {
	name := ""
	if rule >= 0 {
		name = p.set.Rules[rule].Name
	}
	i := slices.IndexFunc(x.Rejections, func(r Rejection) bool { return r.Rule == name })
	if i < 0 {
		i = len(x.Rejections)
		example := c.ticket.ID
		if figures != "" {
			example += ": " + figures
		}
		x.Rejections = append(x.Rejections, Rejection{Rule: name, Example: example})
	}
	x.Rejections[i].Candidates++
}

// levelOf returns the level of a match of two tickets after a delay.
func (p *Pool) levelOf(a, b *entry, in time.Duration) *level {
	older, newer := a.age(p.now)+in, b.age(p.now)+in
	if older < newer {
		older, newer = newer, older
	}
	if p.set.Algorithm.OldestAge {
		return p.levels[p.at(older)]
	}
	return p.levels[p.at(newer)]
}

// pair tries two tickets alone in a match, in all teams, after a delay. It returns the rule that rejects them, and the
// figures of the first try.
func (p *Pool) pair(a, b *entry, in time.Duration) (rule int, figures string) {
	if a.ticket.Backfill && b.ticket.Backfill {
		return noSlot, "both are backfill tickets"
	}
	if b.ticket.Backfill {
		a, b = b, a // a backfill ticket opens the slots of AdditionalPlayerCount
	}
	t := p.trial
	t.clear(p.levelOf(a, b, in))
	defer t.clear(t.level)
	rule, figures = noSlot, "no team has room for it"
	for i := range t.teams {
		if !p.tryTeam(a, i) {
			continue
		}
		for k := range t.teams {
			team := (i + 1 + k) % len(t.teams) // another team first
			if !p.tryTeam(b, team) {
				continue
			}
			broken, _ := t.evaluate()
			if broken >= 0 && rule < 0 {
				rule, figures = broken, t.figures(broken)
			}
			t.drop()
			if broken < 0 {
				return admitted, ""
			}
		}
		t.drop()
		if a.ticket.Backfill || t.level.allEquivalent() {
			break
		}
	}
	return rule, figures
}

// tryTeam adds a ticket to a team if it has enough free slots.
func (p *Pool) tryTeam(e *entry, team int) bool {
	t := p.trial
	switch {
	case e.ticket.Backfill:
		if !t.fits(e) {
			return false
		}
	case t.teams[team].players+e.players() > t.sizes()[team].max:
		return false
	}
	t.add(e, team)
	return true
}

// allEquivalent reports whether rules cannot tell the teams apart.
func (l *level) allEquivalent() bool {
	return !slices.ContainsFunc(l.equivalents, func(equivalent int) bool { return equivalent != 0 })
}

// largest finds the largest partial match with the ticket, at all its possible levels.
func (p *Pool) largest(e *entry, x *Explanation) {
	h := &p.search
	h.partial, h.lacks, h.failures = 0, "", nil
	for l := range p.levels {
		if l == e.level || p.ages[l] > 0 && (l > e.level) == p.set.Algorithm.OldestAge {
			h.explore(e, l)
		}
	}
	h.partial, x.Largest, x.Missing = -1, max(h.partial, e.players()), h.lacks
	x.Failures = h.failures
	slices.SortStableFunc(x.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Matches, a.Matches), cmp.Compare(a.Rule, b.Rule))
	})
}

// depthExplained is how many tickets Explain tries in depth, at each level.
const depthExplained = 5_000

// explore makes the one pass and a short search in depth. It records the largest partial match, and the rejections by
// rules.
func (h *search) explore(key *entry, l int) {
	level := h.pool.levels[l]
	if !key.alone.has(l) || !level.fits(key) {
		return
	}
	h.best, h.players = h.best[:0], 0
	h.gather(key, l, h.pool.options.Batch-1)
	h.order(level, key)
	h.greedy, h.left = true, math.MaxInt
	h.pass(nil, key, level, h.candidates)
	if !key.ticket.Backfill && h.gatherBackfills(key, l) {
		for _, b := range h.backfillCandidates {
			h.left = math.MaxInt
			h.pass(b.entry, key, level, h.candidates)
		}
	}
	h.greedy, h.left = false, depthExplained
	h.classify()
	h.pass(nil, key, level, h.candidates)
}

// record stores a partial match larger than those before, and counts a rejection by a rule. Pairs are among the
// rejections already, and the search in depth repeats the one pass, so neither is counted.
func (h *search) record(broken int, good bool) {
	t := h.pool.trial
	switch {
	case h.greedy:
	case broken >= 0 && len(t.tickets) > 2:
		h.failed(broken)
	case broken < 0 && !good && t.complete():
		for _, rule := range t.open {
			h.failed(rule)
		}
	}
	if broken < 0 && t.players > h.partial {
		h.partial, h.lacks = t.players, t.lacks(good)
	}
}

// failed counts a rejection of the trial by a rule.
func (h *search) failed(rule int) {
	name := h.pool.set.Rules[rule].Name
	i := slices.IndexFunc(h.failures, func(f Failure) bool { return f.Rule == name })
	if i < 0 {
		i = len(h.failures)
		h.failures = append(h.failures, Failure{Rule: name, Example: h.pool.trial.figures(rule)})
	}
	h.failures[i].Matches++
}

// lacks returns why a trial is no match yet.
func (t *trial) lacks(good bool) string {
	for i, s := range t.sizes() {
		if n := t.teams[i].players; n < s.min {
			return fmt.Sprintf("team %s has %d of at least %d players", t.pool.set.Teams[i].Name, n, s.min)
		}
	}
	switch {
	case t.backfill && len(t.tickets) < 2:
		return "a backfill ticket needs a new ticket to match with"
	case t.atLevel == 0:
		return "no ticket has the age of this expansion step"
	case good:
		return ""
	}
	for _, i := range t.level.top {
		if is, _ := t.holds(i); is == no {
			text := fmt.Sprintf("rule %s does not hold", t.level.rules[i].Name)
			if figures := t.figures(i); figures != "" {
				text += ": " + figures
			}
			return text
		}
	}
	return ""
}

// expect describes the effects of the next expansion step.
func (p *Pool) expect(e *entry, rejected []*entry, x *Explanation, pair pairing) {
	level := p.at(e.age(p.now))
	if level+1 == len(p.levels) {
		return
	}
	next := p.levels[level+1].from
	in := next - e.age(p.now)
	x.Next = &Expansion{In: in, Seconds: in.Seconds(), Changes: []Change{}}
	for _, c := range p.set.Changes(next) {
		x.Next.Changes = append(x.Next.Changes, Change(c))
	}
	for _, c := range rejected {
		if rule, _ := pair(e, c, in); rule == admitted {
			x.Next.Admits++
		}
	}
}
