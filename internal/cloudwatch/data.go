package cloudwatch

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/muster-gg/muster/internal/cloudwatch/metricmath"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// maxDatapoints is how many points an answer of GetMetricData has. Source: API reference, GetMetricData.
	maxDatapoints = 100_800

	// maxComputed is how many points a call of GetMetricData may read and compute, in all its series and expressions.
	maxComputed = 5_000_000
)

func (h *Handler) getMetricData(ctx context.Context, in *getMetricDataInput) (*getMetricDataOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	from, err := in.position()
	if err != nil {
		return nil, err
	}
	d, err := h.newData(ctx, in)
	if err != nil {
		return nil, err
	}
	p := &page{left: int(in.MaxDatapoints.Or(maxDatapoints)), from: from, ascending: in.ScanBy == ascending,
		out: getMetricDataOutput{MetricDataResults: []metricDataResult{}}}
	for i := range in.MetricDataQueries {
		if !in.MetricDataQueries[i].ReturnData.Or(true) {
			continue
		}
		if err := d.addResults(p, d.queries[i]); err != nil {
			return nil, err
		}
	}
	p.out.Messages = d.messages
	if p.next != (position{}) {
		p.out.NextToken = token(in.query(), p.next.String())
	}
	return &p.out, nil
}

// The values of ScanBy.
const (
	ascending  = "TimestampAscending"
	descending = "TimestampDescending"
)

// queryID is an id of a query. Source: data type MetricDataQuery.
var queryID = regexp.MustCompile(`^[a-z][a-zA-Z0-9_]*$`)

func (in *getMetricDataInput) check() error {
	switch {
	case len(in.MetricDataQueries) == 0:
		return fault.New(validation, "The collection MetricDataQueries must not be empty.")
	case !in.StartTime.Before(in.EndTime):
		return fault.New(validation, "The parameter StartTime must be less than the parameter EndTime.")
	case in.ScanBy != "" && in.ScanBy != ascending && in.ScanBy != descending:
		return fault.New(validation, "The value %.64q for parameter ScanBy is invalid: it must be %s or %s.", in.ScanBy,
			descending, ascending)
	case in.MaxDatapoints.Or(1) < 1 || in.MaxDatapoints.Or(1) > maxDatapoints:
		return fault.New(validation, "The value %d for parameter MaxDatapoints is invalid: it must be 1 to %d.",
			in.MaxDatapoints.Or(0), maxDatapoints)
	case in.LabelOptions != nil && in.LabelOptions.Timezone != "" && unknownTimezone(in.LabelOptions.Timezone):
		return fault.New(validation, "The value %.64q for parameter LabelOptions.Timezone is invalid: it must have "+
			"the form +0130.", in.LabelOptions.Timezone)
	}
	returned := false
	for i := range in.MetricDataQueries {
		q := &in.MetricDataQueries[i]
		if err := in.checkQuery(q); err != nil {
			return err
		}
		returned = returned || q.ReturnData.Or(true)
	}
	if !returned {
		return fault.New(validation, "At least one of the MetricDataQueries must have no ReturnData, or the value "+
			"true.")
	}
	return nil
}

func (in *getMetricDataInput) checkQuery(q *metricDataQuery) error {
	switch {
	case !queryID.MatchString(q.Id):
		return fault.New(validation, "The value %.64q for parameter Id is invalid: it must begin with a lowercase "+
			"letter, and have letters, digits and underscores.", q.Id)
	case (q.MetricStat != nil) == (q.Expression != ""):
		return fault.New(validation, "The query %q must have either MetricStat or Expression.", q.Id)
	case q.MetricStat == nil:
		if period, ok := q.Period.Get(); ok {
			return in.checkPeriod(q.Id, period)
		}
		return nil
	case !offersStatistic(q.MetricStat.Stat):
		return fault.New(validation, noStatistic, q.MetricStat.Stat, "Stat")
	case q.Period.IsSet():
		return fault.New(validation, "The query %q must have the Period within MetricStat, not beside it.", q.Id)
	}
	period, _ := q.MetricStat.Period.Get()
	return in.checkPeriod(q.Id, period)
}

