package matcher

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/ruleset"
)

// A level is the rule set as it is in force from an age on, compiled.
type level struct {
	from   time.Duration
	set    *ruleset.Set
	teams  []size     // of a match without a backfill ticket: AdditionalPlayerCount stays open
	full   []size     // of one with it
	twins  []int      // by team: teams with the same number are all the same to the rules
	quotas []quota    // that some candidates have to fill
	pairs  []pairTest // of two tickets
	rules  []rule     // of small matches: one for each of the set, in its order
	top    []int      // the rules that stand for themselves, in the order of the set
}

// A size is how many players a team may have.
type size struct{ min, max int }

// sizes are those of the teams when places stay open: they are taken from the
// last teams' free slots, and when those do not suffice from the largest teams, so
// that a set without any slack still leaves them open.
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

// fullSizes are those of a match with a backfill ticket, which is there to fill
// what AdditionalPlayerCount left open.
func fullSizes(teams []ruleset.Team, open []size) []size {
	s := make([]size, len(teams))
	for i, t := range teams {
		s[i] = size{open[i].min, t.Max}
	}
	return s
}

// of are the sizes of a match.
func (l *level) of(backfill bool) []size {
	if backfill {
		return l.full
	}
	return l.teams
}

// room reports whether the teams can have a ticket: a new one in any of them, a backfill
// ticket in those of its players, with a place left for somebody new.
func (l *level) room(e *entry) bool {
	if !e.ticket.Backfill {
		for i := range l.full {
			if e.players() <= max(l.teams[i].max, l.full[i].max) {
				return true
			}
		}
		return false
	}
	free := 0
	for i, n := range e.seated {
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
		l.findTwins()
	}
}

// at is the index of the level for an age.
func (p *Pool) at(age time.Duration) int {
	n := 0
	for n+1 < len(p.levels) && p.levels[n+1].from <= age {
		n++
	}
	return n
}

// age is that of an entry; now is since the epoch.
func (e *entry) age(now time.Duration) time.Duration { return now - e.start }

// findTwins numbers the teams so that those have one number between which no rule and no size
// makes a difference: a first player may as well come to one as to the other.
func (l *level) findTwins() {
	l.twins = make([]int, len(l.teams))
	for i := range l.twins {
		l.twins[i] = i
		for j := range i {
			if l.teams[i] == l.teams[j] && l.full[i] == l.full[j] && l.treatsAlike(i, j) {
				l.twins[i] = l.twins[j]
				break
			}
		}
	}
}

// treatsAlike reports whether every expression is about both teams or about none of them.
func (l *level) treatsAlike(i, j int) bool {
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
