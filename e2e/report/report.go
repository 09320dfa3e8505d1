// Package report is how tests that measure say what came of it: a table, the machine, and a place for both in a
// document.
package report

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A Table is text in columns, as Markdown.
type Table [][]string

// String aligns the columns, so that it can be read as it is.
func (t Table) String() string {
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

// Machine names what a run was measured on.
func Machine() string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		load = ", load average " + first + " at its end"
	}
	return fmt.Sprintf("%d cores, %s/%s, %s%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), load)
}

// ReplaceBlock replaces what stands between the marks of a block in a file, <!-- block: begin --> and <!-- block: end
// -->.
func ReplaceBlock(t testing.TB, path, block, text string) {
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
