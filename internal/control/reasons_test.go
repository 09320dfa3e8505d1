package control

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/placement"
)

// TestReasons checks the sentences about a ticket that is SEARCHING.
func TestReasons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		x    matcher.Explanation
		want string
	}{
		"alone": {matcher.Explanation{Pool: 1, Largest: 1},
			"Ticket t has waited for 2.0 s, in a pool of 1 ticket.\nThe largest match found with it has 1 player.\n" +
				"There is no other ticket to match it with."},
		"one fits": {matcher.Explanation{Pool: 2, Largest: 2, Missing: "team red has 1 of at least 2 players",
			Candidates: 1}, "2 players: team red has 1 of at least 2 players.\n1 other ticket fits."},
		"all fit": {matcher.Explanation{Candidates: 3}, "3 other tickets fit, each alone with it."},
		"one of one": {matcher.Explanation{Candidates: 1, Rejections: []matcher.Rejection{{Candidates: 1}}},
			"1 other ticket was checked, and does not fit:\n- 1 fails by the sizes of the teams."},
		"one of many": {matcher.Explanation{Candidates: 9, Rejections: []matcher.Rejection{{Rule: "Near",
			Candidates: 1, Example: "u: distance 12, at most 10"}}},
			"9 other tickets were checked; 1 does not fit:\n- 1 fails Near, such as u: distance 12, at most 10."},
		"larger": {matcher.Explanation{Candidates: 1, Failures: []matcher.Failure{{Rule: "Fair", Matches: 1}}},
			"A larger match with it was tried, which is not valid:\n- 1 fails Fair."},
		"expansion": {matcher.Explanation{Next: &matcher.Expansion{Seconds: 569.6, Changes: []matcher.Change{
			{Target: "rules[Near].maxDistance", From: "10", To: "20"}}}},
			"In 9 m 30 s rules[Near].maxDistance changes from 10 to 20, which admits none of the tickets above."},
		"expansions": {matcher.Explanation{Next: &matcher.Expansion{Seconds: 59.96, Admits: 2,
			Changes: []matcher.Change{{Target: "a", To: "1"}, {Target: "b", From: "2", To: "3"}}}},
			"In 1 m 0 s the rule set expands, which admits 2 of the tickets above:\n- a is set to 1.\n" +
				"- b changes from 2 to 3."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			x := TicketExplanation{Ticket: "t", AgeSeconds: 2, Explanation: &c.x}
			for _, r := range x.Reasons() {
				lines = append(lines, r.Text)
				for _, p := range r.Points {
					lines = append(lines, "- "+p)
				}
			}
			if got := strings.Join(lines, "\n"); !strings.Contains(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestReasonsOfPlacement: the text of a step, which may be a sentence, ends with one full stop.
func TestReasonsOfPlacement(t *testing.T) {
	t.Parallel()
	trail := &PlacementTrail{Queue: "q", Status: placement.Pending, Steps: []PlacementStep{
		{Kind: placement.StepRefused, FleetID: "f", Location: "l", Text: "Unable to reserve a process on fleet f."},
		{Kind: placement.StepWaiting, Text: "no process is free"}}}
	x := TicketExplanation{Ticket: "t", Placement: trail}
	all := x.Reasons()
	got := strings.Join(all[len(all)-1].Points, "\n")
	want := string(placement.StepRefused) + ": f in l: Unable to reserve a process on fleet f.\n" +
		string(placement.StepWaiting) + ": no process is free."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
