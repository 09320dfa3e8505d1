package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// An entity is a resource with values: a set of dimensions with their values. b is "" for one dimension. The two parts
// of a rule are one dimension.
type entity struct {
	set  set
	a, b string
}

func (e entity) compare(o entity) int {
	return cmp.Or(cmp.Compare(e.set, o.set), strings.Compare(e.a, o.a), strings.Compare(e.b, o.b))
}

// family returns the columns of the entity.
func (e entity) family() *family { return catalogue[e.set] }

// dimensions returns the dimensions of the entity's series.
func (e entity) dimensions() []Dimension {
	names := dimensions[e.set]
	if e.set == byRule {
		return []Dimension{{names[0], e.a + "-" + e.b}}
	}
	d := []Dimension{{names[0], e.a}}
	if len(names) == 2 {
		d = append(d, Dimension{names[1], e.b})
	}
	return d
}

// series calls visit with the series of an entity, and their columns.
func (e entity) series(visit func(Series, int)) {
	f := e.family()
	for i := range f.base {
		c := &f.columns[i]
		if c.name == "" || !slices.Contains(c.sets, e.set) {
			continue
		}
		if f == queues && i == placedAt {
			visit(Series{Metric: c.name + e.b, Dimensions: []Dimension{{dimensions[byQueue][0], e.a}}}, i)
			continue
		}
		visit(Series{Metric: c.name, Dimensions: e.dimensions()}, i)
	}
}

// find returns the column of a series, and its entities: one, or for a rule each way to divide its dimension. The order
// of dimensions does not matter, and MetricGroups is MetricGroup.
func find(s Series) (entities []entity, at int, ok bool) {
	values := map[string]string{}
	for _, d := range s.Dimensions {
		if d.Name == "MetricGroups" {
			d.Name = "MetricGroup"
		}
		values[d.Name] = d.Value
	}
	if location, placed := strings.CutPrefix(s.Metric, queues.columns[placedAt].name); placed && location != "" {
		name, ok := values[dimensions[byQueue][0]]
		return []entity{{byQueueLocation, name, location}}, placedAt, ok && len(s.Dimensions) == 1
	}
	for set := range setCount {
		names := dimensions[set]
		missing := slices.ContainsFunc(names, func(name string) bool { _, ok := values[name]; return !ok })
		if missing || len(names) != len(s.Dimensions) || len(names) != len(values) {
			continue
		}
		if at = columnNamed(set, s.Metric); at < 0 {
			continue
		}
		if set == byRule {
			return dividedRule(values[names[0]]), at, true
		}
		e := entity{set: set, a: values[names[0]]}
		if len(names) == 2 {
			e.b = values[names[1]]
		}
		return []entity{e}, at, true
	}
	return nil, 0, false
}

func columnNamed(in set, name string) int {
	return slices.IndexFunc(catalogue[in].columns, func(c column) bool {
		return c.name != "" && c.name == name && slices.Contains(c.sets, in)
	})
}

// dividedRule returns the configurations and rules that a dimension may name, because both may contain hyphens.
func dividedRule(value string) (entities []entity) {
	for i := range len(value) {
		if value[i] == '-' {
			entities = append(entities, entity{byRule, value[:i], value[i+1:]})
		}
	}
	return entities
}

// An aggregate sums up the samples of a column in a period. Count is 0 if there are none.
type aggregate struct{ sum, min, max, count float64 }

// sample returns the aggregate of one sample.
func sample(v float64) aggregate { return aggregate{v, v, v, 1} }

// then adds the samples of a later period.
func (a aggregate) then(b aggregate) aggregate {
	switch {
	case a.count == 0:
		return b
	case b.count == 0:
		return a
	}
	return aggregate{a.sum + b.sum, min(a.min, b.min), max(a.max, b.max), a.count + b.count}
}

// times is the aggregate of n periods that are equal.
func (a aggregate) times(n int) aggregate {
	a.sum *= float64(n)
	a.count *= float64(n)
	return a
}

// beside adds the samples of another part of the entity in the same period of at most full samples: what another node
// has recorded. If the numbers of samples show that one part followed the other, because a shard moved, they are added
// as periods. Minimum and maximum of parts are bounds of those of the sum.
func (a aggregate) beside(b aggregate, k kind, full float64) aggregate {
	switch {
	case a.count == 0:
		return b
	case b.count == 0:
		return a
	case k == duration || k == ratio || a.count+b.count <= full:
		return a.then(b)
	}
	return aggregate{a.sum + b.sum, a.min + b.min, a.max + b.max, max(a.count, b.count)}
}

// share returns a part in percent of a whole; NaN without a whole.
func share(part, whole float64) float64 {
	if whole <= 0 {
		return math.NaN()
	}
	return 100 * part / whole
}
