package life_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/life"
)

// graph has the states that may follow each state, whatever the command is.
var graph = map[life.State][]life.State{
	life.None:       {life.Creating, life.Starting, life.Destroying},
	life.Creating:   {life.Pending, life.None, life.Destroying},
	life.Pending:    {life.Starting, life.Destroying},
	life.Starting:   {life.InProgress, life.None, life.Pending, life.Ended, life.Destroying},
	life.InProgress: {life.Ending, life.Destroying},
	life.Ending:     {life.Ended, life.InProgress, life.Destroying},
	life.Ended:      {life.Starting, life.Destroying},
	life.Destroying: {life.Destroyed},
	life.Destroyed:  {},
}

// shortGraph is the part of graph in which a session is started and destroyed only.
var shortGraph = map[life.State][]life.State{
	life.None:       {life.Starting, life.Destroying},
	life.Starting:   {life.InProgress, life.None, life.Destroying},
	life.InProgress: {life.Destroying},
	life.Destroying: {life.Destroyed},
	life.Destroyed:  {},
}

// TestSimulation makes random commands, as each user of the package makes them.
func TestSimulation(t *testing.T) {
	for _, profile := range []struct {
		name     string
		graph    map[life.State][]life.State
		commands []life.Command
	}{
		{"named session", graph, []life.Command{life.Create, life.Start, life.End, life.Done, life.Fail, life.Update,
			life.Register, life.Destroy, life.Release}},
		{"joined or hosted game", shortGraph, []life.Command{life.Start, life.Done, life.Fail, life.Update,
			life.Destroy, life.Release}},
	} {
		t.Run(profile.name, func(t *testing.T) {
			seen := make(map[life.State]map[life.State]bool)
			for from := range profile.graph {
				seen[from] = make(map[life.State]bool)
			}
			for seed := range uint64(1_000) {
				s := simulation{graph: profile.graph, seen: seen}
				if problem := s.run(rand.New(rand.NewPCG(seed, 0)), profile.commands); problem != "" {
					t.Fatalf("seed %d: %s, after %v", seed, problem, s.made)
				}
			}
			for from, next := range profile.graph {
				if len(seen[from]) != len(next) {
					t.Errorf("after %q come %v, not all of %q", from, seen[from], next)
				}
			}
		})
	}
}

// A simulation is the life of one session, with what the test knows of it.
type simulation struct {
	life.Life

	graph map[life.State][]life.State
	seen  map[life.State]map[life.State]bool // moves, of all simulations
	made  []life.Command                     // that were possible
	back  life.State                         // before the request in progress
}

func (s *simulation) run(r *rand.Rand, commands []life.Command) (problem string) {
	for range 80 {
		c := commands[r.IntN(len(commands))]
		if c == life.Destroy && r.IntN(4) > 0 {
			continue // for longer lives
		}
		if problem = s.step(c); problem != "" {
			return problem
		}
	}
	s.step(life.Destroy)
	s.step(life.Release)
	ends := func(c life.Command) bool { return c == life.Destroy || c == life.Release }
	if n := len(s.made); s.State() != life.Destroyed || slices.IndexFunc(s.made, ends) != n-2 {
		return fmt.Sprintf("the last state is %q", s.State())
	}
	return ""
}

// step makes a command and returns what is wrong afterwards.
func (s *simulation) step(c life.Command) (problem string) {
	from, allowed := s.State(), s.Allows(c)
	done, to := s.Do(c), s.State()
	over := from == life.Destroying || from == life.Destroyed
	switch {
	case allowed != done:
		problem = "Allows and Do differ"
	case to != from && (!done || c == life.Update || c == life.Register):
		problem = "changes the state"
	case to != from && !slices.Contains(s.graph[from], to):
		problem = "leaves the graph"
	case c == life.Destroy && done == over:
		problem = "does not end it once"
	case over && done && (c != life.Release || from == life.Destroyed):
		problem = "is possible after the end"
	case c == life.Fail && done && to != s.back:
		problem = fmt.Sprintf("does not restore %q", s.back)
	}
	if problem != "" {
		return fmt.Sprintf("%s %s: from %q to %q", c, problem, from, to)
	}
	if done {
		s.made = append(s.made, c)
	}
	if to != from {
		s.seen[from][to] = true
	}
	if done && (c == life.Create || c == life.Start || c == life.End) {
		s.back = from
	}
	return ""
}
