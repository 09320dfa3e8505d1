package control

import (
	"fmt"
	"math"
	"strings"

	"github.com/muster-gg/muster/internal/matcher"
)

// A Reason is a part of an explanation in words: a sentence, and more about it.
type Reason struct {
	Text   string
	Points []string // sentences; if there are any, the text ends with a colon
}

// Reasons returns the explanation in words.
func (x *TicketExplanation) Reasons() (all []Reason) {
	if x.Explanation != nil {
		waited := fmt.Sprintf("Ticket %s has waited for %s, in a pool of %s.", x.Ticket, seconds(x.AgeSeconds),
			plural(x.Pool, "ticket"))
		return append([]Reason{{Text: waited}}, searchReasons(x.Explanation)...)
	}
	all = []Reason{{Text: fmt.Sprintf("Ticket %s is %s after %s, and times out in %s.", x.Ticket, x.Status,
		seconds(x.AgeSeconds), seconds(x.TimeoutSeconds))}}
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
		return []Reason{{Text: "No match can ever include it: " + e.Unmatchable + "."}}
	}
	largest := "The largest match found with it has " + plural(e.Largest, "player")
	if e.Missing != "" {
		largest += ": " + e.Missing
	}
	all = []Reason{{Text: largest + "."}, checked(e)}
	if len(e.Failures) > 0 {
		tried, n := Reason{}, 0
		for _, f := range e.Failures {
			n += f.Matches
			tried.Points = append(tried.Points, failing(f.Matches, f.Rule, ": ", f.Example))
		}
		tried.Text = "Larger matches with it were tried, of which none is valid:"
		if n == 1 {
			tried.Text = "A larger match with it was tried, which is not valid:"
		}
		all = append(all, tried)
	}
	if e.Next != nil {
		all = append(all, expansion(e.Next))
	}
	return all
}

// checked returns which other tickets cannot be in a match with one.
func checked(e *matcher.Explanation) (r Reason) {
	rejected := 0
	for _, j := range e.Rejections {
		rejected += j.Candidates
		r.Points = append(r.Points, failing(j.Candidates, j.Rule, ", such as ", j.Example))
	}
	switch {
	case e.Candidates == 0:
		r.Text = "There is no other ticket to match it with."
	case rejected == 0:
		r.Text = plural(e.Candidates, "other ticket") + " fit, each alone with it."
		if e.Candidates == 1 {
			r.Text = "1 other ticket fits."
		}
	case e.Candidates == 1:
		r.Text = "1 other ticket was checked, and does not fit:"
	default:
		verb := "do"
		if rejected == 1 {
			verb = "does"
		}
		r.Text = fmt.Sprintf("%d other tickets were checked; %d %s not fit:", e.Candidates, rejected, verb)
	}
	return r
}

// failing returns how many fail a rule, with an example after a text.
func failing(n int, rule, before, example string) string {
	verb := "fail "
	if n == 1 {
		verb = "fails "
	}
	if rule == "" {
		rule = "by the sizes of the teams"
	}
	text := fmt.Sprint(n, " ", verb, rule)
	if example != "" {
		text += before + example
	}
	return text + "."
}

// expansion returns what the next expansion step changes.
func expansion(e *matcher.Expansion) (r Reason) {
	admits := fmt.Sprintf("which admits %d of the tickets above", e.Admits)
	if e.Admits == 0 {
		admits = "which admits none of the tickets above"
	}
	for _, c := range e.Changes {
		change := c.Target + " changes from " + c.From + " to " + c.To
		if c.From == "" {
			change = c.Target + " is set to " + c.To
		}
		r.Points = append(r.Points, change)
	}
	if len(r.Points) == 1 {
		return Reason{Text: fmt.Sprintf("In %s %s, %s.", seconds(e.Seconds), r.Points[0], admits)}
	}
	r.Text = fmt.Sprintf("In %s the rule set expands, %s:", seconds(e.Seconds), admits)
	for i := range r.Points {
		r.Points[i] += "."
	}
	return r
}

func (m *MatchExplanation) reason() Reason {
	r := Reason{Text: fmt.Sprintf("It is in the match %s of %s: %s.", m.ID, plural(len(m.Tickets), "ticket"),
		strings.Join(m.Tickets, ", "))}
	if m.GameSessionArn != "" {
		r.Points = append(r.Points, "The match fills the game session "+m.GameSessionArn+".")
	}
	if len(m.Accepted) > 0 {
		r.Points = append(r.Points, "Accepted by "+strings.Join(m.Accepted, ", ")+".")
	}
	if len(m.Unanswered) > 0 {
		r.Points = append(r.Points, fmt.Sprintf("No answer from %s, for %s more.", strings.Join(m.Unanswered, ", "),
			seconds(m.AcceptanceSeconds)))
	}
	return r
}

func (t *PlacementTrail) reason() Reason {
	r := Reason{Text: fmt.Sprintf("The placement of the match in the queue %s is %s.", t.Queue, t.Status)}
	for _, c := range t.Candidates {
		if c.Dropped != "" {
			r.Points = append(r.Points, fmt.Sprintf("Left out is %s in %s: %s.", c.FleetID, c.Location, c.Dropped))
		}
	}
	for _, s := range t.Steps {
		r.Points = append(r.Points, step(s))
	}
	if t.Waiting == nil {
		return r
	}
	for _, l := range t.Waiting.Lines {
		r.Points = append(r.Points, fmt.Sprintf("It waits for a server process of %s in %s, as %d of %d.", l.FleetID,
			l.Location, l.Position, l.Length))
	}
	return r
}

// step returns a step of a placement: "REFUSED: fleet-1 in custom-a: no process is free."
func step(s PlacementStep) string {
	text := string(s.Kind)
	if s.FleetID != "" {
		text += ": " + s.FleetID + " in " + s.Location
	}
	if s.Text != "" {
		text += ": " + strings.TrimSuffix(s.Text, ".") // messages of exceptions are sentences
	}
	return text + "."
}

// seconds returns a duration as a person says it: 12.5 s, 9 m 30 s.
func seconds(s float64) string {
	if s < 59.95 {
		return fmt.Sprintf("%.1f s", s)
	}
	whole := int(math.Round(s))
	return fmt.Sprintf("%d m %d s", whole/60, whole%60)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
