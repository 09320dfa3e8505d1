package cloudwatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

type object = map[string]any

// names are the metrics of an answer of ListMetrics, each as "metric dimension=value …".
func names(out object) (all []string) {
	for _, m := range out["Metrics"].([]any) {
		name := m.(object)["MetricName"].(string)
		for _, d := range m.(object)["Dimensions"].([]any) {
			name += fmt.Sprintf(" %s=%s", d.(object)["Name"], d.(object)["Value"])
		}
		all = append(all, name)
	}
	return all
}

func TestListMetrics(t *testing.T) {
	w := newWorld(t, nil)
	for _, tt := range []struct {
		in   object
		want string
	}{
		{object{"Namespace": "AWS/EC2"}, ""},
		{object{"OwningAccount": "1"}, ""},
		{object{"MetricName": "QueueDepth"}, "QueueDepth QueueName=a queue"},
		{object{"Namespace": "AWS/GameLift", "RecentlyActive": "PT3H"}, "ActiveGameSessions FleetId=fleet-1, " +
			"ActiveGameSessions FleetId=fleet-2, IdleInstances FleetId=fleet-1"},
		{object{"Dimensions": []object{{"Name": "Location"}}},
			"ActiveGameSessions FleetId=fleet-1 Location=custom-home"},
		{object{"Dimensions": []object{{"Name": "FleetId", "Value": "fleet-1"}}, "MetricName": "ActiveGameSessions"},
			"ActiveGameSessions FleetId=fleet-1, ActiveGameSessions FleetId=fleet-1 Location=custom-home"},
		{object{"Dimensions": []object{{"Name": "FleetId", "Value": "fleet-1"}, {"Name": "QueueName"}}}, ""},
		{object{"Dimensions": []object{{"Name": "MetricGroups", "Value": "default"}}},
			"ActiveGameSessions MetricGroup=default"},
	} {
		if got := strings.Join(names(w.call("ListMetrics", tt.in)), ", "); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.in, got, tt.want)
		}
	}
	out := w.call("ListMetrics", object{"IncludeLinkedAccounts": true, "MetricName": "QueueDepth"})
	if got := text(out["OwningAccounts"]); got != `["123456789012"]` {
		t.Error("owning accounts:", got)
	}
	w.fails("ListMetrics", `{"RecentlyActive":"PT1H"}`, "InvalidParameterValue", "it must be PT3H")
	w.fails("ListMetrics", `{"Dimensions":[{"Value":"x"}]}`, "ValidationError", "dimensions.1.member.name")
	w.fails("ListMetrics", `{"Namespace":""}`, "ValidationError", "'namespace'")
	w.fails("ListMetrics", `{"NextToken":"x"}`, "InvalidParameterValue", "NextToken")
}

// TestListMetricsPages holds that pages have 500 metrics, all of them once, and that a token is bound to its query.
func TestListMetricsPages(t *testing.T) {
	w := newWorld(t, nil)
	w.store.many = 1100
	in := object{"MetricName": "Many"}
	var all []string
	var sizes []int
	for {
		out := w.call("ListMetrics", in)
		page := names(out)
		all, sizes = append(all, page...), append(sizes, len(page))
		next, more := out["NextToken"]
		if !more {
			break
		}
		in["NextToken"] = next
		w.fails("ListMetrics", text(object{"MetricName": "Other", "NextToken": next}), "InvalidParameterValue",
			"NextToken")
	}
	if !slices.Equal(sizes, []int{500, 500, 100}) || !slices.IsSorted(all) || len(slices.Compact(all)) != 1100 {
		t.Error(sizes, len(all))
	}
}

// statistics are the parameters of a call of GetMetricStatistics, with changes.
func statistics(changes object) object {
	in := object{"Namespace": "AWS/GameLift", "MetricName": "ActiveGameSessions", "Statistics": []string{"Average"},
		"Dimensions": []object{{"Name": "FleetId", "Value": "fleet-1"}}, "Period": 300,
		"StartTime": start.Unix(), "EndTime": start.Add(10 * time.Minute).Unix()}
	for name, value := range changes {
		in[name] = value
	}
	return in
}

