package main

import (
	"strconv"
	"time"
)

// A run is one process of the benchmarks of e2e/figures, and the rows that it fills.
type run struct {
	name       string
	pattern    string        // for -bench
	operations int           // in all rounds together
	each       time.Duration // of a round of a benchmark that goes by time
	rounds     int           // for one whose rounds take minutes; 0: as many as of the others
	rows       []row
}

// count is how many rounds are made when so many are asked for.
func (r run) count(rounds int) int {
	if r.rounds > 0 {
		return min(r.rounds, rounds)
	}
	return rounds
}

// benchtime is what a round gets.
func (r run) benchtime(rounds int) string {
	if r.each > 0 {
		return r.each.String()
	}
	return strconv.Itoa(max(1, r.operations/rounds)) + "x"
}

// idlePool is how many server processes are connected and wait when the rounds of the game sessions begin: each needs
// an open file in the service, and many systems allow a process 20,000.
const idlePool = 19_000

// A row is a line of the table, and what the units of its benchmark mean in it.
type row struct {
	work      string
	benchmark string // its name without "Benchmark" and the number of processors
	figure    value
	goals     []goal
	allocs    string // unit; "" when they are not counted
	cpu       string // unit; "" when it is not measured
	peers     []peer
}

// A value is a number of a benchmark, as it is shown.
type value struct {
	unit  string
	times float64 // what it is multiplied with
	show  func(float64) string
}

// A goal is what a value must reach.
type goal struct {
	of      value
	atLeast bool // else at most
	limit   float64
}

// A peer is what a figure stands beside.
type peer struct {
	name   string
	figure value
	ratio  string // unit: how much of the peer's the service reaches
	byCPU  string // unit: the same by processor time; "" when it is not measured
	allocs string // unit; "" when they are not counted
	cpu    string // unit; "" when it is not measured
}

// scaled is a value that is shown as a multiple of its number.
func scaled(unit string, times float64, show func(float64) string) value {
	return value{unit, times, show}
}

func rate(unit string, times float64) value { return scaled(unit, times, perSecond) }
func ms(unit string) value                  { return scaled(unit, 1, milliseconds) }
func ratioTo(unit string) value             { return scaled(unit, 1, timesOf) }

// bare is the peer that answers the same bytes and does nothing else.
func bare(name string, figure value, ratio string) peer {
	return peer{name, figure, ratio, "of-bare-by-cpu", "bare-allocations/op", "bare-cpu-µs/op"}
}

// reservations is a row of calls for so many players each.
func reservations(work, benchmark string, players float64, goals ...goal) row {
	return row{
		work: work, benchmark: "Reservations/" + benchmark, figure: rate("rate/s", players),
		goals:  append(goals, goal{ratioTo("of-bare"), true, 0.5}),
		allocs: "allocations/op", cpu: "cpu-µs/op",
		peers: []peer{
			bare("net/http handler, same codec", rate("bare-rate/s", players), "of-bare"),
			{name: "raw JetStream publisher, same bytes", figure: rate("journal-rate/s", players), ratio: "of-journal"},
		},
	}
}

// threeNodes is a row of calls that three nodes of one region answer.
func threeNodes(work, benchmark string) row {
	return row{
		work: work, benchmark: "Nodes/together/" + benchmark, figure: rate("rate/s", 25),
		goals:  []goal{{ratioTo("of-one"), true, 0.3}},
		allocs: "allocations/op", cpu: "cpu-µs/op",
		peers: []peer{oneNode(rate("one-rate/s", 25))},
	}
}

// oneNode is the peer that serves a region alone.
func oneNode(figure value) peer {
	return peer{"one node, the same calls", figure, "of-one", "of-one-by-cpu", "one-allocations/op", "one-cpu-µs/op"}
}

