package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control/audit"
)

const (
	shownRecords = 1000    // of a table
	trailPage    = 100_000 // records of an answer, at most
	maxRecord    = 1 << 20 // bytes
)

// followTrail writes records as they come, until ctx ends, which is no failure.
func (o *operatorCall) followTrail(ctx context.Context, query url.Values) error {
	return o.followLines(ctx, path("audit"), query, o.heading, o.writeRecord)
}

// showTrail writes the newest records of a period, and says how many older ones there are; all of them for limit 0.
func (o *operatorCall) showTrail(ctx context.Context, query url.Values, limit int) error {
	if limit == 0 {
		if err := o.heading(); err != nil {
			return err
		}
		return o.readTrail(ctx, query, o.writeRecord)
	}
	newest := ring{limit: limit}
	err := o.readTrail(ctx, query, func(line []byte) error {
		newest.add(line)
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.heading(); err != nil {
		return err
	}
	if err := newest.each(o.writeRecord); err != nil {
		return err
	}
	if newest.left > 0 {
		fmt.Fprintf(o.stderr, "%s left out; give --limit or --since.\n", counted(newest.left, "older record"))
	}
	return nil
}

// readTrail visits all records of a period, oldest first, page by page.
func (o *operatorCall) readTrail(ctx context.Context, query url.Values, visit func(line []byte) error) error {
	query.Set("limit", strconv.Itoa(trailPage))
	for {
		n := 0
		var last []byte // line
		err := o.get(ctx, "/v1/audit?"+query.Encode(), func(from io.Reader) error {
			return eachLine(from, func(line []byte) error {
				n++
				last = append(last[:0], line...)
				return visit(line)
			})
		})
		if err != nil || n < trailPage {
			return err
		}
		var at struct{ Position string }
		if err := json.Unmarshal(last, &at); err != nil || at.Position == "" {
			return errors.Join(errors.New("decode the answer: the last record has no position"), err)
		}
		query.Set("after", at.Position)
	}
}

// eachLine visits lines, which are valid until visit returns.
func eachLine(from io.Reader, visit func(line []byte) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxRecord)
	for lines.Scan() {
		if err := visit(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// heading writes the names of the columns.
func (o *operatorCall) heading() error {
	if o.asJSON {
		return nil
	}
	_, err := fmt.Fprintf(o.stdout, auditRow, "TIME", "WHO", "EVENT", "ADDRESS", "RESULT", "RESOURCES")
	return err
}

// writeRecord writes a record, which comes as JSON.
func (o *operatorCall) writeRecord(line []byte) error {
	text := string(line)
	if !o.asJSON {
		var r audit.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("decode the answer: %w", err)
		}
		text = auditLine(&r)
	}
	_, err := fmt.Fprintln(o.stdout, strings.TrimRight(text, " \n"))
	return err
}

// A ring keeps the last lines.
type ring struct {
	limit int
	lines [][]byte
	next  int // place of the oldest line, which the next one replaces
	left  int // out
}

func (r *ring) add(line []byte) {
	if len(r.lines) < r.limit {
		r.lines = append(r.lines, append([]byte(nil), line...))
		return
	}
	r.lines[r.next] = append(r.lines[r.next][:0], line...)
	r.next = (r.next + 1) % r.limit
	r.left++
}

// each visits the lines, oldest first.
func (r *ring) each(visit func(line []byte) error) error {
	for i := range r.lines {
		if err := visit(r.lines[(r.next+i)%len(r.lines)]); err != nil {
			return err
		}
	}
	return nil
}
