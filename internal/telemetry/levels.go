package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges collects several numbers with one question per scrape.
type gauges[T any] struct {
	ask   func() (T, bool) // false: not known at present
	descs []*prometheus.Desc
	of    []func(T) float64
}

// A gauge is one of them.
type gauge[T any] struct {
	of         func(T) float64
	name, help string
}

func register[T any](m *Metrics, ask func() (T, bool), all []gauge[T]) {
	g := &gauges[T]{ask: ask}
	for _, one := range all {
		g.descs = append(g.descs, prometheus.NewDesc(one.name, one.help, nil, nil))
		g.of = append(g.of, one.of)
		m.definitions = append(m.definitions, Definition{Name: one.name, Kind: "gauge", Help: one.help})
	}
	m.registry.MustRegister(g)
}

func (g *gauges[T]) Describe(to chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		to <- d
	}
}

func (g *gauges[T]) Collect(to chan<- prometheus.Metric) {
	now, ok := g.ask()
	if !ok {
		return
	}
	for i, d := range g.descs {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, g.of[i](now))
	}
}

// Levels adds the gauges of the region. ask may block briefly; false omits the gauges from a scrape.
func (m *Metrics) Levels(ask func() (Levels, bool)) {
	register(m, ask, []gauge[Levels]{
		{func(l Levels) float64 { return float64(l.Computes) }, "muster_computes", "Registered computes."},
		{func(l Levels) float64 { return float64(l.ServerProcesses) }, "muster_server_processes",
			"Server processes that are ready or host a game session."},
		{func(l Levels) float64 { return float64(l.IdleServerProcesses) }, "muster_server_processes_idle",
			"Server processes that wait for a game session."},
		{func(l Levels) float64 { return float64(l.ActivatingGameSessions) }, "muster_game_sessions_activating",
			"Game sessions in ACTIVATING."},
		{func(l Levels) float64 { return float64(l.ActiveGameSessions) }, "muster_game_sessions_active",
			"Game sessions in ACTIVE or TERMINATING."},
		{func(l Levels) float64 { return float64(l.PlayerSessions) }, "muster_player_sessions",
			"Player sessions in RESERVED or ACTIVE."},
		{func(l Levels) float64 { return float64(l.MaximumPlayerSessions) }, "muster_player_sessions_maximum",
			"Player slots of all game sessions that have not ended."},
	})
}

// A MachineCount is the number of machines at a location with a status.
type MachineCount struct {
	Location, Status string
	Machines         int
}

// A machineGauge collects the numbers of machines.
type machineGauge struct {
	count func() []MachineCount
	desc  *prometheus.Desc
}

// Machines adds the gauge of machines. count returns each location and status once, and may block briefly.
func (m *Metrics) Machines(count func() []MachineCount) {
	const name, help = "muster_machines", "Machines that have joined: ONLINE, RECONNECTING or LOST."
	labels := []string{"location", "status"}
	m.definitions = append(m.definitions, Definition{Name: name, Kind: "gauge", Help: help, Labels: labels})
	m.registry.MustRegister(&machineGauge{count, prometheus.NewDesc(name, help, labels, nil)})
}

func (g *machineGauge) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

func (g *machineGauge) Collect(to chan<- prometheus.Metric) {
	for _, c := range g.count() {
		to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(c.Machines), c.Location, c.Status)
	}
}

// A History describes the history of what has ended, as a node sees it.
type History struct {
	Bytes      uint64        // of the history in the journal
	Age        time.Duration // of its oldest batch; 0: there is none
	IndexBytes uint64        // on the disk of this node
	Behind     uint64        // batches that the index of this node does not have
	Entries    uint64        // of the index of this node
	Overdue    int           // records in memory that should be in the history
}

// History adds the gauges of the history, like Levels.
func (m *Metrics) History(ask func() (History, bool)) {
	register(m, ask, []gauge[History]{
		{func(h History) float64 { return float64(h.Bytes) }, "muster_history_bytes",
			"Size of the history of ended game sessions, player sessions, placements and tickets."},
		{func(h History) float64 { return h.Age.Seconds() }, "muster_history_age_seconds",
			"Age of the oldest batch of the history."},
		{func(h History) float64 { return float64(h.IndexBytes) }, "muster_history_index_bytes",
			"Size of this node's index of the history."},
		{func(h History) float64 { return float64(h.Behind) }, "muster_history_index_behind",
			"Batches of the history that this node's index does not have yet."},
		{func(h History) float64 { return float64(h.Entries) }, "muster_history_entries",
			"Entries of the history in this node's index: game sessions, placements and tickets, and player sessions " +
				"that left memory before their game session."},
		{func(h History) float64 { return float64(h.Overdue) }, "muster_history_overdue",
			"Records that ended and should have left memory for the history a minute ago or more."},
	})
}

// A Machine describes the machine of a node.
type Machine struct {
	DiskFree       uint64 // bytes; 0: unknown, or none
	CertificateEnd time.Time
}

// Machine adds the gauges of this node's machine, like Levels.
func (m *Metrics) Machine(ask func() (Machine, bool)) {
	register(m, ask, []gauge[Machine]{
		{func(d Machine) float64 { return float64(d.DiskFree) }, "muster_disk_free_bytes",
			"Space for the service on the disk of its data directory."},
		{func(d Machine) float64 { return float64(d.CertificateEnd.Unix()) },
			"muster_certificate_expiry_timestamp_seconds",
			"When the certificate of the service's port expires, in seconds since 1970."},
	})
}

// A Place is the state of one node in its cluster.
type Place struct {
	Owned   []bool // by shard
	Members int    // live nodes, including this one
}

type place struct {
	ask            func() Place
	owned, members *prometheus.Desc
}

// Place adds the gauges of this node in its cluster. ask must not block.
func (m *Metrics) Place(ask func() Place) {
	p := &place{ask: ask}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		m.definitions = append(m.definitions, Definition{Name: name, Kind: "gauge", Help: help, Labels: labels})
		return prometheus.NewDesc(name, help, labels, nil)
	}
	p.owned = describe("muster_shard_owned", "1 when this node owns the shard, 0 when another one does.", "shard")
	p.members = describe("muster_cluster_nodes", "Live nodes of the cluster, as seen by this one; 1 without a cluster.")
	m.registry.MustRegister(p)
}

func (p *place) Describe(to chan<- *prometheus.Desc) {
	to <- p.owned
	to <- p.members
}

func (p *place) Collect(to chan<- prometheus.Metric) {
	now := p.ask()
	for i, owned := range now.Owned {
		value := 0.0
		if owned {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(p.owned, prometheus.GaugeValue, value, strconv.Itoa(i))
	}
	to <- prometheus.MustNewConstMetric(p.members, prometheus.GaugeValue, float64(now.Members))
}
