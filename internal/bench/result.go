package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Result is the result of a run. Its JSON form is for programs.
type Result struct {
	Profile     string    `json:"profile"`
	Unit        string    `json:"unit"`
	SDK         string    `json:"sdk"` // server SDK of the game servers: SDK5 or SDKLegacy
	Began       time.Time `json:"began"`
	Connections int       `json:"connections"`
	InFlight    int       `json:"in_flight,omitempty"`    // per connection, if not 1
	OfferedRate float64   `json:"offered_rate,omitempty"` // operations per second
	Pool        int       `json:"pool,omitempty"`
	Batch       int       `json:"batch,omitempty"`
	Locations   int       `json:"locations"`

	Seconds    float64 `json:"seconds"`    // that the work took
	Operations int64   `json:"operations"` // successful
	Units      int64   `json:"units"`
	UnitsRate  float64 `json:"units_per_second"`
	Unsent     int64   `json:"unsent,omitempty"`    // operations that were due, but found no free connection
	Exhausted  bool    `json:"exhausted,omitempty"` // the pool was used up early

	Latency Latency          `json:"latency_seconds"` // of successful operations
	Errors  map[string]int64 `json:"errors,omitempty"`
	Client  Cost             `json:"client"`
	Server  *Cost            `json:"server,omitempty"` // nil: the service has no metrics

	Matchmaking *Matchmaking `json:"matchmaking,omitempty"` // profile matchmaking only
}

// Matchmaking is the result of profile matchmaking, from the event feed.
type Matchmaking struct {
	Matches int64 `json:"matches"`
	// from sending the call that completed a match to PotentialMatchCreated
	Latency       Latency `json:"latency_seconds"`
	WaitingBefore int     `json:"waiting_before"` // tickets without a match at the start
	WaitingAfter  int     `json:"waiting_after"`  // at the end, including those in progress
}

// Latency holds quantiles in seconds. In an open loop they count from when an operation was due.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Cost is what a program spent.
type Cost struct {
	CPUSeconds       float64 `json:"cpu_seconds"` // in the whole run
	CPUSecondsPerOp  float64 `json:"cpu_seconds_per_operation"`
	AllocationsPerOp float64 `json:"allocations_per_operation"`
	ResidentBytes    float64 `json:"resident_bytes,omitempty"` // at the end
}

// cost returns the difference of two usages, per operation.
func cost(before, after usage, operations int64) Cost {
	cpu, n := (after.cpu - before.cpu).Seconds(), float64(max(operations, 1))
	return Cost{CPUSeconds: cpu, CPUSecondsPerOp: cpu / n,
		AllocationsPerOp: float64(after.allocations-before.allocations) / n}
}

// newResult combines the counts of the workers.
func newResult(p Profile, cfg Config, began time.Time, o outcome, meters []*meter) *Result {
	r := &Result{
		Profile: p.Name, Unit: p.Unit, SDK: cfg.SDK, Began: began, Connections: cfg.Connections,
		OfferedRate: cfg.Rate, Locations: cfg.Locations,
		Seconds: o.elapsed.Seconds(), Unsent: o.unsent, Exhausted: o.exhausted, Errors: map[string]int64{},
	}
	if p.Pool > 0 {
		r.Pool = cfg.Pool
	}
	if cfg.InFlight > 1 {
		r.InFlight = cfg.InFlight
	}
	if p.Name == playersProfile.Name {
		r.Batch = cfg.Batch
	}
	var times Histogram
	for _, m := range meters {
		times.Add(&m.times)
		for name, n := range m.errors {
			r.Errors[name] += n
		}
	}
	r.Operations, r.Units, _ = totals(meters)
	if r.Seconds > 0 {
		r.UnitsRate = float64(r.Units) / r.Seconds
	}
	r.Latency = latencyOf(&times)
	return r
}

func latencyOf(h *Histogram) Latency {
	return Latency{
		P50: h.Quantile(0.5).Seconds(), P90: h.Quantile(0.9).Seconds(), P99: h.Quantile(0.99).Seconds(),
		P999: h.Quantile(0.999).Seconds(), Max: h.Max().Seconds(),
	}
}

// Failures returns the number of failed operations.
func (r *Result) Failures() (n int64) {
	for _, count := range r.Errors {
		n += count
	}
	return n
}

// WriteTable writes results for people.
func WriteTable(w io.Writer, results []*Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "profile\tsdk\tconns\toffered/s\trate/s\tp50\tp90\tp99\tp99.9\tmax\terrors\tclient "+
		"µs/op\tallocs/op\tserver µs/op\tallocs/op\t")
	for _, r := range results {
		offered, serverCPU, serverAllocations := "-", "-", "-"
		if r.OfferedRate > 0 {
			offered = fmt.Sprintf("%.0f", r.OfferedRate)
		}
		if r.Server != nil {
			serverCPU, serverAllocations = microseconds(r.Server.CPUSecondsPerOp),
				fmt.Sprintf("%.0f", r.Server.AllocationsPerOp)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%.0f\t%s\t%s\t\n",
			r.Profile, r.SDK, r.Connections, offered, r.UnitsRate,
			milliseconds(r.Latency.P50), milliseconds(r.Latency.P90), milliseconds(r.Latency.P99),
			milliseconds(r.Latency.P999),
			milliseconds(r.Latency.Max),
			r.Failures(), microseconds(r.Client.CPUSecondsPerOp), r.Client.AllocationsPerOp, serverCPU,
			serverAllocations)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		for _, remark := range r.remarks() {
			fmt.Fprintf(w, "%s: %s\n", r.Profile, remark)
		}
	}
	return nil
}

// remarks are lines below the table.
func (r *Result) remarks() []string {
	remarks := []string{fmt.Sprintf("%d %s in %.1f s", r.Units, r.Unit, r.Seconds)}
	if r.Exhausted {
		remarks[0] += fmt.Sprintf("; then the pool of %d was used up", r.Pool)
	}
	if r.InFlight > 1 {
		remarks = append(remarks, fmt.Sprintf("each connection had %d requests in flight", r.InFlight))
	}
	if m := r.Matchmaking; m != nil {
		remarks = append(remarks,
			fmt.Sprintf("%d matches, in the event feed after the call that completed them: p50 %s, p99 %s, max %s; "+
				"%d tickets waited before, %d after",
				m.Matches, milliseconds(m.Latency.P50), milliseconds(m.Latency.P99), milliseconds(m.Latency.Max),
				m.WaitingBefore, m.WaitingAfter))
	}
	if r.Unsent > 0 {
		remarks = append(remarks, fmt.Sprintf(
			"%d operations that were due found no free connection: the offered rate was not reached", r.Unsent))
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.Errors), func(a, b string) int {
		if d := r.Errors[b] - r.Errors[a]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	}) {
		remarks = append(remarks, fmt.Sprintf("%d × %s", r.Errors[name], name))
	}
	return remarks
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }
func microseconds(seconds float64) string { return fmt.Sprintf("%.1f", seconds*1e6) }
