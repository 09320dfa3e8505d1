package matcher

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A level is the rule set in force from an age on, compiled.
type level struct {
	from        time.Duration
	set         *ruleset.Set
	teams       []size     // of a match without a backfill ticket: slots for AdditionalPlayerCount stay open
	full        []size     // of a match with one
	equivalents []int      // by team: equal for teams that rules and sizes cannot tell apart
	quotas      []quota    // that a match must fill
	pairs       []pairTest // of two tickets
	rules       []rule     // of small matches, in the order of the set
	top         []int      // indexes of the rules that are no operands
}

// A size is the bounds of a team's number of players.
type size struct{ min, max int }

// sizes returns the team sizes when open slots must stay open: they are taken from the last teams' free slots and, if
// those do not suffice, from the largest teams.
func sizes(teams []ruleset.Team, open int) []size {
	s := make([]size, len(teams))
	for i, t := range teams {
		s[i] = size{t.Min, t.Max}
	}
	for i := len(s) - 1; i >= 0; i-- {
		n := max(0, min(open, s[i].max-s[i].min))
		s[i].max -= n
		open -= n
	}
	for ; open > 0; open-- {
		largest := 0
		for i := range s {
			if s[i].max >= s[largest].max {
				largest = i
			}
		}
		if s[largest].max <= 0 {
			break
		}
		s[largest].max--
		s[largest].min = min(s[largest].min, s[largest].max)
	}
	return s
}

// fullSizes returns the team sizes of a match with a backfill ticket, which fills the open slots.
func fullSizes(teams []ruleset.Team, open []size) []size {
	s := make([]size, len(teams))
	for i, t := range teams {
		s[i] = size{open[i].min, t.Max}
	}
	return s
}

// of returns the team sizes of a match.
func (l *level) of(backfill bool) []size {
	if backfill {
		return l.full
	}
	return l.teams
}

// fits reports whether the teams can hold a ticket: a new one in any team, a backfill ticket in its own teams with a
// slot left for a new player.
func (l *level) fits(e *entry) bool {
	if !e.ticket.Backfill {
		for i := range l.full {
			if e.players() <= max(l.teams[i].max, l.full[i].max) {
				return true
			}
		}
		return false
	}
	free := 0
	for i, n := range e.assigned {
		if n > l.full[i].max {
			return false
		}
		free += l.full[i].max - n
	}
	return free > 0
}

// compile compiles the set for each age at which it changes.
func (p *Pool) compile(additional int) {
	ages := []time.Duration{0}
	for _, age := range p.set.Levels() {
		if age > 0 {
			ages = append(ages, age)
		}
	}
	for _, age := range ages {
		set := p.set.At(age)
		l := &level{from: age, set: set, teams: sizes(set.Teams, additional)}
		l.full = fullSizes(set.Teams, l.teams)
		p.levels = append(p.levels, l)
		if p.set.Large() {
			continue
		}
		l.compileRules(p)
		l.findPairs(p)
		l.findEquivalents()
	}
}

// at returns the index of the level for an age.
func (p *Pool) at(age time.Duration) int {
	n := 0
	for n+1 < len(p.levels) && p.levels[n+1].from <= age {
		n++
	}
	return n
}

// age returns the age at now, which is on the pool's clock.
func (e *entry) age(now time.Duration) time.Duration { return now - e.start }

// findEquivalents finds teams that no rule and no size tells apart.
func (l *level) findEquivalents() {
	l.equivalents = make([]int, len(l.teams))
	for i := range l.equivalents {
		l.equivalents[i] = i
		for j := range i {
			if l.teams[i] == l.teams[j] && l.full[i] == l.full[j] && l.treatsEqually(i, j) {
				l.equivalents[i] = l.equivalents[j]
				break
			}
		}
	}
}

// treatsEqually reports whether every expression reads both teams or neither.
func (l *level) treatsEqually(i, j int) bool {
	for _, r := range l.set.Rules {
		about := r.Measurements
		if r.Reference != nil && r.Reference.Expr != nil {
			about = append(slices.Clone(about), r.Reference.Expr)
		}
		for _, e := range about {
			teams := source(e).Teams
			if slices.Contains(teams, i) != slices.Contains(teams, j) {
				return false
			}
		}
	}
	return true
}
