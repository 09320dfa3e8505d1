package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// levels collects the region's numbers, once per scrape.
type levels struct {
	ask   func() (Levels, bool) // false: not known at present
	descs []*prometheus.Desc
	of    []func(Levels) int
}

// Levels adds the gauges of the region. ask may block briefly; false omits the gauges from a scrape.
func (m *Metrics) Levels(ask func() (Levels, bool)) {
	l := &levels{ask: ask}
	for _, g := range []struct {
		of         func(Levels) int
		name, help string
	}{
		{func(l Levels) int { return l.Computes }, "muster_computes", "Registered computes."},
		{func(l Levels) int { return l.ServerProcesses }, "muster_server_processes",
			"Server processes that are ready or host a game session."},
		{func(l Levels) int { return l.IdleServerProcesses }, "muster_server_processes_idle",
			"Server processes that wait for a game session."},
		{func(l Levels) int { return l.ActivatingGameSessions }, "muster_game_sessions_activating",
			"Game sessions in ACTIVATING."},
		{func(l Levels) int { return l.ActiveGameSessions }, "muster_game_sessions_active",
			"Game sessions in ACTIVE or TERMINATING."},
		{func(l Levels) int { return l.PlayerSessions }, "muster_player_sessions",
			"Player sessions in RESERVED or ACTIVE."},
		{func(l Levels) int { return l.MaximumPlayerSessions }, "muster_player_sessions_maximum",
			"Player slots of all game sessions that have not ended."},
	} {
		l.descs = append(l.descs, prometheus.NewDesc(g.name, g.help, nil, nil))
		l.of = append(l.of, g.of)
		m.definitions = append(m.definitions, Definition{Name: g.name, Kind: "gauge", Help: g.help})
	}
	m.registry.MustRegister(l)
}

// Describe implements prometheus.Collector.
func (l *levels) Describe(to chan<- *prometheus.Desc) {
	for _, d := range l.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (l *levels) Collect(to chan<- prometheus.Metric) {
	now, ok := l.ask()
	if !ok {
		return
	}
	for i, d := range l.descs {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(l.of[i](now)))
	}
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

// Describe implements prometheus.Collector.
func (p *place) Describe(to chan<- *prometheus.Desc) {
	to <- p.owned
	to <- p.members
}

// Collect implements prometheus.Collector.
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
