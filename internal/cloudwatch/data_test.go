package cloudwatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// query asks for the average of ActiveGameSessions of a fleet.
func query(id, fleet string, period int) object {
	return object{"Id": id, "MetricStat": object{"Period": period, "Stat": "Average", "Metric": object{
		"Namespace": "AWS/GameLift", "MetricName": "ActiveGameSessions",
		"Dimensions": []object{{"Name": "FleetId", "Value": fleet}}}}}
}

func expression(id, text string) object { return object{"Id": id, "Expression": text} }

func hidden(q object) object {
	q["ReturnData"] = false
	return q
}

// ask is a call about the first minutes.
func ask(minutes int, queries ...object) object {
	return object{"StartTime": start.Unix(), "EndTime": start.Add(time.Duration(minutes) * time.Minute).Unix(),
		"ScanBy": "TimestampAscending", "MetricDataQueries": queries}
}

// show is the results of an answer, each as "id label status values".
func show(out object) string {
	var all []string
	for _, r := range out["MetricDataResults"].([]any) {
		r := r.(object)
		all = append(all, fmt.Sprint(r["Id"], " ", r["Label"], " ", r["StatusCode"], " ", r["Values"]))
		if len(r["Timestamps"].([]any)) != len(r["Values"].([]any)) {
			all = append(all, "with other timestamps")
		}
	}
	return strings.Join(all, "; ")
}

