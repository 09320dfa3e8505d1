package console

import (
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/matcher"
)

// A searchProgress is how far a SEARCHING ticket is on the way to its time-out.
type searchProgress struct {
	Age, Timeout string // since its start, and from there to the time-out
	Percent      int
	TimesOut     time.Time
	Next         *nextExpansion // nil: there is none
}

// A nextExpansion is the next step of the rule set for a ticket.
type nextExpansion struct {
	Age     string // of the ticket then
	At      time.Time
	Changes []matcher.Change
}

// progressOf returns the progress of a ticket; nil unless it is SEARCHING.
func progressOf(x *control.TicketExplanation, now time.Time) *searchProgress {
	if x.Explanation == nil {
		return nil
	}
	age, left := duration(x.AgeSeconds), duration(x.TimeoutSeconds)
	p := &searchProgress{Age: span(age), Timeout: span((age + left).Round(time.Second)), TimesOut: now.Add(left)}
	if age > 0 {
		p.Percent = int(100 * age / (age + left))
	}
	if e := x.Next; e != nil {
		in := duration(e.Seconds)
		p.Next = &nextExpansion{Age: span((age + in).Round(time.Second)), At: now.Add(in), Changes: e.Changes}
	}
	return p
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
