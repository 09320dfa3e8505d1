package cloudwatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/cloudwatch/metricmath"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A data is a call of GetMetricData. It is the environment of its expressions.
type data struct {
	h        *Handler
	ctx      context.Context //nolint:containedctx // of the call
	in       *getMetricDataInput
	queries  []*dataQuery
	byID     map[string]*dataQuery
	listed   []metrics.Series // for searches; nil: not read yet
	left     int              // points that may be computed
	zone     *time.Location   // of labels
	messages []messageData

	running *dataQuery // whose expression is evaluated
}

// A dataQuery is a query of the call.
type dataQuery struct {
	in         *metricDataQuery
	expression *metricmath.Expression // nil: a metric
	state      queryState
	value      metricmath.Value
	dropped    bool // points that are no numbers
	forbidden  bool // it is about another account
}

type queryState int

const (
	waiting queryState = iota
	running            // an expression that refers to itself meets this
	known
)

// newData parses the expressions of a call.
func (h *Handler) newData(ctx context.Context, in *getMetricDataInput) (*data, error) {
	d := &data{h: h, ctx: ctx, in: in, byID: map[string]*dataQuery{}, left: maxComputed, zone: time.UTC}
	if in.LabelOptions != nil && in.LabelOptions.Timezone != "" {
		at, err := time.Parse("-0700", in.LabelOptions.Timezone)
		if err != nil {
			return nil, err
		}
		d.zone = at.Location()
	}
	for i := range in.MetricDataQueries {
		q := &dataQuery{in: &in.MetricDataQueries[i]}
		if d.byID[q.in.Id] != nil {
			return nil, fault.New(validation, "The id %q of the MetricDataQueries is not unique.", q.in.Id)
		}
		if q.in.MetricStat == nil {
			var err error
			if q.expression, err = metricmath.Parse(q.in.Expression); err != nil {
				return nil, q.wrong(err.Error())
			}
		}
		d.byID[q.in.Id], d.queries = q, append(d.queries, q)
	}
	return d, nil
}

// value returns the value of a query. It is computed once.
func (d *data) value(q *dataQuery) (metricmath.Value, error) {
	switch q.state {
	case known:
		return q.value, nil
	case running:
		return metricmath.Value{}, q.wrong("it refers to itself")
	}
	q.state = running
	before := d.running
	d.running = q
	err := d.compute(q)
	d.running = before
	q.state = known
	if at, ok := errors.AsType[*metricmath.Error](err); ok {
		err = q.wrong(at.Error())
	}
	return q.value, err
}

func (d *data) compute(q *dataQuery) (err error) {
	if q.expression != nil {
		q.value, q.dropped, err = q.expression.Eval(d)
		return err
	}
	stat := q.in.MetricStat
	period, _ := stat.Period.Get()
	s := metricmath.Series{Label: stat.Metric.MetricName, Metric: seriesOf(stat.Metric), Stat: stat.Stat,
		Period: int64(period)}
	q.forbidden = q.in.AccountId != "" && q.in.AccountId != d.h.Account
	if !q.forbidden {
		err = d.fetch(&s, stat.Metric, stat.Unit)
	}
	q.value = metricmath.Of(s)
	return err
}

// fetch reads the points of a series.
func (d *data) fetch(s *metricmath.Series, m *metric, unit string) error {
	if err := d.Spend(int(pointsIn(d.in.StartTime, d.in.EndTime, s.Period)) + 1); err != nil {
		return err
	}
	if err := d.h.checkStatistic(m, s.Stat, "Stat", validation); err != nil {
		return err
	}
	r := &reading{m, unit, d.in.StartTime, d.in.EndTime, int32(s.Period)}
	if q, ok := metrics.Percentile(s.Stat); ok {
		values, err := d.h.quantiles(d.ctx, r, q)
		for _, v := range values {
			s.Times, s.Values = append(s.Times, v.At.Unix()), append(s.Values, v.Value)
		}
		return err
	}
	points, err := d.h.points(d.ctx, r)
	if err != nil {
		return err
	}
	s.Times, s.Values = make([]int64, len(points)), make([]float64, len(points))
	for i := range points {
		s.Times[i], s.Values[i] = points[i].At.Unix(), metrics.Statistic(s.Stat)(&points[i])
	}
	return nil
}

// Query returns the value of another query.
func (d *data) Query(id string) (v metricmath.Value, ok bool, err error) {
	q := d.byID[id]
	if q == nil {
		return v, false, nil
	}
	v, err = d.value(q)
	d.running.dropped = d.running.dropped || q.dropped
	return v, true, err
}

// Metrics returns the series of queries that are metrics.
func (d *data) Metrics(containing string) (all []metricmath.Series, err error) {
	for _, q := range d.queries {
		if q.expression != nil || !strings.Contains(q.in.Id, containing) {
			continue
		}
		v, err := d.value(q)
		if err != nil {
			return nil, err
		}
		all = append(all, v.Series...)
	}
	return all, nil
}

// maxFound is how many series a search returns.
const maxFound = 500

// Search returns the series that match a search.
func (d *data) Search(search *metricmath.Search, stat string, period int64) (found []metricmath.Series, err error) {
	if !offersStatistic(stat) {
		return nil, fault.New(validation, noStatistic, stat, "of SEARCH")
	}
	if err := d.in.checkPeriod(d.running.in.Id, int32(period)); err != nil {
		return nil, err
	}
	if d.listed == nil {
		d.listed = d.h.Store.List(false)
	}
	for _, each := range d.listed {
		if !search.Match(&metricmath.Subject{Namespace: Namespace, Account: d.h.Account, Series: each}) {
			continue
		}
		if len(found) == maxFound {
			d.messages = append(d.messages, messageData{"MaxMetricsExceeded", fmt.Sprintf("The search of query %s "+
				"finds more than %d metrics; the others are left out. Use a narrower search. "+
				"", d.running.in.Id, maxFound)})
			break
		}
		found = append(found, metricmath.Series{Metric: each, Stat: stat, Period: period})
	}
	labelFound(found)
	for i := range found {
		m := shapeOf(found[i].Metric)
		if err := d.fetch(&found[i], &m, ""); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Grid returns the times of the call, aligned to a period.
func (d *data) Grid(period int64) (from, to int64) {
	return align(d.in.StartTime, period), d.in.EndTime.Add(time.Second - 1).Unix()
}

// defaultPeriod is the period, in seconds, of expressions that have none and use no metric.
const defaultPeriod = 60

// Period returns the period of the query's expression.
func (d *data) Period() int64 {
	period := int64(d.running.in.Period.Or(defaultPeriod))
	if n := pointsIn(d.in.StartTime, d.in.EndTime, period); n > maxDatapoints && !d.running.in.Period.IsSet() {
		return maxPeriod
	}
	return period
}

// Spend limits the points that are computed.
func (d *data) Spend(points int) error {
	if d.left -= points; d.left < 0 {
		return fault.New(validation, "The queries need more than %d datapoints to be read and computed. Increase "+
			"Period, decrease the time range, or send fewer queries.", maxComputed)
	}
	return d.ctx.Err()
}
