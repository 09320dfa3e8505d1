package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// maxSize is the longest document, in characters, without blanks between its JSON tokens.
// Source: IAM User Guide, "IAM and AWS STS quotas", managed policy.
const maxSize = 6144

// A member is one member of a JSON object. Objects keep their order and their duplicate names, which encoding/json
// would drop in silence.
type member struct {
	name  string
	value any
}

type object []member

// compact checks the syntax of a document and removes the blanks between its tokens.
func compact(text string) (string, *SyntaxError) {
	if !utf8.ValidString(text) {
		return "", &SyntaxError{Reason: "the document is not valid UTF-8"}
	}
	if err := json.Unmarshal([]byte(text), new(json.RawMessage)); err != nil { // has the place of errors
		reason := "the document is not valid JSON: " + err.Error()
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			before := text[:max(0, min(int(at.Offset)-1, len(text)))]
			reason += " (line " + decimal(1+strings.Count(before, "\n")) + ")"
		}
		return "", &SyntaxError{Reason: reason}
	}
	var b bytes.Buffer
	_ = json.Compact(&b, []byte(text)) // valid
	if n := utf8.RuneCount(b.Bytes()); n > maxSize {
		return "", &SyntaxError{Reason: "the document has " + decimal(n) + " characters without blanks, more than " +
			decimal(maxSize) + ": split it into several policies"}
	}
	return b.String(), nil
}

// readJSON returns the value of a document that compact has checked: an object, []any, string, json.Number, bool or
// nil.
func readJSON(checked string) any {
	d := json.NewDecoder(strings.NewReader(checked))
	d.UseNumber()
	return readValue(d)
}

func readValue(d *json.Decoder) any {
	token, _ := d.Token()
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, _ := d.Token()
			o = append(o, member{name.(string), readValue(d)})
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, readValue(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

// typeName is the JSON type of a value, for errors.
func typeName(v any) string {
	switch v.(type) {
	case object:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	}
	return "null"
}
