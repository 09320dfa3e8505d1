package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// Without an endpoint the service is a process of its own, which is gone at the
// end with its data.
func TestBench(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	file := filepath.Join(t.TempDir(), "bench.json")
	got := execute(t, nil, "bench", "player", "lives", "--duration", "200ms", "--connections", "3", "--pool", "3",
		"--json", file)
	if got.status != exitOK {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	for _, name := range []string{"profile", "player ", "lives ", "client µs/op"} {
		if !strings.Contains(got.stdout, name) {
			t.Errorf("standard output lacks %q:\n%s", name, got.stdout)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report benchReport
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&report); err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 2 || report.CPUs == 0 || report.Version.Go == "" {
		t.Fatalf("the file holds %s", text)
	}
	for _, r := range report.Results {
		if r.Units == 0 || r.Failures() > 0 || r.Server == nil {
			t.Errorf("%s: %d %s, errors %v, server %+v", r.Profile, r.Units, r.Unit, r.Errors, r.Server)
		}
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) != 0 {
		t.Errorf("the temporary directory holds %v, %v", left, err)
	}
}

// TestBenchLegacy runs lives on server SDK 3, with a fleet of another name.
func TestBenchLegacy(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "bench.json")
	got := execute(t, nil, "bench", "lives", "--sdk", "legacy", "--legacy-fleet", "fleet-bench", "--duration", "200ms",
		"--connections", "3", "--json", file)
	if got.status != exitOK || !strings.Contains(got.stdout, " legacy ") {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report benchReport
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 1 {
		t.Fatalf("the file holds %s", text)
	}
	if r := report.Results[0]; r.SDK != bench.SDKLegacy || r.Units == 0 || r.Failures() > 0 || r.Server == nil {
		t.Errorf("%d %s on SDK %q, errors %v, server %+v", r.Units, r.Unit, r.SDK, r.Errors, r.Server)
	}
}

func TestBenchMisuse(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown profile \"seats\": must be one of players, ": {"bench", "seats"},
		"AWS_ACCESS_KEY_ID": {"bench", "player", "--endpoint", "http://127.0.0.1:1"},
		"--pprof-listen is": {"bench", "player", "--endpoint", "http://127.0.0.1:1", "--pprof-listen", "127.0.0.1:0"},
		"no certificate": {"bench", "player", "--endpoint", "https://127.0.0.1:1", "--access-key", "a",
			"--secret-key", "b", "--region", "r", "--ca-file", os.DevNull},

		"profile players needs server SDK 5": {"bench", "--sdk", "legacy"},
		"profile player needs server SDK 5":  {"bench", "lives", "player", "--sdk", "legacy"},
		`the server SDK "4" must be`:         {"bench", "lives", "--sdk", "4"},
		"has one location, not 2":            {"bench", "lives", "--sdk", "legacy", "--locations", "2"},
		`the legacy address "localhost"`: {"bench", "lives", "--sdk", "legacy",
			"--legacy-address", "localhost"},
	} {
		if got := execute(t, nil, args...); got.status != exitMisuse || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: status %d: %s", args, got.status, got.stderr)
		}
	}
}

func TestBenchTakesTheEnvironment(t *testing.T) {
	b := benchmark{config: bench.DefaultConfig(), app: &app{environ: []string{
		"AWS_ENDPOINT_URL_GAMELIFT=http://127.0.0.1:9080", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_REGION=eu-west-1",
		"MUSTER_WS_URL=ws://127.0.0.1:9080",
	}}}
	if err := b.complete(); err != nil {
		t.Fatal(err)
	}
	c := b.config
	if c.Endpoint != "http://127.0.0.1:9080" || c.WebSocketURL != "ws://127.0.0.1:9080" ||
		c.MetricsURL != "http://127.0.0.1:9080/metrics" ||
		c.Credentials != (sigv4.ClientCredentials{AccessKey: "AKID", SecretKey: "s", Region: "eu-west-1"}) {
		t.Errorf("got %+v", c)
	}
}
