package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/fleet"
)

// The fleet of TestDrive.
const (
	driveComputes, driveUnhealthy = 5, 2
	driveTop                      = 40 // game sessions
	driveLimit                    = 3  // that may be activated at once
)

// A driven sample is the state of the fleet at the end of 10 s, and what happened in them.
type driven struct {
	processes, activating, active, players int
	accepted, interrupted, ended           float64
}

func (d driven) busy() int { return min(d.activating+d.active, driveComputes) }

func (d driven) available() int { return d.processes - driveUnhealthy - d.activating - d.active }

// driveMetrics are the metrics of seed 003 with the formulas of the model.
var driveMetrics = map[string]func(d driven) float64{
	"ActiveInstances":        func(driven) float64 { return driveComputes },
	"IdleInstances":          func(d driven) float64 { return float64(driveComputes - d.busy()) },
	"PercentIdleInstances":   func(d driven) float64 { return 100 * float64(driveComputes-d.busy()) / driveComputes },
	"DesiredInstances":       func(driven) float64 { return driveComputes },
	"MaxInstances":           func(driven) float64 { return driveComputes },
	"MinInstances":           func(driven) float64 { return 0 },
	"RecycledInstances":      func(driven) float64 { return 0 },
	"InstanceInterruptions":  func(driven) float64 { return 0 },
	"ActivatingGameSessions": func(d driven) float64 { return float64(d.activating) },
	"ActiveGameSessions":     func(d driven) float64 { return float64(d.active) },
	"AvailableGameSessions":  func(d driven) float64 { return float64(d.available()) },
	"PercentAvailableGameSessions": func(d driven) float64 {
		return 100 * float64(d.available()) / float64(d.active+d.available()+driveUnhealthy)
	},
	"ConcurrentActivatableGameSessions": func(d driven) float64 {
		return float64(min(driveLimit-d.activating, d.available()))
	},
	"GameSessionInterruptions": func(d driven) float64 { return d.interrupted },
	"CurrentPlayerSessions":    func(d driven) float64 { return float64(d.players) },
	"PlayerSessionActivations": func(d driven) float64 { return d.accepted },
	// One more, whose formula is a ratio too.
	"PercentHealthyServerProcesses": func(d driven) float64 {
		return 100 * float64(d.processes-driveUnhealthy) / float64(d.processes)
	},
}

// TestDrive drives a fleet from 0 to 40 game sessions and back, one change every 10 seconds, and compares each minute
// with the formulas of the catalogue, and Prometheus at the end.
func TestDrive(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	n := newNode(t, "", clock, feedsAt(clock), 2)
	var drive []driven
	now := driven{processes: 50}
	for i := range 96 {
		n.step(&now, i)
		drive = append(drive, now)
		n.frames(10 * time.Second)
	}
	if now.active != 0 || now.players != 0 {
		t.Fatalf("the drive ends with %+v", now)
	}
	for _, where := range [][]string{
		{"FleetId", "fleet-1"}, {"FleetId", "fleet-1", "Location", "custom-home"}, {"MetricGroup", "all"},
		{"MetricGroup", "all", "Location", "custom-home"}, {"Location", "custom-home"},
	} {
		for metric, value := range driveMetrics {
			if where[0] == "MetricGroup" && (metric == "DesiredInstances" || metric == "MinInstances" ||
				metric == "MaxInstances") {
				continue // see the catalogue
			}
			n.follows(series(metric, where...), drive, value)
		}
	}
	n.shows(drive)
}

// step changes the fleet for a sample: a game session is created in one and activated in the next, with two players.
// Later one ends in each, every fifth with its server process.
func (n *node) step(now *driven, i int) {
	now.accepted, now.interrupted, now.ended = 0, 0, 0
	if now.activating > 0 {
		now.activating--
		now.active++
		now.players += 2
		now.accepted = 2
		n.commit(home, &fleet.GameSessionActivated{Ordinal: uint64(i)}, &fleet.PlayerAccepted{Session: uint64(i)},
			&fleet.PlayerAccepted{Session: uint64(i)})
	}
	switch {
	case i < driveTop:
		now.activating++
		n.commit(home, &fleet.GameSessionCreated{Ordinal: uint64(i + 1)})
	case i >= 50 && now.active > 0:
		now.active--
		now.players -= 2
		over := []any{&fleet.GameSessionEnded{Ordinal: uint64(i - 49)}}
		if now.ended = 1; i%5 == 0 {
			now.ended, now.interrupted = 0, 1
			now.processes--
			over = append(over, &fleet.ProcessHasEnded{Reason: fleet.EndedCrashed})
		}
		n.commit(home, over...)
	}
	n.rooms[home] = fleet.Counts{
		Computes: driveComputes, BusyComputes: now.busy(), Processes: now.processes,
		Healthy: now.processes - driveUnhealthy, Activating: now.activating, Active: now.active,
		Waiting: now.available(), Activatable: min(driveLimit-now.activating, now.available()),
		Players: now.players, MaximumPlayers: 4 * now.active,
	}
}

