package console

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/internal/telemetry/logring"
)

// A logBody is lines of the log of the node that answers, newest first, with the filters that select them.
type logBody struct {
	Levels      []lookChoice
	Text, Shard string
	Filtered    bool
	Lines       []logring.Line
	More        bool // older ones are selected and not shown
}

// logLevels are the lowest levels that can be selected.
var logLevels = []string{"debug", "info", "warn", "error"}

// logPause is livePause of the log: a line is shown within 0.3 s.
const logPause = 200 * time.Millisecond

func logPage(v *visit) error {
	b, q := v.logQuery()
	lines := tail{most: maxRecords}
	err := v.requestTo(&lines, "GET", logPath(q, "limit", strconv.Itoa(maxRecords+1)), nil)
	b.More = lines.count > len(lines.lines)
	for _, text := range slices.Backward(lines.lines) {
		if l, err := logring.Parse(text); err == nil {
			b.Lines = append(b.Lines, l)
		}
	}
	return v.refused("log", page{Title: "Log", Nav: "/console/log", Live: err == nil,
		Stream: "/console/log/live?" + q.Encode(), Body: b}, err)
}

func logPath(q url.Values, name, value string) string {
	return "/v1/logs?" + url.Values{name: {value}}.Encode() + "&" + q.Encode()
}

// logQuery returns what the filters of the page select.
func (v *visit) logQuery() (b logBody, q url.Values) {
	b = logBody{Text: strings.TrimSpace(v.form("text")), Shard: strings.TrimSpace(v.form("shard"))}
	q = url.Values{}
	for name, value := range map[string]string{"text": b.Text, "shard": b.Shard} {
		if value != "" {
			q.Set(name, value)
			b.Filtered = true
		}
	}
	level := v.form("level")
	if !slices.Contains(logLevels, level) {
		level = logLevels[0]
	}
	q.Set("level", level)
	b.Filtered = b.Filtered || level != logLevels[0]
	for _, l := range logLevels {
		text := strings.ToUpper(l[:1]) + l[1:]
		if l != "error" {
			text += " and above"
		}
		b.Levels = append(b.Levels, lookChoice{l, text, l == level})
	}
	return b, q
}

// followLog signals how many lines that the filters select have come.
func followLog(v *visit) error {
	_, q := v.logQuery()
	if err := v.requestTo(io.Discard, "GET", logPath(q, "limit", "1"), nil); err != nil {
		return err
	}
	v.followLines(logPath(q, "follow", "true"))
	return nil
}

// followLines signals how many lines the answer to a request has had since the stream began, so that the page can show
// how many came too fast for it.
func (v *visit) followLines(path string) {
	ctx, cancel := context.WithCancel(v.r.Context()) // a stream has no deadline
	v.ctx = ctx
	lines := &lineCounter{more: make(chan struct{}, 1)}
	var following sync.WaitGroup
	following.Go(func() { _ = v.requestTo(lines, "GET", path, nil) }) // it was allowed before
	v.signal(lines.more, logPause, lines.count.Load)
	cancel()
	following.Wait()
}

// A lineCounter counts the lines that are written to it.
type lineCounter struct {
	count atomic.Int64
	more  chan struct{} // has an element after one was written
}

func (l *lineCounter) Write(p []byte) (int, error) {
	l.count.Add(int64(bytes.Count(p, []byte("\n"))))
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(p), nil
}
