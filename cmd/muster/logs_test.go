package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"
)

func TestLogs(t *testing.T) {
	const line = `{"position":"7","time":"2026-11-23T06:04:08.5Z","level":"WARN","msg":"slow\u001b[2J","shard":3,` +
		`"disk":{"took":"1 s"}}` + "\n"
	var asked string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = w.Write([]byte(line))
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	for _, c := range []struct {
		args         []string
		asked, print string
	}{
		{[]string{"logs"}, "/v1/logs?",
			`2026-11-23T06:04:08.500Z WARN  slow [2J shard=3 disk={"took":"1 s"}` + "\n"},
		{[]string{"logs", "--level", "warn", "--text", "a b", "--shard", "0", "--limit", "1", "--follow", "--json"},
			"/v1/logs?follow=true&level=warn&limit=1&shard=0&text=a%20b", line},
		{[]string{"logs", "--last", "5", "--json"}, "/v1/logs?limit=5", line},
	} {
		got := expect(t, environ, exitOK, c.args)
		if got.stdout != c.print || asked != c.asked {
			t.Errorf("%v: asked %s, printed %s", c.args, asked, got.stdout)
		}
	}
}

// TestBriefLogLines: on a terminal, ids are short.
func TestBriefLogLines(t *testing.T) {
	const line = `{"time":"2026-11-23T06:04:08.123456789Z","level":"INFO","msg":"connected","fleet":` +
		`"fleet-258fdacc-d660-4507-b250-cf543af92e1d","name":"a b","text":"","port":7}`
	for brief, want := range map[bool]string{
		true: `2026-11-23T06:04:08.123Z INFO  connected fleet=fleet-258fdacc… name="a b" text="" port=7`,
		false: `2026-11-23T06:04:08.123Z INFO  connected fleet="fleet-258fdacc-d660-4507-b250-cf543af92e1d" ` +
			`name="a b" text="" port=7`,
	} {
		if got, err := logText([]byte(line), brief); got != want || err != nil {
			t.Errorf("%v: %s, %v", brief, got, err)
		}
	}
}

// TestLogsNone: a process without output is no silence.
func TestLogsNone(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	got := expect(t, []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}, exitOK, []string{"logs", "p-1"})
	if got.stdout != "" || got.stderr != "no output yet\n" {
		t.Errorf("%+v", got)
	}
}

// A step is a request that a stub expects, and how it answers: status 200 and lines, after which it may break off.
type step struct {
	asked  string
	status int
	lines  string
	broken bool
}

// follow runs a command against a service with these answers, and ends it at the request after them. Each wait passes
// at once.
func follow(t *testing.T, steps []step, args ...string) result {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	n := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n == len(steps) {
			end()
			return
		}
		s := steps[n]
		n++
		if r.URL.String() != s.asked {
			t.Errorf("request %d: %s, want %s", n, r.URL, s.asked)
		}
		w.WriteHeader(s.status)
		fmt.Fprint(w, s.lines)
		_ = http.NewResponseController(w).Flush()
		if s.broken {
			panic(http.ErrAbortHandler)
		}
	}))
	defer service.Close()
	clock := clockwork.NewFakeClock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for clock.BlockUntilContext(ctx, 1) == nil {
			clock.Advance(followRetry)
		}
	}()
	var stdout, stderr bytes.Buffer
	a := &app{environ: topEnviron(service.URL), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		clock: clock}
	status := a.run(ctx, args)
	end()
	<-done
	if n != len(steps) {
		t.Errorf("%v: %d requests, want %d: %s", args, n, len(steps), &stderr)
	}
	return result{status, stdout.String(), stderr.String()}
}

