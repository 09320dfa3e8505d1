package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// columns are the heads of the table.
var columns = []string{"work", "figure", "goal", "peer", "its figure", "ratio", "by CPU", "allocations (peer)",
	"CPU (peer)", "p50", "p99"}

// cells are the lines of the table. A further peer of a row has a line of its own.
func cells(rows []row, r results) (lines [][]string) {
	for _, row := range rows {
		first := []string{row.work, r.show(row.benchmark, row.figure), row.goalCell(r)}
		last := []string{r.show(row.benchmark, ms("p50-ms")), r.show(row.benchmark, ms("p99-ms"))}
		if len(row.peers) == 0 {
			costs := []string{"-", "-", "-", "-", "-", r.show(row.benchmark, spent(row.cpu))}
			lines = append(lines, slices.Concat(first, costs, last))
		}
		for i, p := range row.peers {
			line := []string{
				p.name, r.show(row.benchmark, p.figure), r.show(row.benchmark, ratioTo(p.ratio)),
				r.show(row.benchmark, ratioTo(p.byCPU)),
				"", "", "", "",
			}
			if i == 0 {
				line = slices.Concat(line[:4], []string{r.costs(row.benchmark, count(row.allocs), count(p.allocs)),
					r.costs(row.benchmark, spent(row.cpu), spent(p.cpu))}, last)
			} else {
				first = []string{"", "", ""}
			}
			lines = append(lines, slices.Concat(first, line))
		}
	}
	return lines
}

// show is the median of a value, as the table has it.
func (r results) show(benchmark string, v value) string {
	n, ok := r.median(benchmark, v.unit)
	if !ok {
		return "-"
	}
	return v.show(n * v.times)
}

// costs are what an operation costs, and the peer's where that is measured.
func (r results) costs(benchmark string, own, peer value) string {
	text := r.show(benchmark, own)
	if peer.unit != "" {
		text += " (" + r.show(benchmark, peer) + ")"
	}
	return text
}

// goalCell says what is to be reached, and whether it was.
func (row *row) goalCell(r results) string {
	if r.values[row.benchmark] == nil {
		return "FAILED"
	}
	var texts []string
	for _, g := range row.goals {
		texts = append(texts, g.String()+" "+g.verdict(r, row.benchmark))
	}
	if n := r.total(row.benchmark, "errors"); n > 0 {
		texts = append(texts, fmt.Sprintf("%.0f ERRORS", n))
	}
	if n := r.total(row.benchmark, "bare-errors"); n > 0 {
		texts = append(texts, fmt.Sprintf("%.0f errors of the peer", n))
	}
	return strings.Join(texts, ", ")
}

func (g goal) String() string {
	if g.atLeast {
		return "≥ " + g.of.show(g.limit)
	}
	return "≤ " + g.of.show(g.limit)
}

// verdict is a mark: reached, or not.
func (g goal) verdict(r results, benchmark string) string {
	n, ok := r.median(benchmark, g.of.unit)
	if n *= g.of.times; ok && (g.atLeast && n >= g.limit || !g.atLeast && n <= g.limit) {
		return "✓"
	}
	return "✗"
}

// writeText writes the table for a terminal.
func writeText(w io.Writer, rows []row, r results) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{columns}, cells(rows, r)...) {
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	return t.Flush()
}

// markdown is the table for the documentation, with what it was measured on, and with the note of committed results
// that were not all made in one go.
func markdown(r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s, commit %s, `%s`. Before it: load average %s, memory %s, %s. Medians of %s rounds.",
		r.about["machine"], r.about["date"], r.about["commit"], r.about["command"], r.about["load"], r.about["memory"],
		r.about["disk"], r.about["rounds"])
	if stolen := r.about["stolen"]; stolen != "" {
		fmt.Fprintf(&b, " The host gave others at most %s of the processors.", stolen)
	}
	if note := r.about["note"]; note != "" {
		b.WriteString(" " + note)
	}
	b.WriteString("\n\n")
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(columns)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(columns)))
	for _, c := range cells(rowsOf(runs), r) {
		line(c)
	}
	return b.String()
}

// The ways in which numbers are shown.

func count(unit string) value { return scaled(unit, 1, short) }
func spent(unit string) value { return scaled(unit, 1, microseconds) }

func perSecond(n float64) string    { return thousands(n) + "/s" }
func milliseconds(n float64) string { return microseconds(1000 * n) }
func megabytes(n float64) string    { return short(n) + " MB" }
func kibibytes(n float64) string    { return short(n) + " KiB" }
func bytesOf(n float64) string      { return short(n) + " B" }

// microseconds has the unit that makes it short.
func microseconds(n float64) string {
	switch {
	case n >= 1e6:
		return short(n/1e6) + " s"
	case n >= 1e3:
		return short(n/1e3) + " ms"
	}
	return short(n) + " µs"
}

func backlog(n float64) string { return fmt.Sprintf("%.2f × the backlog", n) }

func timesOf(n float64) string {
	if n >= 10 {
		return thousands(n) + " ×"
	}
	return fmt.Sprintf("%.2f ×", n)
}

// short has three digits that mean something, and no exponent.
func short(n float64) string {
	text := fmt.Sprintf("%.2f", n)
	switch {
	case n >= 100:
		return thousands(n)
	case n >= 10:
		text = fmt.Sprintf("%.1f", n)
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// thousands is a whole number with commas.
func thousands(n float64) string {
	digits := fmt.Sprintf("%.0f", n)
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	slices.Reverse(groups)
	return strings.Join(append([]string{digits}, groups...), ",")
}
