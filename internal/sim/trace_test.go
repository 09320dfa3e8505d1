package sim

import (
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

// lastLines is how many lines of a trace are kept for the report of a failure.
const lastLines = 60

// A trace is what has happened, written down when somebody asks: most runs are
// never looked at.
type trace struct {
	whole bool
	start time.Time
	lines []line
}

type line struct {
	at     time.Duration
	step   int
	text   string // when the whole trace is kept
	format string
	args   []any
}

func (t *trace) add(step int, format string, args ...any) {
	l := line{at: time.Since(t.start), step: step, format: format, args: args}
	if t.whole {
		l.text, l.args = l.String(), nil
	} else if len(t.lines) >= 2*lastLines {
		t.lines = append(t.lines[:0], t.lines[lastLines:]...)
	}
	t.lines = append(t.lines, l)
}

func (l *line) String() string {
	if l.text != "" {
		return l.text
	}
	return fmt.Sprintf("%4d %12s  %s", l.step, l.at, fmt.Sprintf(l.format, l.args...))
}

// text is the lines as people read them.
func (t *trace) text() []string {
	lines := t.lines
	if !t.whole && len(lines) > lastLines {
		lines = lines[len(lines)-lastLines:]
	}
	text := make([]string, len(lines))
	for i := range lines {
		text[i] = lines[i].String()
	}
	return text
}

// brief is an answer in a line of the trace.
type brief struct{ answer any }

func (b brief) String() string {
	switch a := b.answer.(type) {
	case nil:
		return "nothing"
	case *fleet.GameSession:
		if a != nil {
			return fmt.Sprintf("game session %s %s", a.ID, a.Status)
		}
	case *fleet.Process:
		if a != nil {
			return fmt.Sprintf("process %v %d", a.ProcessKey, a.Status)
		}
	case *placement.Placement:
		if a != nil {
			return fmt.Sprintf("placement %s %s", a.ID, a.Status)
		}
	case *matchmaking.Ticket:
		if a != nil {
			return fmt.Sprintf("ticket %s %s", a.ID, a.Status)
		}
	case fleet.Reservation:
		return fmt.Sprintf("%d places in %s", len(a.Players), a.GameSession.ID)
	}
	return fmt.Sprintf("%T", b.answer)
}
