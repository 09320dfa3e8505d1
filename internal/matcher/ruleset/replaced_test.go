package ruleset

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// TestEveryPlaceReplaced puts other values into every place of the sample sets. Nothing
// panics, what is accepted is consistent, and an error names a place that the document
// has, or a key that is missing in it.
func TestEveryPlaceReplaced(t *testing.T) {
	values := []any{nil, true, 0.0, -1.0, 2.5, 1e300, "", "x", "5", "teams[*]",
		"avg(flatten(teams[*].players.attributes[skill]))", []any{}, []any{"x", 1.0}, map[string]any{},
		[]any{map[string]any{}}}
	accepted, refused := 0, 0
	for file, body := range documents(t) {
		if !strings.HasPrefix(file, "testdata/sets/") {
			continue
		}
		var root any
		if err := json.Unmarshal([]byte(body), &root); err != nil {
			t.Fatal(err)
		}
		eachPlace(root, func(set func(any), old any) {
			for _, v := range values {
				set(v)
				changed, err := json.Marshal(root)
				if err != nil {
					t.Fatal(err)
				}
				s, err := Parse(string(changed))
				if err == nil {
					accepted++
					check(t, s)
					continue
				}
				refused++
				var e *Error
				if !errors.As(err, &e) || e.Path == "" || !hasPlace(root, e.Path) {
					t.Fatalf("%s: %s\n%v", file, changed, err)
				}
			}
			set(old)
		})
	}
	if accepted < 100 || refused < 1000 {
		t.Errorf("%d documents are accepted and %d refused: that proves little", accepted, refused)
	}
}

// eachPlace visits all values within a value.
func eachPlace(v any, visit func(set func(any), old any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			old := v[key]
			visit(func(n any) { v[key] = n }, old)
			eachPlace(old, visit)
		}
	case []any:
		for i, old := range v {
			visit(func(n any) { v[i] = n }, old)
			eachPlace(old, visit)
		}
	}
}

// hasPlace reports whether all of a path but its last key is in the document.
func hasPlace(v any, path string) bool {
	keys := strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
	for i, key := range keys {
		switch of := v.(type) {
		case map[string]any:
			next, ok := of[key]
			if !ok && i < len(keys)-1 && key != "algorithm" { // which may be left out as a whole
				return false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n >= len(of) {
				return false
			}
			v = of[n]
		default:
			return v == nil && i == len(keys)-1
		}
	}
	return true
}
