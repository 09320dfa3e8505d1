package placement

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// states are what placement "place-1" can be when a command arrives. Its time-out is
// one minute.
var states = []struct {
	name string
	make func(w *world)
}{
	{"absent", func(*world) {}},
	{"waiting", func(w *world) { w.do(waiting("place-1")) }},
	{"trying", func(w *world) { w.do(trying("place-1")) }},
	{"waiting after an attempt", func(w *world) {
		w.do(trying("place-1"))
		w.do(Refused{"place-1", 1, "no process is free"})
	}},
	{"trying again", func(w *world) {
		w.do(trying("place-1"))
		w.do(Refused{"place-1", 1, "no process is free"})
		w.do(Begin{ID: "place-1", Number: 2, Room: roomB})
	}},
	{"waiting, the deadline has passed", func(w *world) {
		w.do(trying("place-1"))
		w.do(Refused{"place-1", 1, "no process is free"})
		w.now = w.now.Add(time.Minute)
	}},
	{"trying, the deadline has passed", func(w *world) {
		w.do(trying("place-1"))
		w.now = w.now.Add(time.Minute)
	}},
	{"FULFILLED", func(w *world) {
		w.do(trying("place-1"))
		w.do(Fulfil{"place-1", 1, session("place-1")})
	}},
	{"CANCELLED", func(w *world) {
		w.do(waiting("place-1"))
		w.do(Stop{"place-1"})
	}},
	{"TIMED_OUT", func(w *world) {
		w.do(waiting("place-1"))
		w.wait(time.Minute)
	}},
	{"FAILED", func(w *world) {
		w.do(trying("place-1"))
		w.do(Ended{"place-1", 1, true, "it was terminated"})
	}},
}

// others asks for placement "place-1" from somebody else.
func others(call, match string) Start {
	c := trying("place-1")
	c.Request.Call, c.Request.Match = call, match
	return c
}

var transitionCommands = []struct {
	name string
	c    Command
}{
	{"Start without room", waiting("place-1")},
	{"Start with room", trying("place-1")},
	{"Start by another call", others("call-2", "")},
	{"Start by no call", others("", "")},
	{"Start for a match", others("", "match-1")},
	{"Start by the same call for a match", others("call-place-1", "match-1")},
	{"Begin 1", Begin{ID: "place-1", Number: 1, Room: roomA}},
	{"Begin 2", Begin{ID: "place-1", Number: 2, Room: roomB}},
	{"Begin 3", Begin{ID: "place-1", Number: 3, Room: roomB}},
	{"Refused 1", Refused{"place-1", 1, "no process is free"}},
	{"Refused 2", Refused{"place-1", 2, "no process is free"}},
	{"Ended 1", Ended{"place-1", 1, false, "the process has ended"}},
	{"Ended 1, terminated", Ended{"place-1", 1, true, "it was terminated"}},
	{"Ended 2", Ended{"place-1", 2, false, "the process has ended"}},
	{"Fulfil 1", Fulfil{"place-1", 1, session("place-1")}},
	{"Fulfil 2", Fulfil{"place-1", 2, session("place-1-2")}},
	{"Stop", Stop{"place-1"}},
	{"Fail", Fail{"place-1", "its queue was deleted"}},
	{"Cancel", Cancel{Request{ID: "place-1", Queue: "harbor", Match: "match-1"}}},
	{"Forget", Forget{[]string{"place-1"}}},
	{"Trim", Trim{1}},
}

// TestTransitions gives every command to a placement in every state. The files say what
// becomes of it.
func TestTransitions(t *testing.T) {
	for _, c := range transitionCommands {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			for _, s := range states {
				w := newWorld(t)
				s.make(w)
				events, answer, err := w.try(c.c)
				fmt.Fprintf(&text, "%s\n", s.name)
				p, there := w.state.Placement("place-1")
				switch {
				case err != nil:
					fmt.Fprintf(&text, "    %s: %s\n", fault.Of(err).Kind, fault.Of(err).Message)
					continue
				case len(events) == 0:
					text.WriteString("    nothing changes\n")
				case there:
					fmt.Fprintf(&text, "    %s: %s\n", names(events), show(p))
				default:
					fmt.Fprintf(&text, "    %s\n", names(events))
				}
				if answer != nil && answer.(*Placement) != p {
					t.Errorf("%s: the answer is %+v", s.name, answer)
				}
			}
			eventtest.Golden(t, filepath.Join("testdata", "transitions", strings.ReplaceAll(c.name, " ", "_")+".txt"),
				text.String())
		})
	}
}

// show writes what changes in a placement.
func show(p *Placement) string {
	text := string(p.Status)
	if p.Attempt != nil {
		text += fmt.Sprintf(", attempt %d in %s", p.Attempt.Number, room(p.Attempt.Room))
		if p.Attempt.Running {
			text += " runs"
		}
	}
	if p.Ended != 0 {
		text += fmt.Sprintf(", ended after %v", p.Ended.Sub(p.Started))
	}
	if p.Session != nil {
		text += ", game session " + p.Session.ID
	}
	if p.Reason != "" {
		text += ", because " + p.Reason
	}
	for _, s := range p.Trail.Steps {
		text += "\n        " + strings.TrimRight(fmt.Sprintf("%s %s %s", s.Kind, strings.Trim(room(s.Room), "/"),
			s.Text),
			" ")
	}
	return text
}
