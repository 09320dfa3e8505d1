package main

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire"
)

func TestOperationsPageListsEveryOperationOnce(t *testing.T) {
	text := string(must(t, operationsPage))
	tables, _, _ := strings.Cut(text, "## Choices")
	for _, op := range wire.Operations {
		if n := strings.Count(tables, "\n| "+op.Name+" | "); n != 1 {
			t.Errorf("%s stands %d times in the page, want once", op.Name, n)
		}
	}
	cells := 0
	for i, line := range strings.Split(text, "\n") {
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

// Each field of the families that go down to fields has a row under its structure.
func TestOperationsPageListsEveryField(t *testing.T) {
	text := string(must(t, operationsPage))
	listed := 0
	for _, f := range api.Families {
		for _, shape := range f.Shapes {
			_, rows, ok := strings.Cut(text, "\n| **"+title(shape.Type.Name())+"** | | |\n")
			if !ok {
				t.Errorf("%s is missing", shape.Type.Name())
				continue
			}
			for _, field := range shape.Fields {
				row, rest, _ := strings.Cut(rows, "\n")
				want := "| `" + field.Name + "` | " + string(field.Support) + " | " + cell(field.Note) + " |"
				if row != want {
					t.Errorf("%s: got %s, want %s", shape.Type.Name(), row, want)
				}
				rows = rest
				listed++
			}
		}
	}
	if listed < 150 {
		t.Errorf("%d fields are listed", listed)
	}
}
