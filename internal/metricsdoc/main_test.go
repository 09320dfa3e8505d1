package main

import (
	"bytes"
	"os"
	"testing"
)

func TestReferenceIsUpToDate(t *testing.T) {
	committed, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, reference()) {
		t.Error("docs/reference/metrics.md is not what the metrics say: run make generate")
	}
}
