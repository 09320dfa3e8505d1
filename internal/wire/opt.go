package wire

import (
	"reflect"
	"unsafe"
)

// An Opt is a number, a boolean, or a string of an update, that may be absent. The zero value is absent, which differs
// from a value that is present and zero or empty.
type Opt[T comparable] struct {
	value T // first: the tables expect it where the Opt is
	set   bool
}

// Some returns a present value.
func Some[T comparable](v T) Opt[T] { return Opt[T]{value: v, set: true} }

// Get returns the value and whether it is present; the zero T when it is not.
func (o Opt[T]) Get() (T, bool) { return o.value, o.set }

// Or returns the value, or def when it is absent.
func (o Opt[T]) Or(def T) T {
	if o.set {
		return o.value
	}
	return def
}

// IsSet reports whether the value is present.
func (o Opt[T]) IsSet() bool { return o.set }

// An optional is an Opt of any type.
type optional interface {
	layout() (value reflect.Type, set uintptr)
}

// layout returns the type of the value, and where the Opt says that it is present.
func (o Opt[T]) layout() (value reflect.Type, set uintptr) {
	return reflect.TypeFor[T](), unsafe.Offsetof(o.set)
}
