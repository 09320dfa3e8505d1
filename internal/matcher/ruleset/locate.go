package ruleset

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// inText finds the place of a syntax error in its text.
var inText = regexp.MustCompile(`at line (\d+), column (\d+)`)

// Line returns the line of a document that an error of Parse is about, from 1. It is 0 if the error is not of Parse, or
// about all of the document.
func Line(body string, err error) int {
	line, _ := Place(body, err)
	return line
}

// Place is Line with the column, from 1, in characters.
func Place(body string, err error) (line, column int) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return 0, 0
	}
	if m := inText.FindStringSubmatch(e.Problem); e.Path == "" && m != nil {
		line, _ = strconv.Atoi(m[1])
		column, _ = strconv.Atoi(m[2])
		return line, column
	}
	if e.Path == "" {
		return 0, 0
	}
	l := locator{body: body, want: e.Path, from: json.NewDecoder(strings.NewReader(body))}
	l.value("", 0)
	before := body[:l.found]
	begin := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[begin:])
}

// A locator finds the offset of a path. A missing member is where its object begins.
type locator struct {
	body, want string
	from       *json.Decoder
	found      int
}

// next returns the offset of the next token.
func (l *locator) next() int {
	at := int(l.from.InputOffset())
	return at + len(l.body[at:]) - len(strings.TrimLeft(l.body[at:], " \t\r\n,:"))
}

// value reads a value that has a path, and begins, with its key, at an offset. The document is JSON.
func (l *locator) value(path string, at int) {
	rest, ok := strings.CutPrefix(l.want, path)
	if ok && (path == "" || rest == "" || rest[0] == '.' || rest[0] == '[') {
		l.found = at
	}
	token, err := l.from.Token()
	if err != nil {
		return
	}
	for i := 0; token == json.Delim('{') || token == json.Delim('['); i++ {
		begin := l.next()
		if !l.from.More() {
			_, _ = l.from.Token()
			return
		}
		at := element(path, i)
		if token == json.Delim('{') {
			key, _ := l.from.Token()
			name, _ := key.(string)
			at = object{path: path}.at(name)
		}
		l.value(at, begin)
	}
}
