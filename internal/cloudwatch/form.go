package cloudwatch

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// The errors of the query protocol alone.
const (
	malformedQuery fault.Kind = "MalformedQueryString"
	missingAction  fault.Kind = "MissingAction"
)

// maxParts is how many parts the name of a parameter may have: MetricDataQueries.member.1.MetricStat.Metric.Dimensions.
// member.1.Name has nine.
const maxParts = 16

// A node is a value of a form: a text, or what its parameters have below it.
type node struct {
	text     string
	children map[string]*node
}

// parseForm reads the parameters of the query protocol.
func (c *call) parseForm(body []byte) error {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return fault.New(malformedQuery, "The body of the request is not an URL-encoded form.")
	}
	c.form = &node{}
	for name, texts := range values {
		if strings.Count(name, ".") >= maxParts {
			return fault.New(malformedQuery, "The parameter %.64q is nested too deeply.", name)
		}
		at := c.form
		for part := range strings.SplitSeq(name, ".") {
			at = at.child(part)
		}
		at.text = texts[0]
	}
	if c.name = c.form.textOf("Action"); c.name == "" {
		return fault.New(missingAction, "The request must contain the parameter Action.")
	}
	if v := c.form.textOf("Version"); v != version {
		return fault.New(fault.UnknownOperation, "The parameter Version must be %s, not %.16q.", version, v)
	}
	return nil
}

func (n *node) child(name string) *node {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if n.children[name] == nil {
		n.children[name] = &node{}
	}
	return n.children[name]
}

func (n *node) textOf(name string) string {
	if child := n.children[name]; child != nil {
		return child.text
	}
	return ""
}

// json returns the form as JSON of an input, so that the same code reads and checks it. Values of the wrong type stay
// texts, about which the reader then complains.
func (n *node) json(input reflect.Type) ([]byte, error) { return n.appendJSON(nil, input) }

func (n *node) appendJSON(b []byte, t reflect.Type) ([]byte, error) {
	switch t = inner(t); {
	case t == reflect.TypeFor[time.Time]():
		return appendTime(b, n.text), nil
	case t.Kind() == reflect.Struct:
		return n.appendObject(b, t)
	case t.Kind() == reflect.Slice:
		return n.appendArray(b, t.Elem())
	case t.Kind() == reflect.Bool && (n.text == "true" || n.text == "false"):
		return append(b, n.text...), nil
	case isNumber(t):
		if _, err := strconv.ParseFloat(n.text, 64); err == nil && json.Valid([]byte(n.text)) {
			return append(b, n.text...), nil
		}
	}
	return appendText(b, n.text), nil
}

// inner returns the type of a value that may be absent.
func inner(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	if get, ok := t.MethodByName("Get"); ok { // of an Opt
		return get.Type.Out(0)
	}
	return t
}

func isNumber(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 }

func appendText(b []byte, text string) []byte {
	encoded, _ := json.Marshal(text) // cannot fail
	return append(b, encoded...)
}

func appendTime(b []byte, text string) []byte {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return appendText(b, text)
	}
	return strconv.AppendFloat(b, float64(at.UnixMilli())/1000, 'f', 3, 64)
}

func (n *node) appendObject(b []byte, t reflect.Type) (_ []byte, err error) {
	b = append(b, '{')
	for i := range t.NumField() {
		f := t.Field(i)
		child := n.children[f.Name]
		if child == nil {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendText(b, f.Name), ':')
		if b, err = child.appendJSON(b, f.Type); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendArray appends member.1, member.2, …, whatever their numbers are.
func (n *node) appendArray(b []byte, element reflect.Type) (_ []byte, err error) {
	b = append(b, '[')
	var members map[string]*node
	if m := n.children["member"]; m != nil {
		members = m.children
	}
	var numbers []int
	for name := range maps.Keys(members) {
		i, err := strconv.Atoi(name)
		if err != nil || i <= 0 || strconv.Itoa(i) != name {
			return nil, fault.New(malformedQuery, "The elements of a list must be named member.1, member.2, …, not "+
				"member.%.64s.", name)
		}
		numbers = append(numbers, i)
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = members[strconv.Itoa(number)].appendJSON(b, element); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}
