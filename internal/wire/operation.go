package wire

import (
	"context"
	"slices"
	"strings"
	"unsafe"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Protocol is one of the two encodings of requests and answers.
type Protocol int

// The protocols of the API. Source: the service's API model, "protocols".
const (
	JSON Protocol = iota // AWS JSON 1.1
	CBOR                 // Smithy RPC v2 CBOR
)

// String is the protocol's name in the API model.
func (p Protocol) String() string {
	if p == CBOR {
		return "smithy-rpc-v2-cbor"
	}
	return "json"
}

// OperationInfo describes one operation of an API. It is generated, or made by [New], and must not be changed.
type OperationInfo struct {
	Name      string
	Errors    []string // the exceptions that the model lists for it, sorted
	HasOutput bool     // false: the model has no output structure, the answer's body is empty
	Paginated bool     // clients follow NextToken until it is absent

	recent        []string // those of Errors that not every client knows, sorted
	input, output *structure
}

// Models reports whether every client knows an exception of this operation: the model lists it, and did so before its
// latest version.
func (o *OperationInfo) Models(kind fault.Kind) bool {
	_, listed := slices.BinarySearch(o.Errors, string(kind))
	_, recent := slices.BinarySearch(o.recent, string(kind))
	return listed && !recent
}

// Lookup finds an operation by its name, which is case-sensitive.
func Lookup(name string) (*OperationInfo, bool) {
	i, found := slices.BinarySearchFunc(Operations, name, func(o *OperationInfo, name string) int {
		return strings.Compare(o.Name, name)
	})
	if !found {
		return nil, false
	}
	return Operations[i], true
}

// NoOutput stands for the output of an operation that has none.
type NoOutput struct{}

// An Operation ties an operation's description to its input and output types. The generated variables (OpCreateFleet,
// …) and the results of [New] are the only useful values.
type Operation[I, O any] struct {
	*OperationInfo
}

// New returns an operation of another API, whose shapes are structs that follow the rules of the package comment. It is
// for the initialization of variables only: two calls at a time are a race. It panics at a type or a tag that the
// tables cannot describe.
func New[I, O any](name string) Operation[I, O] {
	return operation[I, O](&OperationInfo{Name: name, HasOutput: true})
}

// Decode reads a request's body into a new input and checks it against the model. The error is a *fault.Error:
// fault.Serialization for a body that cannot be read, fault.InvalidRequest for values that break the model's
// constraints. The input holds no reference to body.
func (op Operation[I, O]) Decode(p Protocol, body []byte) (*I, error) {
	in := new(I)
	if err := op.input.decode(p, body, unsafe.Pointer(in)); err != nil {
		return nil, err
	}
	return in, nil
}

// Check checks an input against the model that did not come as a request's body. The error is a *fault.Error with
// fault.InvalidRequest.
func (op Operation[I, O]) Check(in *I) error {
	var c checker
	op.input.check(&c, unsafe.Pointer(in))
	return c.verdict()
}

// AppendInput appends the body of a request to dst and returns the extended slice.
func (op Operation[I, O]) AppendInput(dst []byte, p Protocol, in *I) []byte {
	return op.input.append(dst, p, unsafe.Pointer(in))
}

// Append appends the body of a successful answer to dst and returns the extended slice; a nil out is an empty
// structure. An operation without output has an empty body.
func (op Operation[I, O]) Append(dst []byte, p Protocol, out *O) []byte {
	if !op.HasOutput {
		return dst
	}
	if out == nil {
		out = new(O)
	}
	return op.output.append(dst, p, unsafe.Pointer(out))
}

// Handle binds the operation to the function that answers it. A nil output with a nil error is an empty structure.
// Errors reach the caller of Serve as they are.
func (op Operation[I, O]) Handle(f func(ctx context.Context, in *I) (*O, error)) Handler {
	serve := func(ctx context.Context, in unsafe.Pointer, p Protocol, out *[]byte) error {
		answer, err := f(ctx, (*I)(in))
		if err != nil {
			return err
		}
		*out = op.Append(*out, p, answer)
		return nil
	}
	call := func(ctx context.Context, in any) (any, error) {
		out, err := f(ctx, in.(*I))
		if out == nil && err == nil {
			out = new(O)
		}
		return out, err
	}
	return Handler{Info: op.OperationInfo, empty: func() unsafe.Pointer { return unsafe.Pointer(new(I)) }, serve: serve,
		call: call}
}

// HandleEmpty binds an operation that has no output, or an output without members, to the function that carries it out.
func (op Operation[I, O]) HandleEmpty(f func(ctx context.Context, in *I) error) Handler {
	return op.Handle(func(ctx context.Context, in *I) (*O, error) { return nil, f(ctx, in) })
}

// Refuse makes a handler that reads and checks the input, so that a caller learns of its own mistakes first, and then
// answers with a fault.
func (op Operation[I, O]) Refuse(kind fault.Kind, why string) Handler {
	return op.Handle(func(context.Context, *I) (*O, error) {
		return nil, &fault.Error{Kind: kind, Message: why}
	})
}

// A Handler is an operation bound to the function that answers or refuses it, without its types, so that handlers of
// all operations fit in one map.
// It may be used by several goroutines when its function may.
type Handler struct {
	Info  *OperationInfo
	empty func() unsafe.Pointer // makes an input
	serve func(ctx context.Context, in unsafe.Pointer, p Protocol, out *[]byte) error
	call  func(ctx context.Context, in any) (out any, err error)
}

// Serve decodes and checks body, calls the function and appends the encoded output to *out. After an error *out is
// unchanged. The error is the decoder's *fault.Error or whatever the function returned; fault.Of makes either fit for
// AppendError. Neither body nor *out is kept.
func (h Handler) Serve(ctx context.Context, p Protocol, body []byte, out *[]byte) error {
	r := h.Read(p, body)
	return r.Serve(ctx, out)
}
