package refdoc

// The dashboards for Grafana. Expressions are PromQL; in them $fleet and the like are the variables of the dashboard,
// and $__rate_interval is Grafana's. All are of one region: see ofJob. In a cluster each node has the fleets, queues
// and configurations of the shards that it owns, so their sum is the region's; region-wide gauges are on every node, so
// their maximum is.

var regionDashboard = dashboard{
	UID: "muster-region", Title: "Muster: region", Text: "Game sessions, players, placements and calls of a region.",
	Rows: []row{
		{"Now", []panel{
			stat("Game sessions", "short", q(`max(muster_game_sessions_active)`, "")),
			stat("Players", "short", q(`max(muster_player_sessions)`, "")),
			stat("Free server processes", "short", q(`max(muster_server_processes_idle)`, "")),
			stat("Computes", "short", q(`max(muster_computes)`, "")),
			stat("Placements waiting", "short", q(`sum(muster_queue_depth)`, "")),
			stat("Tickets waiting", "short", q(`sum(muster_matchmaking_tickets)`, "")),
		}},
		{"Games", []panel{
			graph("Game sessions", "short", q(`max(muster_game_sessions_active)`, "active"),
				q(`max(muster_game_sessions_activating)`, "activating")),
			graph("Players and slots", "short", q(`max(muster_player_sessions)`, "players"),
				q(`max(muster_player_sessions_maximum)`, "slots")),
			graph("Server processes", "short", q(`max(muster_server_processes)`, "active"),
				q(`max(muster_server_processes_idle)`, "free")),
			graph("Free game sessions by fleet", "short",
				q(`sum by (fleet) (muster_fleet_game_sessions_available)`, "{{fleet}}")),
			graph("Placements per second", "ops",
				q(`sum by (outcome) (rate(muster_queue_placements_total[$__rate_interval]))`, "{{outcome}}")),
			graph("Server processes that ended abnormally per minute", "short", q(`60 * sum by (fleet) (rate(`+
				`muster_fleet_server_process_changes_total{change="abnormal_termination"}[$__rate_interval]))`,
				"{{fleet}}")),
		}},
		{"API", []panel{
			graph("Calls per second", "ops",
				q(`sum by (operation) (rate(muster_api_calls_total[$__rate_interval]))`, "{{operation}}")),
			graph("Time of calls, 99th percentile", "s", q(`histogram_quantile(0.99, sum by (le, operation) (rate(`+
				`muster_api_call_seconds_bucket[$__rate_interval])))`, "{{operation}}")),
			graph("Exceptions per second", "ops", q(`sum by (exception) (rate(`+
				`muster_api_calls_total{exception!=""}[$__rate_interval]))`, "{{exception}}")),
		}},
	},
}

