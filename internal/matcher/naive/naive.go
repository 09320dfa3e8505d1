// Package naive is the reference of package matcher: it implements the rule language literally, and finds matches by
// trying everything. It interprets the rule set for every question and keeps no state. Tests use it as an oracle,
// benchmarks for comparison.
package naive

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// An Assignment is a ticket of a match and its team, an index in Set.Teams. The players of a backfill ticket have their
// own teams, and Team is unused.
type Assignment struct {
	Ticket *matcher.Ticket
	Team   int
}

// Check returns why tickets are no match, or nil. additional is AdditionalPlayerCount.
func Check(set *ruleset.Set, additional int, now time.Time, assigned []Assignment) error {
	level := set.At(age(set, now, assigned))
	if err := sizes(level, additional, assigned); err != nil {
		return err
	}
	m, err := seated(level, assigned)
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

// Find tries all tickets in all teams, and returns the first match; nil if there is none.
func Find(set *ruleset.Set, additional int, now time.Time, tickets []*matcher.Ticket) []Assignment {
	return find(set, additional, now, tickets, func([]Assignment) bool { return true })
}

// Prior returns a match of the waiting tickets that backfillPriority prefers to one that was formed; nil if there is
// none. With high, matches with a backfill ticket are preferred; with low, those without. With normal, a backfill
// ticket is preferred to new tickets that are all younger, if it can be matched with some of them. Large matches always
// have priority high.
func Prior(
	set *ruleset.Set, additional int, now time.Time, formed []Assignment, waiting []*matcher.Ticket,
) []Assignment {
	refills := func(s []Assignment) bool { return slices.ContainsFunc(s, Assignment.backfill) }
	priority := set.Algorithm.BackfillPriority
	if set.Large() {
		priority = ruleset.HighPriority
	}
	switch {
	case priority == ruleset.HighPriority && !refills(formed):
		return find(set, additional, now, waiting, refills)
	case priority == ruleset.LowPriority && refills(formed):
		backfill := func(t *matcher.Ticket) bool { return t.Backfill }
		return Find(set, additional, now, slices.DeleteFunc(slices.Clone(waiting), backfill))
	case priority == ruleset.NormalPriority && !refills(formed):
		for _, t := range waiting {
			notBefore := func(s Assignment) bool { return !t.Start.Before(s.Ticket.Start) }
			if !t.Backfill || slices.ContainsFunc(formed, notBefore) {
				continue
			}
			if prior := find(set, additional, now, append(ticketsOf(formed), t), refills); prior != nil {
				return prior
			}
		}
	}
	return nil
}

func (s Assignment) backfill() bool { return s.Ticket.Backfill }

func ticketsOf(assigned []Assignment) (tickets []*matcher.Ticket) {
	for _, s := range assigned {
		tickets = append(tickets, s.Ticket)
	}
	return tickets
}

// find is Find for wanted matches.
func find(
	set *ruleset.Set, additional int, now time.Time, tickets []*matcher.Ticket, wanted func([]Assignment) bool,
) []Assignment {
	var assigned []Assignment
	most := largest(set)
	players := make([]int, len(set.Teams))
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(tickets) {
			return len(assigned) > 0 && wanted(assigned) && Check(set, additional, now, assigned) == nil
		}
		n := len(tickets[i].Players)
		for team := range set.Teams {
			if !tickets[i].Backfill && players[team]+n > most[team] {
				continue
			}
			assigned = append(assigned, Assignment{tickets[i], team})
			if tickets[i].Backfill {
				n = 0 // its players have their own teams
			}
			players[team] += n
			if try(i + 1) {
				return true
			}
			players[team] -= n
			assigned = assigned[:len(assigned)-1]
			if tickets[i].Backfill {
				break
			}
		}
		return try(i + 1)
	}
	if try(0) {
		return assigned
	}
	return nil
}

// largest returns the maximum players of each team at any age.
func largest(set *ruleset.Set) []int {
	most := make([]int, len(set.Teams))
	for _, age := range append(set.Levels(), 0) {
		for i, t := range set.At(age).Teams {
			most[i] = max(most[i], t.Max)
		}
	}
	return most
}

