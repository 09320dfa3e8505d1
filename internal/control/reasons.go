package control

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/matcher"
)

// A Reason is a part of an explanation in words: a sentence, and rows of cells that belong to it.
type Reason struct {
	Text string
	Rows [][]string
}

// Reasons returns the explanation in words.
func (x *TicketExplanation) Reasons() (all []Reason) {
	if x.Explanation != nil {
		waited := fmt.Sprintf("ticket %s has waited for %.1f s, in a pool of %s", x.Ticket, x.AgeSeconds,
			plural(x.Pool, "ticket"))
		return append([]Reason{{Text: waited}}, searchReasons(x.Explanation)...)
	}
	all = []Reason{{Text: fmt.Sprintf("ticket %s is %s after %.1f s; it times out in %.1f s", x.Ticket, x.Status,
		x.AgeSeconds, x.TimeoutSeconds)}}
	if x.Match != nil {
		all = append(all, x.Match.reason())
	}
	if x.Placement != nil {
		all = append(all, x.Placement.reason())
	}
	return all
}

func searchReasons(e *matcher.Explanation) (all []Reason) {
	if e.Unmatchable != "" {
		return []Reason{{Text: "no match can ever include it: " + e.Unmatchable}}
	}
	largest := "the largest match found with it has " + plural(e.Largest, "player")
	if e.Missing != "" {
		largest += ": " + e.Missing
	}
	checked := Reason{Text: plural(e.Candidates, "candidate") + " checked"}
	for _, r := range e.Rejections {
		checked.Rows = append(checked.Rows, []string{strconv.Itoa(r.Candidates), "rejected by",
			cmp.Or(r.Rule, "the sizes of the teams"), r.Example})
	}
	all = []Reason{{Text: largest}, checked}
	if len(e.Failures) > 0 {
		tried := Reason{Text: "larger matches tried"}
		for _, f := range e.Failures {
			tried.Rows = append(tried.Rows, []string{strconv.Itoa(f.Matches), "rejected by", f.Rule, f.Example})
		}
		all = append(all, tried)
	}
	if e.Next != nil {
		next := Reason{Text: fmt.Sprintf("in %.1f s, which admits %s", e.Next.Seconds,
			plural(e.Next.Admits, "more candidate"))}
		for _, c := range e.Next.Changes {
			next.Rows = append(next.Rows, []string{c.Target, "from " + cmp.Or(c.From, "none") + " to " + c.To})
		}
		all = append(all, next)
	}
	return all
}

func (m *MatchExplanation) reason() Reason {
	r := Reason{Text: fmt.Sprintf("match %s of %s: %s", m.ID, plural(len(m.Tickets), "ticket"),
		strings.Join(m.Tickets, ", "))}
	if m.GameSessionArn != "" {
		r.Rows = append(r.Rows, []string{"fills", m.GameSessionArn})
	}
	if len(m.Accepted) > 0 {
		r.Rows = append(r.Rows, []string{"accepted by", strings.Join(m.Accepted, ", ")})
	}
	if len(m.Unanswered) > 0 {
		r.Rows = append(r.Rows, []string{"no answer from", strings.Join(m.Unanswered, ", "),
			fmt.Sprintf("for %.1f s more", m.AcceptanceSeconds)})
	}
	return r
}

func (t *PlacementTrail) reason() Reason {
	r := Reason{Text: fmt.Sprintf("its placement in the queue %s is %s", t.Queue, t.Status)}
	for _, c := range t.Candidates {
		if c.Dropped != "" {
			r.Rows = append(r.Rows, []string{"left out", c.FleetID + " " + c.Location, c.Dropped})
		}
	}
	for _, s := range t.Steps {
		r.Rows = append(r.Rows, []string{string(s.Kind), s.FleetID + " " + s.Location, s.Text})
	}
	if t.Waiting == nil {
		return r
	}
	for _, l := range t.Waiting.Lines {
		r.Rows = append(r.Rows, []string{"waiting for", l.FleetID + " " + l.Location,
			fmt.Sprintf("%d of %d", l.Position, l.Length)})
	}
	return r
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
