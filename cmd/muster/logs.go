package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/telemetry/logring"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A logQuery is a run of muster logs.
type logQuery struct {
	level, text string
	shard       int // -1: any
	last        int // 0: not given
	limit       int // 0: not given; with follow the output ends after so many lines
	follow      bool
	tail        int64 // bytes; 0: not given
}

func (a *app) logsCommand() *cobra.Command {
	var q logQuery
	command := a.showCommand(help{
		use:   "logs [GAME-SESSION | PROCESS]",
		short: "Show the newest lines of a node's log, or the output of a process",
		long: `Show the newest lines of the log of the node that answers, oldest first. A node
keeps its last 10,000 lines. --json prints them as JSON, one per line; on a terminal,
lines without it have the first part of long ids only.

With a game session or a server process, show the output of the process, if
"muster agent" runs it: the newest lines while it runs, and all that was kept
after its end, for 14 days.

--follow waits for new lines until Ctrl-C, with exit status 0, or until the process
has ended. When the connection is lost it connects again, and continues after the
last line.`,
		example: `  muster logs --level warn
  muster logs --text "fleet-833dfe46" --follow
  muster logs -f arn:aws:gamelift:us-west-2::gamesession/fleet-1234/custom-lab/gsess-5678`,
	}, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		if q.last < 0 {
			return &misuseError{fmt.Errorf("--last is %d: must be a number from 1", q.last)}
		}
		if len(args) == 1 {
			return q.showOutput(ctx, o, args[0])
		}
		if q.follow {
			return o.followLines(ctx, path("logs"), q.parameters(), nil, o.writeLogLine)
		}
		return o.get(ctx, path("logs")+"?"+q.parameters().Encode(), func(from io.Reader) error {
			return eachLine(from, o.writeLogLine)
		})
	})
	f := command.Flags()
	f.StringVar(&q.level, "level", "", "lowest level: debug, info, warn or error")
	f.StringVar(&q.text, "text", "", "only lines with this text")
	f.IntVar(&q.shard, "shard", -1, "only lines of this shard")
	f.BoolVarP(&q.follow, "follow", "f", false, "wait for new lines, until Ctrl-C")
	f.Int64Var(&q.tail, "tail", 0, "maximum bytes of earlier lines of a process that runs (default 65536)")
	f.IntVar(&q.last, "last", 0, "begin with so many earlier lines (default 1000; with --follow: 10)")
	f.IntVar(&q.limit, "limit", 0, "maximum number of lines")
	_ = f.MarkHidden("limit") // the name of --last in earlier releases
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
	set("limit", strconv.Itoa(cmp.Or(q.limit, q.last)), q.limit != 0 || q.last != 0 && !q.follow)
	set("last", strconv.Itoa(cmp.Or(q.last, earlierLines)), q.follow && (q.limit == 0 || q.last != 0))
	set("follow", "true", q.follow)
	return values
}

// showOutput shows the output of a process, or of that of a game session.
func (q *logQuery) showOutput(ctx context.Context, o *operatorCall, id string) error {
	if q.level != "" || q.text != "" || q.shard != -1 || q.limit != 0 || q.last != 0 {
		return &misuseError{errors.New("--level, --text, --shard and --last are for the log of a node: of a process " +
			"use --tail with a number of bytes")}
	}
	values := url.Values{}
	if q.follow {
		values.Set("follow", "true")
	}
	if q.tail != 0 {
		values.Set("tail", strconv.FormatInt(q.tail, 10))
	}
	r := outputReader{operatorCall: o, values: values}
	read := func() error {
		err := r.read(ctx, "game-sessions", id)
		if isNotFound(err) && !strings.Contains(id, ":") {
			if other := r.read(ctx, "processes", id); !isNotFound(other) {
				err = other
			}
		}
		return err
	}
	if !q.follow {
		err := read()
		if err == nil && !r.wrote {
			fmt.Fprintln(o.stderr, "no output yet")
		}
		return err
	}
	return o.follow(ctx, func(started func()) (done bool, err error) {
		r.started = started
		err = read()
		return err == nil, err // the service breaks off a stream that has not ended with its process
	})
}

// isNotFound reports whether the service has refused a call because there is no such thing.
func isNotFound(err error) bool { return hasKind(err, fault.NotFound) }

func hasKind(err error, kind fault.Kind) bool {
	return err != nil && strings.HasPrefix(err.Error(), string(kind))
}

// An outputReader writes the output of a process. A second read leaves out the lines of the first.
type outputReader struct {
	*operatorCall
	values  url.Values
	started func() // called when a stream has begun; may be nil
	last    string // time of the newest line
	wrote   bool
}

func (r *outputReader) read(ctx context.Context, kind, id string) error {
	seen := r.last
	return r.get(ctx, path(kind, id, "log")+"?"+r.values.Encode(), func(from io.Reader) error {
		if r.started != nil {
			r.started()
		}
		return eachLine(from, func(data []byte) error {
			if err := r.write(data, seen); err != nil {
				return &localError{err}
			}
			return nil
		})
	})
}

// write writes a line, which comes as JSON, if it is newer than seen. Notes about the lines go to standard error.
func (r *outputReader) write(data []byte, seen string) error {
	var line struct {
		Time, Stream, Text string
		Note               bool
	}
	if err := json.Unmarshal(data, &line); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if line.Time != "" && line.Time <= seen {
		return nil
	}
	r.last, r.wrote = max(r.last, line.Time), true
	var err error
	switch {
	case r.asJSON:
		_, err = fmt.Fprintln(r.stdout, string(data))
	case line.Note:
		_, err = fmt.Fprintln(r.stderr, line.Text)
	default:
		_, err = fmt.Fprintln(r.stdout, line.Time, line.Stream, line.Text)
	}
	return err
}

// writeLogLine writes a line, which comes as JSON.
func (o *operatorCall) writeLogLine(line []byte) error {
	text := string(line)
	if !o.asJSON {
		var err error
		if text, err = logText(line, isTerminal(o.stdout)); err != nil {
			return fmt.Errorf("decode the answer: %w", err)
		}
	}
	_, err := fmt.Fprintln(o.stdout, text)
	return err
}

// logText returns a line as people read it: time, level, message, and name=value of the rest. A brief line fits a
// terminal better: without the ends of ids, and quotes that are not needed.
func logText(line []byte, brief bool) (string, error) {
	l, err := logring.Parse(line)
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("%s %-5s %s", l.Time.UTC().Format("2006-01-02T15:04:05.000Z"), l.Level, l.Message)
	for _, f := range l.Facts {
		value := f.Value
		var text string
		if brief && json.Unmarshal([]byte(value), &text) == nil && text != "" && !strings.ContainsAny(text, " =\"") {
			value = text
		}
		out += " " + f.Name + "=" + value
	}
	if brief {
		out = briefIDs(out)
	}
	return oneLine(out), nil
}
