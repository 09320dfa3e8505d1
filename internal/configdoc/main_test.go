package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestReferenceIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, reference()) {
		t.Error("docs/reference/configuration.md differs from the settings: run make generate")
	}
}

func TestReferenceListsEverySettingOnce(t *testing.T) {
	page := string(reference())
	for _, name := range []string{"data", "listen", "health-interval", "tls-names"} {
		if n := strings.Count(page, "| `"+name+"` |"); n != 1 {
			t.Errorf("setting %s stands %d times in the reference, want once", name, n)
		}
	}
}
