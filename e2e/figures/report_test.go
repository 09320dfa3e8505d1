package figures

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// progress is for programs that keep standard error apart: among the results it
// would break the lines that benchstat reads.
var progress = flag.Bool("progress", false, "tell on standard error what is being done")

// tell says what is being done.
func tell(format string, args ...any) {
	if *progress {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// operations is how many operations a benchmark makes in all its rounds. Each of
// the -count rounds is preceded by one operation, as the testing package does.
func operations(b *testing.B) int {
	b.Helper()
	each, isNumber := strings.CutSuffix(flag.Lookup("test.benchtime").Value.String(), "x")
	n, err := strconv.Atoi(each)
	if !isNumber || err != nil {
		b.Fatal("this benchmark needs a number of operations: give it -benchtime 10000x, for instance")
	}
	count, err := strconv.Atoi(flag.Lookup("test.count").Value.String())
	if err != nil {
		b.Fatal(err)
	}
	return count * (n + 1)
}

// A sample is what every figure has, and its peer.
type sample struct {
	rate     float64 // operations a second
	allocs   float64 // an operation, of the one that answers
	cpu      float64 // µs an operation, of the one that answers and the load generator together
	p50, p99 float64 // ms
	errors   int64
}

// report hands the sample to benchstat; of whom tells whose it is, "" being the
// service.
func (s sample) report(b *testing.B, of string) {
	b.ReportMetric(0, "ns/op") // an operation's own time is among the quantiles
	b.ReportMetric(s.rate, of+"rate/s")
	b.ReportMetric(s.allocs, of+"allocations/op") // that of the testing package is rounded, and only there on demand
	b.ReportMetric(s.cpu, of+"cpu-µs/op")
	b.ReportMetric(s.p50, of+"p50-ms")
	b.ReportMetric(s.p99, of+"p99-ms")
	b.ReportMetric(float64(s.errors), of+"errors")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
