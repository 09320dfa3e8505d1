package matcher

import (
	"fmt"
	"slices"
	"time"
)

// explainLarge completes an explanation for large matches.
func (p *Pool) explainLarge(e *entry, now time.Time, x *Explanation) {
	before := p.now
	p.now, p.silent = since(now), true
	defer func() { p.now, p.silent = before, false }()
	rejected := p.reject(e, x, p.pairLarge)
	p.largestLarge(e, x)
	p.expect(e, rejected, x, p.pairLarge)
}

// pairLarge returns the rule that keeps two tickets out of one match after a delay, and the figures.
func (p *Pool) pairLarge(e, c *entry, in time.Duration) (rule int, figures string) {
	if e.ticket.Backfill && c.ticket.Backfill {
		return noSlot, "both are backfill tickets"
	}
	k := slices.Index(p.levels, p.levelOf(e, c, in))
	for _, i := range p.textRules {
		column := p.columns.text(p.set.Rules[i].Attribute)
		if a, b := e.texts[column][0], c.texts[column][0]; a != b {
			return i, fmt.Sprintf("%s, not %s", p.strings.text(b), p.strings.text(a))
		}
	}
	a := &attempt{Pool: p, level: k}
	if i := a.apart(e, c); i >= 0 {
		l := a.bound().bands[i]
		return p.bandRules[i], fmt.Sprintf("%g and %g, at most %g apart", l.of(c), l.of(e), l.most)
	}
	if len(p.pingRules) > 0 && !a.shareLocation(e, c) {
		return p.pingRules[0], fmt.Sprintf("no location within %g ms of both", a.bound().pings[0].most)
	}
	return a.slotFor(e, c)
}

// shareLocation reports whether two tickets have a common location.
func (a *attempt) shareLocation(e, c *entry) bool {
	return slices.ContainsFunc(e.members, func(m *member) bool {
		return m.passes(*a.bound()) && slices.ContainsFunc(c.members, func(o *member) bool {
			return o.location == m.location && o.passes(*a.bound())
		})
	})
}

// slotFor reports whether the teams have slots for two tickets.
func (a *attempt) slotFor(e, c *entry) (rule int, figures string) {
	if c.ticket.Backfill {
		e, c = c, e
	}
	var backfill *member
	if e.ticket.Backfill {
		backfill = e.members[0]
	}
	if s := a.assign(backfill); backfill == nil && !s.add(e.members[0]) || !s.add(c.members[0]) {
		return noSlot, "no team has room for it"
	}
	return admitted, ""
}

// largestLarge finds the location and level with the largest partial match, and what it lacks.
func (p *Pool) largestLarge(e *entry, x *Explanation) {
	x.Largest = e.players()
	for _, m := range e.members {
		for k := range p.levels {
			a := &attempt{Pool: p, cell: m.cell, level: k}
			if !a.eligible(m) {
				continue
			}
			if s := a.gather(m); x.Missing == "" || s.assigned() > x.Largest {
				x.Largest, x.Missing = s.assigned(), s.missing()
			}
		}
	}
}

// gather adds as many tickets as possible to a match with the anchor.
func (a *attempt) gather(anchor *member) *assignment {
	backfill := anchor
	if !anchor.ticket.Backfill {
		backfill = nil
	}
	s := a.assign(backfill)
	var group []*member
	for _, m := range a.around(anchor) {
		if !m.removed && a.eligible(m) && a.apart(m.entry, anchor.entry) < 0 {
			group = append(group, m)
		}
	}
	level := a.level
	for _, m := range a.order(anchor, group) {
		if s.free == 0 {
			break
		}
		if a.breaksBand(s, m) || !s.add(m) {
			continue
		}
		is, from := a.levelOfAll(s), len(s.members)-1
		if is != level {
			from = 0 // the rules of another level apply to all now
		}
		if a.obeys(s, is, from) {
			level = is
		} else {
			s.undo()
		}
	}
	return s
}

// undo removes the last ticket.
func (s *assignment) undo() {
	last := len(s.members) - 1
	n := s.members[last].entry.players()
	s.players[s.teams[last]] -= n
	s.free += n
	s.members, s.teams = s.members[:last], s.teams[:last]
}

func (s *assignment) assigned() (n int) {
	for _, players := range s.players {
		n += players
	}
	return n
}

// missing returns what a partial match lacks; "" if it is complete.
func (s *assignment) missing() string {
	for i := range s.sizes {
		if s.lacks(i) {
			return fmt.Sprintf("team %s has %d of at least %d players", s.pool.set.Teams[i].Name, s.players[i],
				s.sizes[i].min)
		}
	}
	if len(s.members) == 1 && s.members[0].ticket.Backfill {
		return "a backfill ticket needs a new ticket to match with"
	}
	return ""
}
