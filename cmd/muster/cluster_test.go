package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestClusterInit(t *testing.T) {
	out := filepath.Join(t.TempDir(), "cluster")
	run := func(status int, nodes []string, parts ...string) result {
		t.Helper()
		return expect(t, nil, status, append([]string{"cluster", "init", "--out", out}, nodes...), parts...)
	}
	lines := func(nodes ...string) (text string) {
		for _, node := range nodes {
			text += filepath.Join(out, node) + "\n"
		}
		return text
	}
	first := run(exitOK, []string{"n1", "n2", "n3"}, "copy each directory to the host", "tls/ca.key in it is a secret", "can join the cluster")
	if first.stdout != lines("n1", "n2", "n3") {
		t.Errorf("made %s", first.stdout)
	}
	if later := run(exitOK, []string{"n1", "n4"}); later.stdout != lines("n4") {
		t.Errorf("added %s", later.stdout)
	}
	if again := run(exitOK, []string{"n1", "n4"}, "nothing to make"); again.stdout != "" || strings.Contains(again.stderr, "copy") {
		t.Errorf("again: %+v", again)
	}
	run(exitFailure, []string{"n5"}, "not named")
	run(exitFailure, []string{"n1", "n.5"}, `"n.5"`)
	run(exitMisuse, nil, "requires at least 1 arg(s)")
	expect(t, nil, exitMisuse, []string{"cluster", "init", "n1"}, "--out is missing")
	expect(t, nil, exitOK, []string{"cluster"}, "Usage:", "init", "muster cluster init --out cluster n1 n2 n3")
}
