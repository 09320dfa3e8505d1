package refdoc

import (
	"bytes"
	_ "embed"
	"strings"
	"testing"
	"text/template"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/cloudwatch"
	"github.com/muster-gg/muster/internal/signin/query"
	"github.com/muster-gg/muster/internal/wire"
)

//go:embed compatibility.md.tmpl
var compatibility string

var operations = template.Must(template.New("page").Funcs(template.FuncMap{
	"cell": cell, "exceptions": exceptions, "title": title,
}).Parse(compatibility))

// A count is how many operations are offered to one degree.
type count struct{ Full, Partly, No int }

// All is the number of operations.
func (c count) All() int { return c.Full + c.Partly + c.No }

func (c *count) add(s api.Support) {
	switch s {
	case api.Full:
		c.Full++
	case api.Partly:
		c.Partly++
	default:
		c.No++
	}
}

func operationsPage() ([]byte, error) {
	var counts count
	for _, f := range api.Families {
		for _, o := range f.Offers {
			counts.add(o.Support)
		}
	}
	var text bytes.Buffer
	err := operations.Execute(&text, map[string]any{
		"Families": api.Families, "Counts": counts, "SignIn": signInRows(), "Query": query.Operations(),
		"QueryNotes": queryNotes,
		"CloudWatch": cloudwatch.Offers(), "CloudWatchNotes": cloudWatchNotes,
		"CloudWatchRefusals": cloudWatchRefusals(),
	})
	return text.Bytes(), err
}

// cell keeps a text inside its cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// everyOperation are the exceptions that the model lists for nearly every operation; the page names them once.
var everyOperation = map[string]bool{
	"InternalServiceException": true, "InvalidRequestException": true, "UnauthorizedException": true,
}

// exceptions lists what an operation answers with beyond the common ones: those of the model for one that is offered,
// the one refusal for one that is not.
func exceptions(o api.Offer) string {
	if o.Support == api.No {
		return "always `" + string(o.Refusal) + "`"
	}
	var names []string
	for _, name := range o.Info.Errors {
		if !everyOperation[name] {
			names = append(names, "`"+strings.TrimSuffix(name, "Exception")+"`")
		}
	}
	return strings.Join(names, ", ")
}

// title says what a structure is: the request or the answer of an operation, or a part of these.
func title(shape string) string {
	if operation, ok := strings.CutSuffix(shape, "Input"); ok {
		return operation + ", request"
	}
	if operation, ok := strings.CutSuffix(shape, "Output"); ok {
		return operation + ", answer"
	}
	return shape
}

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
