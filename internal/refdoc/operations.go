package main

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"

	"github.com/muster-gg/muster/internal/api"
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
	err := operations.Execute(&text, map[string]any{"Families": api.Families, "Counts": counts})
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
