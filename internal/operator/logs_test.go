package operator

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/telemetry/logring"
)

func TestLogs(t *testing.T) {
	var log *slog.Logger
	w := newWorld(t, func(c *Config) {
		c.Lines = logring.New(c.Clock.Now())
		log = slog.New(c.Lines.Wrap(slog.NewTextHandler(io.Discard, nil), slog.LevelInfo))
	})
	log.Info("begun", "shard", 3)
	log.Warn("slow", "disk", "<b>")
	for _, c := range []struct {
		query, key string
		status     int
		want       string
	}{
		{"", "AKID", 200, `{"position":"%1","time":"`},
		{"?level=warn", "AKID", 200, `"level":"WARN","msg":"slow","disk":"<b>"}` + "\n"},
		{"?shard=3", "AKID", 200, `"msg":"begun","shard":3}` + "\n"},
		{"?text=SLOW&limit=5", "AKID", 200, `"msg":"slow"`},
		{"?level=loud", "AKID", 400, `Parameter level is \"loud\". level must be debug`},
		{"?shard=three", "AKID", 400, `Parameter shard is \"three\"`},
		{"?after=now", "AKID", 400, `Parameter after is \"now\"`},
		{"?limit=0", "AKID", 400, `Parameter limit is \"0\"`},
		{"?size=1", "AKID", 400, `The parameters are level, text, shard, after, last, limit, follow.`},
		{"", "AKGUEST", 403, `muster:LogRead`},
	} {
		status, body := w.ask("GET", "/v1/logs"+c.query, c.key)
		want := strings.ReplaceAll(c.want, "%1", positionIn(w, 1))
		if status != c.status || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", c.query, status, body, want)
		}
	}
}

// positionIn returns the position of the nth line.
func positionIn(w *world, n int64) string { return fmt.Sprint(w.begun.UnixMicro() + n) }

func TestFollowLogs(t *testing.T) {
	var log *slog.Logger
	w := newWorld(t, func(c *Config) {
		c.Lines = logring.New(c.Clock.Now())
		log = slog.New(c.Lines.Wrap(slog.NewTextHandler(io.Discard, nil), slog.LevelInfo))
	})
	log.Warn("first")
	log.Info("other")
	log.Warn("before")
	for query, want := range map[string][]string{
		"after=" + positionIn(w, 1): {"other", "before"}, "last=2": {"other", "before"},
		"last=2&level=warn": {"first", "before"}, "last=1&after=" + positionIn(w, 1): {"other", "before"},
	} {
		response := w.request(t.Context(), "GET", "/v1/logs?follow=true&"+query, "AKID")
		defer response.Body.Close() //nolint:revive // at the end of the test
		lines := bufio.NewScanner(response.Body)
		for _, message := range want {
			if !lines.Scan() || !strings.Contains(lines.Text(), `"msg":"`+message+`"`) {
				t.Fatalf("%s: got %q, %v", query, lines.Text(), lines.Err())
			}
		}
	}
	response := w.request(t.Context(), "GET", "/v1/logs?follow=true&last=9&level=error", "AKID")
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	log.Error("after")
	if !lines.Scan() || !strings.Contains(lines.Text(), `"msg":"after"`) {
		t.Fatalf("got %q, %v", lines.Text(), lines.Err())
	}
	w.door.Stop()
	for lines.Scan() { // ends
	}
}
