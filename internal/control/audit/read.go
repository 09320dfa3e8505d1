package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/klauspost/compress/s2"
)

// late is by how much the time of a record may be after the time at which the journal stored it: their clocks are those
// of two nodes.
const late = time.Minute

// Read visits the selected records, oldest first as they were stored, up to the newest at the time of the call, until
// visit returns false. line is the record as JSON, without a newline, and valid until visit returns; cursor continues
// after it. Records of several nodes, and counts of repeated refusals, are not quite in the order of their times. The
// error is an InvalidRequest for a malformed query.
func (t *Trail) Read(ctx context.Context, q Query, visit func(cursor string, line []byte) (more bool)) error {
	return t.ReadLast(ctx, math.MaxUint64, q, visit)
}

// ReadLast is Read within the last messages of the trail; each has the records of a moment.
func (t *Trail) ReadLast(ctx context.Context, messages uint64, q Query,
	visit func(cursor string, line []byte) (more bool)) error {
	if t == nil {
		return nil
	}
	r, err := t.reader(q, visit)
	if err != nil {
		return err
	}
	after, err := r.start(ctx)
	if err != nil {
		return err
	}
	if messages < math.MaxUint64 {
		last, err := t.cfg.Feed.Last(ctx)
		if err != nil {
			return err
		}
		after = max(after, last-min(last, messages))
	}
	return t.cfg.Feed.Read(ctx, after, r.message)
}

// Follow is a Read that waits for new records. Without After and Since it begins with the next one. It returns nil when
// visit returns false or the limit is reached, or the cause of ctx.
func (t *Trail) Follow(ctx context.Context, q Query, visit func(cursor string, line []byte) (more bool)) error {
	if t == nil {
		return nil
	}
	r, err := t.reader(q, visit)
	if err != nil {
		return err
	}
	after, err := r.start(ctx)
	if err == nil && q.After == "" && q.Since.IsZero() {
		after, err = t.cfg.Feed.Last(ctx)
	}
	if err != nil {
		return fmt.Errorf("follow the audit trail: %w", err)
	}
	return t.cfg.Feed.Follow(ctx, after, r.message)
}

// A reader visits the selected records in messages.
type reader struct {
	filter
	trail   *Trail
	visit   func(string, []byte) bool
	visited int
	scratch []byte // of message
}

func (t *Trail) reader(q Query, visit func(string, []byte) bool) (*reader, error) {
	f, err := q.parse()
	return &reader{filter: f, trail: t, visit: visit}, err
}

// start returns the number of the message after which to read.
func (r *reader) start(ctx context.Context) (after uint64, err error) {
	if r.after.seq > 0 {
		return r.after.seq - 1, nil
	}
	if r.Since.IsZero() {
		return 0, nil
	}
	return r.trail.cfg.Feed.After(ctx, r.Since.Add(-late))
}

// message visits the records of a message.
func (r *reader) message(seq uint64, data []byte) (more bool) {
	at := cursor{seq: seq}
	lines, err := s2.Decode(r.scratch[:cap(r.scratch)], data)
	if err != nil {
		r.trail.cfg.Log.Warn("audit records cannot be read", "message", seq, "err", err)
		return true
	}
	r.scratch = lines
	for text := range bytes.Lines(lines) {
		at.line++
		if at.seq == r.after.seq && at.line <= r.after.line {
			continue
		}
		var record Record
		if err := json.Unmarshal(text, &record); err != nil {
			r.trail.cfg.Log.Warn("audit record cannot be read", "record", at, "err", err)
			continue
		}
		if !r.selects(&record) {
			continue
		}
		r.visited++
		if !r.visit(at.String(), bytes.TrimSuffix(text, []byte("\n"))) || r.visited == r.Limit {
			return false
		}
	}
	return true
}
