package eventtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// Golden fails the test if got is not what the file holds. With go test -update it writes the file instead.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := ReadGolden(t, path); got != want {
		t.Errorf("%s differs; after an intended change run go test -update\n--- got\n%s--- want\n%s", path, got, want)
	}
}

// ReadGolden returns a text file with the line ends that git may have changed undone.
func ReadGolden(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	return string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}
