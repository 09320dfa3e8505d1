package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
	first := run(exitOK, []string{"n1", "n2", "n3"}, "copy each directory to the host",
		"keep tls/ca.key and region.secret secret", "can join the cluster")
	if first.stdout != lines("n1", "n2", "n3") {
		t.Errorf("made %s", first.stdout)
	}
	if later := run(exitOK, []string{"n1", "n4"}); later.stdout != lines("n4") {
		t.Errorf("added %s", later.stdout)
	}
	if again := run(exitOK, []string{"n1", "n4"}, "nothing to do"); again.stdout != "" ||
		strings.Contains(again.stderr, "copy") {
		t.Errorf("again: %+v", again)
	}
	run(exitFailure, []string{"n5"}, "unnamed node")
	run(exitFailure, []string{"n1", "n.5"}, `"n.5"`)
	run(exitMisuse, nil, "an argument is missing")
	expect(t, nil, exitMisuse, []string{"cluster", "init", "n1"}, "--out is missing")
	expect(t, nil, exitOK, []string{"cluster"}, "Usage:", "init", "muster cluster init --out cluster n1 n2 n3")
}

func TestClusterNodes(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/nodes":
			fmt.Fprint(w, `{"level":1,"nodes":[{"node":"n1","up":true,"ready":true,"shards":12,"copies":29,`+
				`"behind":0,"level":2},{"node":"n2","up":true,"leaving":true,"level":12},{"node":"n4","up":false,`+
				`"copies":7,"behind":7}]}`)
		case "DELETE /v1/nodes/n4":
			fmt.Fprint(w, `{"removed":"n4"}`)
		default:
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":"ConflictException","message":"Node n1 is up."}`)
		}
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	const table = `NODE  UP       READY  SHARDS  COPIES  BEHIND  LEVEL
n1    yes      yes    12      29      0       2
n2    leaving  no     0       0       0       12
n4    no       no     0       7       7       -

feature level in force: 1
`
	if got := expect(t, environ, exitOK, []string{"cluster", "nodes"}); got.stdout != table {
		t.Errorf("printed %s", got.stdout)
	}
	expect(t, environ, exitOK, []string{"cluster", "remove", "n4"}, "Removed n4.")
	expect(t, environ, exitFailure, []string{"cluster", "remove", "n1"},
		"remove node n1: ConflictException: Node n1 is up.")
	expect(t, environ, exitMisuse, []string{"cluster", "remove"}, "an argument is missing")
	expect(t, nil, exitMisuse, []string{"cluster", "nodes"}, "no endpoint: set")
}
