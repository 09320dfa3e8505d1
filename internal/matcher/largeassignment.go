package matcher

import "slices"

// An assignment is a large match being filled.
type assignment struct {
	pool    *Pool
	sizes   []size    // of the teams
	players []int     // by team
	free    int       // slots in all teams
	members []*member // in the order of joining, a backfill ticket first
	teams   []int     // of the members; unused for a backfill ticket
}

// assign returns an assignment with the players of a backfill ticket, if there is one.
func (a *attempt) assign(backfill *member) *assignment {
	sizes := a.levels[a.level].of(backfill != nil)
	s := &assignment{pool: a.Pool, sizes: sizes, players: make([]int, len(sizes))}
	if backfill != nil {
		s.members, s.teams = []*member{backfill}, []int{-1}
		for _, team := range backfill.teamOf {
			s.players[team]++
		}
	}
	for i := range sizes {
		s.free += max(0, s.open(i))
	}
	return s
}

// open returns how many more players a team can have. It is negative when an expansion made the team smaller than that
// of a backfill ticket.
func (s *assignment) open(team int) int { return s.sizes[team].max - s.players[team] }

// largestFit returns the size of the largest ticket that fits.
func (s *assignment) largestFit() (largest int) {
	for i := range s.sizes {
		largest = max(largest, s.open(i))
	}
	return largest
}

// complete reports whether a new ticket joined and each team has its minimum of players.
func (s *assignment) complete() bool {
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

// fitsLevel reports whether the teams have the sizes of a level.
func (s *assignment) fitsLevel(l *level) bool {
	for i, want := range l.of(s.members[0].ticket.Backfill) {
		if n := s.players[i]; n < want.min || n > want.max {
			return false
		}
	}
	return true
}

// add adds a new ticket if a team has room: to the team with most open slots among those that lack players, else among
// all.
// Source: FlexMatch guide, how large matches are built.
func (s *assignment) add(m *member) bool {
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

// before reports whether team i is preferred to team j.
func (s *assignment) before(i, j int) bool {
	if lacks := s.lacks(i); lacks != s.lacks(j) {
		return lacks
	}
	return s.open(i) > s.open(j)
}

func (s *assignment) lacks(team int) bool { return s.players[team] < s.sizes[team].min }

// balance evens out the teams' totals of the balanced attribute.
func (s *assignment) balance() {
	l := balancer{totals: make([]float64, len(s.sizes))}
	for i, m := range s.members {
		if !m.ticket.Backfill {
			l.totals[s.teams[i]] += m.total
			l.tickets = append(l.tickets, movable{index: i, team: s.teams[i], players: m.entry.players(),
				total: m.total})
			continue
		}
		for player, team := range m.teamOf {
			l.totals[team] += m.numbers[s.pool.balanced][player]
		}
	}
	l.even(func(_, _ int) bool { return true })
	for _, t := range l.tickets {
		s.teams[t.index] = t.team
	}
}

// match converts a complete assignment.
func (s *assignment) match(metrics []Metric) *Match {
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
				team = s.members[i].teamOf[j]
			}
			m.Teams[team].Players = append(m.Teams[team].Players, player)
		}
	}
	return m
}

// inOrder returns the members' indexes in the order of Match.Tickets.
func (s *assignment) inOrder() []int {
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