var fleetDashboard = dashboard{
	UID: "muster-fleet", Title: "Muster: fleet", Text: "Instances, server processes, game sessions and players of " +
		"fleets.",
	Variables: []variable{{"fleet", "Fleet", "muster_fleet_game_sessions"},
		{"location", "Location", `muster_fleet_game_sessions{fleet=~"$fleet"}`}},
	Rows: []row{
		{"Game", []panel{
			graph("Game sessions", "short", q(`sum by (state) (muster_fleet_game_sessions{`+ofFleet+`})`, "{{state}}")),
			graph("Free game sessions", "short",
				q(`sum(muster_fleet_game_sessions_available{`+ofFleet+`})`, "available"),
				q(`sum(muster_fleet_game_sessions_activatable{`+ofFleet+`})`, "activatable")),
			graph("Percent available game sessions", "percentunit",
				q(`sum by (fleet) (muster_fleet_game_sessions_available{`+ofFleet+`}) / clamp_min(sum by (fleet) (`+
					`muster_fleet_server_processes{`+ofFleet+`, state="active"}), 1)`, "{{fleet}}")),
			graph("Players", "short", q(`sum by (fleet) (muster_fleet_player_sessions{`+ofFleet+`})`, "{{fleet}}")),
			graph("Players that joined per second", "ops", q(`sum by (fleet) (rate(`+
				`muster_fleet_player_session_activations_total{`+ofFleet+`}[$__rate_interval]))`, "{{fleet}}")),
			graph("Game sessions that ended per minute", "short", q(`60 * sum by (reason) (rate(`+
				`muster_fleet_game_session_ends_total{`+ofFleet+`}[$__rate_interval]))`, "{{reason}}")),
		}},
		{"Processes", []panel{
			graph("Server processes", "short",
				q(`sum by (state) (muster_fleet_server_processes{`+ofFleet+`})`, "{{state}}")),
			graph("Changes of server processes per minute", "short", q(`60 * sum by (change) (rate(`+
				`muster_fleet_server_process_changes_total{`+ofFleet+`}[$__rate_interval]))`, "{{change}}")),
			graph("Percent healthy server processes", "percentunit",
				q(`sum by (fleet) (muster_fleet_server_processes{`+ofFleet+`, state="healthy"}) / clamp_min(`+
					`sum by (fleet) (`+
					`muster_fleet_server_processes{`+ofFleet+`, state="active"}), 1)`, "{{fleet}}")),
		}},
		{"Instances", []panel{
			graph("Instances", "short", q(`sum by (state) (muster_fleet_instances{`+ofFleet+`})`, "{{state}}")),
			graph("Instances that ended per minute", "short", q(`60 * sum by (reason) (rate(`+
				`muster_fleet_instance_ends_total{`+ofFleet+`}[$__rate_interval]))`, "{{reason}}")),
			graph("Idle instances by location", "short", q(`sum by (location) (`+
				`muster_fleet_instances{`+ofFleet+`, state="idle"})`, "{{location}}")),
		}},
	},
}

// ofFleet selects by the variables of the dashboard of fleets.
const ofFleet = `fleet=~"$fleet", location=~"$location"`

var queueDashboard = dashboard{
	UID: "muster-queue", Title: "Muster: queue", Text: "Placements of queues: how many wait, how long, and where " +
		"they go.",
	Variables: []variable{{"queue", "Queue", "muster_queue_depth"}},
	Rows: []row{{"Placements", []panel{
		graph("Placements waiting", "short", q(`sum by (queue) (muster_queue_depth{`+ofQueue+`})`, "{{queue}}")),
		graph("Outcomes per second", "ops", q(`sum by (outcome) (rate(`+
			`muster_queue_placements_total{`+ofQueue+`}[$__rate_interval]))`, "{{outcome}}")),
		graph("Time to the end of a placement", "s", quantiles("muster_queue_wait_seconds", ofQueue)...),
		graph("Placements by location per second", "ops", q(`sum by (location) (rate(`+
			`muster_queue_placed_total{`+ofQueue+`}[$__rate_interval]))`, "{{location}}")),
		graph("Choices per second", "ops", q(`sum by (choice) (rate(`+
			`muster_queue_choices_total{`+ofQueue+`}[$__rate_interval]))`, "{{choice}}")),
	}}},
}

const ofQueue = `queue=~"$queue"`

var matchmakingDashboard = dashboard{
	UID: "muster-matchmaking", Title: "Muster: matchmaking", Text: "Tickets and matches of configurations.",
	Variables: []variable{{"configuration", "Configuration", "muster_matchmaking_tickets"}},
	Rows: []row{{"Matchmaking", []panel{
		graph("Tickets", "short",
			q(`sum by (configuration) (muster_matchmaking_tickets{`+ofConfiguration+`})`, "{{configuration}}")),
		graph("Events per second", "ops", q(`sum by (event) (rate(`+
			`muster_matchmaking_events_total{`+ofConfiguration+`}[$__rate_interval]))`, "{{event}}")),
		graph("Time to match", "s", quantiles("muster_matchmaking_seconds", ofConfiguration+`, to="match"`)...),
		graph("Time to a placed game session", "s",
			quantiles("muster_matchmaking_seconds", ofConfiguration+`, to="success"`)...),
		graph("Rule evaluations passed", "percentunit", q(`sum by (rule) (rate(`+
			`muster_matchmaking_rule_evaluations_total{`+ofConfiguration+`, result="passed"}[$__rate_interval])) / `+
			`sum by (rule) (rate(muster_matchmaking_rule_evaluations_total{`+ofConfiguration+`}[$__rate_interval]))`,
			"{{rule}}")),
	}}},
}

