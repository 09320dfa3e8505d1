package ruleset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event/eventtest"
)

// TestGolden holds what is made of the rule sets in testdata/sets to a file each: the
// parsed tree, and what differs at each level.
func TestGolden(t *testing.T) {
	for file, body := range documents(t) {
		if !strings.HasPrefix(file, "testdata/sets/") {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			eventtest.Golden(t, filepath.Join("testdata", "golden", name+".txt"), dump(t, mustParse(t, body)))
		})
	}
}

// dump is a set, a part a line, and for each level the parts that differ from the one before.
func dump(t *testing.T, s *Set) string {
	var b strings.Builder
	line := func(what string, v any) {
		var data bytes.Buffer
		e := json.NewEncoder(&data)
		e.SetEscapeHTML(false)
		if err := e.Encode(sparse(t, v)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s", what, data.String())
	}
	line("set", s.Name)
	for _, a := range s.Attributes {
		line("attribute", a)
	}
	line("algorithm", s.Algorithm)
	for _, team := range s.Teams {
		line("team", team)
	}
	for _, r := range s.Rules {
		line("rule", r)
	}
	before := s
	for _, age := range s.Levels() {
		fmt.Fprintf(&b, "from %v\n", age)
		for _, c := range s.Changes(age) {
			line("  change", c)
		}
		now := s.At(age)
		for i := range now.Teams {
			if now.Teams[i] != before.Teams[i] {
				line("  team", now.Teams[i])
			}
		}
		for i := range now.Rules {
			if !reflect.DeepEqual(now.Rules[i], before.Rules[i]) {
				line("  rule", now.Rules[i])
			}
		}
		before = now
	}
	return b.String()
}

// sparse is a value as JSON has it, without what is zero, so that people can read it.
func sparse(t *testing.T, v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	return withoutZeros(tree)
}

func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, of := range v {
			if of = withoutZeros(of); of == nil || reflect.ValueOf(of).IsZero() && k != "Number" && k != "MinCount" &&
				k != "MaxCount" {
				delete(v, k)
			} else {
				v[k] = of
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	}
	return v
}
