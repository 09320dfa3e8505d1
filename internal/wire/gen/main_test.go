package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommitted holds that the generated files are those that the generator makes,
// and that no other file claims to be one.
func TestCommitted(t *testing.T) {
	files, err := generate("../model/gamelift.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date: run go generate in internal/wire (%v)", name, err)
		}
	}
	present, err := filepath.Glob("../zz_*")
	if err != nil {
		t.Fatal(err)
	}
	if len(present) != len(files) {
		t.Errorf("%d zz_ files, the generator makes %d: %v", len(present), len(files), present)
	}
}

// TestDeterministic holds that the same model gives the same bytes.
func TestDeterministic(t *testing.T) {
	first, err := generate("../model/gamelift.json")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		next, err := generate("../model/gamelift.json")
		if err != nil {
			t.Fatal(err)
		}
		for name := range first {
			if !bytes.Equal(first[name], next[name]) {
				t.Fatalf("%s differs from run to run", name)
			}
		}
	}
}

// TestRefusesModels holds that a model which the generator cannot handle is an error.
func TestRefusesModels(t *testing.T) {
	for name, c := range map[string]struct{ shapes, want string }{
		"unknown shape": {`"In":{"t":"structure","m":{"A":"Nothing"}}`, "unknown shape Nothing"},
		"bad pattern": {`"In":{"t":"structure","m":{"A":"S"}},"S":{"t":"string","pattern":"(?<=a)b"}`,
			"pattern (?<=a)b"},
		"secret input": {`"In":{"t":"structure","m":{},"sens":true}`, "sensitive as a whole"},
		"list of numbers": {`"In":{"t":"structure","m":{"A":"L"}},"L":{"t":"list","of":"N"},"N":{"t":"integer"}`,
			"elements of type integer"},
		"equal constants": {`"In":{"t":"structure","m":{"A":"E"}},"E":{"t":"string","enum":["A_B","A-B"]}`, "too"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "model.json")
			text := `{"operations":{"Do":{"in":"In","out":null,"errors":[]}},"shapes":{` + c.shapes + `},"later":{}}`
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := generate(file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
