package metricmath_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/cloudwatch/metricmath"
	"github.com/muster-gg/muster/internal/metrics"
)

var errSpent = errors.New("too many points")

// env is a request with the queries m1, m2 and short, from 0 to 300 seconds.
type env struct{ budget int }

var series = map[string]metricmath.Series{
	"m1":    one("m1", "ActiveGameSessions", []int64{0, 60, 120, 180, 240}, []float64{1, 2, 3, 4, 5}),
	"m2":    one("m2", "ActiveGameSessions", []int64{60, 120, 240}, []float64{10, 0, 30}),
	"empty": one("empty", "IdleInstances", nil, nil),
}

func one(label, metric string, times []int64, values []float64) metricmath.Series {
	return metricmath.Series{Label: label, Period: 60, Times: times, Values: values,
		Metric: metrics.Series{Metric: metric}}
}

func (e *env) Query(id string) (metricmath.Value, bool, error) {
	s, ok := series[id]
	return metricmath.Of(s), ok, nil
}

func (e *env) Metrics(containing string) (all []metricmath.Series, err error) {
	for _, id := range []string{"m1", "m2", "empty"} {
		if strings.Contains(id, containing) {
			all = append(all, series[id])
		}
	}
	return all, nil
}

func (e *env) Search(*metricmath.Search, string, int64) ([]metricmath.Series, error) {
	return e.Metrics("m")
}

func (e *env) Grid(int64) (from, to int64) { return 0, 300 }
func (e *env) Period() int64               { return 60 }

func (e *env) Spend(points int) error {
	if e.budget -= points; e.budget < 0 {
		return errSpent
	}
	return nil
}

// show is a value in one line: a number, or "time=value" of each series.
func show(v metricmath.Value, dropped bool) string {
	var parts []string
	if v.Kind == metricmath.Number {
		parts = append(parts, fmt.Sprint(v.Number))
	}
	for _, s := range v.Series {
		var points []string
		for i := range s.Times {
			points = append(points, fmt.Sprintf("%d=%.4g", s.Times[i], s.Values[i]))
		}
		parts = append(parts, strings.Join(points, " "))
	}
	if dropped {
		parts = append(parts, "dropped")
	}
	return strings.Join(parts, " | ")
}

