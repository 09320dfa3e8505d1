package control

import (
	"context"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
)

const (
	// reconnectLimit is how long an agent whose connection is lost may take to connect again, to any node, before those
	// who follow its processes are sent the end.
	reconnectLimit = 2 * time.Minute

	// reconnectPause is the time between two attempts to open the output again.
	reconnectPause = time.Second

	// reconnectTail is how many bytes of lines are read again, to find those that were written meanwhile.
	reconnectTail = 1 << 20
)

// A followedOutput is the output of a process that is followed. When the connection of its agent is lost, or the node
// that has it, it continues on the next one, after the lines that it has returned.
type followedOutput struct {
	plane   *Plane
	room    fleet.RoomID
	process fleet.ProcessKey
	tail    int64
	reader  LogReader // nil: the connection is lost
	lost    time.Time
	seen    map[string]*seenLines // by stream
}

// seenLines are those that were returned of a stream.
type seenLines struct {
	last     string // time of the newest
	count    int    // how many have this time
	again    bool   // they are read again
	repeated int    // how many lines with the last time were read again
}

// follow reads the output of a process, and follows it.
func (p *Plane) follow(ctx context.Context, room fleet.RoomID, process fleet.ProcessKey, q LogQuery) (LogReader,
	error) {
	reader, err := p.openRunning(ctx, room, process, q)
	if err != nil {
		return nil, err
	}
	return &followedOutput{plane: p, room: room, process: process, tail: q.Tail, reader: reader,
		seen: map[string]*seenLines{}}, nil
}

// Next implements LogReader.
func (f *followedOutput) Next(ctx context.Context) (processes.LogLines, error) {
	for {
		if f.reader == nil {
			if l, err := f.reopen(ctx); err != nil || l.Ended {
				return l, err
			}
		}
		l, err := f.reader.Next(ctx)
		if err != nil {
			return l, err
		}
		l.Lines = f.unseen(l.Lines)
		if l.Lost {
			f.Close()
			f.reader, f.lost = nil, f.plane.cfg.Clock.Now()
			l.Ended = false
			l.Problem += " Waiting until the agent is connected again."
		}
		if l.Lines != "" || l.Skipped || l.Problem != "" || l.Ended {
			return l, nil
		}
	}
}

// reopen opens the output again as soon as the agent is connected. It returns lines with Ended if it does not connect,
// or the process has ended.
func (f *followedOutput) reopen(ctx context.Context) (l processes.LogLines, err error) {
	q := LogQuery{Follow: true, Tail: f.tail}
	if len(f.seen) > 0 {
		q.Tail = reconnectTail
	}
	for {
		f.reader, err = f.plane.openRunning(ctx, f.room, f.process, q)
		if err == nil {
			for _, s := range f.seen {
				s.again, s.repeated = true, 0
			}
			return l, nil
		}
		running, failed := f.plane.runs(ctx, f.room, f.process)
		switch {
		case ctx.Err() != nil:
			return l, ctx.Err()
		case failed == nil && !running:
			return processes.LogLines{Problem: "The process has ended. Its log has the other lines.", Ended: true}, nil
		case f.plane.cfg.Clock.Since(f.lost) >= reconnectLimit:
			return processes.LogLines{Problem: "The agent of the compute has not connected again.", Ended: true}, nil
		}
		select {
		case <-f.plane.cfg.Clock.After(reconnectPause):
		case <-ctx.Done():
			return l, ctx.Err()
		}
	}
}

// unseen returns those of the lines that were not returned before, and records them.
func (f *followedOutput) unseen(lines string) string {
	var text strings.Builder
	for line := range strings.Lines(lines) {
		at, rest, _ := strings.Cut(line, " ")
		stream, _, _ := strings.Cut(rest, " ")
		s := f.seen[stream]
		if s == nil {
			s = &seenLines{}
			f.seen[stream] = s
		}
		if s.isNew(at) {
			text.WriteString(line)
		}
	}
	return text.String()
}

// isNew records a line of a time, whose form has a constant length.
func (s *seenLines) isNew(at string) bool {
	if s.again && at == s.last && s.repeated < s.count {
		s.repeated++
		return false
	}
	if s.again && at < s.last {
		return false
	}
	s.again = false
	if at != s.last {
		s.last, s.count = at, 0
	}
	s.count++
	return true
}

// Close implements LogReader.
func (f *followedOutput) Close() {
	if f.reader != nil {
		f.reader.Close()
	}
}