// TestFollow continues after the last line when a stream has ended, and ends where there is no more.
func TestFollow(t *testing.T) {
	const one = `{"position":"7","time":"2026-11-23T06:04:08.5Z","level":"WARN","msg":"one"}` + "\n"
	const two = `{"position":"9","time":"2026-11-23T06:04:09.5Z","level":"WARN","msg":"two"}` + "\n"
	const denied = `{"error":"UnrecognizedClientException","message":"Unknown key."}`
	const conflict = `{"error":"ConflictException","message":"No agent."}`
	const out1 = `{"time":"2026-11-23T06:04:08.000001Z","stream":"out","text":"a"}` + "\n"
	const out2 = `{"time":"2026-11-23T06:04:08.000002Z","stream":"err","text":"b"}` + "\n"
	for _, c := range []struct {
		name    string
		args    []string
		steps   []step
		status  int
		printed []string // standard output
		stderr  string
	}{
		{"log, until Ctrl-C", []string{"logs", "-f", "--json"}, []step{
			{"/v1/logs?follow=true&last=10", 200, one, false},
			{"/v1/logs?after=7&follow=true", 503, "", false},
			{"/v1/logs?after=7&follow=true", 200, two, true},
			{"/v1/logs?after=9&follow=true", 200, "", true}}, exitOK, []string{one, two},
			"connection lost: the service has ended the stream: connecting again\nmuster: connected again\n"},
		{"log, with a limit", []string{"logs", "-f", "--json", "--limit", "2"}, []step{
			{"/v1/logs?follow=true&limit=2", 200, one, false},
			{"/v1/logs?after=7&follow=true&limit=1", 200, two, false}}, exitOK, []string{one, two}, "connection lost"},
		{"log, with a key that expires", []string{"logs", "-f", "--json"}, []step{
			{"/v1/logs?follow=true&last=10", 200, one, false},
			{"/v1/logs?after=7&follow=true", 403, denied, false}}, exitFailure, []string{one}, "Unknown key."},
		{"log, refused", []string{"logs", "-f"}, []step{
			{"/v1/logs?follow=true&last=10", 503, conflict, false}}, exitFailure, nil,
			"ConflictException: No agent."},
		{"events", []string{"events", "--follow", "--json"}, []step{
			{"/v1/events?follow=true&last=10", 200, "", true},
			{"/v1/events?follow=true&last=10", 200, `{"position":"1.1"}` + "\n", true},
			{"/v1/events?after=1.1&follow=true", 200, `{"position":"2.1"}` + "\n", false}}, exitOK,
			[]string{`{"position":"1.1"}` + "\n", `{"position":"2.1"}` + "\n"}, "connection lost: unexpected EOF"},
		{"audit trail", []string{"audit", "--follow", "--json"}, []step{
			{"/v1/audit?follow=true", 200, `{"position":"1-1"}` + "\n", true},
			{"/v1/audit?after=1-1&follow=true", 200, "", false}}, exitOK, []string{`{"position":"1-1"}` + "\n"},
			"connection lost"},
		{"events of a fleet", []string{"events", "--follow", "--last", "5", "--fleet", "f", "--json"}, []step{
			{"/v1/fleets/f/computes?limit=1", 403, denied, false},
			{"/v1/events?follow=true&last=5", 200, `{"position":"1.1"}` + "\n", false}}, exitOK, nil, ""},
		{"what is no line", []string{"events", "--follow", "--json"}, []step{
			{"/v1/events?follow=true&last=10", 200, "<html>\n", false}}, exitFailure, nil, "decode the answer"},
		{"output of a process that ends", []string{"logs", "-f", "--json", "arn:g"}, []step{
			{"/v1/game-sessions/arn:g/log?follow=true", 200, out1, true},
			{"/v1/game-sessions/arn:g/log?follow=true", 409, conflict, false},
			{"/v1/game-sessions/arn:g/log?follow=true", 200, out1 + out2, false}}, exitOK, []string{out1, out2},
			"connection lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := follow(t, c.steps, c.args...)
			if got.status != c.status || got.stdout != strings.Join(c.printed, "") ||
				!strings.Contains(got.stderr, c.stderr) {
				t.Errorf("status %d, printed %s, %s", got.status, got.stdout, got.stderr)
			}
		})
	}
}
