//go:build unix

package soak

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A table is text in columns, as Markdown.
type table [][]string

// String aligns the columns, so that it can be read as it is.
func (t table) String() string {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for n, row := range t {
		for i, cell := range row {
			fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range widths {
				b.WriteString("|" + strings.Repeat("-", w+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// verdictTable is the outcome of a soak. Of one that was too short to be judged
// it holds no verdicts.
func verdictTable(verdicts []verdict, judged bool) table {
	t := table{{"", "unit", "start", "middle", "end", "change", "slope/min", "allowed", "verdict"}}
	for _, v := range verdicts {
		word := "flat"
		switch {
		case v.name == yardstick:
			word = ""
		case !judged:
			word = "too short"
		case !v.flat:
			word = "GROWS"
		}
		allowed := "at most " + shortNumber(v.most)
		if v.name == yardstick {
			allowed = ""
		}
		t = append(t, []string{
			v.name, v.unit, shortNumber(v.start), shortNumber(v.middle), shortNumber(v.end), change(v.start, v.end),
			signed(v.perMinute), allowed, word,
		})
	}
	return t
}

func change(from, to float64) string {
	if from == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(to/from-1))
}

func signed(v float64) string {
	if math.Abs(v) < 0.005 || math.IsNaN(v) {
		return "0"
	}
	if v > 0 {
		return "+" + shortNumber(v)
	}
	return shortNumber(v)
}

// inWords lists counts, the largest first.
func inWords(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	return strings.Join(parts, ", ")
}

// machine names what a run was measured on.
func machine() string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		load = ", load average " + first + " at its end"
	}
	return fmt.Sprintf("%d cores, %s/%s, %s%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), load)
}

// replaceBlock replaces what stands between the marks of a block in a file.
func replaceBlock(t *testing.T, path, block, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed, ok := withBlock(old, block, text)
	if !ok {
		t.Fatalf("%s has no lines <!-- %s: begin --> and <!-- %s: end -->", path, block, block)
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
}

// withBlock is a text with another block; false if it has none of this name.
func withBlock(text []byte, block, content string) ([]byte, bool) {
	begin, end := []byte("<!-- "+block+": begin -->\n"), []byte("<!-- "+block+": end -->")
	head, rest, begins := bytes.Cut(text, begin)
	_, tail, ends := bytes.Cut(rest, end)
	if !begins || !ends {
		return nil, false
	}
	return slices.Concat(head, begin, []byte(strings.TrimRight(content, "\n")+"\n"), end, tail), true
}
