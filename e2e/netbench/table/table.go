// Package table writes results as Markdown.
package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/e2e/netbench/result"
)

// A Table has a row for each work, which takes a line for each server.
type Table []Row

// A Row is a work.
type Row struct {
	Work    string
	Subject string   // the server that is compared
	Peers   []string // with these
	Info    []string // and shown beside these, which no goal is about
	Goals   []result.Goal
	Series  result.Series
}

// A column is a title and what stands below it for a server.
type column struct {
	title string
	cell  func(row Row, server string) string
}

// Speed is the table of rates and processor time.
func (t Table) Speed() string {
	return t.markdown([]column{
		{"messages/s", median(result.Rate, thousands)},
		{"ratio", ratio(result.Rate)},
		{"per CPU second", median(result.PerCPU, thousands)},
		{"ratio by CPU", ratio(result.PerCPU)},
		{"CPU s per million", median(result.CPUPerMillion, hundredths)},
		{"allocations per message", median(result.Allocations, hundredths)},
	})
}

// Memory is the table of memory.
func (t Table) Memory() string {
	return t.markdown([]column{
		{"memory per connection", median(result.Resident, kibibytes)},
		{"in the Go heap and stacks", median(result.Heap, kibibytes)},
		{"ratio", ratio(result.Resident)},
	})
}

func (t Table) markdown(columns []column) string {
	if len(t) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| work | goals of " + t[0].Subject + " | server |")
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", 3+len(columns)) + "\n")
	for _, row := range t {
		row.write(&b, columns)
	}
	return b.String()
}

func (row Row) write(b *strings.Builder, columns []column) {
	var goals []string
	for _, g := range row.Goals {
		goals = append(goals, g.Verdict(row.Series, row.Subject, row.Peers))
	}
	fmt.Fprintf(b, "| %s | %s |", row.Work, strings.Join(goals, "; "))
	for i, server := range row.servers() {
		if i > 0 {
			b.WriteString("|  |  |")
		}
		b.WriteString(" " + server + " |")
		for _, c := range columns {
			b.WriteString(" " + c.cell(row, server) + " |")
		}
		b.WriteString("\n")
	}
}

func (row Row) servers() []string {
	return append(append([]string{row.Subject}, row.Peers...), row.Info...)
}

func median(f result.Figure, show func(float64) string) func(Row, string) string {
	return func(row Row, server string) string {
		if m := row.Series.Median(server, f); !math.IsNaN(m) {
			return show(m)
		}
		return "-"
	}
}

// ratio is how much better the subject is than the server of the line.
func ratio(f result.Figure) func(Row, string) string {
	return func(row Row, server string) string {
		r := row.Series.Ratio(row.Subject, server, f)
		if server == row.Subject || math.IsNaN(r) {
			return ""
		}
		return fmt.Sprintf("%.2f ×", r)
	}
}

func hundredths(x float64) string { return fmt.Sprintf("%.2f", x) }

func kibibytes(x float64) string { return fmt.Sprintf("%.1f KiB", x/1024) }

// thousands shows a number without digits that say nothing.
func thousands(x float64) string {
	digits := strconv.Itoa(int(math.Round(x/100)) * 100)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