func TestGetMetricStatistics(t *testing.T) {
	w := newWorld(t, nil)
	out := w.call("GetMetricStatistics", statistics(object{
		"Statistics": []string{"Average", "Sum", "Minimum", "Maximum", "SampleCount"}}))
	want := fmt.Sprintf(`{"Datapoints":[{"Average":2,"Maximum":4,"Minimum":0,"SampleCount":5,"Sum":10,"Timestamp":%d,`+
		`"Unit":"Count"},{"Average":7,"Maximum":9,"Minimum":5,"SampleCount":5,"Sum":35,"Timestamp":%d,`+
		`"Unit":"Count"}],`+
		`"Label":"ActiveGameSessions"}`, start.Unix(), start.Add(5*time.Minute).Unix())
	if got := text(out); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, empty := range []object{{"MetricName": "IdleInstances"}, {"Namespace": "AWS/EC2"}, {"Unit": "Seconds"},
		{"StartTime": start.Add(-time.Hour).Unix(), "EndTime": start.Unix()}} {
		if got := text(w.call("GetMetricStatistics", statistics(empty))["Datapoints"]); got != "[]" {
			t.Errorf("%v: %s", empty, got)
		}
	}
	day := statistics(object{"Period": 60, "StartTime": now.Add(-24*time.Hour).Unix() + 1, "EndTime": now.Unix() + 1})
	if got := len(w.call("GetMetricStatistics", day)["Datapoints"].([]any)); got != 180 {
		t.Errorf("%d points of a day that begins within a minute", got)
	}
	for _, tt := range []struct {
		changes       object
		code, message string
	}{
		{object{"Statistics": []string{}}, "MissingParameter", "Statistics or ExtendedStatistics is required"},
		{object{"Statistics": []string{"Median"}}, "InvalidParameterValue",
			`The value \"Median\" for parameter Statistics`},
		{object{"ExtendedStatistics": []string{"p99"}}, "InvalidParameterCombination", "must not be used together"},
		{object{"ExtendedStatistics": []string{"p99"}, "Statistics": nil}, "InvalidParameterValue",
			"has no percentiles"},
		{object{"ExtendedStatistics": []string{"p101"}, "Statistics": nil}, "InvalidParameterValue", "p0 to p100"},
		{object{"ExtendedStatistics": []string{"tm99"}, "Statistics": nil}, "InvalidParameterValue", "p0 to p100"},
		{object{"EndTime": start.Unix()}, "InvalidParameterValue", "StartTime must be less"},
		{object{"Period": 7}, "InvalidParameterValue", "10, 30 or a multiple of 60"},
		{object{"Period": 0}, "InvalidParameterValue", "10, 30 or a multiple of 60"},
		{object{"Period": 86460}, "InvalidParameterValue", "at most 86400"},
		{object{"Period": 60, "EndTime": start.Add(25 * time.Hour).Unix()}, "InvalidParameterCombination",
			"up to 1500 datapoints"},
		{object{"MetricName": nil}, "ValidationError", "'metricName'"},
		{object{"StartTime": "today"}, "Serialization", "startTime"},
	} {
		w.fails("GetMetricStatistics", text(statistics(tt.changes)), tt.code, tt.message)
	}
}

// TestPercentiles holds the percentiles of durations.
func TestPercentiles(t *testing.T) {
	w := newWorld(t, nil)
	out := w.call("GetMetricStatistics", statistics(object{"MetricName": "TimeToMatch", "Statistics": nil,
		"ExtendedStatistics": []string{"p50", "p99.9"}}))
	want := fmt.Sprintf(`[{"ExtendedStatistics":{"p50":50,"p99.9":99.9},"Timestamp":%d,"Unit":"Seconds"},`+
		`{"ExtendedStatistics":{"p50":50,"p99.9":99.9},"Timestamp":%d,"Unit":"Seconds"}]`, start.Unix(),
		start.Unix()+300)
	if got := text(out["Datapoints"]); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	q := query("m1", "fleet-1", 60)
	q["MetricStat"].(object)["Stat"] = "p90"
	q["MetricStat"].(object)["Metric"].(object)["MetricName"] = "TimeToMatch"
	if got := show(w.call("GetMetricData", ask(2, q))); got != "m1 TimeToMatch Complete [90 90]" {
		t.Error(got)
	}
}

// TestAlignment holds that the store is asked for whole periods.
func TestAlignment(t *testing.T) {
	for _, tt := range []struct {
		period int
		want   string
	}{
		{10, "2026-11-26T00:01:30Z"}, {60, "2026-11-26T00:01:00Z"}, {300, "2026-11-26T00:00:00Z"},
		{86400, "2026-11-26T00:00:00Z"},
	} {
		w := newWorld(t, nil)
		w.call("GetMetricData", object{"StartTime": start.Add(95 * time.Second).Unix(), "EndTime": now.Unix(),
			"MetricDataQueries": []object{query("a", "fleet-1", tt.period)}})
		if got, _, _ := strings.Cut(w.store.asks[0], " "); got != tt.want {
			t.Errorf("period %d: from %s, want %s", tt.period, got, tt.want)
		}
	}
}