func TestEval(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"1 + 2 * 3 - 4 / 2", "5"},
		{"-2 ^ 2", "-4"},
		{"(1 + 2) * -3", "-9"},
		{"2 - 1 - 1", "0"},
		{"m1", "0=1 60=2 120=3 180=4 240=5"},
		{"m1 * 10", "0=10 60=20 120=30 180=40 240=50"},
		{"10 - m1", "0=9 60=8 120=7 180=6 240=5"},
		{"m1 + m2", "60=12 120=3 240=35"},
		{"m1 / m2", "60=0.2 240=0.1667 | dropped"},
		{"SUM(m1)", "15"}, {"AVG(m1)", "3"}, {"min(m1)", "1"}, {"Max(m1)", "5"},
		{"m1 / SUM(m1) * 15", "0=1 60=2 120=3 180=4 240=5"},
		{"m1 * SUM(empty)", " | dropped"},
		{"SUM(METRICS())", "0=1 60=12 120=3 180=4 240=35"},
		{"AVG([m1, m2])", "0=1 60=6 120=1.5 180=4 240=17.5"},
		{"MAX(METRICS('m'))", "0=1 60=10 120=3 180=4 240=30"},
		{"METRICS() * 2", "0=2 60=4 120=6 180=8 240=10 | 60=20 120=0 240=60 | "},
		{"m2 + METRICS('1')", "60=12 120=3 240=35"},
		{"METRIC_COUNT(METRICS())", "3"},
		{"METRIC_COUNT(REMOVE_EMPTY(METRICS()))", "2"},
		{"FILL(m2, 0)", "0=0 60=10 120=0 180=0 240=30"},
		{"FILL(m2, REPEAT)", "60=10 120=0 180=0 240=30"},
		{"FILL(m2, LINEAR)", "60=10 120=0 180=15 240=30"},
		{"FILL(m2, m1)", "0=1 60=10 120=0 180=4 240=30"},
		{"FILL(empty, 7)", "0=7 60=7 120=7 180=7 240=7"},
		{"RATE(m2)", "120=-0.1667 240=0.25"},
		{"DIFF(m1)", "60=1 120=1 180=1 240=1"},
		{"ABS(m1 - 3)", "0=2 60=1 120=0 180=1 240=2"},
		{"CEIL(1.2) + FLOOR(1.8)", "3"},
		{"PERIOD(m1)", "60"},
		{"TIME_SERIES(PERIOD(m1) / 6)", "0=10 60=10 120=10 180=10 240=10"},
		{`SUM(SEARCH('{AWS/GameLift,FleetId} MetricName="A"', 'Average', 60))`, "0=1 60=12 120=3 180=4 240=35"},
	} {
		x, err := metricmath.Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		v, dropped, err := x.Eval(&env{budget: 1000})
		if got := show(v, dropped); err != nil || got != tt.want {
			t.Errorf("%s is %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
	if got := series["m1"].Values; !slices.Equal(got, []float64{1, 2, 3, 4, 5}) {
		t.Error("evaluation changed a series:", got)
	}
}

// TestErrors holds that errors name the position and what is wrong there.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "at position 1: expected a number, an id or a function instead of the end"},
		{"m1 +", "at position 5: expected a number"},
		{"m1 m2", "at position 4: unexpected 'm2'"},
		{"m1 # m2", "at position 4: unexpected character '#'"},
		{"1.2.3", "at position 1: '1.2.3' is no number"},
		{"(m1", "at position 4: expected ')' instead of the end"},
		{"m1 + ANOMALY_DETECTION_BAND(m1)", "at position 6: the function ANOMALY_DETECTION_BAND is not offered; " +
			"there are ABS,"},
		{"SUM(m1, m2)", "at position 1: the function SUM takes 1 argument"},
		{"FILL(m1)", "at position 1: the function FILL takes 2 arguments"},
		{"FILL(m1, 'x')", "at position 10: the function FILL takes a number, a time series, REPEAT or LINEAR"},
		{"SEARCH(m1, 'Average')", "at position 8: the function SEARCH takes a text in quotes"},
		{"SEARCH('{AWS/GameLift', 'Average', 60)", "at position 22: expected '}' instead of the end in the search"},
		{"SEARCH('a', 'Average', 0)", "at position 24: the period of SEARCH"},
		{"SEARCH('a OR', 'Average')", "at position 13: expected a term"},
		{"Foo", "at position 1: 'Foo' is no id of a query"},
		{"'x'", "at position 1: a text can only be"},
		{"none + 1", "at position 1: no query of the request has the id 'none'"},
		{"METRICS() + METRICS()", "at position 11: '+' does not take two arrays"},
		{"RATE(1)", "at position 6: the function RATE takes time series, not a number"},
		{"[1]", "at position 2: an array holds time series"},
		{"'x", "at position 1: the text has no closing '"},
		{strings.Repeat("(", 100), "nests deeper than 64 levels"},
		{strings.Repeat("1+", 100) + "1", "more than 64 operators"},
		{strings.Repeat("1", 2049), "longer than 2048 bytes"},
	} {
		x, err := metricmath.Parse(tt.text)
		if err == nil {
			_, _, err = x.Eval(&env{budget: 1000})
		}
		if at, ok := errors.AsType[*metricmath.Error](err); !ok || !strings.Contains(at.Error(), tt.want) {
			t.Errorf("%.40s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestSpend(t *testing.T) {
	for _, text := range []string{"m1 + m2", "SUM(METRICS())", "FILL(m1, 0)", "TIME_SERIES(1)", "[m1, m2]",
		"RATE(m1)"} {
		x, err := metricmath.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if _, _, err := x.Eval(&env{budget: 1}); !errors.Is(err, errSpent) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSearch(t *testing.T) {
	subject := func(metric string, dimensions ...string) *metricmath.Subject {
		m := &metricmath.Subject{Namespace: "AWS/GameLift", Account: "123456789012"}
		m.Series.Metric = metric
		for i := 0; i < len(dimensions); i += 2 {
			m.Series.Dimensions = append(m.Series.Dimensions, metrics.Dimension{Name: dimensions[i],
				Value: dimensions[i+1]})
		}
		return m
	}
	fleet := subject("ActiveGameSessions", "FleetId", "fleet-1")
	place := subject("ActiveGameSessions", "FleetId", "fleet-1", "Location", "us-west-2")
	group := subject("IdleInstances", "MetricGroup", "default")
	for _, tt := range []struct{ text, want string }{
		{"{AWS/GameLift,FleetId}", "fleet"},
		{`{"AWS/GameLift","FleetId","Location"}`, "place"},
		{"{AWS/GameLift,Location,FleetId}", "place"},
		{"{AWS/GameLift}", ""},
		{"{AWS/EC2,FleetId}", ""},
		{"{AWS/GameLift,MetricGroups}", "group"},
		{`{AWS/GameLift,FleetId} MetricName="ActiveGameSessions"`, "fleet"},
		{`{AWS/GameLift,FleetId} MetricName="activegamesessions"`, ""},
		{`{AWS/GameLift,FleetId} MetricName=activegame`, "fleet"},
		{`{AWS/GameLift,FleetId} MetricName="IdleInstances"`, ""},
		{`"FleetId"=("fleet-2" OR "fleet-1")`, "fleet place"},
		{`MetricName=(Active NOT Sessions)`, ""},
		{`fleet-1 NOT Location=us`, "fleet"},
		{`IdleInstances OR Location="us-west-2"`, "place group"},
		{`(Idle OR Active) AND MetricGroups=default`, "group"},
		{`Namespace="AWS/GameLift" :aws.AccountId="123456789012" Idle`, "group"},
		{`NOT NOT Idle`, "group"},
	} {
		s, err := metricmath.ParseSearch(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var found []string
		for i, m := range []*metricmath.Subject{fleet, place, group} {
			if s.Match(m) {
				found = append(found, []string{"fleet", "place", "group"}[i])
			}
		}
		if got := strings.Join(found, " "); got != tt.want {
			t.Errorf("%s finds %q, want %q", tt.text, got, tt.want)
		}
	}
	for _, text := range []string{"", "{", "{}", "{a,}", "a =", "= b", "(a", "a)", "AND", "a OR", "NOT", `"a`, `""=b`,
		strings.Repeat("(", 1000)} {
		if s, err := metricmath.ParseSearch(text); err == nil {
			t.Errorf("%q was parsed: %v", text, s)
		}
	}
}

// FuzzParse holds that every expression gives a value or an error with a position in it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"SUM(METRICS('m')) / FILL(m2, 0) ^ -1.5e3", "[m1,m2]*2",
		`REMOVE_EMPTY(SEARCH('{"AWS/GameLift",FleetId} MetricName=("a" OR b) NOT c', 'Average', 300))`,
		"TIME_SERIES(MAX(m1))", "FILL(RATE(empty), REPEAT)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := metricmath.Parse(text)
		if err != nil {
			at, ok := errors.AsType[*metricmath.Error](err)
			if !ok || at.Position < 1 || at.Position > len(text)+1 || at.Message == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		v, _, err := x.Eval(&env{budget: 10_000})
		if err != nil {
			return
		}
		if (v.Kind == metricmath.Number) != (v.Series == nil) && v.Kind != metricmath.Array {
			t.Fatalf("%q is %v", text, v)
		}
		for _, s := range v.Series {
			if len(s.Times) != len(s.Values) || s.Period <= 0 || !slices.IsSorted(s.Times) {
				t.Fatalf("%q: %+v", text, s)
			}
		}
	})
}
