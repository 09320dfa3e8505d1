package operator

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/muster-gg/muster/internal/telemetry/logring"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// logs writes the newest lines of the log of the node that answers, oldest first, each with its position for a later
// after.
func (d *Handler) logs(w http.ResponseWriter, c *call) error {
	q, last, follow, err := logQuery(c)
	if err != nil {
		return err
	}
	return d.writeLines(w, c, follow, "log", func(ctx context.Context, visit func(string, []byte) bool) error {
		if follow {
			if q.After == "" && last > 0 {
				q.After = d.beforeLastLines(q, last)
			}
			d.Lines.Follow(ctx, q, visit)
		} else {
			d.Lines.Read(q, visit)
		}
		return nil
	})
}

// beforeLastLines returns the position before the newest n lines of those that q selects; "" if there are none.
func (d *Handler) beforeLastLines(q logring.Query, n int) (position string) {
	q.Limit = n
	d.Lines.Read(q, func(first string, _ []byte) bool {
		number, _ := positionOf(first) // is valid
		position = strconv.FormatUint(number-1, 10)
		return false
	})
	return position
}

// A logLine is a line of the answer. What the line is about is in further members.
type logLine struct {
	Position string `json:"position"`
	logring.Line
}

// logQuery returns the parameters. last is the number of earlier lines that a stream begins with.
func logQuery(c *call) (q logring.Query, last int, follow bool, err error) {
	values, err := c.parameters()
	if err != nil {
		return q, 0, false, err
	}
	q = logring.Query{Text: values["text"], After: values["after"], Limit: defaultRecords}
	level, err1 := optional(values, "level", levelOf)
	shard, err2 := optional(values, "shard", strconv.Atoi)
	follow, err3 := optional(values, "follow", strconv.ParseBool)
	limit, err4 := optional(values, "limit", limitOf)
	last, err6 := optional(values, "last", limitOf)
	_, err5 := optional(values, "after", positionOf)
	for name, err := range map[string]error{
		"level": err1, "shard": err2, "follow": err3, "limit": err4, "after": err5, "last": err6,
	} {
		if err != nil {
			return q, 0, false, fault.New(fault.InvalidRequest, "Parameter %s is %.100q. level must be debug, info, "+
				"warn or error, shard a number, follow true or false, limit and last numbers from 1 to %d, after the "+
				"position of a line.", name, values[name], maxRecords)
		}
	}
	q.Level = level
	if values["level"] == "" {
		q.Level = slog.LevelDebug
	}
	if values["shard"] != "" {
		q.Shard = &shard
	}
	switch {
	case limit > 0:
		q.Limit = limit
	case follow:
		q.Limit = 0
	case last > 0:
		q.Limit = last
	}
	return q, last, follow, nil
}

func levelOf(text string) (level slog.Level, err error) {
	return level, level.UnmarshalText([]byte(text))
}

func positionOf(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
