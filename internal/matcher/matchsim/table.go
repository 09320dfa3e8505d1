package matchsim

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

// WriteTable writes a report for people.
func WriteTable(to io.Writer, r *Report) error {
	t := table{tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)}
	t.row("tickets", grouped(r.Tickets.Total),
		fmt.Sprintf("%s players, over %s", grouped(r.Tickets.Players), seconds(r.SimulatedSeconds)))
	t.row("matched", grouped(r.Tickets.Matched), percent(r.Tickets.Matched, r.Tickets.Total))
	t.row("timed out", grouped(r.Tickets.TimedOut), percent(r.Tickets.TimedOut, r.Tickets.Total))
	t.row("unmatchable", grouped(r.Tickets.Unmatchable), percent(r.Tickets.Unmatchable, r.Tickets.Total))
	t.row("still waiting", grouped(r.Tickets.Waiting), percent(r.Tickets.Waiting, r.Tickets.Total))
	t.row("matches", grouped(r.Matches))
	t.row("time taken", seconds(r.ElapsedSeconds), t.cpu(r))

	t.head("players in a match", "matches")
	for _, size := range r.Sizes {
		t.row(strconv.Itoa(size.Players), grouped(size.Matches), percent(size.Matches, r.Matches))
	}
	t.head("", "p50", "p90", "p99", "max")
	t.quantiles("waited, s", r.Waiting)
	for _, a := range r.Attributes {
		t.quantiles(a.Name+", spread in a match", a.Spread)
		t.quantiles(a.Name+", gap between teams", a.Gap)
	}
	t.latency(r)
	t.rules(r)
	for _, u := range r.Unmatchable {
		fmt.Fprintf(t, "\nticket %s can never be matched: %s", u.Ticket, u.Why)
	}
	if len(r.Unmatchable) > 0 {
		fmt.Fprintln(t)
	}
	return t.Flush()
}

type table struct{ *tabwriter.Writer }

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t, "\t")
		}
		fmt.Fprint(t, cell)
	}
	fmt.Fprintln(t)
}

// head starts a block with new columns.
func (t table) head(cells ...string) {
	t.row()
	t.row(cells...)
}

func (t table) quantiles(name string, q Quantiles) {
	t.row(name, number(q.P50), number(q.P90), number(q.P99), number(q.Max))
}

func (t table) cpu(r *Report) string {
	if r.CPUSeconds == 0 {
		return ""
	}
	return fmt.Sprintf("%s of processor time: %s matched tickets per CPU second",
		seconds(r.CPUSeconds), grouped(int(r.TicketsPerCPUSecond)))
}

func (t table) latency(r *Report) {
	if r.Latency == nil {
		return
	}
	t.quantiles("latency of players, ms", r.Latency.Players)
	t.quantiles("worst latency of a match, ms", r.Latency.Worst)
	t.head("best location", "matches")
	for _, l := range r.Latency.Locations {
		t.row(l.Name, grouped(l.Matches), percent(l.Matches, r.Matches))
	}
	if r.Latency.Nowhere > 0 {
		t.row("none in common", grouped(r.Latency.Nowhere), percent(r.Latency.Nowhere, r.Matches))
	}
}

func (t table) rules(r *Report) {
	if len(r.Rules) == 0 {
		return
	}
	t.head("rule", "passed", "failed", "of unmatched tickets: passed", "failed")
	for _, rule := range r.Rules {
		t.row(rule.Name, grouped(rule.Matched.Passed), grouped(rule.Matched.Failed),
			grouped(rule.Unmatched.Passed), grouped(rule.Unmatched.Failed))
	}
}

// grouped formats 12345 as 12,345.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// number formats three significant digits.
func number(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// seconds formats a duration, rounded to a sensible precision.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d > time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}
