package telemetry

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of what one process may have.
const (
	maxSeries  = 200
	maxMembers = 1000 // of a set
)

// A series is the values of one process with one name and the same tags.
type series struct {
	name    string // for Prometheus
	kind    kind
	session string // the game session of the newest value; "": none
	tags    []tag
	count   float64 // of values
	sum     float64
	last    float64
	members map[string]struct{} // of a set
}

// add adds the values of a sample.
func (s *series) add(v *sample, session string) {
	s.session = session
	if v.kind == set {
		if len(s.members) < maxMembers {
			s.members[v.member] = struct{}{}
		}
		return
	}
	for _, value := range v.values {
		s.count += v.weight
		s.sum += value * v.weight
		s.last = value
	}
}

// key identifies the series of a sample within its process.
func (s *sample) key() string {
	var b strings.Builder
	b.WriteByte(byte(s.kind))
	b.WriteString(s.name)
	for _, t := range s.tags {
		b.WriteByte('|')
		b.WriteString(t.name)
		b.WriteByte(':')
		b.WriteString(t.value)
	}
	return b.String()
}

// newSeries returns the series of a sample, without its values.
func (s *sample) newSeries() *series {
	return &series{name: metricName(s.name, s.kind), kind: s.kind, tags: s.tags, members: map[string]struct{}{}}
}

// metric returns the series for Prometheus.
func (s *series) metric(process string) (prometheus.Metric, error) {
	labels := prometheus.Labels{"process": process, "game_session": s.session}
	for _, t := range s.tags {
		labels["tag_"+clean(t.name)] = strings.ToValidUTF8(t.value, "\uFFFD")
	}
	names := make([]string, 0, len(labels))
	values := make([]string, 0, len(labels))
	for name, value := range labels {
		names, values = append(names, name), append(values, value)
	}
	desc := prometheus.NewDesc(s.name, "Sent by a game server.", names, nil)
	switch s.kind {
	case counter:
		return prometheus.NewConstMetric(desc, prometheus.CounterValue, s.sum, values...)
	case timing:
		return prometheus.NewConstSummary(desc, uint64(s.count), s.sum, nil, values...)
	case set:
		return prometheus.NewConstMetric(desc, prometheus.GaugeValue, float64(len(s.members)), values...)
	case gauge:
	}
	return prometheus.NewConstMetric(desc, prometheus.GaugeValue, s.last, values...)
}

// metricName returns the name of a metric: game_ and the name that the game has chosen, with underscores for what
// Prometheus does not allow. The kind is part of it where one name would have two kinds otherwise.
func metricName(name string, k kind) string {
	name = "game_" + clean(name)
	if k == counter && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	if k == set {
		name += "_distinct"
	}
	if k == timing {
		name += "_values"
	}
	return name
}

// clean replaces what names in Prometheus may not have.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}
