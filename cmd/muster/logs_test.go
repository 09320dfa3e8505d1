package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
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
			`2026-11-23T06:04:08.5Z WARN  slow [2J shard=3 disk={"took":"1 s"}` + "\n"},
		{[]string{"logs", "--level", "warn", "--text", "a b", "--shard", "0", "--limit", "5", "--follow", "--json"},
			"/v1/logs?follow=true&level=warn&limit=5&shard=0&text=a%20b", line},
	} {
		if got := expect(t, environ, exitOK, c.args); got.stdout != c.print || asked != c.asked {
			t.Errorf("%v: asked %s, printed %s", c.args, asked, got.stdout)
		}
	}
}