// follows compares the minutes of a series with the samples.
func (n *node) follows(s Series, drive []driven, value func(driven) float64) {
	n.t.Helper()
	points := n.points(s, begin, time.Hour, time.Minute)
	if len(points) != len(drive)/6 {
		n.t.Fatalf("%v: %d minutes, want %d", s, len(points), len(drive)/6)
	}
	for i, p := range points {
		want := Point{At: begin.Add(time.Duration(i) * time.Minute), Minimum: math.Inf(1), Maximum: math.Inf(-1)}
		for _, now := range drive[6*i : 6*i+6] {
			v := value(now)
			want.Sum += v
			want.Minimum, want.Maximum, want.Count = min(want.Minimum, v), max(want.Maximum, v), want.Count+1
		}
		if math.Abs(want.Sum-p.Sum) < 1e-9 {
			want.Sum = p.Sum
		}
		if p != want {
			n.t.Errorf("%v: %+v, want %+v", s, p, want)
		}
	}
}

// shows compares what Prometheus gets with the last sample, and with the sums of what was counted. Percentages are
// quotients of these; see PromQL.
func (n *node) shows(drive []driven) {
	n.t.Helper()
	shown, last, all := n.scrape(), drive[len(drive)-1], driven{}
	for _, d := range drive {
		all.accepted += d.accepted
		all.interrupted += d.interrupted
		all.ended += d.ended
	}
	if all.accepted != 2*driveTop || all.interrupted != driveTop/5 || all.ended != driveTop-driveTop/5 {
		n.t.Fatalf("the drive counts %+v", all)
	}
	healthy := float64(last.processes - driveUnhealthy)
	gauge := func(metric string) float64 { return driveMetrics[metric](last) }
	const at = "{fleet=fleet-1,location=custom-home"
	for name, want := range map[string]float64{
		"muster_fleet_instances" + at + ",state=active}":                              gauge("ActiveInstances"),
		"muster_fleet_instances" + at + ",state=idle}":                                gauge("IdleInstances"),
		"muster_fleet_instances" + at + ",state=desired}":                             gauge("DesiredInstances"),
		"muster_fleet_instances" + at + ",state=maximum}":                             gauge("MaxInstances"),
		"muster_fleet_instances" + at + ",state=minimum}":                             gauge("MinInstances"),
		"muster_fleet_instance_ends_total" + at + ",reason=recycled}":                 0,
		"muster_fleet_instance_ends_total" + at + ",reason=interrupted}":              0,
		"muster_fleet_game_sessions" + at + ",state=activating}":                      gauge("ActivatingGameSessions"),
		"muster_fleet_game_sessions" + at + ",state=active}":                          gauge("ActiveGameSessions"),
		"muster_fleet_game_sessions_available" + at + "}":                             gauge("AvailableGameSessions"),
		"muster_fleet_game_sessions_activatable" + at + "}":                           driveLimit,
		"muster_fleet_game_session_ends_total" + at + ",reason=crashed}":              all.interrupted,
		"muster_fleet_game_session_ends_total" + at + ",reason=ended}":                all.ended,
		"muster_fleet_player_sessions" + at + "}":                                     gauge("CurrentPlayerSessions"),
		"muster_fleet_player_session_activations_total" + at + "}":                    all.accepted,
		"muster_fleet_server_processes" + at + ",state=active}":                       healthy + driveUnhealthy,
		"muster_fleet_server_processes" + at + ",state=healthy}":                      healthy,
		"muster_fleet_server_process_changes_total{change=activation," + at[1:] + "}": 0,
	} {
		if got, ok := shown[name]; !ok || got != want {
			n.t.Errorf("%s is %v (shown %v), want %v", name, got, ok, want)
		}
	}
}
