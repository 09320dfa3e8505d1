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
	q, follow, err := logQuery(c)
	if err != nil {
		return err
	}
	return d.writeLines(w, c, follow, "log", func(ctx context.Context, visit func(string, []byte) bool) error {
		if follow {
			d.Lines.Follow(ctx, q, visit)
		} else {
			d.Lines.Read(q, visit)
		}
		return nil
	})
}

// A logLine is a line of the answer. What the line is about is in further members.
type logLine struct {
	Position string `json:"position"`
	logring.Line
}

func logQuery(c *call) (q logring.Query, follow bool, err error) {
	values, err := c.parameters()
	if err != nil {
		return q, false, err
	}
	q = logring.Query{Text: values["text"], After: values["after"], Limit: defaultRecords}
	level, err1 := optional(values, "level", levelOf)
	shard, err2 := optional(values, "shard", strconv.Atoi)
	follow, err3 := optional(values, "follow", strconv.ParseBool)
	limit, err4 := optional(values, "limit", limitOf)
	_, err5 := optional(values, "after", positionOf)
	for name, err := range map[string]error{
		"level": err1, "shard": err2, "follow": err3, "limit": err4, "after": err5,
	} {
		if err != nil {
			return q, false, fault.New(fault.InvalidRequest, "Parameter %s is %.100q. level must be debug, info, warn "+
				"or error, shard a number, follow true or false, limit a number from 1 to %d, after the position of a "+
				"line.", name, values[name], maxRecords)
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
	}
	return q, follow, nil
}

func levelOf(text string) (level slog.Level, err error) {
	return level, level.UnmarshalText([]byte(text))
}

func positionOf(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
