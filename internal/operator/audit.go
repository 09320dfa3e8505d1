package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Records of an answer of GET /v1/audit or /v1/logs, if the request gives no limit, and at most.
const (
	defaultRecords = 1000
	maxRecords     = 100_000
)

// auditTrail writes records of the audit trail as lines of JSON, oldest first, each with its position for a later
// after.
func (d *Handler) auditTrail(w http.ResponseWriter, c *call) error {
	q, follow, err := auditQuery(c)
	if err != nil {
		return err
	}
	read := d.Access.Trail().Read
	if follow {
		read = d.Access.Trail().Follow
	}
	return d.writeLines(w, c, follow, "audit", func(ctx context.Context, visit func(string, []byte) bool) error {
		return read(ctx, q, visit)
	})
}

// writeLines answers with the lines that read visits, each a JSON object, which gets its position. To follow takes
// until the client disconnects or the handler stops.
func (d *Handler) writeLines(w http.ResponseWriter, c *call, follow bool, what string,
	read func(ctx context.Context, visit func(position string, line []byte) (more bool)) error) error {
	w.Header().Set("Content-Type", ndjson)
	out := &lineWriter{w: w, control: http.NewResponseController(w), flush: follow}
	ctx := c.Context()
	if follow {
		var cancel context.CancelFunc
		ctx, cancel = d.untilStopped(ctx)
		defer cancel()
		_ = out.control.Flush() // the client sees that the stream has started
	}
	switch err := read(ctx, out.write); {
	case err == nil || errors.Is(err, context.Canceled):
		_ = out.control.Flush()
	case out.wrote == 0 && !follow:
		return err
	default:
		d.Log.Warn(what+" stream failed", "err", err)
		panic(http.ErrAbortHandler) // so that the client notices the truncation
	}
	return nil
}

func auditQuery(c *call) (q audit.Query, follow bool, err error) {
	values, err := c.parameters()
	if err != nil {
		return q, false, err
	}
	q = audit.Query{User: values["user"], Event: values["event"], Key: values["key"], Resource: values["resource"],
		Address: values["address"], After: values["after"], Limit: defaultRecords}
	since, err1 := optional(values, "since", timeOf)
	until, err2 := optional(values, "until", timeOf)
	failures, err3 := optional(values, "errors", strconv.ParseBool)
	follow, err4 := optional(values, "follow", strconv.ParseBool)
	limit, err5 := optional(values, "limit", limitOf)
	for name, err := range map[string]error{
		"since": err1, "until": err2, "errors": err3, "follow": err4, "limit": err5,
	} {
		if err != nil {
			return q, false, fault.New(fault.InvalidRequest, "Parameter %s is %.100q. since and until must be times "+
				"like 2026-01-31T12:00:00Z, errors and follow true or false, limit a number from 1 to %d.", name,
				values[name], maxRecords)
		}
	}
	q.Since, q.Until, q.Errors = since, until, failures
	switch {
	case limit > 0:
		q.Limit = limit
	case follow:
		q.Limit = 0
	}
	return q, follow, nil
}

// optional parses a parameter, if it is given.
func optional[T any](values map[string]string, name string, parse func(string) (T, error)) (value T, err error) {
	if text, ok := values[name]; ok {
		return parse(text)
	}
	return value, nil
}

func timeOf(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }

func limitOf(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < 1 || n > maxRecords) {
		err = strconv.ErrRange
	}
	return n, err
}

// An auditLine is a line of the answer.
type auditLine struct {
	Position string `json:"position"`
	audit.Record
}

// A lineWriter writes lines to a client.
type lineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	flush   bool // after each line
	wrote   int
	line    []byte // scratch
}

// write reports whether the client can take more.
func (l *lineWriter) write(position string, record []byte) bool {
	_ = l.control.SetWriteDeadline(time.Now().Add(writeTime)) // limits a client that does not read
	record = bytes.TrimSuffix(bytes.TrimPrefix(record, []byte("{")), []byte("\n"))
	l.line = fmt.Appendf(l.line[:0], `{"position":%q,%s`+"\n", position, record)
	if _, err := l.w.Write(l.line); err != nil {
		return false
	}
	l.wrote++
	return !l.flush || l.control.Flush() == nil
}
