package wire

import (
	"slices"
	"strings"
	"unsafe"
)

// A mapType reads maps of one type and lists their entries. Maps go in and out as the one pointer that they are, so
// that values on the stack stay there.
type mapType interface {
	read(d bodyReader, element *value) unsafe.Pointer
	sorted(m unsafe.Pointer) (entries slice, size, value uintptr)
}

// A mapOf is the mapType of maps with values of type V.
type mapOf[V any] struct{}

// An entry is an entry of a map.
type entry[V any] struct {
	key   string
	value V
}

func (mapOf[V]) read(d bodyReader, element *value) unsafe.Pointer {
	r := d.common()
	entries := make(map[string]V)
	for left, ok := d.nextMember(d.openObject()); ok; left, ok = d.nextMember(left) {
		key := strings.Clone(r.name)
		r.entry(key)
		var v V
		element.read(d, "", unsafe.Pointer(&v))
		entries[key] = v
	}
	r.whole()
	return *(*unsafe.Pointer)(unsafe.Pointer(&entries))
}

// sorted lists the entries of a map by their keys: a slice of entries, the size of each, and where in it the value is;
// the key comes first.
func (mapOf[V]) sorted(m unsafe.Pointer) (entries slice, size, value uintptr) {
	all := *(*map[string]V)(unsafe.Pointer(&m))
	list := make([]entry[V], 0, len(all))
	for key, v := range all {
		list = append(list, entry[V]{key, v})
	}
	slices.SortFunc(list, func(a, b entry[V]) int { return strings.Compare(a.key, b.key) })
	return *(*slice)(unsafe.Pointer(&list)), unsafe.Sizeof(entry[V]{}), unsafe.Offsetof(entry[V]{}.value)
}
