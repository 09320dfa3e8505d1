package matcher

import (
	"slices"
)

// A seating is a large match that is being filled.
type seating struct {
	pool    *Pool
	sizes   []size    // of the teams
	players []int     // by team
	free    int       // places in all teams
	members []*member // in the order that they were seated, a backfill ticket first
	teams   []int     // of the members; that of a backfill ticket means nothing
}

// seat makes a seating in which the players of a backfill ticket, if there is one,
// have their places.
func (a *attempt) seat(backfill *member) *seating {
	sizes := a.levels[a.level].of(backfill != nil)
	s := &seating{pool: a.Pool, sizes: sizes, players: make([]int, len(sizes))}
	if backfill != nil {
		s.members, s.teams = []*member{backfill}, []int{-1}
		for _, team := range backfill.seats {
			s.players[team]++
		}
	}
	for i := range sizes {
		s.free += max(0, s.open(i))
	}
	return s
}

// open is how many more players a team can have. An expansion may have made it
// smaller than the team of a backfill ticket is.
func (s *seating) open(team int) int { return s.sizes[team].max - s.players[team] }

// room is the largest ticket that fits.
func (s *seating) room() (largest int) {
	for i := range s.sizes {
		largest = max(largest, s.open(i))
	}
	return largest
}

// complete reports whether somebody joined and each team has the players it needs.
func (s *seating) complete() bool {
	if len(s.members) == 0 || len(s.members) == 1 && s.members[0].ticket.Backfill {
		return false
	}
	for i, n := range s.players {
		if n < s.sizes[i].min {
			return false
		}
	}
	return true
}

// suits reports whether the teams have the sizes that a level wants.
func (s *seating) suits(l *level) bool {
	for i, want := range l.of(s.members[0].ticket.Backfill) {
		if n := s.players[i]; n < want.min || n > want.max {
			return false
		}
	}
	return true
}

// add seats a new ticket, if a team has room for it: among the teams that lack
// players the one with most open places, and when none of them has room then among
// all. Source: FlexMatch guide, how large matches are built.
func (s *seating) add(m *member) bool {
	n := m.entry.players()
	best := -1
	for i := range s.sizes {
		if s.open(i) >= n && (best < 0 || s.before(i, best)) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	s.members = append(s.members, m)
	s.teams = append(s.teams, best)
	s.players[best] += n
	s.free -= n
	return true
}

// before reports whether a ticket goes to team i rather than to team j.
func (s *seating) before(i, j int) bool {
	if lacks := s.lacks(i); lacks != s.lacks(j) {
		return lacks
	}
	return s.open(i) > s.open(j)
}

func (s *seating) lacks(team int) bool { return s.players[team] < s.sizes[team].min }

// balance evens out the teams' totals of the balanced attribute.
func (s *seating) balance() {
	l := lineup{totals: make([]float64, len(s.sizes))}
	for i, m := range s.members {
		if !m.ticket.Backfill {
			l.totals[s.teams[i]] += m.total
			l.tickets = append(l.tickets, linedUp{index: i, team: s.teams[i], players: m.entry.players(), total: m.total})
			continue
		}
		for player, team := range m.seats {
			l.totals[team] += m.numbers[s.pool.balanced][player]
		}
	}
	l.even(func(_, _ int) bool { return true })
	for _, t := range l.tickets {
		s.teams[t.index] = t.team
	}
}

// match is the match of a complete seating.
func (s *seating) match(metrics []Metric) *Match {
	m := &Match{Metrics: metrics, Teams: make([]Team, len(s.sizes))}
	for i := range m.Teams {
		m.Teams[i] = Team{Name: s.pool.set.Teams[i].Name, Players: make([]Player, 0, s.players[i])}
	}
	for _, i := range s.inOrder() {
		ticket := s.members[i].ticket
		m.Tickets = append(m.Tickets, ticket)
		for j, player := range ticket.Players {
			team := s.teams[i]
			if ticket.Backfill {
				team = s.members[i].seats[j]
			}
			m.Teams[team].Players = append(m.Teams[team].Players, player)
		}
	}
	return m
}

// inOrder are the indexes of the members as a match names them: a backfill ticket,
// then the oldest first.
func (s *seating) inOrder() []int {
	order := make([]int, len(s.members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := s.members[i], s.members[j]
		if d := asInt(b.ticket.Backfill) - asInt(a.ticket.Backfill); d != 0 {
			return d
		}
		return byAge(a, b)
	})
	return order
}