func TestGetMetricData(t *testing.T) {
	w := newWorld(t, nil)
	one, two := query("m1", "fleet-1", 60), query("m2", "fleet-2", 60)
	labelled := func(q object, label string) object {
		q["Label"] = label
		return q
	}
	for name, tt := range map[string]struct {
		in   object
		want string
	}{
		"a metric":    {ask(3, one), "m1 ActiveGameSessions Complete [0 1 2]"},
		"two metrics": {ask(2, one, two), "m1 ActiveGameSessions Complete [0 1]; m2 ActiveGameSessions Complete [0 2]"},
		"no points":   {ask(3, query("m1", "fleet-1", 86400)), "m1 ActiveGameSessions Complete [89.5]"},
		"an expression": {ask(3, hidden(query("m1", "fleet-1", 60)), expression("e1", "m1 * 2 + 1")),
			"e1 e1 Complete [1 3 5]"},
		"expressions of expressions": {ask(3, expression("e2", "e1 / 2"), expression("e1", "m1 + 2"),
			hidden(query("m1", "fleet-1", 60))), "e2 e2 Complete [1 1.5 2]; e1 e1 Complete [2 3 4]"},
		"sums": {ask(3, hidden(query("m1", "fleet-1", 60)), hidden(query("m2", "fleet-2", 60)),
			labelled(expression("e1", "SUM(METRICS())"), "all of them")), "e1 all of them Complete [0 3 6]"},
		"an array": {ask(3, hidden(query("m1", "fleet-1", 60)), hidden(query("m2", "fleet-2", 60)),
			labelled(expression("e1", "METRICS() * 2"), "twice")),
			"e1 twice ActiveGameSessions Complete [0 2 4]; e1 twice ActiveGameSessions Complete [0 4 8]"},
		"a division by zero": {ask(3, hidden(query("m1", "fleet-1", 60)), expression("e1", "6 / m1")),
			"e1 e1 Complete [6 3]"},
		"a search": {ask(2, expression("e1",
			`SEARCH('{AWS/GameLift,FleetId} MetricName="ActiveGameSessions"', 'Maximum', 60)`)),
			"e1 fleet-1 Complete [0 1]; e1 fleet-2 Complete [0 2]"},
		"a search of several metrics": {ask(2, expression("e1", `SEARCH('{AWS/GameLift,FleetId} fleet-1', 'Sum', 60)`)),
			"e1 ActiveGameSessions Complete [0 1]; e1 IdleInstances Complete []"},
		"a search without empty ones": {ask(2, labelled(expression("e1",
			`REMOVE_EMPTY(SEARCH('{AWS/GameLift,FleetId} fleet-1', 'Sum'))`),
			"${PROP('MetricName')}/${PROP('Dim.FleetId')}")),
			"e1 ActiveGameSessions/fleet-1 Complete [0 1]"},
		"another account": {ask(2, object{"Id": "m1", "AccountId": "1", "MetricStat": one["MetricStat"]}),
			"m1 ActiveGameSessions Forbidden []"},
		"labels": {ask(3, labelled(query("m1", "fleet-1", 60),
			"${LABEL}|${MAX}|${AVG}|${PROP('Stat')}|${PROP('Period')}|${PROP('Dim.Location')}|${MAX_TIME}|${UNKNOWN}")),
			"m1 ActiveGameSessions|2|1|Average|60||2026-11-26T00:02:00Z|${UNKNOWN} Complete [0 1 2]"},
		"filled": {ask(1, hidden(object{"Id": "m1", "MetricStat": object{"Period": 10, "Stat": "Sum", "Metric": object{
			"Namespace": "AWS/GameLift", "MetricName": "IdleInstances"}}}), expression("e1", "FILL(m1, 7)")),
			"e1 e1 Complete [7 7 7 7 7 7]"},
		"a constant": {ask(3, object{"Id": "e1", "Expression": "TIME_SERIES(4)", "Period": 60}),
			"e1 e1 Complete [4 4 4]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(w.call("GetMetricData", tt.in)); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	w := newWorld(t, nil)
	w.store.many = 600
	out := w.call("GetMetricData", ask(2, hidden(query("m1", "fleet-1", 60)), expression("e1", "1 / m1"),
		expression("e2", `SEARCH('{AWS/GameLift,FleetId} MetricName="Many"', 'Sum', 60)`)))
	results := out["MetricDataResults"].([]any)
	if got := text(results[0]); !strings.Contains(got, "ArithmeticError") {
		t.Error(got)
	}
	if got := text(out["Messages"]); len(results) != 501 || !strings.Contains(got, "MaxMetricsExceeded") {
		t.Error(len(results), got)
	}
	zone := ask(3, query("m1", "fleet-1", 60))
	zone["LabelOptions"] = object{"Timezone": "-0330"}
	zone["MetricDataQueries"].([]object)[0]["Label"] = "${FIRST_TIME}"
	if got := labels(w.call("GetMetricData", zone)); !slices.Equal(got, []string{"2026-11-25T20:30:00-03:30"}) {
		t.Error(got)
	}
}

// TestDataPages holds that pages have no more points than asked for, and together all of them in order.
func TestDataPages(t *testing.T) {
	for _, scan := range []string{"TimestampAscending", "TimestampDescending"} {
		w := newWorld(t, nil)
		in := ask(5, query("m1", "fleet-1", 60), query("m2", "fleet-2", 60))
		in["ScanBy"], in["MaxDatapoints"] = scan, 3
		var pages []string
		for {
			out := w.call("GetMetricData", in)
			pages = append(pages, show(out))
			if out["NextToken"] == nil {
				break
			}
			in["NextToken"] = out["NextToken"]
		}
		want := []string{
			"m1 ActiveGameSessions PartialData [0 1 2]",
			"m1 ActiveGameSessions Complete [3 4]; m2 ActiveGameSessions PartialData [0]",
			"m2 ActiveGameSessions PartialData [2 4 6]", "m2 ActiveGameSessions Complete [8]",
		}
		if scan == "TimestampDescending" {
			want = []string{
				"m1 ActiveGameSessions PartialData [4 3 2]",
				"m1 ActiveGameSessions Complete [1 0]; m2 ActiveGameSessions PartialData [8]",
				"m2 ActiveGameSessions PartialData [6 4 2]", "m2 ActiveGameSessions Complete [0]",
			}
		}
		if !slices.Equal(pages, want) {
			t.Errorf("%s:\n%s\nwant\n%s", scan, strings.Join(pages, "\n"), strings.Join(want, "\n"))
		}
		in["MaxDatapoints"] = 4
		w.fails("GetMetricData", text(in), "InvalidNextToken", "NextToken")
	}
}

func TestDataErrors(t *testing.T) {
	w := newWorld(t, nil)
	many := make([]object, 501)
	for i := range many {
		many[i] = query(fmt.Sprint("m", i), "fleet-1", 60)
	}
	with := func(name string, value any) object {
		in := ask(3, query("m1", "fleet-1", 60))
		in[name] = value
		return in
	}
	stat := func(name string, value any) object {
		q := query("m1", "fleet-1", 60)
		q["MetricStat"].(object)[name] = value
		return ask(3, q)
	}
	heavy := make([]object, 0, 500)
	for i := range 499 {
		heavy = append(heavy, hidden(query(fmt.Sprint("m", i), "fleet-1", 10)))
	}
	heavy = append(heavy, expression("e", "SUM(METRICS())"))
	for _, tt := range []struct {
		in      object
		message string
	}{
		{with("MetricDataQueries", []object{}), "MetricDataQueries must not be empty"},
		{ask(3, many...), "'metricDataQueries' failed to satisfy constraint: Member must have length less than or " +
			"equal to 500"},
		{ask(0, query("m1", "f", 60)), "StartTime must be less"},
		{with("ScanBy", "Up"), "it must be TimestampDescending or TimestampAscending"},
		{with("MaxDatapoints", 0), "it must be 1 to 100800"},
		{with("LabelOptions", object{"Timezone": "CET"}), "it must have the form +0130"},
		{with("LabelOptions", object{"Timezone": "+0190"}), "it must have the form +0130"},
		{ask(3, query("M1", "f", 60)), "begin with a lowercase letter"},
		{ask(3, query("m1", "f", 60), query("m1", "f", 60)), `The id \"m1\" of the MetricDataQueries is not unique`},
		{ask(3, object{"Id": "a"}), "either MetricStat or Expression"},
		{ask(3, hidden(query("m1", "f", 60))), "At least one"},
		{ask(3, query("m1", "f", 61)), "Period of query m1"},
		{stat("Stat", "p99"), "has no percentiles"},
		{stat("Stat", "Median"), "p0 to p100"},
		{stat("Stat", nil), "metricDataQueries.1.member.metricStat.stat"},
		{with("StartTime", start.Add(-20*24*time.Hour).Unix()), ""},
		{ask(3, expression("e1", "FOO(m1)")), "Error in expression 'e1': at position 1: the function FOO is not " +
			"offered"},
		{ask(3, expression("e1", "m1 +")), "Error in expression 'e1': at position 5"},
		{ask(3, expression("e1", "e2"), expression("e2", "e1")), "Error in expression 'e1': it refers to itself"},
		{ask(3, expression("e1", "1")), "the result is a number"},
		{ask(3, expression("e1", "SEARCH('a', 'p99', 60)")), "has no percentiles"},
		{ask(3, expression("e1", "SEARCH('nothing', 'Median', 60)")), "p0 to p100"},
		{ask(3, expression("e1", "SEARCH('a', 'Sum', 61)")), "Period of query e1"},
		{ask(60*24*7, heavy...), "more than 5000000 datapoints"},
	} {
		if tt.message == "" {
			w.call("GetMetricData", tt.in)
			continue
		}
		w.fails("GetMetricData", text(tt.in), "ValidationError", tt.message)
	}
}
