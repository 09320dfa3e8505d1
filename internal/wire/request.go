package wire

import (
	"context"
	"fmt"
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
	typed    any          // the input of a request that has no body
	reader   bodyReader   // nil: it has none
	failure  *fault.Error // of reading
}

// Read reads a body. It is not kept.
func (h Handler) Read(p Protocol, body []byte) Request {
	r := Request{handler: h, protocol: p, input: h.empty(), reader: readers[p].Get().(bodyReader)}
	r.failure = h.Info.input.fill(r.reader, body, r.input)
	return r
}

// Of returns a request of this program, without a body: in points to an input of the operation. Call serves it.
func (h Handler) Of(in any) Request {
	v := reflect.ValueOf(in)
	if v.Type() != reflect.PointerTo(h.Info.input.typ) {
		panic(fmt.Sprintf("wire: %s does not take a %T", h.Info.Name, in))
	}
	return Request{handler: h, typed: in, input: v.UnsafePointer()}
}

// Call checks the input of a request without a body, and calls the handler's function. The output is a pointer.
func (r *Request) Call(ctx context.Context) (out any, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.handler.call(ctx, r.typed)
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
	c := new(checker)
	if r.reader != nil {
		c = &r.reader.common().checker
	}
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

// A Member is a member of an input that is a string or a list of strings. The zero Member is of no input.
type Member struct{ *field }

// Member returns a member of the operation's input; the zero Member if there is none of that name and type.
func (h Handler) Member(name string) Member {
	f := h.Info.input.find(name)
	if f == nil || f.kind != kindText && (f.kind != kindList || f.element.kind != kindText) {
		return Member{}
	}
	return Member{f}
}

// AppendTexts appends the texts of a member of the request's input, none if it is absent or the body could not be read.
func (r *Request) AppendTexts(dst []string, m Member) []string {
	if m.field == nil || r.failure != nil {
		return dst
	}
	at := unsafe.Add(r.input, m.offset)
	if m.kind == kindList {
		return append(dst, *(*[]string)(at)...)
	}
	if text := *(*string)(at); text != "" {
		dst = append(dst, text)
	}
	return dst
}

// Tags returns the tags that the input gives to a resource, and the keys of those that it takes away, without values.
func (r *Request) Tags() map[string]string {
	given, taken := r.handler.Info.input.tags, r.handler.Info.input.tagKeys
	if given == nil && taken == nil || r.failure != nil {
		return nil
	}
	tags := make(map[string]string)
	for _, key := range r.AppendTexts(nil, Member{taken}) {
		tags[key] = ""
	}
	if given != nil {
		for _, t := range *(*[]Tag)(unsafe.Add(r.input, given.offset)) {
			tags[t.Key] = t.Value
		}
	}
	return tags
}
