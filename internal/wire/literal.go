package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Literal is an input as source text, for people.
type Literal struct {
	Text        string
	Types, Time bool // in Go: it needs the client's package types, or package time
	Base64      bool // in Python: it needs the module
}

// GoLiteral returns an input in JSON as a composite literal for the AWS SDK for Go 2. It reports members that the
// operation does not have, and values of another type; constraints are not checked.
func (o *OperationInfo) GoLiteral(body []byte) (Literal, error) {
	return o.literal(&literalWriter{depth: 1}, "&gamelift."+o.Name+"Input{", body)
}

// PythonLiteral returns an input in JSON as the arguments of a call of boto3. Its errors are those of GoLiteral.
func (o *OperationInfo) PythonLiteral(body []byte) (Literal, error) {
	return o.literal(&literalWriter{python: true}, "(", body)
}

func (o *OperationInfo) literal(w *literalWriter, begin string, body []byte) (Literal, error) {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil || members == nil {
		return Literal{}, errors.New("the input is not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Literal{}, errors.New("there is more than a JSON object in the input")
	}
	end := "}"
	if w.python {
		end = ")"
	}
	w.members(o.input, members, begin, end, true)
	return Literal{w.String(), w.types, w.time, w.base64}, w.err
}

// A literalWriter writes literals of Go or Python.
type literalWriter struct {
	strings.Builder
	python      bool
	depth       int  // of the line that is written
	types, time bool // are needed
	base64      bool
	err         error // the first one
}

func (w *literalWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// group writes things between begin and end, each on lines of its own.
func (w *literalWriter) group(begin, end string, n int, write func(i int)) {
	w.WriteString(begin)
	indent, lineEnd := "\t", ",\n"
	if w.python {
		indent = "    "
	}
	if n > 0 {
		w.WriteByte('\n')
	}
	w.depth++
	for i := range n {
		w.WriteString(strings.Repeat(indent, w.depth))
		write(i)
		w.WriteString(lineEnd)
	}
	w.depth--
	if n > 0 {
		w.WriteString(strings.Repeat(indent, w.depth))
	}
	w.WriteString(end)
}

// members writes the members that a structure has, in the order of the model.
func (w *literalWriter) members(s *structure, values map[string]any, begin, end string, arguments bool) {
	for name := range values {
		if s.find(name) == nil {
			w.fail("there is no member %.64q in %s", name, s.typ.Name())
		}
	}
	var present []*field
	for i := range s.fields {
		if f := &s.fields[i]; values[f.name] != nil {
			present = append(present, f)
		}
	}
	w.group(begin, end, len(present), func(i int) {
		f := present[i]
		switch {
		case !w.python:
			w.WriteString(f.name + ": ")
		case arguments:
			w.WriteString(f.name + "=")
		default:
			w.WriteString(`"` + f.name + `": `)
		}
		w.value(&f.value, f.name, values[f.name], true)
	})
}

// value writes a value of a member, or one that a list or a map holds.
func (w *literalWriter) value(v *value, name string, given any, member bool) {
	var ok bool
	switch v.kind {
	case kindList:
		var list []any
		if list, ok = given.([]any); ok {
			begin, end := w.goType(v)+"{", "}"
			if w.python {
				begin, end = "[", "]"
			}
			w.group(begin, end, len(list), func(i int) { w.value(v.element, name, list[i], false) })
		}
	case kindMap:
		var entries map[string]any
		if entries, ok = given.(map[string]any); ok {
			w.entries(v, name, entries)
		}
	case kindStruct, kindPointer:
		var values map[string]any
		if values, ok = given.(map[string]any); ok {
			w.structure(v, values, member)
		}
	default:
		ok = w.scalar(v, given, member)
	}
	if !ok {
		w.fail("%s is not a %s", name, v.typeName())
	}
}

func (w *literalWriter) entries(v *value, name string, entries map[string]any) {
	keys := make([]string, 0, len(entries))
	for key := range entries {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	begin := "{"
	if !w.python {
		begin = w.goType(v) + "{"
	}
	w.group(begin, "}", len(keys), func(i int) {
		w.WriteString(strconv.Quote(keys[i]) + ": ")
		w.value(v.element, name, entries[keys[i]], false)
	})
}

func (w *literalWriter) structure(v *value, values map[string]any, member bool) {
	begin := "{" // in a list or map of Go the type is known
	if member && !w.python {
		begin = "&" + w.goType(v) + "{"
	}
	w.members(v.structure, values, begin, "}", false)
}

// goType returns the type of what is not a scalar.
func (w *literalWriter) goType(v *value) string {
	switch v.kind {
	case kindList:
		return "[]" + w.goType(v.element)
	case kindMap:
		return "map[string]" + w.goType(v.element)
	case kindStruct, kindPointer:
		w.types = true
		return "types." + v.structure.typ.Name()
	case kindText:
		if v.typ != reflect.TypeFor[string]() {
			w.types = true
			return "types." + v.typ.Name()
		}
	}
	return v.typ.String()
}

// scalar writes a value, and reports whether it has the type. Members of Go are pointers, but enumerations and blobs.
func (w *literalWriter) scalar(v *value, given any, member bool) bool {
	var text, pointer string // pointer is the function of package aws that makes one
	switch given := given.(type) {
	case string:
		text, pointer = w.text(v, given)
	case json.Number:
		text, pointer = w.number(v, given)
	case bool:
		if text = strconv.FormatBool(given); w.python {
			text = strings.ToUpper(text[:1]) + text[1:]
		}
		if pointer = "Bool"; v.kind != kindBool {
			return false
		}
	}
	if member && pointer != "" && !w.python {
		text = "aws." + pointer + "(" + text + ")"
	}
	w.WriteString(text)
	return text != ""
}

// text returns a string or a blob; "": it has another type.
func (w *literalWriter) text(v *value, given string) (text, pointer string) {
	switch v.kind {
	case kindText:
		if v.typ == reflect.TypeFor[string]() {
			pointer = "String"
		}
		return strconv.Quote(given), pointer
	case kindBlob:
		data, err := base64.StdEncoding.DecodeString(given)
		if err != nil {
			return "", ""
		}
		if w.python {
			w.base64 = true
			return "base64.b64decode(" + strconv.Quote(given) + ")", ""
		}
		return "[]byte(" + strconv.QuoteToASCII(string(data)) + ")", ""
	}
	return "", ""
}

// number returns a number or a time; "": it has another type.
func (w *literalWriter) number(v *value, n json.Number) (text, pointer string) {
	text = n.String()
	bits := map[kind]int{kindInt32: 32, kindInt64: 64, kindFloat32: 32, kindFloat64: 64, kindTime: 64}[v.kind]
	var err error
	switch v.kind {
	case kindInt32, kindInt64:
		_, err = strconv.ParseInt(text, 10, bits)
	case kindFloat32, kindFloat64:
		_, err = strconv.ParseFloat(text, bits)
	case kindTime:
		var seconds float64
		if seconds, err = n.Float64(); !w.python {
			text = fmt.Sprintf("time.UnixMilli(%d)", int64(seconds*1000))
			w.time = true
		}
	default:
		return "", ""
	}
	if err != nil {
		return "", ""
	}
	pointer = v.typ.Name() // int32, time.Time
	return text, strings.ToUpper(pointer[:1]) + pointer[1:]
}
