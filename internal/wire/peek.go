package wire

import (
	"reflect"
	"unsafe"
)

// A Peek is the input of a request that was read and not checked: for who must know what a request names before it may
// be answered, even with an exception.
type Peek struct{ input reflect.Value }

// Peek reads the body of a request. ok is false if it cannot be read.
func (o *OperationInfo) Peek(p Protocol, body []byte) (peek Peek, ok bool) {
	v := reflect.New(o.input.typ)
	d := readers[p].Get().(bodyReader)
	defer readers[p].Put(d)
	defer d.end()
	if o.input.fill(d, body, unsafe.Pointer(v.Pointer())) != nil {
		return Peek{}, false
	}
	return Peek{v.Elem()}, true
}

// Texts returns a member that is a string or a list of strings; nil if it is absent or another type.
func (p Peek) Texts(member string) []string {
	v := p.input.FieldByName(member)
	if !v.IsValid() {
		return nil
	}
	switch value := v.Interface().(type) {
	case string:
		if value == "" {
			return nil
		}
		return []string{value}
	case []string:
		return value
	}
	return nil
}

// Tags returns the tags that the input gives to a resource, and the keys of those that it takes away, without values.
func (p Peek) Tags() map[string]string {
	tags := map[string]string{}
	for _, key := range p.Texts("TagKeys") {
		tags[key] = ""
	}
	v := p.input.FieldByName("Tags")
	if !v.IsValid() {
		return tags
	}
	list, _ := v.Interface().([]Tag)
	for _, t := range list {
		tags[t.Key] = t.Value
	}
	return tags
}
