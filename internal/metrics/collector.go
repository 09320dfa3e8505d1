package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// A snapshot is what Prometheus shows: values that are durable.
type snapshot struct{ entities []shownEntity }

// A shownEntity has the last sample of an entity, nil if this node has none, and its totals.
type shownEntity struct {
	entity
	now, totals []aggregate
}

// A Definition describes a metric of Prometheus, for the reference.
type Definition struct {
	Name, Kind, Help string
	Labels           []string
}

// A shownColumn is a column of a set with its description.
type shownColumn struct {
	at    int
	desc  *prometheus.Desc
	value string // of the column's own label; "": it has none
}

// A Collector shows the newest durable values to Prometheus: those of the shards that this node owns. In a cluster the
// region's values are the sums of all nodes'.
type Collector struct {
	recorder    *Recorder
	fleetLimit  int
	columns     [setCount][]shownColumn
	definitions []Definition
}

// NewCollector returns a collector. If there are more fleets than fleetLimit, it leaves out the metrics of fleets; 0 is
// no limit. recorder may be nil, for Definitions alone.
func NewCollector(recorder *Recorder, fleetLimit int) *Collector {
	c := &Collector{recorder: recorder, fleetLimit: fleetLimit}
	descs := map[string]*prometheus.Desc{}
	for set := range setCount {
		if labels[set] == nil {
			continue
		}
		for i := range catalogue[set].columns {
			column := &catalogue[set].columns[i]
			if column.shown == "" || column.shownIn(catalogue[set]) != set {
				continue
			}
			label, value, own := strings.Cut(column.label, "=")
			if descs[column.shown] == nil {
				names := labels[set][:len(labels[set]):len(labels[set])]
				if own {
					names = append(names, label)
				}
				descs[column.shown] = prometheus.NewDesc(column.shown, column.title(), names, nil)
				c.definitions = append(c.definitions,
					Definition{column.shown, kindName(column.kind), column.title(), names})
			}
			c.columns[set] = append(c.columns[set], shownColumn{i, descs[column.shown], value})
		}
	}
	return c
}

func kindName(k kind) string {
	switch k {
	case counter:
		return "counter"
	case duration:
		return "histogram"
	default:
		return "gauge"
	}
}

// Definitions returns the metrics in the order of the catalogue.
func (c *Collector) Definitions() []Definition { return c.definitions }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for set := range setCount {
		var last *prometheus.Desc
		for _, column := range c.columns[set] {
			if column.desc != last {
				to <- column.desc
			}
			last = column.desc
		}
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	shown := c.recorder.shown.Load()
	if shown == nil {
		return
	}
	fleets := c.withFleets(shown)
	for i := range shown.entities {
		e := &shown.entities[i]
		if e.set == byFleetLocation && !fleets {
			continue
		}
		for _, column := range c.columns[e.set] {
			e.collect(column, to)
		}
	}
}

// withFleets reports whether there are few enough fleets to show them.
func (c *Collector) withFleets(shown *snapshot) bool {
	if c.fleetLimit == 0 {
		return true
	}
	ids := map[string]struct{}{}
	for i := range shown.entities {
		if e := &shown.entities[i]; e.set == byFleetLocation {
			ids[e.a] = struct{}{}
		}
	}
	return len(ids) <= c.fleetLimit
}

func (e *shownEntity) collect(column shownColumn, to chan<- prometheus.Metric) {
	values := []string{e.a, e.b}[:len(labels[e.set])]
	if column.value != "" {
		values = append(values, column.value)
	}
	f := e.family()
	switch f.columns[column.at].kind {
	case counter:
		to <- prometheus.MustNewConstMetric(column.desc, prometheus.CounterValue, e.totals[column.at].sum, values...)
	case duration:
		e.histogram(f, column, values, to)
	default:
		if e.now != nil {
			to <- prometheus.MustNewConstMetric(column.desc, prometheus.GaugeValue, e.now[column.at].sum, values...)
		}
	}
}

func (e *shownEntity) histogram(f *family, column shownColumn, values []string, to chan<- prometheus.Metric) {
	buckets := make(map[float64]uint64, len(f.bounds))
	below, first := uint64(0), f.buckets(column.at)
	for i, bound := range f.bounds {
		below += uint64(e.totals[first+i].sum)
		buckets[bound] = below
	}
	all := e.totals[column.at]
	to <- prometheus.MustNewConstHistogram(column.desc, uint64(all.count), all.sum, buckets, values...)
}
