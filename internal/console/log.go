package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

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

func logPage(v *visit) error {
	b := logBody{Text: strings.TrimSpace(v.form("text")), Shard: strings.TrimSpace(v.form("shard"))}
	q := url.Values{"limit": {strconv.Itoa(maxRecords + 1)}}
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
	lines := tail{most: maxRecords}
	err := v.requestTo(&lines, "GET", "/v1/logs?"+q.Encode(), nil)
	b.More = lines.count > len(lines.lines)
	for _, text := range slices.Backward(lines.lines) {
		if l, err := logring.Parse(text); err == nil {
			b.Lines = append(b.Lines, l)
		}
	}
	return v.refused("log", page{Title: "Log", Nav: "/console/log", Live: err == nil, Body: b}, err)
}
