// Package sim runs a whole region in one process, under one seed and a clock that stands still while anything moves,
// and breaks it: owners that crash, are paused, lose their lease or are replaced without noticing; appends that fail,
// that come late, or that succeed and say that they failed; packets between nodes that are late, lost, doubled and out
// of order; nodes that are cut off; clocks that jump; sockets that drop; snapshots that are cut short; records of the
// release before and of the one after.
//
// What runs is the code of the service: package shard with the machine of package region, over journals of package
// journal/memory; on each node the forwarder, the server and the channels of package cluster/channel; and on the node
// that leads the drivers of packages placer and matchdriver. This package replaces only what waits or does I/O around
// them: disks, the network, leases, and the loops that packages cluster, replica and control have for it. The rest are
// actors: game servers, players, operators.
//
// A node asks as package replica does: the owner on this node directly, else over a channel. An answer is handed on
// when those who follow the journal have seen what it may have seen; all nodes follow at the same pace.
//
// # The same seed, the same run
//
// A run takes place in a bubble of testing/synctest. One goroutine, the world's, does one thing at a time and then
// waits until everything is at rest. A shard never touches what another goroutine may touch: it parks its journal
// operations, and leaves its answers and commits in its own outbox; the world carries them out, or on, one by one, in
// an order that follows from the seed. So the order in which the goroutines of several shards run makes no difference.
//
// # What is checked
//
// Beside each journal stands the mirror: a machine that has applied each record at the moment when it was stored, and
// nothing else. It says what is true.
//
//   - Laws: each fact must be possible in the mirror's state: no process gets a second
//     game session, no place is given twice, nothing times out early or twice, a status
//     only goes where it may (laws_test.go).
//   - By the true time, which no node knows, no process is ended because a clock jumped or because
//     no node owned the shard: each deadline for a game server gives it its time (waits_test.go).
//   - After each step the rooms, placements and tickets that have changed hold
//     together (invariants_test.go).
//   - What an owner commits is what the mirror has: so replay gives the same state
//     byte for byte, a refused command changes nothing, and no fact is forgotten.
//   - What an owner acknowledges is in the mirror already, and stays there through every
//     recovery. What it says has not happened never does.
//   - What a read shows was true at a moment between the question and the answer.
//   - A command that a node forwards is carried out once at most, in order, and not after the node was told that it
//     will never be. A read shows at least what was durable when it was asked for.
//   - A placement has one game session that is ACTIVE; others that it came to by a failure are terminated.
//   - In a region with machines a game session has a process of the build whose version it names. Processes of builds
//     besides those of their fleets end with their game sessions, also when the build is detached.
//   - When all faults end, everything comes to an end: no deadline is left in the past, no
//     placement and no match without an outcome. Then a last placement and a last match succeed.
package sim

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

var (
	seeds = flag.Int("seeds", 200, "number of simulations")
	seed  = flag.Uint64("seed", 0, "run this one alone, and print its trace")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a run needs little memory, and thousands of them a quarter less time
	leaktest.Main(m)
}

// TestSim runs seeds. To see one again: SEED=17 make sim
func TestSim(t *testing.T) {
	if *seed != 0 {
		r := Run(t, *seed, Options{Trace: true})
		t.Log("\n" + strings.Join(r.Trace, "\n"))
		if r.Err != nil {
			t.Fatalf("seed %d: %v", *seed, r.Err)
		}
		return
	}
	var mu sync.Mutex
	seen, failed := Seen{}, 0
	t.Run("seeds", func(t *testing.T) {
		for n := range uint64(*seeds) {
			t.Run(fmt.Sprintf("seed=%d", n+1), func(t *testing.T) {
				t.Parallel()
				r := Run(t, n+1, Options{})
				mu.Lock()
				defer mu.Unlock()
				seen.Add(r.Seen)
				if r.Err == nil {
					return
				}
				t.Errorf("seed %d: %v\nSee all of it: SEED=%d make sim", n+1, r.Err, n+1)
				if failed++; failed <= 3 {
					t.Logf("the last that happened:\n%s", strings.Join(r.Trace, "\n"))
				}
			})
		}
	})
	t.Log(seen)
	if *seeds >= 200 { // a few need not meet everything
		meetsEverything(t, seen)
	}
}

