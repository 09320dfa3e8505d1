package remote

import (
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// The conversions between the SDK's shapes and ours go member by member, and a
// test finds the member that was forgotten. These are the rules for one member.

// text is a string that may be absent; "" is.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// number is a number or a boolean that may be absent.
func number[T comparable](o wire.Opt[T]) *T {
	if v, ok := o.Get(); ok {
		return &v
	}
	return nil
}

// optional is the reverse of number.
func optional[T comparable](p *T) wire.Opt[T] {
	if p == nil {
		return wire.Opt[T]{}
	}
	return wire.Some(*p)
}

// moment is a timestamp that may be absent, as the wire keeps it.
func moment(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC().Truncate(time.Millisecond)
}

// each converts the elements of a list. An absent list stays absent, an empty one empty.
func each[A, B any](list []A, convert func(*A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = convert(&list[i])
	}
	return out
}

// eachValue converts the values of a map likewise.
func eachValue[A, B any](values map[string]A, convert func(*A) B) map[string]B {
	if values == nil {
		return nil
	}
	out := make(map[string]B, len(values))
	for key, v := range values {
		out[key] = convert(&v)
	}
	return out
}

// maybe converts a structure that may be absent.
func maybe[A, B any](p *A, convert func(*A) B) *B {
	if p == nil {
		return nil
	}
	out := convert(p)
	return &out
}
