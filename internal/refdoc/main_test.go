package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestPagesAreUpToDate(t *testing.T) {
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			have, err := os.ReadFile(filepath.Join("../../docs/reference", name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, must(t, page)) {
				t.Error("the page differs from the code: run make generate")
			}
		})
	}
}

func must(t *testing.T, page func() ([]byte, error)) []byte {
	t.Helper()
	text, err := page()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
