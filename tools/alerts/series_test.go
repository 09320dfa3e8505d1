package alerts

// alertTests are rules with the series that they see. The samples of a series are one minute apart, from 0 on, in the
// notation of Prometheus's own tests: 1+2x3 is 1 3 5 7, 1x3 is 1 1 1 1, _ is no sample, stale ends a series that its
// target no longer has. A series without a job has the job muster. After the minutes the alert in want fires, with
// these labels and this summary; "": none fires.
var alertTests = []struct {
	alert, name string
	series      string
	minutes     int
	want        string
}{
	{"MusterNoCapacity", "all in use", `
		muster_fleet_game_sessions_available{instance="a", fleet="f", location="l"} 4 0x9
		muster_fleet_game_sessions_available{instance="a", fleet="f", location="m"} 0x9
		muster_fleet_server_processes{instance="a", fleet="f", location="l", state="active"} 4x9`, 6,
		`{fleet="f", job="muster", severity="critical"} Fleet f has had no free server process for 5 minutes.`},
	{"MusterNoCapacity", "for four minutes", `
		muster_fleet_game_sessions_available{instance="a", fleet="f", location="l"} 4 0x9
		muster_fleet_server_processes{instance="a", fleet="f", location="l", state="active"} 4x9`, 5, ""},
	{"MusterNoCapacity", "free at another location", `
		muster_fleet_game_sessions_available{instance="a", fleet="f", location="l"} 0x9
		muster_fleet_game_sessions_available{instance="a", fleet="f", location="m"} 1x9
		muster_fleet_server_processes{instance="a", fleet="f", location="l", state="active"} 4x9`, 9, ""},
	{"MusterNoCapacity", "empty fleet", `
		muster_fleet_game_sessions_available{instance="a", fleet="f", location="l"} 0x9
		muster_fleet_server_processes{instance="a", fleet="f", location="l", state="active"} 0x9`, 9, ""},

	{"MusterPlacementsWait", "none succeeds", `
		muster_queue_depth{instance="a", queue="q"} 0x4 1x20
		muster_queue_placements_total{instance="a", queue="q", outcome="succeeded"} 1 2 3x30
		muster_queue_placements_total{instance="a", queue="q", outcome="failed"} 0+1x30`, 12,
		`{job="muster", queue="q", severity="warning"} ` +
			`Placements of queue q wait, and none has succeeded for 5 minutes.`},
	{"MusterPlacementsWait", "some succeed", `
		muster_queue_depth{instance="a", queue="q"} 5x20
		muster_queue_placements_total{instance="a", queue="q", outcome="succeeded"} 1+1x20`, 20, ""},
	{"MusterPlacementsWait", "none wait", `
		muster_queue_depth{instance="a", queue="q"} 0x20
		muster_queue_placements_total{instance="a", queue="q", outcome="succeeded"} 1x20`, 20, ""},

	{"MusterTicketsAge", "half wait for minutes", `
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="60"} 0+5x20
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="120"} 0+10x20
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="+Inf"} 0+10x20`, 7,
		`{configuration="c", job="muster", severity="warning"} ` +
			`Tickets of c wait for more than 60 s for a match (95th percentile).`},
	{"MusterTicketsAge", "cancelled after minutes", `
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="60"} 0+10x20
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="+Inf"} 0+10x20
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="cancel", le="60"} 0x20
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="cancel", le="+Inf"} 0+10x20`, 20, ""},
	{"MusterTicketsAge", "no matches any more", `
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="60"} 0x20
		muster_matchmaking_seconds_bucket{instance="a", configuration="c", to="match", le="+Inf"} 9x20`, 20, ""},

	{"MusterTicketsWait", "no matches", `
		muster_matchmaking_tickets{instance="a", configuration="c"} 1x30
		muster_matchmaking_events_total{instance="a", configuration="c", event="match_created"} 7x30
		muster_matchmaking_events_total{instance="a", configuration="c", event="ticket_started"} 0+1x30`, 10,
		`{configuration="c", job="muster", severity="warning"} ` +
			`Tickets of c wait, and no match has been made for 10 minutes.`},
	{"MusterTicketsWait", "for nine minutes", `
		muster_matchmaking_tickets{instance="a", configuration="c"} 1x30
		muster_matchmaking_events_total{instance="a", configuration="c", event="match_created"} 7x30`, 9, ""},
	{"MusterTicketsWait", "matches", `
		muster_matchmaking_tickets{instance="a", configuration="c"} 9x30
		muster_matchmaking_events_total{instance="a", configuration="c", event="match_created"} 0x8 1x8 2x12`, 24, ""},

	{"MusterCrashLoop", "six crashes", `
		muster_fleet_server_process_changes_total{fleet="f", location="l", change="abnormal_termination"} 0x9 6x9`, 10,
		`{fleet="f", job="muster", location="l", severity="critical"} ` +
			`Server processes of fleet f at l end abnormally: 6 in 10 minutes.`},
	{"MusterCrashLoop", "three crashes at each location", `
		muster_fleet_server_process_changes_total{fleet="f", location="l", change="abnormal_termination"} 0x9 3x9
		muster_fleet_server_process_changes_total{fleet="f", location="m", change="abnormal_termination"} 0x9 3x9`, 12,
		""},
	{"MusterCrashLoop", "processes that end", `
		muster_fleet_server_process_changes_total{fleet="f", location="l", change="abnormal_termination"} 0x20
		muster_fleet_server_process_changes_total{fleet="f", location="l", change="termination"} 0+9x20`, 20, ""},

	{"MusterJournalSlow", "slow", `
		muster_journal_append_seconds_bucket{instance="a", le="0.1"} 0x20
		muster_journal_append_seconds_bucket{instance="a", le="0.25"} 0+100x20
		muster_journal_append_seconds_bucket{instance="a", le="+Inf"} 0+100x20
		muster_journal_append_seconds_bucket{instance="b", le="0.1"} 0+100x20
		muster_journal_append_seconds_bucket{instance="b", le="0.25"} 0+100x20
		muster_journal_append_seconds_bucket{instance="b", le="+Inf"} 0+100x20`, 6,
		`{instance="a", job="muster", severity="warning"} ` +
			`Making a batch durable takes 248.5ms on a (99th percentile).`},
	{"MusterJournalSlow", "one batch in a thousand", `
		muster_journal_append_seconds_bucket{instance="a", le="0.1"} 0+999x20
		muster_journal_append_seconds_bucket{instance="a", le="0.25"} 0+1000x20
		muster_journal_append_seconds_bucket{instance="a", le="+Inf"} 0+1000x20`, 20, ""},

	{"MusterHistoryBehind", "index and history", `
		muster_history_index_behind{instance="a"} 101x20
		muster_history_overdue{instance="a"} 0x3 5x20`, 10,
		`{instance="a", job="muster", severity="warning"} The history of a, or its index, does not keep up.`},
	{"MusterHistoryBehind", "history", `
		muster_history_index_behind{instance="a"} 0x20
		muster_history_overdue{instance="a"} 1x20`, 10,
		`{instance="a", job="muster", severity="warning"} The history of a, or its index, does not keep up.`},
	{"MusterHistoryBehind", "for nine minutes", `
		muster_history_index_behind{instance="a"} 101x20
		muster_history_overdue{instance="a"} 1x20`, 9, ""},
	{"MusterHistoryBehind", "keeps up", `
		muster_history_index_behind{instance="a"} 100x20
		muster_history_overdue{instance="a"} 0x20`, 20, ""},

	{"MusterShardRecoveries", "one of many, again and again", `
		muster_shard_recoveries_total{instance="a", shard="0", outcome="done"} 2x20
		muster_shard_recoveries_total{instance="a", shard="1", outcome="done"} 2 2+0.5x20
		muster_shard_recoveries_total{instance="a", shard="1", outcome="failed"} 0 0+0.5x20
		muster_shard_recoveries_total{instance="b", shard="1", outcome="done"} 2x20`, 10,
		`{instance="a", job="muster", severity="warning", shard="1"} ` +
			`Shard 1 of a recovers again and again: 10 times in 10 minutes. The log has the reason.`},
	{"MusterShardRecoveries", "restarts and a transfer", `
		muster_shard_recoveries_total{instance="a", shard="0", outcome="done"} 3x4 1x4 2x20
		muster_shard_recoveries_total{instance="b", shard="0", outcome="done"} 3x6 4x4 1x20
		muster_shard_recoveries_total{instance="a", shard="1", outcome="done"} 3x4 1x4 2x20`, 12, ""},

	{"MusterNodeMissing", "two of three", `
		muster_cluster_nodes{instance="a"} 3x4 2x20
		muster_cluster_nodes{instance="b"} 3x4 2x20
		muster_cluster_nodes{instance="c"} 3x4 stale`, 7,
		`{job="muster", severity="critical"} A node of the cluster muster is missing: 2 are live.`},
	{"MusterNodeMissing", "of the smaller of two regions", `
		muster_cluster_nodes{job="eu", instance="a"} 3x4 2x20
		muster_cluster_nodes{job="us", instance="b"} 5x20`, 7,
		`{job="eu", severity="critical"} A node of the cluster eu is missing: 2 are live.`},
	{"MusterNodeMissing", "for a minute", `
		muster_cluster_nodes{instance="a"} 3x4 2x1 3x20
		muster_cluster_nodes{instance="b"} 3x4 stale _ 3x20`, 6, ""},
	{"MusterNodeMissing", "back after a minute", `
		muster_cluster_nodes{instance="a"} 3x4 2x1 3x20
		muster_cluster_nodes{instance="b"} 3x4 stale _ 3x20`, 9, ""},
	{"MusterNodeMissing", "one node does not see the other", `
		muster_cluster_nodes{instance="a"} 3x4 1x20
		muster_cluster_nodes{instance="b"} 3x20`, 20, ""},

	{"MusterDown", "not reachable", `
		up{instance="a", pod="p"} 1x4 0x30
		up{instance="b", pod="p"} 1x30
		muster_cluster_nodes{instance="a", pod="p"} 1x4 stale
		muster_cluster_nodes{instance="b", pod="p"} 1x30`, 30,
		`{instance="a", job="muster", pod="p", severity="critical"} ` +
			`Prometheus cannot read the metrics of a: the service does not run or is not reachable.`},
	{"MusterDown", "for a minute", `
		up{instance="a"} 1x4 0x20
		muster_cluster_nodes{instance="a"} 1x4 stale`, 6, ""},
	{"MusterDown", "another program", `
		up{instance="a"} 1x20
		up{instance="a", job="node"} 0x20
		muster_cluster_nodes{instance="a"} 1x20`, 20, ""},

	{"MusterCertificateExpires", "in ten days", `
		muster_certificate_expiry_timestamp_seconds{instance="a"} 867600x60`, 60,
		`{instance="a", job="muster", severity="warning"} The certificate of a expires in 10d 0h 0m 0s.`},
	{"MusterCertificateExpires", "half an hour ago", `
		muster_certificate_expiry_timestamp_seconds{instance="a"} 1800x60`, 60,
		`{instance="a", job="muster", severity="warning"} The certificate of a has expired.`},
	{"MusterCertificateExpires", "for less than an hour", `
		muster_certificate_expiry_timestamp_seconds{instance="a"} 867600x60`, 59, ""},
	{"MusterCertificateExpires", "in fourteen days", `
		muster_certificate_expiry_timestamp_seconds{instance="a"} 1213200x90`, 60, ""},

	{"MusterDiskLow", "1.5 GiB", `
		muster_disk_free_bytes{instance="a"} 1610612736x20
		muster_disk_free_bytes{instance="b"} 1610612736000x20`, 5,
		`{instance="a", job="muster", severity="critical"} ` +
			`1.5GiB are free on the disk of a; it stops when the disk is full.`},
	{"MusterDiskLow", "2 GiB", `muster_disk_free_bytes{instance="a"} 2147483648x20`, 20, ""},

	{"MusterAuditDropped", "one", `muster_audit_dropped_total{instance="a"} 0x4 1x20`, 5,
		`{instance="a", job="muster", severity="warning"} ` +
			`a has dropped records of the audit trail: its disk is too slow.`},
	{"MusterAuditDropped", "one long ago", `muster_audit_dropped_total{instance="a"} 0x4 1x20`, 20, ""},

	{"MusterWebhookDropped", "one", `
		muster_webhook_tries_total{instance="a", outcome="dropped"} 0x4 1x20`, 5,
		`{instance="a", job="muster", severity="warning"} ` +
			`a has dropped events that a webhook did not accept. The log names the URL.`},
	{"MusterWebhookDropped", "retried", `
		muster_webhook_tries_total{instance="a", outcome="dropped"} 3x20
		muster_webhook_tries_total{instance="a", outcome="retried"} 0+9x20`, 20, ""},

	{"MusterThrottling", "three per second", `
		muster_api_calls_total{instance="a", operation="o", exception="ThrottlingException"} 0+90x20
		muster_api_calls_total{instance="a", operation="p", exception="ThrottlingException"} 0+90x20`, 10,
		`{instance="a", job="muster", severity="warning"} a throttles 3 calls per second.`},
	{"MusterThrottling", "other exceptions", `
		muster_api_calls_total{instance="a", operation="o", exception="ThrottlingException"} 0+60x20
		muster_api_calls_total{instance="a", operation="o", exception="NotFoundException"} 0+600x20
		muster_api_calls_total{instance="a", operation="o", exception=""} 0+600x20`, 20, ""},

	{"MusterGatewayFails", "503 and 504", `
		muster_gateway_requests_total{instance="a", route="r", code="503"} 0+4x20
		muster_gateway_requests_total{instance="a", route="r", code="504"} 0+4x20`, 10,
		`{instance="a", job="muster", severity="warning"} ` +
			`Players get no game: the session gateway of a returns 503 or 504.`},
	{"MusterGatewayFails", "few, and other codes", `
		muster_gateway_requests_total{instance="a", route="r", code="503"} 0+4x20
		muster_gateway_requests_total{instance="a", route="r", code="200"} 0+600x20
		muster_gateway_requests_total{instance="a", route="r", code="429"} 0+600x20`, 20, ""},
}
