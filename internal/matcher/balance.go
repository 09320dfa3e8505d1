package matcher

import "math"

// A balancer swaps the tickets of a match between teams.
type balancer struct {
	totals  []float64 // of the balanced attribute by team, with players that cannot move
	tickets []movable // that can move
}

// A movable ticket can change its team.
type movable struct {
	index   int // in the caller's list
	team    int
	players int
	total   float64
}

const (
	maxSwaps    = 1000 // of one match; a few dozen are usual
	maxRefusals = 100  // in a row, then the match is as even as possible
)

// even swaps tickets of equal size between teams, the best swap first, while that reduces the difference of their
// totals. may accepts or refuses a swap of two positions in tickets.
func (l *balancer) even(may func(i, j int) bool) {
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

func (l *balancer) bestSwap(refused map[[2]int]bool) (first, second int, ok bool) {
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

// gain returns by how much a swap reduces the difference of two teams' totals; negative if it grows.
func (l *balancer) gain(a, b *movable) float64 {
	if a.team == b.team || a.players != b.players {
		return 0
	}
	difference := l.totals[a.team] - l.totals[b.team]
	gain := math.Abs(difference) - math.Abs(difference-2*(a.total-b.total))
	if gain < math.Abs(difference)*1e-9 {
		return 0 // rounding errors could swap two tickets endlessly
	}
	return gain
}

func (l *balancer) swap(i, j int) {
	a, b := &l.tickets[i], &l.tickets[j]
	moved := a.total - b.total
	l.totals[a.team] -= moved
	l.totals[b.team] += moved
	a.team, b.team = b.team, a.team
}

// evenOut balances a match of at most 40 players. A swap must keep it a match. Source: FlexMatch guide, example of a
// compound rule, which has strategy balanced for 40.
func (p *Pool) evenOut(tickets []assigned) {
	l := p.balancerOf(tickets)
	level := p.levels[levelOfMatch(tickets, p.set.Algorithm.OldestAge)]
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

func (p *Pool) balancerOf(tickets []assigned) *balancer {
	l := &balancer{totals: make([]float64, len(p.set.Teams))}
	for i, t := range tickets {
		numbers := t.numbers[p.balanced]
		if t.ticket.Backfill {
			for player, team := range t.teamOf {
				l.totals[team] += numbers[player]
			}
			continue
		}
		total := 0.0
		for _, v := range numbers {
			total += v
		}
		l.totals[t.team] += total
		l.tickets = append(l.tickets, movable{index: i, team: t.team, players: t.players(), total: total})
	}
	return l
}

// levelOfMatch returns the level of a match, by the age of its newest or its oldest ticket.
func levelOfMatch(tickets []assigned, oldest bool) int {
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

// isMatch reports whether tickets in their teams are a match.
func (t *trial) isMatch(tickets []assigned, l *level) bool {
	t.clear(l)
	defer t.clear(l)
	for _, s := range tickets {
		t.add(s.entry, s.team)
	}
	_, good := t.evaluate()
	return good && t.complete()
}
