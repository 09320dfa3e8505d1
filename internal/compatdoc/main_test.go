package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
)

func TestReferenceIsUpToDate(t *testing.T) {
	want, err := reference()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../docs/reference/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("docs/reference/compatibility.md differs from the table of operations: run make generate")
	}
}

func TestReferenceListsEveryOperationOnce(t *testing.T) {
	text, err := reference()
	if err != nil {
		t.Fatal(err)
	}
	tables, _, _ := strings.Cut(string(text), "## Choices")
	for _, op := range wire.Operations {
		if n := strings.Count(tables, "\n| "+op.Name+" | "); n != 1 {
			t.Errorf("%s stands %d times in the page, want once", op.Name, n)
		}
	}
	cells := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0 // the end of a table
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells != 0 && n != cells {
			t.Errorf("line %d has another number of cells than the table's first: %s", i+1, line)
		}
		cells = n
	}
}