const ofConfiguration = `configuration=~"$configuration"`

var nodeDashboard = dashboard{
	UID: "muster-node", Title: "Muster: node", Text: "Journals, shards, connections and memory of nodes.",
	Variables: []variable{{"instance", "Node", "muster_cluster_nodes"}},
	Rows: []row{
		{"Journal", []panel{
			graph("Time to make a batch durable", "s", quantiles("muster_journal_append_seconds", ofNode)...),
			graph("Requests per batch", "short", quantiles("muster_journal_batch_requests", ofNode)...),
			graph("Bytes per second", "Bps",
				q(`sum by (instance) (rate(muster_journal_bytes_total{`+ofNode+`}[$__rate_interval]))`,
					"{{instance}}")),
			graph("Batches that the index of the history lacks", "short",
				q(`sum by (instance) (muster_history_index_behind{`+ofNode+`})`, "{{instance}}")),
			graph("Size of the history", "bytes", q(`max(muster_history_bytes{`+ofNode+`})`, "history"),
				q(`sum by (instance) (muster_history_index_bytes{`+ofNode+`})`, "index of {{instance}}")),
			graph("Overdue records", "short", q(`sum by (instance) (muster_history_overdue{`+ofNode+`})`,
				"{{instance}}")),
		}},
		{"Shards", []panel{
			graph("Owned shards", "short", q(`sum by (instance) (muster_shard_owned{`+ofNode+`})`, "{{instance}}")),
			graph("Live nodes, as each sees them", "short",
				q(`sum by (instance) (muster_cluster_nodes{`+ofNode+`})`, "{{instance}}")),
			graph("Recoveries and refusals per minute", "short",
				q(`60 * sum by (instance) (rate(muster_shard_recoveries_total{`+ofNode+`}[$__rate_interval]))`,
					"recoveries of {{instance}}"),
				q(`60 * sum by (instance) (rate(muster_shard_refusals_total{`+ofNode+`}[$__rate_interval]))`,
					"refusals of {{instance}}")),
		}},
		{"Process", []panel{
			graph("Sockets of server processes", "short",
				q(`sum by (instance) (muster_server_process_sockets{`+ofNode+`})`, "{{instance}}")),
			graph("Memory", "bytes",
				q(`sum by (instance) (process_resident_memory_bytes{`+ofNode+`})`, "{{instance}}")),
			graph("Processors", "short",
				q(`sum by (instance) (rate(process_cpu_seconds_total{`+ofNode+`}[$__rate_interval]))`, "{{instance}}")),
		}},
	},
}

// ofNode selects by the target of Prometheus.
const ofNode = `instance=~"$instance"`

