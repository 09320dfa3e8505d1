package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/telemetry/logring"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A logQuery is a run of muster logs.
type logQuery struct {
	level, text string
	shard       int // -1: any
	limit       int // 0: not given
	follow      bool
	tail        int64 // bytes; 0: not given
}

func (a *app) logsCommand() *cobra.Command {
	var q logQuery
	command := a.showCommand(help{
		use:   "logs [GAME-SESSION | PROCESS]",
		short: "Show the newest lines of a node's log, or the output of a process",
		long: `Show the newest lines of the log of the node that answers, oldest first. A node
keeps its last 10,000 lines. --json prints them as JSON, one per line.

With a game session or a server process, show the output of the process, if
"muster agent" runs it: the newest lines while it runs, and all that was kept
after its end, for 14 days.`,
		example: `  muster logs --level warn
  muster logs --text "fleet-833dfe46" --follow
  muster logs -f arn:aws:gamelift:us-west-2::gamesession/fleet-1234/custom-lab/gsess-5678`,
	}, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		if len(args) == 1 {
			return q.showOutput(ctx, o, args[0])
		}
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
	f.BoolVarP(&q.follow, "follow", "f", false, "wait for new lines, until Ctrl-C")
	f.Int64Var(&q.tail, "tail", 0, "maximum bytes of earlier lines of a process that runs (default 65536)")
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

// showOutput shows the output of a process, or of that of a game session.
func (q *logQuery) showOutput(ctx context.Context, o *operatorCall, id string) error {
	if q.level != "" || q.text != "" || q.shard != -1 || q.limit != 0 {
		return &misuseError{errors.New("--level, --text, --shard and --limit are for the log of a node")}
	}
	values := url.Values{}
	if q.follow {
		values.Set("follow", "true")
	}
	if q.tail != 0 {
		values.Set("tail", strconv.FormatInt(q.tail, 10))
	}
	show := func(kind string) error {
		return o.get(ctx, "/v1/"+kind+"/"+url.PathEscape(id)+"/log?"+values.Encode(), func(from io.Reader) error {
			return eachLine(from, o.writeOutputLine)
		})
	}
	err := show("game-sessions")
	if isNotFound(err) && !strings.Contains(id, ":") {
		if other := show("processes"); !isNotFound(other) {
			err = other
		}
	}
	if q.follow && ctx.Err() != nil {
		return nil
	}
	return err
}

// isNotFound reports whether the service has refused a call because there is no such thing.
func isNotFound(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), string(fault.NotFound))
}

// writeOutputLine writes a line of a process, which comes as JSON. Notes about the lines go to standard error.
func (o *operatorCall) writeOutputLine(data []byte) error {
	if o.asJSON {
		_, err := fmt.Fprintln(o.stdout, string(data))
		return err
	}
	var line struct {
		Time, Stream, Text string
		Note               bool
	}
	if err := json.Unmarshal(data, &line); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if line.Note {
		_, err := fmt.Fprintln(o.stderr, line.Text)
		return err
	}
	_, err := fmt.Fprintln(o.stdout, line.Time, line.Stream, line.Text)
	return err
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