// Pass is the algorithm of the guide, without optimisation: each ticket is the anchor of a match once, the oldest
// first, and all others are tried with it, one after the other, in each team. A ticket is removed again when it breaks
// a rule that no later ticket can satisfy.
func Pass(set *ruleset.Set, additional int, now time.Time, tickets []*matcher.Ticket) []Assignment {
	for _, anchor := range tickets {
		if assigned := Beside(set, additional, now, anchor, tickets); assigned != nil {
			return assigned
		}
	}
	return nil
}

// Beside is Pass with one anchor.
func Beside(
	set *ruleset.Set, additional int, now time.Time, anchor *matcher.Ticket, tickets []*matcher.Ticket,
) []Assignment {
	assigned := []Assignment{{anchor, 0}}
	for _, t := range tickets {
		if t == anchor {
			continue
		}
		for team := range set.Teams {
			tentative := append(slices.Clone(assigned), Assignment{t, team})
			if possible(set, now, tentative) {
				assigned = tentative
				break
			}
		}
		if Check(set, additional, now, assigned) == nil && full(set, assigned) {
			return assigned
		}
	}
	if Check(set, additional, now, assigned) == nil {
		return assigned
	}
	return nil
}

// possible reports whether tickets may be part of a match.
func possible(set *ruleset.Set, now time.Time, assigned []Assignment) bool {
	m, err := seated(set.At(age(set, now, assigned)), assigned)
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

func full(set *ruleset.Set, assigned []Assignment) bool {
	players := 0
	for _, s := range assigned {
		players += len(s.Ticket.Players)
	}
	return players == set.MaxPlayers()
}

// age returns the age of the newest or the oldest ticket.
func age(set *ruleset.Set, now time.Time, assigned []Assignment) time.Duration {
	chosen := now.Sub(assigned[0].Ticket.Start)
	for _, s := range assigned {
		a := now.Sub(s.Ticket.Start)
		if set.Algorithm.OldestAge == (a > chosen) {
			chosen = a
		}
	}
	return chosen
}

// A match is tickets in their teams under the set in force.
type match struct {
	set     *ruleset.Set
	tickets []*matcher.Ticket
	teams   [][]player
}

// A player has the party of its ticket, whose values are folded.
type player struct {
	*matcher.Player
	party []matcher.Player
}

func seated(set *ruleset.Set, assigned []Assignment) (*match, error) {
	m := &match{set: set, teams: make([][]player, len(set.Teams))}
	backfills := 0
	for _, s := range assigned {
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
	if backfills > 1 || backfills == 1 && len(assigned) == 1 {
		return nil, fmt.Errorf("%d of %d tickets are for backfill", backfills, len(assigned))
	}
	return m, nil
}

// attributes checks that a player has all attributes.
func (m *match) attributes(p *matcher.Player) error {
	for slot, a := range m.set.Attributes {
		if m.raw(p, slot).Type != a.Type {
			return fmt.Errorf("player %s has no %s", p.ID, a.Name)
		}
	}
	return nil
}

// sizes checks the team sizes.
func sizes(set *ruleset.Set, additional int, assigned []Assignment) error {
	least, most := make([]int, len(set.Teams)), make([]int, len(set.Teams))
	for i, t := range set.Teams {
		least[i], most[i] = t.Min, t.Max
	}
	for range additional { // one slot after the other
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
	backfill := slices.ContainsFunc(assigned, func(s Assignment) bool { return s.Ticket.Backfill })
	for i, t := range set.Teams {
		n := players(assigned, i, t.Name)
		if backfill {
			most[i] = t.Max
		}
		if n < least[i] || n > most[i] {
			return fmt.Errorf("team %s has %d players, not %d to %d", t.Name, n, least[i], most[i])
		}
	}
	return nil
}

// players returns the size of a team.
func players(assigned []Assignment, team int, name string) (n int) {
	for _, s := range assigned {
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
