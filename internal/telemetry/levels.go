package telemetry

import "github.com/prometheus/client_golang/prometheus"

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
