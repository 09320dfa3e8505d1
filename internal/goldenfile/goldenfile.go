// Package goldenfile compares what a test came to with a file in its testdata, and
// writes the file instead with go test -update.
package goldenfile

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// Compare fails the test if got is not what the file holds.
func Compare(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := Read(t, path); got != want {
		t.Errorf("%s differs; after a wanted change run go test -update\n--- got\n%s--- want\n%s", path, got, want)
	}
}

// Read is a text file with the line ends that git may have changed undone.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	return string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}
