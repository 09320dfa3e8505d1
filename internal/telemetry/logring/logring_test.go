package logring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

var start = time.Unix(1, 0) // position 1000000

// read returns the messages that a query finds.
func read(r *Ring, q Query) (messages []string) {
	r.Read(q, func(position string, line []byte) bool {
		_, message, _ := strings.Cut(string(line), `"msg":"`)
		message, _, _ = strings.Cut(message, `"`)
		messages = append(messages, position+" "+message)
		return true
	})
	return messages
}

func TestRead(t *testing.T) {
	var next bytes.Buffer
	r := New(start)
	log := slog.New(r.Wrap(slog.NewTextHandler(&next, &slog.HandlerOptions{Level: slog.LevelDebug}), slog.LevelInfo))
	log.Debug("for next alone")
	log.Info("begun", "port", 9080)
	log.With("shard", 3).WithGroup("disk").Warn("slow", "took", time.Second)
	log.Error("failed", "err", errors.New("DISK full"), "shard", 2)
	three, four := 3, 4
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"all":            {Query{Level: slog.LevelDebug}, "1000001 begun,1000002 slow,1000003 failed"},
		"by level":       {Query{Level: slog.LevelWarn}, "1000002 slow,1000003 failed"},
		"by text":        {Query{Text: "disk FULL"}, "1000003 failed"},
		"by shard":       {Query{Shard: &three}, "1000002 slow"},
		"a duration":     {Query{Text: `{"took":"1s"}`}, "1000002 slow"},
		"of no shard":    {Query{Shard: &four}, ""},
		"the newest":     {Query{Limit: 2}, "1000002 slow,1000003 failed"},
		"after":          {Query{After: "1000002"}, "1000003 failed"},
		"after all":      {Query{After: "1000003"}, ""},
		"of another run": {Query{After: "17"}, "1000001 begun,1000002 slow,1000003 failed"},
	} {
		if got := strings.Join(read(r, c.q), ","); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if lines := strings.Count(next.String(), "\n"); lines != 4 || !strings.Contains(next.String(), "disk.took=1s") {
		t.Errorf("the next handler wrote %s", &next)
	}
	if got := read(nil, Query{}); got != nil {
		t.Errorf("a nil ring has %v", got)
	}
}

func TestKeepsTheNewest(t *testing.T) {
	r := New(start)
	log := slog.New(r.Wrap(slog.DiscardHandler, slog.LevelInfo))
	for i := range maxLines + 5 {
		log.Info(fmt.Sprint("line ", i))
	}
	got := read(r, Query{})
	if len(got) != maxLines || got[0] != "1000006 line 5" || got[maxLines-1] != "1010005 line 10004" {
		t.Errorf("got %d lines, %s to %s", len(got), got[0], got[len(got)-1])
	}
	for range 20 {
		log.Info(strings.Repeat("x", maxBytes/10))
	}
	if r.bytes > maxBytes || len(r.lines) != 9 {
		t.Errorf("%d lines are kept, %d bytes", len(r.lines), r.bytes)
	}
}

func TestFollow(t *testing.T) {
	r := New(start)
	log := slog.New(r.Wrap(slog.DiscardHandler, slog.LevelInfo))
	log.Warn("before")
	got := make(chan string)
	visit := func(position string, _ []byte) bool {
		got <- position
		return true
	}
	done := make(chan struct{})
	go func() {
		r.Follow(t.Context(), Query{Level: slog.LevelWarn, After: "0", Limit: 2}, visit)
		close(done)
	}()
	if at := <-got; at != "1000001" {
		t.Errorf("begins with %s", at)
	}
	log.Info("not this one")
	log.Warn("this one")
	if at := <-got; at != "1000003" {
		t.Errorf("goes on with %s", at)
	}
	<-done // the limit

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Follow(ctx, Query{}, func(position string, _ []byte) bool {
		t.Errorf("begins with %s, not with the next line", position)
		return true
	})
}

func TestParse(t *testing.T) {
	l, err := Parse([]byte(`{"position":"7","time":"2026-11-23T06:04:08Z","level":"WARN","msg":"slow","shard":3,` +
		`"a":{"b":[1]}}`))
	if err != nil || l.Level != "WARN" || l.Message != "slow" || l.Time.Minute() != 4 ||
		fmt.Sprint(l.Facts) != `[{shard 3} {a {"b":[1]}}]` {
		t.Errorf("got %+v, %v", l, err)
	}
	for _, text := range []string{"", "7", `{"msg":`, `{"msg":7}`} {
		if l, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, l)
		}
	}
}