// withKey is a row of calls with a kind of access key, beside those with the root key, of which nothing is decided.
func withKey(work, kind string, leastByCPU float64) row {
	return row{
		work: "CreatePlayerSession, JSON, " + work, benchmark: "Access/calls", figure: rate(kind+"-rate/s", 1),
		goals:  []goal{{ratioTo(kind + "-of-root-by-cpu"), true, leastByCPU}},
		allocs: kind + "-allocations/op", cpu: kind + "-cpu-µs/op",
		peers: []peer{{"root key, not recorded", rate("root-rate/s", 1), kind + "-of-root", kind + "-of-root-by-cpu",
			"root-allocations/op", "root-cpu-µs/op"}},
	}
}

// decided is a row of what is decided about a call, in µs of processor time.
func decided(work, benchmark string, limit float64) row {
	figure := scaled("cpu-ns/decision", 1e-3, microseconds)
	return alone(work, "Decisions/"+benchmark, "", goal{figure, false, limit})
}

// sockets is a row over the sockets of server processes.
func sockets(work, benchmark string, g goal) row {
	peerFigure, ratio := rate("bare-rate/s", 1), "of-bare"
	if g.of.unit == "p99-ms" {
		peerFigure, ratio = ms("bare-p99-ms"), "of-bare-by-p99"
	}
	return row{
		work: work, benchmark: "Sockets/" + benchmark, figure: g.of, goals: []goal{g}, allocs: "allocations/op",
		cpu:   "cpu-µs/op",
		peers: []peer{bare("WebSocket and net/http server, same frames", peerFigure, ratio)},
	}
}

func searched(work, benchmark string, limit float64) row {
	return row{
		work: work, benchmark: "Search/1000000/" + benchmark, figure: ms("p99-ms"),
		goals:  []goal{{ms("p99-ms"), false, limit}},
		allocs: "quiet-allocations/op", cpu: "quiet-cpu-µs/op",
		peers: []peer{{"naive scan", ms("naive-p99-ms"), "of-naive", "of-naive-by-cpu", "naive-allocations/op",
			"naive-cpu-µs/op"}},
	}
}

// created is a row of create_session of the session gateway, by one of its quantiles.
func created(work, benchmark, quantile string) row {
	ratio := "of-polling-by-" + quantile
	return row{
		work: work + ", " + quantile, benchmark: "Gateway/" + benchmark, figure: ms(quantile + "-ms"),
		goals:  []goal{{ratioTo(ratio), true, 1}},
		allocs: "allocations/op", cpu: "cpu-µs/op",
		peers: []peer{{"gateway that polls the API, as the original", ms("polling-" + quantile + "-ms"), ratio,
			"of-polling-by-cpu", "polling-allocations/op", "polling-cpu-µs/op"}},
	}
}

// matcherAlone is a row of package matcher by itself.
func matcherAlone(work, benchmark string, figure, peerFigure value, goals ...goal) row {
	return row{
		work: work, benchmark: "Matcher/" + benchmark, figure: figure, goals: goals, allocs: "allocations/match",
		cpu: "cpu-µs/match",
		peers: []peer{{"naive matcher of the tests", peerFigure, "of-naive", "", "naive-allocations/match",
			"naive-cpu-µs/match"}},
	}
}

// exampleRows are those of rule sets after the examples of the FlexMatch guide: of a pool of 20,000 tickets that can be
// matched, and of one of which most cannot.
func exampleRows(sets ...string) (rows []row) {
	for _, set := range sets {
		for _, population := range []struct {
			name, words string
		}{{"fit", "20,000 tickets wait"}, {"misfits", "20,000 wait, 9 in 10 without a match"}} {
			rows = append(rows, alone("tickets taken in a CPU second, example "+set+", "+population.words,
				"Examples/"+set+"/"+population.name, "cpu-µs/op", goal{rate("tickets/s", 1), true, 5000}))
		}
	}
	return rows
}

