package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// levels asks for the region's numbers at each scrape, once for all of them.
type levels struct {
	ask   func() (Levels, bool) // false: not known at the moment
	descs []*prometheus.Desc
	of    []func(Levels) int
}

// Levels adds the gauges of what is there. ask may take a moment; false leaves
// the gauges out of a scrape.
func (m *Metrics) Levels(ask func() (Levels, bool)) {
	l := &levels{ask: ask}
	for _, g := range []struct {
		name, help string
		of         func(Levels) int
	}{
		{"muster_computes", "Registered computes.", func(l Levels) int { return l.Computes }},
		{"muster_server_processes", "Server processes that are ready or host a game session.", func(l Levels) int { return l.ServerProcesses }},
		{"muster_server_processes_idle", "Server processes that wait for a game session.", func(l Levels) int { return l.IdleServerProcesses }},
		{"muster_game_sessions_activating", "Game sessions in ACTIVATING.", func(l Levels) int { return l.ActivatingGameSessions }},
		{"muster_game_sessions_active", "Game sessions in ACTIVE or TERMINATING.", func(l Levels) int { return l.ActiveGameSessions }},
		{"muster_player_sessions", "Player sessions in RESERVED or ACTIVE.", func(l Levels) int { return l.PlayerSessions }},
		{"muster_player_sessions_maximum", "Places in all game sessions that are not over.", func(l Levels) int { return l.MaximumPlayerSessions }},
	} {
		l.descs = append(l.descs, prometheus.NewDesc(g.name, g.help, nil, nil))
		l.of = append(l.of, g.of)
		m.definitions = append(m.definitions, Definition{Name: g.name, Kind: "gauge", Help: g.help})
	}
	m.registry.MustRegister(l)
}

// Describe lists the gauges.
func (l *levels) Describe(to chan<- *prometheus.Desc) {
	for _, d := range l.descs {
		to <- d
	}
}

// Collect asks and sends the values.
func (l *levels) Collect(to chan<- prometheus.Metric) {
	now, ok := l.ask()
	if !ok {
		return
	}
	for i, d := range l.descs {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(l.of[i](now)))
	}
}

// A Place is what one node is in its cluster.
type Place struct {
	Owned   []bool // by shard: this node owns it
	Members int    // nodes of the cluster that live, this one included
}

// place asks for the node's place at each scrape.
type place struct {
	ask            func() Place
	owned, members *prometheus.Desc
}

// Place adds the gauges of what this node is in its cluster. ask must not wait.
func (m *Metrics) Place(ask func() Place) {
	p := &place{ask: ask}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		m.definitions = append(m.definitions, Definition{Name: name, Kind: "gauge", Help: help, Labels: labels})
		return prometheus.NewDesc(name, help, labels, nil)
	}
	p.owned = describe("muster_shard_owned", "1 when this node owns the shard, 0 when another one does.", "shard")
	p.members = describe("muster_cluster_nodes", "Nodes of the cluster that live, as this one knows them; 1 without a cluster.")
	m.registry.MustRegister(p)
}

// Describe lists the gauges.
func (p *place) Describe(to chan<- *prometheus.Desc) {
	to <- p.owned
	to <- p.members
}

// Collect asks and sends the values.
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
