package fleet

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// The fleet events that a Room notes.
// Source: API reference, Event.EventCode.
const (
	codeProcessCrashed         = "SERVER_PROCESS_CRASHED"
	codeProcessUnhealthy       = "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	codeProcessReadyTimeout    = "SERVER_PROCESS_PROCESS_READY_TIMEOUT"
	codeProcessForceTerminated = "SERVER_PROCESS_FORCE_TERMINATED"
	codeActivationTimeout      = "GAME_SESSION_ACTIVATION_TIMEOUT"
)

func note(now event.Time, code, format string, args ...any) *Noted {
	return &Noted{Code: code, Message: fmt.Sprintf(format, args...), At: now}
}

func (r *Room) applyNoted(e *Noted) {
	r.header.Notes++
	n := r.header.Notes
	r.notes.Set(n, &Note{Number: n, ID: eventID(r.address, r.after, n), Code: e.Code, Message: e.Message, At: e.At})
	if r.notes.Len() > maxNotes {
		r.notes.PopMin()
	}
}

// noteDeadline is when the oldest fleet event is to be dropped, or zero.
func (r *Room) noteDeadline() event.Time {
	if _, oldest, ok := r.notes.Min(); ok {
		return oldest.At.Add(r.settings.NoteMemory)
	}
	return 0
}

// expireNotes gives the event that drops the fleet events past their time.
func (r *Room) expireNotes(now event.Time) []any {
	var through uint64
	r.notes.Scan(func(n uint64, note *Note) bool {
		if note.At.Add(r.settings.NoteMemory) > now {
			return false
		}
		through = n
		return true
	})
	if through == 0 {
		return nil
	}
	return []any{&NotesDropped{Through: through}}
}

func (r *Room) applyNotesDropped(e *NotesDropped) {
	for {
		n, _, ok := r.notes.Min()
		if !ok || n > e.Through {
			return
		}
		r.notes.Delete(n)
	}
}

// Notes lists the fleet events from one moment to another, both included,
// newest first. A zero end is open.
func (r *Room) Notes(from, to event.Time) []*Note {
	var notes []*Note
	r.notes.Reverse(func(_ uint64, n *Note) bool {
		if (to == 0 || n.At <= to) && n.At >= from {
			notes = append(notes, n)
		}
		return true // to the end: a clock that was put back leaves times out of order
	})
	return notes
}