// checkPeriod also limits the points of one series.
func (in *getMetricDataInput) checkPeriod(id string, period int32) error {
	if err := checkPeriod(period, validation, "Period of query "+id); err != nil {
		return err
	}
	if n := pointsIn(in.StartTime, in.EndTime, int64(period)); n > maxDatapoints {
		return fault.New(validation, "The query %q asks for %d datapoints of a metric, which exceeds the limit of %d. "+
			"Increase Period, or decrease the time range.", id, n, maxDatapoints)
	}
	return nil
}

// query is what a token is bound to.
func (in *getMetricDataInput) query() []byte {
	q := *in
	q.NextToken = ""
	return opGetMetricData.AppendInput(nil, wire.CBOR, &q)
}

// A position is that of a point: the index of the series, in the order of the answer, and that of the point in it.
type position struct{ series, point int }

func (p position) String() string { return fmt.Sprintf("%d %d", p.series, p.point) }

// position returns where the page begins.
func (in *getMetricDataInput) position() (p position, err error) {
	if in.NextToken == "" {
		return p, nil
	}
	text, err := readToken(in.NextToken, in.query())
	if err == nil {
		_, err = fmt.Sscanf(text, "%d %d", &p.series, &p.point)
	}
	if err != nil || p.series < 0 || p.point < 0 {
		return p, fault.New(invalidNextToken, "The parameter NextToken is not from an answer to the same query. "+
			"Start again without it.")
	}
	return p, nil
}

// A page is the answer while it is made.
type page struct {
	out       getMetricDataOutput
	ascending bool
	from      position
	left      int      // points
	next      position // where the next page begins; zero: there is none
	series    int      // of all pages
}

// add adds what belongs to the page of a series.
func (p *page) add(r metricDataResult, s *metricmath.Series) {
	index := p.series
	p.series++
	first := 0
	switch {
	case p.next != (position{}) || index < p.from.series:
		return
	case index == p.from.series:
		first = min(p.from.point, len(s.Times))
	}
	if p.left == 0 {
		p.next = position{index, first}
		return
	}
	count := min(len(s.Times)-first, p.left)
	r.Timestamps, r.Values = make([]time.Time, count), make([]float64, count)
	for i := range count {
		at := first + i
		if !p.ascending {
			at = len(s.Times) - 1 - at
		}
		r.Timestamps[i], r.Values[i] = time.Unix(s.Times[at], 0).UTC(), s.Values[at]
	}
	p.left -= count
	if first+count < len(s.Times) {
		p.next = position{index, first + count}
		r.StatusCode = "PartialData"
	}
	p.out.MetricDataResults = append(p.out.MetricDataResults, r)
}

// addResults adds the results of a query.
func (d *data) addResults(p *page, q *dataQuery) error {
	v, err := d.value(q)
	if err != nil {
		return err
	}
	if v.Kind == metricmath.Number {
		return q.wrong("the result is a number: a result must be a time series, such as that of TIME_SERIES(number)")
	}
	for i := range v.Series {
		s := &v.Series[i]
		r := metricDataResult{Id: q.in.Id, Label: d.label(q, v.Kind, s), StatusCode: "Complete"}
		if q.forbidden {
			r.StatusCode = "Forbidden"
		}
		if q.dropped {
			r.Messages = []messageData{{"ArithmeticError", "One or more data-points have been dropped due to " +
				"non-numeric values (NaN, -Infinite, +Infinite)"}}
		}
		p.add(r, s)
	}
	return nil
}

// wrong is the error of the query's expression.
func (q *dataQuery) wrong(message string) error {
	return fault.New(validation, "Error in expression '%s': %s", q.in.Id, message)
}
