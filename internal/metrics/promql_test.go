package metrics

import (
	"testing"
	"time"
)

func TestPromQL(t *testing.T) {
	for _, tt := range []struct {
		series Series
		want   string
	}{
		{series("ActiveGameSessions", "FleetId", "f"), `sum(muster_fleet_game_sessions{fleet="f",state="active"})`},
		{series("CurrentPlayerSessions", "FleetId", "f", "Location", "l"),
			`sum(muster_fleet_player_sessions{fleet="f",location="l"})`},
		{series("IdleInstances", "Location", "l"), `sum(muster_fleet_instances{location="l",state="idle"})`},
		{series("PercentIdleInstances", "FleetId", "f"),
			`100 * sum(muster_fleet_instances{fleet="f",state="idle"}) / ` +
				`sum(muster_fleet_instances{fleet="f",state="active"})`},
		{series("PercentAvailableGameSessions", "FleetId", "f"),
			`100 * sum(muster_fleet_game_sessions_available{fleet="f"}) / (` +
				`sum(muster_fleet_game_sessions{fleet="f",state="active"}) + ` +
				`sum(muster_fleet_game_sessions_available{fleet="f"}) + ` +
				`sum(muster_fleet_server_processes{fleet="f",state="active"}) - ` +
				`sum(muster_fleet_server_processes{fleet="f",state="healthy"}))`},
		{series("GameSessionInterruptions", "FleetId", "f"),
			`sum(increase(muster_fleet_game_session_ends_total{fleet="f",reason=~"crashed|unhealthy"}[300s]))`},
		{series("PlacementsFailed", "QueueName", "q"),
			`sum(increase(muster_queue_placements_total{queue="q",outcome="failed"}[300s]))`},
		{series("TimeToMatch", "ConfigurationName", "c"),
			`sum(increase(muster_matchmaking_seconds_sum{configuration="c",to="match"}[300s])) / ` +
				`sum(increase(muster_matchmaking_seconds_count{configuration="c",to="match"}[300s]))`},
		{series("ActiveGameSessions", "MetricGroup", "g"), ""},
		{series("AverageWaitTime", "QueueName", "q"), ""},
		{series("QueueDepth", "QueueName", "q", "Location", "l"), ""},
		{series("Nothing", "QueueName", "q"), ""},
	} {
		if got := PromQL(tt.series, 5*time.Minute); got != tt.want {
			t.Errorf("%v:\n%s, want\n%s", tt.series, got, tt.want)
		}
	}
}