// idleSocket is a row of the memory that a socket without work takes.
func idleSocket(work, unit, ratio string) row {
	figure := scaled(unit, 1, kibibytes)
	return row{
		work: work, benchmark: "IdleSockets/19000", figure: figure, goals: []goal{{figure, false, 16}},
		cpu: "cpu-µs/op",
		peers: []peer{{name: "WebSocket and net/http server, the same sockets",
			figure: scaled("bare-"+unit, 1, kibibytes), ratio: ratio}},
	}
}

// alone is a row without a peer.
func alone(work, benchmark, cpu string, g goal) row {
	return row{work: work, benchmark: benchmark, figure: g.of, goals: []goal{g}, cpu: cpu}
}

// past is a row of a history of a million ended game sessions.
func past(work, benchmark string, figure value, atLeast bool, limit float64) row {
	return alone(work, "HistoryAsked/"+benchmark, "", goal{figure, atLeast, limit})
}

// runs is the table. The runs are made one after the other, in about 25 minutes.
var runs = []run{
	{
		name: "player sessions over HTTP", pattern: "Reservations", operations: 60_000, rows: []row{
			reservations("CreatePlayerSessions, 25 players, JSON", "CreatePlayerSessions/json", 25,
				goal{rate("rate/s", 25), true, 100_000}),
			reservations("CreatePlayerSessions, 25 players, CBOR", "CreatePlayerSessions/cbor", 25,
				goal{rate("rate/s", 25), true, 100_000}),
			reservations("CreatePlayerSession, JSON", "CreatePlayerSession/json", 1),
			reservations("CreatePlayerSession, CBOR", "CreatePlayerSession/cbor", 1),
		},
	},
	{
		name: "access: calls", pattern: "^BenchmarkAccess$", operations: 60_000, rows: []row{
			withKey("key whose policy allows it always", "allowed", 0.99),
			withKey("key limited to one fleet", "limited", 0.99),
			withKey("root key, each call in the audit trail", "recorded", 0.97),
		},
	},
	{
		name: "access: decisions", pattern: "Decisions", operations: 12, rows: []row{
			decided("access: decision of a policy that allows the call always, CPU", "always", 1),
			decided("access: decision of a policy for one fleet, CPU", "one-fleet", 1),
			decided("access: temporary key that the node has not seen, CPU", "temporary-key-first", 3),
			decided("access: temporary key that the node has seen, CPU", "temporary-key-again", 1),
		},
	},
	{
		name: "three nodes", pattern: "Nodes/together", operations: 18_000, rows: []row{
			threeNodes("three nodes on the same cores: CreatePlayerSessions, 25 players, in 3 shards", "3"),
			threeNodes("three nodes on the same cores: CreatePlayerSessions, 25 players, in 12 shards", "12"),
		},
	},
	{
		name: "a call across nodes", pattern: "Nodes/forwarded", operations: 3000, rows: []row{{
			work:      "CreatePlayerSession of a node that does not own the shard, one after the other, p50",
			benchmark: "Nodes/forwarded", figure: ms("p50-ms"),
			allocs: "allocations/op", cpu: "cpu-µs/op",
			peers: []peer{
				{"the node that owns it", ms("owner-p50-ms"), "of-owner", "of-owner-by-cpu", "owner-allocations/op",
					"owner-cpu-µs/op"},
				oneNode(ms("one-p50-ms")),
			},
		}},
	},
	{
		name: "game sessions at saturation", pattern: "Sockets/sessions$", operations: idlePool, rows: []row{
			sockets("CreateGameSession → ACTIVE, 19,000 idle processes, saturation", "sessions",
				goal{rate("rate/s", 1), true, 5000}),
		},
	},
	{
		name: "game sessions at 1,000/s", pattern: "Sockets/sessions-at-1000", operations: idlePool, rows: []row{
			sockets("CreateGameSession → ACTIVE, 19,000 idle processes, 1,000/s, p99", "sessions-at-1000",
				goal{ms("p99-ms"), false, 10}),
		},
	},
	{
		name: "placements at saturation", pattern: "Sockets/placements$", operations: idlePool, rows: []row{
			sockets("StartGameSessionPlacement → FULFILLED, 19,000 idle processes, saturation", "placements",
				goal{rate("rate/s", 1), true, 5000}),
		},
	},
	{
		name: "placements at 1,000/s", pattern: "Sockets/placements-at-1000", operations: idlePool, rows: []row{
			sockets("StartGameSessionPlacement → FULFILLED, 19,000 idle processes, 1,000/s, p99", "placements-at-1000",
				goal{ms("p99-ms"), false, 15}),
		},
	},
	{
		name: "idle sockets", pattern: "IdleSockets", operations: idlePool, rows: []row{
			idleSocket("idle server process socket, of 19,000 that report their health: resident memory",
				"resident-KiB", "of-bare"),
			idleSocket("the same: heap and stacks in use", "heap-KiB", "of-bare-by-heap"),
		},
	},
	{
		name: "whole lives", pattern: "Sockets/lives", operations: 20_000, rows: []row{
			sockets("whole process lives", "lives", goal{rate("rate/s", 1), true, 1500}),
		},
	},
	{
		name: "acceptances", pattern: "Sockets/accept", operations: 200_000, rows: []row{
			sockets("AcceptPlayerSession over WebSocket, 64 × 8 in flight", "accept",
				goal{rate("rate/s", 1), true, 50_000}),
		},
	},
	{
		name: "matchmaking at 2,000/s", pattern: "Matchmaking/fives", operations: 60_000, rows: []row{{
			work:      "match possible → PLACING, 2 × 5 players, 10,000 tickets wait, 2,000/s come, p99",
			benchmark: "Matchmaking/fives", figure: ms("p99-ms"),
			goals:  []goal{{ms("p99-ms"), false, 50}, {scaled("backlog-ratio", 1, backlog), false, 1.05}},
			allocs: "allocations/op", cpu: "cpu-µs/op",
			peers: []peer{bare("net/http server, same frames, any ten tickets are a match", ms("bare-p99-ms"),
				"of-bare-by-p99")},
		}},
	},
	{
		name: "matcher, 2 × 5 players", pattern: "Matcher/fives", operations: 120_000, rows: []row{
			matcherAlone("tickets matched in a CPU second, 2 × 5 players, 10,000 tickets wait", "fives",
				rate("rate/s", 1), rate("naive-rate/s", 1)),
		},
	},
	{
		name: "matcher, 200 players", pattern: "Matcher/large", operations: 600, rows: []row{
			matcherAlone("a match of 200 players out of 5,000 tickets, CPU", "large",
				scaled("cpu-µs/match", 1e-3, milliseconds), scaled("naive-cpu-µs/match", 1e-3, milliseconds),
				goal{scaled("cpu-µs/match", 1e-3, milliseconds), false, 100}),
		},
	},
	{
		name: "matcher, example rule sets", pattern: "^BenchmarkExamples$", operations: 12_000, rows: exampleRows(
			"even-teams", "uneven-teams", "three-teams", "explicit-sorting", "preferred-opponents",
			"same-and-different",
			"large", "large-teams", "large-alike", "compound", "block-list",
		),
	},
	{
		name: "session gateway at 200/s", pattern: "Gateway/offered", operations: 6000, rows: []row{
			created("create_session → player session, 200/s", "offered", "p50"),
			created("create_session → player session, 200/s", "offered", "p99"),
		},
	},
	{
		name: "session gateway, one after the other", pattern: "Gateway/alone", operations: 1200, rows: []row{
			created("create_session → player session, one after the other", "alone", "p50"),
		},
	},
	{
		name: "searches", pattern: "Search/1000000/(available|selective|full)", each: 2 * time.Second, rows: []row{
			searched("search 1,000,000: free places by creation, p99", "available-by-creation", 5),
			searched("search 1,000,000: one property, p99", "selective-property", 5),
			searched("search 1,000,000: full scan, p99", "full-scan", 300),
		},
	},
	{
		name: "history, moving", pattern: "HistoryMoved", operations: 300_000, rows: []row{
			{
				work: "ended game sessions of nine players moved to the history, entries", benchmark: "HistoryMoved",
				figure: rate("rate/s", 1), goals: []goal{{rate("rate/s", 1), true, 200_000}}, cpu: "cpu-µs/op",
				peers: []peer{
					{name: "the same compressed batches to a stream alone", figure: rate("stream-rate/s", 1),
						ratio: "of-stream"},
					{name: "the same records, not compressed, to a stream alone",
						figure: rate("uncompressed-rate/s", 1), ratio: "of-uncompressed"},
					{name: "the same records to Pebble alone, each with 14 keys", figure: rate("library-rate/s", 1),
						ratio: "of-library"},
				},
			},
			alone("the same: disk of stream and index, as a multiple of the records", "HistoryMoved", "",
				goal{ratioTo("of-records"), false, 1.5}),
		},
	},
	{
		name: "history, beside calls", pattern: "HistoryBeside", operations: 30_000, rows: []row{{
			work:      "CreatePlayerSessions, 25 players, JSON, beside 20,000 entries/s to a history on the same disk",
			benchmark: "HistoryBeside/once", figure: rate("rate/s", 25),
			goals: []goal{{ratioTo("of-quiet"), true, 0.9}},
			peers: []peer{{name: "without", figure: rate("quiet-rate/s", 25), ratio: "of-quiet"}},
		}},
	},
	{
		name: "history, 1,000,000 game sessions", pattern: "HistoryAsked", operations: 40_000, rounds: 2, rows: []row{
			past("1,000,000 ended game sessions: memory for each further one", "once",
				scaled("memory-B/session", 1, bytesOf), false, 50),
			past("1,000,000 ended game sessions: one by the id of a player session, p99", "once", ms("session-p99-ms"),
				false, 5),
			past("1,000,000 ended game sessions: 100 of a fleet between two moments, p99", "once", ms("page-p99-ms"),
				false, 10),
			{
				work:      "1,000,000 ended game sessions: whether an id was used, p50",
				benchmark: "HistoryAsked/once", figure: scaled("absent-ns", 1e-3, microseconds),
				goals: []goal{{scaled("absent-ns", 1e-3, microseconds), false, 1.5}}, allocs: "absent-allocations/op",
			},
			past("1,000,000 ended game sessions: rebuild of the index, entries", "rebuild", rate("rate/s", 1), true,
				500_000),
		},
	},
	{
		name: "starts", pattern: "^BenchmarkStart$", rows: []row{
			alone("start to ready, empty directory", "Start", "", goal{ms("ready-ms"), false, 300}),
			alone("idle memory", "Start", "", goal{scaled("idle-MiB", 1, megabytes), false, 60}),
		},
	},
	{
		name: "restarts", pattern: "Restart", rows: []row{
			alone("restart, 1,000,000 players, journal alone", "Restart/journal", "cpu-µs/op",
				goal{ms("ready-ms"), false, 5000}),
			{
				work: "restart, 1,000,000 players: events replayed", benchmark: "Restart/replay",
				figure: rate("rate/s", 1),
				goals:  []goal{{rate("rate/s", 1), true, 500_000}}, cpu: "cpu-µs/op",
				peers: []peer{
					{name: "the same records, read and decoded", figure: rate("decoded-rate/s", 1),
						ratio: "of-decoded"},
					{name: "the same records, read", figure: rate("read-rate/s", 1), ratio: "of-read"},
				},
			},
			alone("restart, 1,000,000 players, snapshot", "Restart/snapshot", "cpu-µs/op",
				goal{ms("ready-ms"), false, 5000}),
		},
	},
}

// rowsOf are the rows that runs fill.
func rowsOf(runs []run) (rows []row) {
	for _, r := range runs {
		rows = append(rows, r.rows...)
	}
	return rows
}
