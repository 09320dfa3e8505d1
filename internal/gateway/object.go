package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire"
)

// An object is a JSON object of a request, read strictly: keys must be unique, members must have the type of the method
// that reads them, and null is absent. Unknown members are ignored, for newer clients.
//
// The first problem is kept, and names the member; reading continues with zero values.
type object struct {
	path    string // precedes the names of members: "player."
	members map[string]json.RawMessage
	problem *error // shared with nested objects
}

// parseObject reads a whole body.
func parseObject(body []byte) (*object, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, invalid("The body is empty; it must be a JSON object.")
	}
	if !utf8.Valid(body) {
		return nil, invalid("The body is not UTF-8.")
	}
	o := &object{problem: new(error)}
	o.read(body)
	return o, *o.problem
}

// read fills the members from the text of an object.
func (o *object) read(text []byte) {
	o.members = make(map[string]json.RawMessage)
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		o.wrong("", "must be a JSON object")
		return
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			o.wrong("", "is not valid JSON")
			return
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			o.wrong(name, "is not valid JSON")
			return
		}
		if _, twice := o.members[name]; twice {
			o.wrong(name, "appears twice")
			return
		}
		o.members[name] = value
	}
	if _, err := d.Token(); err != nil {
		o.wrong("", "is not valid JSON")
		return
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		o.wrong("", "has something behind its end")
	}
}

// shown limits the length of a client's key in an error text, in characters.
const shown = 64

// wrong records the first problem. name is "" for the object itself.
func (o *object) wrong(name, what string) {
	if *o.problem != nil {
		return
	}
	full := o.path + name
	switch {
	case full == "":
		full = "The body"
	case name == "":
		full = full[:len(full)-1]
	}
	if r := []rune(full); len(r) > shown {
		full = string(r[:shown]) + "…"
	}
	*o.problem = invalid("%s %s.", full, what)
}

// get returns a member; false if it is absent or null.
func (o *object) get(name string) (json.RawMessage, bool) {
	value, ok := o.members[name]
	return value, ok && string(value) != "null"
}

// need is get for a required member.
func (o *object) need(name string) (json.RawMessage, bool) {
	value, ok := o.get(name)
	if !ok {
		o.wrong(name, "is missing")
	}
	return value, ok
}

// text reads a required string; least and most limit its characters.
func (o *object) text(name string, least, most int) string {
	value, ok := o.need(name)
	if !ok {
		return ""
	}
	return o.textOf(name, value, least, most)
}

func (o *object) optionalText(name string, least, most int) string {
	value, ok := o.get(name)
	if !ok {
		return ""
	}
	return o.textOf(name, value, least, most)
}

func (o *object) textOf(name string, value json.RawMessage, least, most int) string {
	var s string
	if value[0] != '"' || json.Unmarshal(value, &s) != nil {
		o.wrong(name, "must be a text")
		return ""
	}
	if n := utf8.RuneCountInString(s); n < least || n > most {
		o.wrong(name, "must have "+strconv.Itoa(least)+" to "+strconv.Itoa(most)+" characters")
		return ""
	}
	return s
}

// integer reads a required integer. 4.0 is one, because some clients have floating point numbers alone.
func (o *object) integer(name string, least, most int32) int32 {
	value, ok := o.need(name)
	if !ok {
		return 0
	}
	return o.integerOf(name, value, least, most)
}

func (o *object) optionalInteger(name string, least, most int32) wire.Opt[int32] {
	value, ok := o.get(name)
	if !ok {
		return wire.Opt[int32]{}
	}
	return wire.Some(o.integerOf(name, value, least, most))
}

func (o *object) integerOf(name string, value json.RawMessage, least, most int32) int32 {
	f, ok := o.numberOf(name, value)
	if ok && (f != math.Trunc(f) || f < float64(least) || f > float64(most)) {
		o.wrong(name, "must be a whole number from "+strconv.Itoa(int(least))+" to "+strconv.Itoa(int(most)))
		return 0
	}
	return int32(f)
}

// numberOf reads any number.
func (o *object) numberOf(name string, value json.RawMessage) (float64, bool) {
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		o.wrong(name, "must be a number")
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		o.wrong(name, "is too large a number")
		return 0, false
	}
	return f, true
}

// boolean reads true or false; def if it is absent.
func (o *object) boolean(name string, def bool) bool {
	value, ok := o.get(name)
	if !ok {
		return def
	}
	return o.booleanOf(name, value)
}

// requiredBoolean is boolean without a default.
func (o *object) requiredBoolean(name string) bool {
	value, ok := o.need(name)
	return ok && o.booleanOf(name, value)
}

func (o *object) booleanOf(name string, value json.RawMessage) bool {
	if s := string(value); s != "true" && s != "false" {
		o.wrong(name, "must be true or false")
	}
	return string(value) == "true"
}

// object reads an object; nil if it is absent.
func (o *object) object(name string) *object {
	value, ok := o.get(name)
	if !ok {
		return nil
	}
	return o.objectOf(name, value)
}

func (o *object) objectOf(name string, value json.RawMessage) *object {
	inner := &object{path: o.path + name + ".", problem: o.problem}
	inner.read(value)
	return inner
}

// list reads a required list; least and most limit its elements.
func (o *object) list(name string, least, most int) []json.RawMessage {
	value, ok := o.need(name)
	if !ok {
		return nil
	}
	return o.listOf(name, value, least, most)
}

func (o *object) listOf(name string, value json.RawMessage, least, most int) []json.RawMessage {
	var list []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &list) != nil {
		o.wrong(name, "must be a list")
		return nil
	}
	if len(list) < least || len(list) > most {
		o.wrong(name, "must have "+strconv.Itoa(least)+" to "+strconv.Itoa(most)+" elements")
		return nil
	}
	return list
}

// element returns the name of a list's element for error texts.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
