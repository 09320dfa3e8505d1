package refdoc

import (
	"testing"

	"github.com/muster-gg/muster/internal/cloudwatch"
)

// cloudWatchNotes says what is to be known of the operations of CloudWatch that are offered.
var cloudWatchNotes = map[string]string{
	"ListMetrics":             "500 metrics a page",
	"GetMetricStatistics":     "1,440 points",
	"GetMetricData":           "100,800 points a page, 500 queries; metric math and searches as below",
	"DescribeAlarms":          "there are none",
	"DescribeAlarmsForMetric": "there are none",
}

// A refusalRow is a reason, and the operations that are refused for it.
type refusalRow struct{ Operations, Reason string }

func cloudWatchRefusals() (rows []*refusalRow) {
	byReason := map[string]*refusalRow{}
	for _, o := range cloudwatch.Offers() {
		row := byReason[o.Refusal]
		switch {
		case o.Refusal == "":
		case row == nil:
			row = &refusalRow{o.Operation, o.Refusal}
			byReason[o.Refusal], rows = row, append(rows, row)
		default:
			row.Operations += ", " + o.Operation
		}
	}
	return rows
}

func TestCloudWatchNotesAreComplete(t *testing.T) {
	offered := 0
	for _, o := range cloudwatch.Offers() {
		if o.Refusal != "" {
			continue
		}
		offered++
		if cloudWatchNotes[o.Operation] == "" {
			t.Errorf("%s has no note", o.Operation)
		}
	}
	if offered != len(cloudWatchNotes) {
		t.Error("there is a note on an operation that is not offered")
	}
}
