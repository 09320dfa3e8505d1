package wire

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Request is the body of a request that was read and not checked yet. It shows what the request names, which decides
// whether it may be answered, even with an exception. Serve or Discard ends it.
type Request struct {
	handler  Handler
	protocol Protocol
	input    unsafe.Pointer
	reader   bodyReader
	failure  *fault.Error // of reading
}

// Read reads a body. It is not kept.
func (h Handler) Read(p Protocol, body []byte) Request {
	r := Request{handler: h, protocol: p, input: h.empty(), reader: readers[p].Get().(bodyReader)}
	r.failure = h.Info.input.fill(r.reader, body, r.input)
	return r
}

// Serve checks the input, calls the handler's function, and appends the encoded output to *out. See [Handler.Serve].
func (r *Request) Serve(ctx context.Context, out *[]byte) error {
	err := r.check()
	r.Discard()
	if err != nil {
		return err
	}
	return r.handler.serve(ctx, r.input, r.protocol, out)
}

func (r *Request) check() error {
	if r.failure != nil {
		return r.failure
	}
	c := &r.reader.common().checker
	r.handler.Info.input.check(c, r.input)
	return c.verdict()
}

// Discard ends a request that is not served.
func (r *Request) Discard() {
	if r.reader != nil {
		r.reader.end()
		readers[r.protocol].Put(r.reader)
		r.reader = nil
	}
}

// member returns a member of the input; the zero Value if there is none of that name, or the body could not be read.
func (r *Request) member(name string) reflect.Value {
	if r.failure != nil {
		return reflect.Value{}
	}
	return reflect.NewAt(r.handler.Info.input.typ, r.input).Elem().FieldByName(name)
}

// Texts returns a member that is a string or a list of strings; nil if it is absent or another type.
func (r *Request) Texts(member string) []string {
	v := r.member(member)
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.String:
		if v.Len() > 0 {
			return []string{v.String()}
		}
		return nil
	}
	list, _ := v.Interface().([]string)
	return list
}

// Tags returns the tags that the input gives to a resource, and the keys of those that it takes away, without values.
func (r *Request) Tags() map[string]string {
	keys, given := r.Texts("TagKeys"), r.member("Tags")
	if len(keys) == 0 && !given.IsValid() {
		return nil
	}
	tags := make(map[string]string, len(keys))
	for _, key := range keys {
		tags[key] = ""
	}
	if given.IsValid() {
		list, _ := given.Interface().([]Tag)
		for _, t := range list {
			tags[t.Key] = t.Value
		}
	}
	return tags
}
