package wire

import (
	"reflect"
	"time"
	"unsafe"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A bodyReader reads a body token by token, whatever its protocol.
type bodyReader interface {
	// begin makes the reader ready for a body that it finds well-formed and within limits.
	begin(body []byte) *fault.Error
	// end forgets the body.
	end()
	// common is what the readers of both protocols share.
	common() *reader

	// openObject begins an object. The result goes to nextMember. A null reads as an empty object, which only the body
	// itself can be.
	openObject() (left int)
	// nextMember moves to the next member that is not null, and puts its name in common().name. It returns false when
	// there is none.
	nextMember(left int) (int, bool)
	// openArray begins an array. left goes to nextItem, room is how many elements to make room for: usual for an array
	// that does not tell.
	openArray(usual int) (left, room int)
	// nextItem moves to the next element. It returns false when there is none.
	nextItem(left int) (int, bool)
	// null consumes a null, if one is next.
	null() bool
	// skip passes over a value of any kind.
	skip()

	// The others read a value. name is that of a member, as messages show it.
	text(name string, rule *textRule) string
	int32(name string) int32
	int64(name string) int64
	float32(name string) float32
	float64(name string) float64
	bool(name string) bool
	time(name string) time.Time
	blob(name string) []byte
}

// usual is how many elements a list has room for before it must grow, when its length is not known beforehand: all that
// the model allows, within reason.
func (v *value) usual() int {
	most := 4
	if v.bounds == nil || v.bounds.max == nil {
		return most
	}
	if v.element.kind == kindText {
		most = 32
	}
	return min(most, int(*v.bounds.max))
}

// read reads an object into the structure at p, which is empty, and notes the required members that it lacks.
func (s *structure) read(d bodyReader, p unsafe.Pointer) {
	r, seen, next := d.common(), uint64(0), 0
	for left, ok := d.nextMember(d.openObject()); ok; left, ok = d.nextMember(left) {
		i := s.index(r.name, next)
		if i < 0 {
			d.skip()
			continue
		}
		s.fields[i].read(d, p)
		seen |= s.fields[i].bit
		next = i + 1
	}
	if seen != s.required {
		s.require(r, seen)
	}
}

// index finds a member by its name, -1 if there is none. It begins at next: most clients send members in the model's
// order.
func (s *structure) index(name string, next int) int {
	for i := next; i < len(s.fields); i++ {
		if s.fields[i].name == name {
			return i
		}
	}
	for i := range min(next, len(s.fields)) {
		if s.fields[i].name == name {
			return i
		}
	}
	return -1
}

// require notes which required members were not seen.
func (s *structure) require(r *reader, seen uint64) {
	for i := range s.fields {
		if f := &s.fields[i]; f.bit&^seen != 0 {
			r.missing(f.label)
		}
	}
}

// read reads a member into the structure at p.
func (f *field) read(d bodyReader, p unsafe.Pointer) {
	p = unsafe.Add(p, f.offset)
	if f.presence == ifSet {
		*(*bool)(unsafe.Add(p, f.told)) = true
	}
	if f.kind < kindList {
		f.value.read(d, f.label, p)
		return
	}
	r := d.common()
	r.enter(f.label)
	f.value.read(d, "", p)
	r.leave()
}

// read reads a value into p; name is that of a scalar member, as messages show it.
func (v *value) read(d bodyReader, name string, p unsafe.Pointer) {
	switch v.kind {
	case kindText:
		*(*string)(p) = d.text(name, v.text)
	case kindInt32:
		*(*int32)(p) = d.int32(name)
	case kindInt64:
		*(*int64)(p) = d.int64(name)
	case kindFloat32:
		*(*float32)(p) = d.float32(name)
	case kindFloat64:
		*(*float64)(p) = d.float64(name)
	case kindBool:
		*(*bool)(p) = d.bool(name)
	case kindTime:
		*(*time.Time)(p) = d.time(name)
	case kindBlob:
		*(*[]byte)(p) = d.blob(name)
	case kindStruct:
		v.structure.read(d, p)
	case kindPointer:
		n := reflect.New(v.structure.typ).UnsafePointer()
		*(*unsafe.Pointer)(p) = n
		v.structure.read(d, n)
	case kindList:
		v.readList(d, p)
	case kindMap:
		*(*unsafe.Pointer)(p) = v.entries.read(d, v.element)
	}
}

// readList reads an array into a new list at p.
func (v *value) readList(d bodyReader, p unsafe.Pointer) {
	*(*[]struct{})(p) = []struct{}{} // empty, but not absent
	left, room := d.openArray(v.usual())
	v.grow(p, room)
	r, list, ok := d.common(), (*slice)(p), false
	for i := 0; ; i++ {
		if left, ok = d.nextItem(left); !ok {
			break
		}
		r.item(i)
		if d.null() {
			r.missing("")
			continue
		}
		if list.len == list.cap {
			v.grow(p, 1)
		}
		list.len++
		v.element.read(d, "", list.at(list.len-1, v.element.width))
	}
	r.whole()
}

// grow makes room for n more elements in the list at p.
func (v *value) grow(p unsafe.Pointer, n int) {
	if n > 0 {
		reflect.NewAt(v.typ, p).Elem().Grow(n)
	}
}
