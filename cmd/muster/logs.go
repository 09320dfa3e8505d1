package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/telemetry/logring"
)

// A logQuery is a run of muster logs.
type logQuery struct {
	level, text string
	shard       int // -1: any
	limit       int // 0: not given
	follow      bool
}

func (a *app) logsCommand() *cobra.Command {
	var q logQuery
	command := a.showCommand(help{
		use:   "logs",
		short: "Show the newest lines of a node's log",
		long: `Show the newest lines of the log of the node that answers, oldest first. A node
keeps its last 10,000 lines. --json prints them as JSON, one per line.`,
		example: `  muster logs --level warn
  muster logs --text "fleet-833dfe46" --follow`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		err := o.get(ctx, "/v1/logs?"+q.parameters().Encode(), func(from io.Reader) error {
			return eachLine(from, o.writeLogLine)
		})
		if q.follow && ctx.Err() != nil {
			return nil
		}
		return err
	})
	f := command.Flags()
	f.StringVar(&q.level, "level", "", "lowest level: debug, info, warn or error")
	f.StringVar(&q.text, "text", "", "only lines with this text")
	f.IntVar(&q.shard, "shard", -1, "only lines of this shard")
	f.BoolVar(&q.follow, "follow", false, "wait for new lines, until Ctrl-C")
	f.IntVar(&q.limit, "limit", 0, "maximum number of lines (default 1000; with --follow: none)")
	return command
}

// parameters returns the query of the call. The service checks it.
func (q *logQuery) parameters() url.Values {
	values := url.Values{}
	set := func(name, value string, given bool) {
		if given {
			values.Set(name, value)
		}
	}
	set("level", q.level, q.level != "")
	set("text", q.text, q.text != "")
	set("shard", strconv.Itoa(q.shard), q.shard != -1)
	set("limit", strconv.Itoa(q.limit), q.limit != 0)
	set("follow", "true", q.follow)
	return values
}

// writeLogLine writes a line, which comes as JSON.
func (o *operatorCall) writeLogLine(line []byte) error {
	text := string(line)
	if !o.asJSON {
		var err error
		if text, err = logText(line); err != nil {
			return fmt.Errorf("decode the answer: %w", err)
		}
	}
	_, err := fmt.Fprintln(o.stdout, text)
	return err
}

// logText returns a line as people read it: time, level, message, and name=value of the rest.
func logText(line []byte) (string, error) {
	l, err := logring.Parse(line)
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("%s %-5s %s", l.Time.Format(time.RFC3339Nano), l.Level, l.Message)
	for _, f := range l.Facts {
		out += " " + f.Name + "=" + f.Value
	}
	return oneLine(out), nil
}