// TestSameSeedSameRun: a seed gives the same run to the byte, whatever the
// goroutines of the shards do meanwhile.
func TestSameSeedSameRun(t *testing.T) {
	for n := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", n+1), func(t *testing.T) {
			t.Parallel()
			opts := Options{Trace: true, Machines: n%5 == 4}
			first, second := Run(t, n+1, opts), Run(t, n+1, opts)
			for i := range min(len(first.Trace), len(second.Trace)) {
				if first.Trace[i] != second.Trace[i] {
					t.Fatalf("line %d is\n%s\nand then\n%s", i, first.Trace[i], second.Trace[i])
				}
			}
			if len(first.Trace) != len(second.Trace) || len(first.Trace) < 100 {
				t.Errorf("%d lines, and then %d", len(first.Trace), len(second.Trace))
			}
		})
	}
}

// TestMachines runs seeds of a region with machines. To see one again:
//
//	go test ./internal/sim -run TestMachines -v -seed 17
func TestMachines(t *testing.T) {
	if *seed != 0 {
		r := Run(t, *seed, Options{Trace: true, Machines: true})
		t.Log("\n" + strings.Join(r.Trace, "\n"))
		if r.Err != nil {
			t.Fatalf("seed %d: %v", *seed, r.Err)
		}
		return
	}
	var mu sync.Mutex
	seen, failed := Seen{}, 0
	t.Run("seeds", func(t *testing.T) {
		for n := range uint64(*seeds / 10) {
			t.Run(fmt.Sprintf("seed=%d", n+1), func(t *testing.T) {
				t.Parallel()
				r := Run(t, n+1, Options{Machines: true})
				mu.Lock()
				defer mu.Unlock()
				seen.Add(r.Seen)
				if r.Err == nil {
					return
				}
				t.Errorf("seed %d: %v", n+1, r.Err)
				if failed++; failed <= 3 {
					t.Logf("the last that happened:\n%s", strings.Join(r.Trace, "\n"))
				}
			})
		}
	})
	t.Log(seen)
	for _, name := range []string{"ProcessRequested", "GameSessionHosted", "BuildsChanged", "BuildVersionDeleted",
		"build checked"} {
		if *seeds >= 200 && seen[name] < 5 {
			t.Errorf("all simulations together met %q %d times", name, seen[name])
		}
	}
}

// boundOfBugs is within how many seeds each planted bug has to be found.
const boundOfBugs = 40

// TestPlantedBugs: what the simulation is there for.
func TestPlantedBugs(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for n := range uint64(boundOfBugs) {
				r := Run(t, n+1, Options{Bug: b.name})
				if r.Err != nil && strings.Contains(r.Err.Error(), b.says) {
					t.Logf("found by seed %d: %.300s", n+1, r.Err)
					return
				}
			}
			t.Errorf("%d seeds did not find it", boundOfBugs)
		})
	}
}

// seldom are the facts that simulations without machines need not have.
var seldom = []string{"FleetEventsDropped", "ConfigurationDiscarded", "ComputeClosed", "ProcessRequested",
	"GameSessionHosted", "BuildsChanged"}

// meetsEverything: all seeds together draw what leads to each fact, and each thing
// that can go wrong.
func meetsEverything(t *testing.T, seen Seen) {
	for _, entries := range [][]event.Entry{fleet.Events, placement.Events, matchmaking.Events} {
		for _, e := range entries {
			name := region.Events.Name(e.Type)
			if e.Number%100 < 50 && seen[name] < 5 && !slices.Contains(seldom, name) {
				t.Errorf("all simulations together gave %d facts %s", seen[name], name)
			}
		}
	}
	for _, name := range []string{
		"append fails", "append is stored and fails", "append the owner crashes after it",
		"append the owner crashes before it", "save snapshot is cut short", "crash", "recovery", "fenced",
		"graceful move",
		"stolen lease", "to an old owner", "duplicate", "lost message", "lost answer", "dropped socket", "read", "lead",
		"lost packet", "cut packet", "forwarded", "refused request", "unknown outcome",
		"pause", "do pause", "do set a clock", "do upgrade", "do raise the level", "LevelRaised",
	} {
		if seen[name] < 50 {
			t.Errorf("all simulations together met %q %d times", name, seen[name])
		}
	}
	for _, name := range []string{"placement cancelled", "refused release"} {
		if seen[name] < 5 {
			t.Errorf("all simulations together met %q %d times", name, seen[name])
		}
	}
}
