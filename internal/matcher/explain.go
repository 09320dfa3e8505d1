package matcher

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// mostExplained is how many candidates Explain tries; a second of work would keep
// everybody else waiting.
const mostExplained = 10_000

// explainSmall fills an explanation for a set of small matches.
func (p *Pool) explainSmall(e *entry, x *Explanation) {
	random, credit, cut := p.random, p.credit, p.hunt.cut
	p.trial.silent = true
	defer func() {
		p.random, p.credit, p.hunt.cut = random, credit, cut
		p.trial.silent = false
	}()
	rejected := p.reject(e, x, p.pair)
	p.largest(e, x)
	p.expect(e, rejected, x, p.pair)
}

// pairing tries two tickets alone in a match, as things will be in a while; see pair.
type pairing func(a, b *entry, in time.Duration) (rule int, figures string)

// reject tries everybody alone beside the ticket, and returns who was turned away.
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
			p.blame(x, rule, c, figures)
		}
	}
	slices.SortStableFunc(x.Rejections, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(b.Candidates, a.Candidates), cmp.Compare(a.Rule, b.Rule))
	})
	return rejected
}

// What pair says besides the index of a rule.
const (
	admitted = -2 // nothing keeps the two apart
	noRoom   = -1
)

// blame counts a candidate that was turned away.
func (p *Pool) blame(x *Explanation, rule int, c *entry, figures string) {
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

// levelOf is the level of a match of two tickets in a while.
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

// pair tries two tickets alone in a match, in all teams, as things will be in a while. It
// gives the rule that keeps them apart, and the figures of the way that was tried first.
func (p *Pool) pair(a, b *entry, in time.Duration) (rule int, figures string) {
	if a.ticket.Backfill && b.ticket.Backfill {
		return noRoom, "both are backfill tickets"
	}
	if b.ticket.Backfill {
		a, b = b, a // a backfill ticket opens the places that AdditionalPlayerCount keeps
	}
	t := p.trial
	t.clear(p.levelOf(a, b, in))
	defer t.clear(t.level)
	rule, figures = noRoom, "no team has room for it"
	for i := range t.teams {
		if !p.tryTeam(a, i) {
			continue
		}
		for k := range t.teams {
			team := (i + 1 + k) % len(t.teams) // another team first
			if !p.tryTeam(b, team) {
				continue
			}
			veto, _ := t.judge()
			if veto >= 0 && rule < 0 {
				rule, figures = veto, t.figures(veto)
			}
			t.drop()
			if veto < 0 {
				return admitted, ""
			}
		}
		t.drop()
		if a.ticket.Backfill || t.level.twinOfAll() {
			break
		}
	}
	return rule, figures
}

// tryTeam adds a ticket to a team that has room.
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

// twinOfAll reports whether all teams are the same to the rules.
func (l *level) twinOfAll() bool {
	return !slices.ContainsFunc(l.twins, func(twin int) bool { return twin != 0 })
}

// largest finds the largest partial match with the ticket, at the levels at which it can be.
func (p *Pool) largest(e *entry, x *Explanation) {
	h := &p.hunt
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

// depthExplained is how many tickets Explain tries in matches, at each level, besides the
// one pass.
const depthExplained = 5_000

// explore makes the one pass and then a short search in depth. It keeps what the largest
// partial match lacks, and what rules turned away.
func (h *hunt) explore(key *entry, l int) {
	level := h.pool.levels[l]
	if !key.alone.has(l) || !level.room(key) {
		return
	}
	h.best, h.players = h.best[:0], 0
	h.gather(key, l, h.pool.options.Batch-1)
	h.order(level, key)
	h.once, h.left = true, math.MaxInt
	h.pass(nil, key, level, h.candidates)
	if !key.ticket.Backfill && h.gatherBackfills(key, l) {
		for _, b := range h.openings {
			h.left = math.MaxInt
			h.pass(b.entry, key, level, h.candidates)
		}
	}
	h.once, h.left = false, depthExplained
	h.classify()
	h.pass(nil, key, level, h.candidates)
}

// note keeps a partial match that is larger than those before, and counts what a rule
// turned away. Two tickets that a rule keeps apart are among the rejections, and what the
// one pass tries the search in depth tries again.
func (h *hunt) note(veto int, good bool) {
	t := h.pool.trial
	switch {
	case h.once:
	case veto >= 0 && len(t.tickets) > 2:
		h.failed(veto)
	case veto < 0 && !good && t.complete():
		for _, rule := range t.open {
			h.failed(rule)
		}
	}
	if veto < 0 && t.players > h.partial {
		h.partial, h.lacks = t.players, t.lacks(good)
	}
}

// failed counts the trial as turned away by a rule.
func (h *hunt) failed(rule int) {
	name := h.pool.set.Rules[rule].Name
	i := slices.IndexFunc(h.failures, func(f Failure) bool { return f.Rule == name })
	if i < 0 {
		i = len(h.failures)
		h.failures = append(h.failures, Failure{Rule: name, Example: h.pool.trial.figures(rule)})
	}
	h.failures[i].Matches++
}

// lacks says why a trial is no match yet.
func (t *trial) lacks(good bool) string {
	for i, s := range t.sizes() {
		if n := t.teams[i].players; n < s.min {
			return fmt.Sprintf("team %s has %d of at least %d players", t.pool.set.Teams[i].Name, n, s.min)
		}
	}
	switch {
	case t.backfill && len(t.tickets) < 2:
		return "a backfill ticket needs a new ticket beside it"
	case t.apt == 0:
		return "its age is not that of the rules it was tried by"
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

// expect says what the next step of an expansion will change.
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
