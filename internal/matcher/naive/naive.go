// Package naive is the reference of package matcher: it says by the letter of the rule
// language what a match is, and finds one by trying everything. It interprets the
// rule set for every question and keeps nothing; tests use it as oracle, and the
// benchmark as what to compare with.
package naive

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/ruleset"
)

// A Seat is a ticket of a match and its team, an index in Set.Teams; that of a backfill
// ticket does not count, its players name theirs.
type Seat struct {
	Ticket *matcher.Ticket
	Team   int
}

// Check says why seats are no match; nil: they are one. additional is AdditionalPlayerCount.
func Check(set *ruleset.Set, additional int, now time.Time, seats []Seat) error {
	level := set.At(age(set, now, seats))
	if err := sizes(level, additional, seats); err != nil {
		return err
	}
	m, err := seated(level, seats)
	if err != nil {
		return err
	}
	for i := range m.set.Rules {
		if r := &m.set.Rules[i]; !r.Operand && m.rule(r) == no {
			return fmt.Errorf("rule %s does not hold", r.Name)
		}
	}
	return nil
}

// Find tries all tickets in all teams, and gives the first match; nil when there is none.
func Find(set *ruleset.Set, additional int, now time.Time, tickets []*matcher.Ticket) []Seat {
	return find(set, additional, now, tickets, func([]Seat) bool { return true })
}

// Prior returns a match of the waiting tickets that backfillPriority puts before one that was formed of them; nil: there
// is none. With high every match with a backfill ticket comes before one without. With low it is the other way round.
// With normal a backfill ticket comes before the new tickets that are all younger, if it can be matched with some of
// these: the oldest ticket is the anchor of a match, whatever its kind. Large matches have no priority but high.
func Prior(set *ruleset.Set, additional int, now time.Time, formed []Seat, waiting []*matcher.Ticket) []Seat {
	refills := func(s []Seat) bool { return slices.ContainsFunc(s, Seat.backfill) }
	priority := set.Algorithm.BackfillPriority
	if set.Large() {
		priority = ruleset.HighPriority
	}
	switch {
	case priority == ruleset.HighPriority && !refills(formed):
		return find(set, additional, now, waiting, refills)
	case priority == ruleset.LowPriority && refills(formed):
		return Find(set, additional, now, slices.DeleteFunc(slices.Clone(waiting), func(t *matcher.Ticket) bool { return t.Backfill }))
	case priority == ruleset.NormalPriority && !refills(formed):
		for _, t := range waiting {
			if !t.Backfill || slices.ContainsFunc(formed, func(s Seat) bool { return !t.Start.Before(s.Ticket.Start) }) {
				continue
			}
			if prior := find(set, additional, now, append(ticketsOf(formed), t), refills); prior != nil {
				return prior
			}
		}
	}
	return nil
}

func (s Seat) backfill() bool { return s.Ticket.Backfill }

func ticketsOf(seats []Seat) (tickets []*matcher.Ticket) {
	for _, s := range seats {
		tickets = append(tickets, s.Ticket)
	}
	return tickets
}

// find is Find for the matches that a caller wants.
func find(set *ruleset.Set, additional int, now time.Time, tickets []*matcher.Ticket, wanted func([]Seat) bool) []Seat {
	var seats []Seat
	most := largest(set)
	players := make([]int, len(set.Teams))
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(tickets) {
			return len(seats) > 0 && wanted(seats) && Check(set, additional, now, seats) == nil
		}
		n := len(tickets[i].Players)
		for team := range set.Teams {
			if !tickets[i].Backfill && players[team]+n > most[team] {
				continue
			}
			seats = append(seats, Seat{tickets[i], team})
			if tickets[i].Backfill {
				n = 0 // its players sit elsewhere
			}
			players[team] += n
			if try(i + 1) {
				return true
			}
			players[team] -= n
			seats = seats[:len(seats)-1]
			if tickets[i].Backfill {
				break
			}
		}
		return try(i + 1)
	}
	if try(0) {
		return seats
	}
	return nil
}

// largest is the most players that each team has at any age.
func largest(set *ruleset.Set) []int {
	most := make([]int, len(set.Teams))
	for _, age := range append(set.Levels(), 0) {
		for i, t := range set.At(age).Teams {
			most[i] = max(most[i], t.Max)
		}
	}
	return most
}

// Pass is the way of the guide without any cleverness: each ticket is the anchor of a
// match once, the oldest first, and all others are tried beside it, one after the other,
// in each team. A ticket is taken out again when a rule fails that no later ticket can
// mend.
func Pass(set *ruleset.Set, additional int, now time.Time, tickets []*matcher.Ticket) []Seat {
	for _, anchor := range tickets {
		if seats := Beside(set, additional, now, anchor, tickets); seats != nil {
			return seats
		}
	}
	return nil
}

