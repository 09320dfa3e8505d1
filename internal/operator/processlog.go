package operator

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// defaultTail and maxTail are how much of the output of a running process an answer begins with, in bytes.
	defaultTail, maxTail = 64 << 10, 1 << 20
	// answerLimit is how long the lines of a process that is not followed may take to arrive.
	answerLimit = 15 * time.Second
)

// A processLine is a line of the answer: one that the process has written, or a note about the lines.
type processLine struct {
	Time   string `json:"time,omitempty"`   // when it was written; "" of a note
	Stream string `json:"stream,omitempty"` // out or err
	Text   string `json:"text"`
	Note   bool   `json:"note,omitempty"` // Text is about the lines: some are missing, or there are no more
}

// sessionLog writes the output of the process of a game session.
func (d *Handler) sessionLog(w http.ResponseWriter, c *call) error {
	return d.writeProcessLog(w, c, d.Region.SessionLog)
}

// processLog writes the output of a server process.
func (d *Handler) processLog(w http.ResponseWriter, c *call) error {
	return d.writeProcessLog(w, c, d.Region.ProcessOutput)
}

// writeProcessLog writes the lines of a process, oldest first. A caller that may read those of all fleets, but is
// denied one, is denied its processes too.
func (d *Handler) writeProcessLog(w http.ResponseWriter, c *call,
	open func(context.Context, string, control.LogQuery) (*control.ProcessLog, error)) error {
	values, err := c.parameters()
	if err != nil {
		return err
	}
	q := control.LogQuery{Tail: defaultTail}
	var err1, err2 error
	q.Follow, err1 = optional(values, "follow", strconv.ParseBool)
	if text, ok := values["tail"]; ok {
		q.Tail, err2 = strconv.ParseInt(text, 10, 64)
	}
	if err1 != nil || err2 != nil || q.Tail < 0 || q.Tail > maxTail {
		return fault.New(fault.InvalidRequest, "follow must be true or false, and tail a number of bytes from 0 to %d.",
			maxTail)
	}
	id := c.PathValue("id")
	log, err := open(c.Context(), id, q)
	if err != nil {
		return err
	}
	defer log.Close()
	if c.id != nil && fleetIn(id) == anyFleet {
		err := d.Access.Allow(c.id, c.from, action("ProcessLogRead"), d.resource("fleet/"+log.FleetID))
		if err != nil {
			return err
		}
	}
	return d.copyProcessLog(w, c, log, q.Follow)
}

func (d *Handler) copyProcessLog(w http.ResponseWriter, c *call, log *control.ProcessLog, follow bool) error {
	ctx, cancel := d.untilStopped(c.Context())
	defer cancel()
	if !follow {
		ctx, cancel = context.WithTimeout(ctx, answerLimit)
		defer cancel()
	}
	w.Header().Set("Content-Type", ndjson)
	conn := http.NewResponseController(w)
	_ = conn.Flush() // the client sees that the stream has started
	for {
		l, err := log.Next(ctx)
		if err != nil {
			if c.Context().Err() != nil {
				return nil // the client has left
			}
			if follow && ctx.Err() != nil { // the handler stops, but the process still runs: not an end in order
				panic(http.ErrAbortHandler)
			}
			l = processes.LogLines{Problem: "The agent does not answer.", Ended: true}
		}
		_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(encodeLines(l)); err != nil {
			return nil
		}
		_ = conn.Flush()
		if l.Ended {
			return nil
		}
	}
}

// encodeLines returns lines of JSON.
func encodeLines(l processes.LogLines) (text []byte) {
	add := func(line processLine) {
		data, _ := json.Marshal(line) // cannot fail
		text = append(append(text, data...), '\n')
	}
	if l.Skipped {
		add(processLine{Text: "Lines are missing: they were written faster than they were read.", Note: true})
	}
	for line := range strings.Lines(l.Lines) {
		at, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		stream, text, _ := strings.Cut(rest, " ")
		add(processLine{Time: at, Stream: stream, Text: text})
	}
	if l.Problem != "" {
		add(processLine{Text: l.Problem, Note: true})
	}
	return text
}