// alerts are rules of Prometheus, which may watch several regions, each as a job of its own.
var alerts = []alert{
	{"MusterNoCapacity", "5m", "critical",
		`sum by (job, fleet) (muster_fleet_game_sessions_available) == 0 and sum by (job, fleet) (` +
			`muster_fleet_server_processes{state="active"}) > 0`,
		"Fleet {{ $labels.fleet }} has had no free server process for 5 minutes."},
	{"MusterPlacementsWait", "5m", "warning", `sum by (job, queue) (muster_queue_depth) > 0 unless ` +
		`sum by (job, queue) (rate(muster_queue_placements_total{outcome="succeeded"}[5m])) > 0`,
		"Placements of queue {{ $labels.queue }} wait, and none has succeeded for 5 minutes."},
	{"MusterTicketsAge", "5m", "warning", `histogram_quantile(0.95, sum by (le, job, configuration) (` +
		`rate(muster_matchmaking_seconds_bucket{to="match"}[5m]))) > 60`,
		"Tickets of {{ $labels.configuration }} wait for more than 60 s for a match (95th percentile)."},
	{"MusterTicketsWait", "10m", "warning", `sum by (job, configuration) (muster_matchmaking_tickets) > 0 unless ` +
		`sum by (job, configuration) (rate(muster_matchmaking_events_total{event="match_created"}[10m])) > 0`,
		"Tickets of {{ $labels.configuration }} wait, and no match has been made for 10 minutes."},
	{"MusterCrashLoop", "0m", "critical", `sum by (job, fleet, location) (increase(` +
		`muster_fleet_server_process_changes_total{change="abnormal_termination"}[10m])) > 5`,
		"Server processes of fleet {{ $labels.fleet }} at {{ $labels.location }} end abnormally: " +
			"{{ $value | humanize }} in 10 minutes."},
	{"MusterJournalSlow", "5m", "warning",
		`histogram_quantile(0.99, sum by (le, job, instance) (rate(muster_journal_append_seconds_bucket[5m]))) > 0.1`,
		"Making a batch durable takes {{ $value | humanizeDuration }} on {{ $labels.instance }} (99th percentile)."},
	{"MusterHistoryBehind", "10m", "warning", `muster_history_index_behind > 100 or muster_history_overdue > 0`,
		"The history of {{ $labels.instance }}, or its index, does not keep up."},
	{"MusterShardRecoveries", "0m", "warning", // a start and a transfer recover a shard once
		`sum by (job, instance, shard) (increase(muster_shard_recoveries_total[10m])) > 5`,
		"Shard {{ $labels.shard }} of {{ $labels.instance }} recovers again and again: {{ printf \"%.0f\" $value }} " +
			"times in 10 minutes. The log has the reason."},
	{"MusterNodeMissing", "2m", "critical", // it ends when the node is back, or was removed a week ago
		`max by (job) (muster_cluster_nodes) < max by (job) (max_over_time(muster_cluster_nodes[7d]))`,
		"A node of the cluster {{ $labels.job }} is missing: {{ $value }} are live."},
	{"MusterDown", "2m", "critical",
		`up == 0 and on (job, instance) max_over_time(muster_cluster_nodes[7d])`,
		"Prometheus cannot read the metrics of {{ $labels.instance }}: the service does not run or is not reachable."},
	{"MusterCertificateExpires", "1h", "warning",
		`min by (job, instance) (muster_certificate_expiry_timestamp_seconds) - time() < 14 * 86400`,
		"The certificate of {{ $labels.instance }} {{ if gt $value 0.0 }}expires in {{ $value | humanizeDuration }}" +
			"{{ else }}has expired{{ end }}."},
	{"MusterDiskLow", "5m", "critical", `min by (job, instance) (muster_disk_free_bytes) < 2 * 1024 * 1024 * 1024`,
		"{{ $value | humanize1024 }}B are free on the disk of {{ $labels.instance }}; it stops when the disk is full."},
	{"MusterAuditDropped", "0m", "warning", `sum by (job, instance) (increase(muster_audit_dropped_total[10m])) > 0`,
		"{{ $labels.instance }} has dropped records of the audit trail: its disk is too slow."},
	{"MusterWebhookDropped", "0m", "warning",
		`sum by (job, instance) (increase(muster_webhook_tries_total{outcome="dropped"}[10m])) > 0`,
		"{{ $labels.instance }} has dropped events that a webhook did not accept. The log names the URL."},
	{"MusterThrottling", "5m", "warning", `sum by (job, instance) (rate(` +
		`muster_api_calls_total{exception="ThrottlingException"}[5m])) > 1`,
		"{{ $labels.instance }} throttles {{ $value | humanize }} calls per second."},
	{"MusterGatewayFails", "5m", "warning", `sum by (job, instance) (rate(` +
		`muster_gateway_requests_total{code=~"503|504"}[5m])) > 0.1`,
		"Players get no game: the session gateway of {{ $labels.instance }} returns 503 or 504."},
}
