package matcher

import "math"

// A lineup is the tickets of a match in their teams, to be balanced.
type lineup struct {
	totals  []float64 // of the balanced attribute by team, players who stay where they are included
	tickets []linedUp // those that may change their team
}

// linedUp is a ticket of a lineup.
type linedUp struct {
	index   int // whatever the caller knows it by
	team    int
	players int
	total   float64
}

const (
	maxSwaps    = 1000 // of one match; a few dozen do as a rule
	maxRefusals = 100  // in a row, after which a match is as even as it gets
)

// even swaps tickets with as many players between teams, the best swap of two teams
// first, while that brings their totals nearer together. may is asked before each swap
// with two positions in tickets; when it refuses, the tickets stay. Totals only ever
// come nearer, and the sizes of teams stay.
func (l *lineup) even(may func(i, j int) bool) {
	refused := map[[2]int]bool{}
	for range maxSwaps {
		i, j, ok := l.bestSwap(refused)
		switch {
		case !ok:
			return
		case may(i, j):
			l.swap(i, j)
			clear(refused)
		default:
			refused[[2]int{i, j}] = true
			if len(refused) >= maxRefusals {
				return
			}
		}
	}
}

// bestSwap is the swap that evens two totals most.
func (l *lineup) bestSwap(refused map[[2]int]bool) (first, second int, ok bool) {
	most := 0.0
	for i := range l.tickets {
		for j := i + 1; j < len(l.tickets); j++ {
			if gain := l.gain(&l.tickets[i], &l.tickets[j]); gain > most && !refused[[2]int{i, j}] {
				first, second, most, ok = i, j, gain, true
			}
		}
	}
	return first, second, ok
}

// gain is by how much the difference of two teams' totals shrinks when they swap these
// tickets; below zero: it grows.
func (l *lineup) gain(a, b *linedUp) float64 {
	if a.team == b.team || a.players != b.players {
		return 0
	}
	difference := l.totals[a.team] - l.totals[b.team]
	gain := math.Abs(difference) - math.Abs(difference-2*(a.total-b.total))
	if gain < math.Abs(difference)*1e-9 {
		return 0 // rounding, which would let two tickets swap for ever
	}
	return gain
}

func (l *lineup) swap(i, j int) {
	a, b := &l.tickets[i], &l.tickets[j]
	moved := a.total - b.total
	l.totals[a.team] -= moved
	l.totals[b.team] += moved
	a.team, b.team = b.team, a.team
}

// evenOut balances a match of at most 40 players whose set has strategy balanced: only
// swaps count after which it is still a match.
// Source: FlexMatch guide, example of a compound rule, which has that strategy for 40.
func (p *Pool) evenOut(tickets []seated) {
	l := p.lineupOf(tickets)
	level := p.levels[levelOfSeated(tickets, p.set.Algorithm.OldestAge)]
	silent := p.trial.silent
	p.trial.silent = true
	defer func() { p.trial.silent = silent }()
	l.even(func(i, j int) bool {
		a, b := &tickets[l.tickets[i].index], &tickets[l.tickets[j].index]
		a.team, b.team = b.team, a.team
		if p.trial.isMatch(tickets, level) {
			return true
		}
		a.team, b.team = b.team, a.team
		return false
	})
}

// lineupOf is the lineup of a small match.
func (p *Pool) lineupOf(tickets []seated) *lineup {
	l := &lineup{totals: make([]float64, len(p.set.Teams))}
	for i, t := range tickets {
		numbers := t.numbers[p.balanced]
		if t.ticket.Backfill {
			for player, team := range t.seats {
				l.totals[team] += numbers[player]
			}
			continue
		}
		total := 0.0
		for _, v := range numbers {
			total += v
		}
		l.totals[t.team] += total
		l.tickets = append(l.tickets, linedUp{index: i, team: t.team, players: t.players(), total: total})
	}
	return l
}

// levelOfSeated is the level of a match, by the age of its newest or its oldest ticket.
func levelOfSeated(tickets []seated, oldest bool) int {
	of := tickets[0].level
	for _, t := range tickets[1:] {
		if oldest {
			of = max(of, t.level)
		} else {
			of = min(of, t.level)
		}
	}
	return of
}

// isMatch tries tickets in their teams.
func (t *trial) isMatch(tickets []seated, l *level) bool {
	t.clear(l)
	defer t.clear(l)
	for _, s := range tickets {
		t.add(s.entry, s.team)
	}
	_, good := t.judge()
	return good && t.complete()
}