// Beside is Pass with one anchor.
func Beside(set *ruleset.Set, additional int, now time.Time, anchor *matcher.Ticket, tickets []*matcher.Ticket) []Seat {
	seats := []Seat{{anchor, 0}}
	for _, t := range tickets {
		if t == anchor {
			continue
		}
		for team := range set.Teams {
			tentative := append(slices.Clone(seats), Seat{t, team})
			if hopeful(set, now, tentative) {
				seats = tentative
				break
			}
		}
		if Check(set, additional, now, seats) == nil && full(set, seats) {
			return seats
		}
	}
	if Check(set, additional, now, seats) == nil {
		return seats
	}
	return nil
}

// hopeful reports whether seats may be part of a match.
func hopeful(set *ruleset.Set, now time.Time, seats []Seat) bool {
	m, err := seated(set.At(age(set, now, seats)), seats)
	if err != nil {
		return false
	}
	for i, team := range m.teams {
		if len(team) > m.set.Teams[i].Max {
			return false
		}
	}
	for i := range m.set.Rules {
		r := &m.set.Rules[i]
		lasting := r.Type == ruleset.Distance || r.Type == ruleset.BatchDistance || r.Type == ruleset.Latency
		if lasting && !r.Operand && m.rule(r) == no {
			return false
		}
	}
	return true
}

func full(set *ruleset.Set, seats []Seat) bool {
	players := 0
	for _, s := range seats {
		players += len(s.Ticket.Players)
	}
	return players == set.MaxPlayers()
}

// age is that of the newest or the oldest ticket.
func age(set *ruleset.Set, now time.Time, seats []Seat) time.Duration {
	chosen := now.Sub(seats[0].Ticket.Start)
	for _, s := range seats {
		a := now.Sub(s.Ticket.Start)
		if set.Algorithm.OldestAge == (a > chosen) {
			chosen = a
		}
	}
	return chosen
}

// A match is seats in their teams under the set that is in force.
type match struct {
	set     *ruleset.Set
	tickets []*matcher.Ticket
	teams   [][]player
}

// A player knows the ticket it came with, whose values are folded.
type player struct {
	*matcher.Player
	party []matcher.Player
}

func seated(set *ruleset.Set, seats []Seat) (*match, error) {
	m := &match{set: set, teams: make([][]player, len(set.Teams))}
	backfills := 0
	for _, s := range seats {
		m.tickets = append(m.tickets, s.Ticket)
		if s.Ticket.Backfill {
			backfills++
		}
		for i := range s.Ticket.Players {
			p := &s.Ticket.Players[i]
			if err := m.attributes(p); err != nil {
				return nil, err
			}
			team := s.Team
			if s.Ticket.Backfill {
				team = slices.IndexFunc(set.Teams, func(t ruleset.Team) bool { return t.Name == p.Team })
			}
			if team < 0 {
				return nil, fmt.Errorf("there is no team %s", p.Team)
			}
			m.teams[team] = append(m.teams[team], player{p, s.Ticket.Players})
		}
		if len(s.Ticket.Players) == 0 {
			return nil, fmt.Errorf("ticket %s has no players", s.Ticket.ID)
		}
	}
	if backfills > 1 || backfills == 1 && len(seats) == 1 {
		return nil, fmt.Errorf("%d of %d tickets are for backfill", backfills, len(seats))
	}
	return m, nil
}

// attributes checks that a player has all of them.
func (m *match) attributes(p *matcher.Player) error {
	for slot, a := range m.set.Attributes {
		if m.raw(p, slot).Type != a.Type {
			return fmt.Errorf("player %s has no %s", p.ID, a.Name)
		}
	}
	return nil
}

// sizes checks those of the teams.
func sizes(set *ruleset.Set, additional int, seats []Seat) error {
	least, most := make([]int, len(set.Teams)), make([]int, len(set.Teams))
	for i, t := range set.Teams {
		least[i], most[i] = t.Min, t.Max
	}
	for range additional { // one place after the other
		chosen := -1
		for i := range most {
			if most[i] > least[i] {
				chosen = i
			}
		}
		for i := range most {
			if chosen < 0 || most[chosen] <= least[chosen] && most[i] >= most[chosen] {
				chosen = i
			}
		}
		if most[chosen] == 0 {
			break
		}
		most[chosen]--
		least[chosen] = min(least[chosen], most[chosen])
	}
	backfill := slices.ContainsFunc(seats, func(s Seat) bool { return s.Ticket.Backfill })
	for i, t := range set.Teams {
		n := players(seats, i, t.Name)
		if backfill {
			most[i] = t.Max
		}
		if n < least[i] || n > most[i] {
			return fmt.Errorf("team %s has %d players, not %d to %d", t.Name, n, least[i], most[i])
		}
	}
	return nil
}

// players is how many a team has.
func players(seats []Seat, team int, name string) (n int) {
	for _, s := range seats {
		switch {
		case s.Ticket.Backfill:
			for _, p := range s.Ticket.Players {
				if p.Team == name {
					n++
				}
			}
		case s.Team == team:
			n += len(s.Ticket.Players)
		}
	}
	return n
}
