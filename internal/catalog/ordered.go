package catalog

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// join returns the key of owner's entry named name. The owner's length is first, so that keys are unique whatever the
// strings; an owner's entries sort by name.
func join(owner, name string) string {
	key := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(owner)+len(name)), uint64(len(owner)))
	return string(append(append(key, owner...), name...))
}

// walk visits owner's entries in order until visit returns false.
func walk[V any](m *btree.Map[string, V], owner string, visit func(V) bool) {
	prefix := join(owner, "")
	m.Ascend(prefix, func(key string, v V) bool {
		return strings.HasPrefix(key, prefix) && visit(v)
	})
}

// drop deletes owner's entries.
func drop[V any](m *btree.Map[string, V], owner string) {
	prefix := join(owner, "")
	var keys []string
	m.Ascend(prefix, func(key string, _ V) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		keys = append(keys, key)
		return true
	})
	for _, key := range keys {
		m.Delete(key)
	}
}

// page collects the values that keep accepts, with keys that begin with prefix and are after prefix+after ("" is the
// beginning), in order. A limit below 1 is none. more reports that there are further ones.
func page[V any](m *btree.Map[string, V], prefix, after string, limit int, keep func(V) bool) (values []V, more bool) {
	from := prefix + after
	m.Ascend(from, func(key string, v V) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		if (after != "" && key == from) || !keep(v) {
			return true
		}
		if limit > 0 && len(values) == limit {
			more = true
			return false
		}
		values = append(values, v)
		return true
	})
	return values, more
}

func every[V any](V) bool { return true }

// repeated returns the first duplicate in list.
func repeated(list []string) (string, bool) {
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return "", false
}
