package matchsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
)

// duellist is a line with one player.
func duellist(id string, at float64, skill int) string {
	return fmt.Sprintf(`{"At":%g,"TicketId":%q,"Players":[{"PlayerId":"p-%s","PlayerAttributes":{"skill":{"N":%d},`+
		`"arena":{"S":"x"}},"LatencyInMs":{"l1":40,"l2":30}}]}`, at, id, id, skill)
}

func read(t testing.TB, lines ...string) []*matcher.Ticket {
	t.Helper()
	tickets, err := ReadTickets(strings.NewReader(strings.Join(lines, "\n")), parsed(t, pit))
	if err != nil {
		t.Fatal(err)
	}
	return tickets
}

// A whole story on the virtual clock: a match at once, one after an expansion, a
// ticket that times out, one that nobody can have, one that comes too late.
func TestRun(t *testing.T) {
	tickets := read(t,
		duellist("a", 0, 100), duellist("b", 5, 120),
		duellist("c", 10, 500), duellist("d", 12, 600),
		duellist("e", 20, 2000),
		`{"At":21,"TicketId":"f","Players":[{"PlayerId":"pf","LatencyInMs":{"l1":10}}]}`,
		duellist("g", 70, 2000),
	)
	var matches []string
	var last Progress
	report, err := Run(t.Context(), parsed(t, pit), tickets, Options{
		Timeout: 40 * time.Second,
		Matched: func(m Match) error {
			matches = append(matches, fmt.Sprintf("%g %s %s", m.At, m.Tickets[0].ID, m.Tickets[1].ID))
			return nil
		},
		Progress: func(p Progress) { last = p },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"5 a b", "32 c d"}; !slices.Equal(matches, want) {
		t.Errorf("matches %q, want %q", matches, want)
	}
	if want := (Tickets{Total: 7, Players: 7, Matched: 4, TimedOut: 2, Unmatchable: 1}); report.Tickets != want {
		t.Errorf("tickets %+v, want %+v", report.Tickets, want)
	}
	if want := (Quantiles{P50: 5, P90: 22, P99: 22, Max: 22}); report.Waiting != want {
		t.Errorf("waiting %+v, want %+v", report.Waiting, want)
	}
	if report.SimulatedSeconds != 110 || !slices.Equal(report.Sizes, []Size{{2, 2}}) || report.Matches != 2 {
		t.Errorf("report %+v", report)
	}
	if spread := report.Attributes[0]; spread.Name != "skill" || spread.Spread.P50 != 20 || spread.Spread.Max != 100 ||
		spread.Gap.Max != 100 {
		t.Errorf("attributes %+v", report.Attributes)
	}
	if l := report.Latency; l == nil || l.Players.Max != 30 || !slices.Equal(l.Locations, []Location{{"l2", 2}}) ||
		l.Nowhere != 0 {
		t.Errorf("latency %+v", report.Latency)
	}
	if len(report.Unmatchable) != 1 || report.Unmatchable[0].Ticket != "f" ||
		!strings.Contains(report.Unmatchable[0].Why, "arena") {
		t.Errorf("unmatchable %+v", report.Unmatchable)
	}
	if len(report.Rules) != 3 || report.Rules[0].Name != "Near" || report.Rules[0].Matched.Passed == 0 {
		t.Errorf("rules %+v", report.Rules)
	}
	if last.Arrived != 7 || last.Matches != 2 || last.Waiting != 0 {
		t.Errorf("progress %+v", last)
	}
}

// Without a time-out tickets wait to the end.
func TestRunWithoutTimeout(t *testing.T) {
	report, err := Run(t.Context(), parsed(t, pit), read(t, duellist("a", 0, 100), duellist("b", 1, 1000)), Options{})
	if err != nil || report.Tickets.Waiting != 2 || report.SimulatedSeconds != 21 {
		t.Errorf("got %+v, %v", report, err)
	}
	if report, err = Run(t.Context(), parsed(t, pit), nil, Options{}); err != nil || report.Tickets != (Tickets{}) {
		t.Errorf("nothing gave %+v, %v", report, err)
	}
}

// Searches that are cut short are repeated every minute, and the run ends all the same.
func TestRunWithoutTimeoutOrMatch(t *testing.T) {
	const hopeless = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"teams":[{"name":"north","minPlayers":2,"maxPlayers":2},{"name":"south","minPlayers":2,"maxPlayers":2}],
	"rules":[{"name":"Sum","type":"comparison","operation":">",
	"measurements":["sum(flatten(teams[*].players.attributes[skill]))"],"referenceValue":1000}]}`
	var lines []string
	for i := range 150 {
		lines = append(lines, fmt.Sprintf(`{"At":%d,"TicketId":"t%d","Players":[{"PlayerId":"p%d",`+
			`"PlayerAttributes":{"skill":{"N":1}}}]}`, i/50, i, i))
	}
	set := parsed(t, hopeless)
	tickets, err := ReadTickets(strings.NewReader(strings.Join(lines, "\n")), set)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), set, tickets, Options{})
	if err != nil || report.Tickets.Waiting != 150 || report.SimulatedSeconds > 2+stillTrying.Seconds() {
		t.Errorf("got %+v, %v", report, err)
	}
}

// A rule may compare with the empty text, which is no value for a player.
func TestGenerateWithoutWords(t *testing.T) {
	const silent = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"clan","type":"string"}],
	"teams":[{"name":"north","minPlayers":1,"maxPlayers":1},{"name":"south","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"Alone","type":"comparison","operation":"!=",
	"measurements":["teams[north].players.attributes[clan]"],"referenceValue":""}]}`
	var text bytes.Buffer
	set := parsed(t, silent)
	if err := Generate(&text, set, Population{Tickets: 20, Rate: 1}); err != nil {
		t.Fatal(err)
	}
	if tickets, err := ReadTickets(&text, set); err != nil || len(tickets) != 20 {
		t.Errorf("%d tickets, %v", len(tickets), err)
	}
}

// The real clock gives the same matches; here all come at once.
func TestRunOnTheRealClock(t *testing.T) {
	o := Options{Clock: Real, Timeout: time.Millisecond}
	report, err := Run(t.Context(), parsed(t, pit),
		read(t, duellist("a", 0, 100), duellist("b", 0, 100), duellist("c", 0.001, 9000)), o)
	if err != nil || report.Tickets.Matched != 2 || report.Tickets.TimedOut != 1 || report.Clock != "real" {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestRunEndsEarly(t *testing.T) {
	tickets := read(t, duellist("a", 0, 100), duellist("b", 0, 100), duellist("c", 3000, 100))
	full := errors.New("the disk is full")
	_, err := Run(t.Context(), parsed(t, pit), tickets, Options{Matched: func(Match) error { return full }})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Clock: Real, Matched: func(Match) error { cancel(); return nil }}
	if _, err := Run(ctx, parsed(t, pit), tickets, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A generated pool is read, is the same for the same seed, and is matched for the most
// part, whatever the rule set declares.
func TestGenerate(t *testing.T) {
	set := parsed(t, pit)
	p := DefaultPopulation()
	var first, again, other bytes.Buffer
	for to, seed := range map[*bytes.Buffer]uint64{&first: 1, &again: 1, &other: 2} {
		p.Seed = seed
		if err := Generate(to, set, p); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() || first.String() == other.String() {
		t.Error("the seed does not decide what is made up")
	}
	tickets, err := ReadTickets(&first, set)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), set, tickets, Options{Timeout: time.Minute})
	if err != nil || report.Tickets.Total != 1000 || report.Tickets.Matched < 800 || report.Tickets.Unmatchable > 0 {
		t.Errorf("got %+v, %v", report.Tickets, err)
	}
}

// Populations for the examples of the guide can mostly be matched; of misfits hardly any can, where rules are about
// more than latencies and players' ids.
func TestGenerateForExamples(t *testing.T) {
	few := map[string]bool{"three-teams": true, "explicit-sorting": true, "same-and-different": true, "compound": true,
		"uneven-teams": true}
	for _, name := range []string{
		"even-teams", "uneven-teams", "three-teams", "explicit-sorting", "preferred-opponents", "same-and-different",
		"compound", "block-list",
	} {
		body, err := os.ReadFile("../ruleset/testdata/guide/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		set := parsed(t, string(body))
		for _, misfits := range []float64{0, 0.9} {
			p := DefaultPopulation()
			p.Tickets, p.Rate, p.Misfits = 700, 50, misfits
			var text bytes.Buffer
			if err := Generate(&text, set, p); err != nil {
				t.Fatal(err)
			}
			tickets, err := ReadTickets(&text, set)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), set, tickets, Options{Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Tickets; misfits == 0 && got.Matched < 3*got.Total/5 || misfits > 0 && few[name] &&
				got.Matched > got.Total/2 {
				t.Errorf("%s, share of misfits %v: %+v", name, misfits, got)
			}
		}
	}
}

// Progress is reported while matches are looked for, and not only when tickets come.
func TestProgressWithoutArrivals(t *testing.T) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, duellist(fmt.Sprint("d", i), 0, 100*i))
	}
	calls := 0
	options := Options{Timeout: time.Minute, Progress: func(Progress) { calls++ }}
	if _, err := Run(t.Context(), parsed(t, pit), read(t, lines...), options); err != nil || calls < 2 {
		t.Errorf("%d reports, %v", calls, err)
	}
}

func TestGenerateParties(t *testing.T) {
	set := parsed(t, strings.ReplaceAll(pit, `"maxPlayers":1`, `"maxPlayers":3`))
	p := DefaultPopulation()
	p.Parties = 1
	var text bytes.Buffer
	if err := Generate(&text, set, p); err != nil {
		t.Fatal(err)
	}
	tickets, err := ReadTickets(&text, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, ticket := range tickets {
		if n := len(ticket.Players); n < 2 || n > 3 {
			t.Fatalf("a party of %d", n)
		}
	}
}

func TestPopulationCheck(t *testing.T) {
	for want, spoil := range map[string]func(*Population){
		"0 tickets":        func(p *Population) { p.Tickets = 0 },
		"rate":             func(p *Population) { p.Rate = 0 },
		"more than a year": func(p *Population) { p.Rate = 1e-6 },
		"share of parties": func(p *Population) { p.Parties = 1.5 },
		"share of misfits": func(p *Population) { p.Misfits = -1 },
	} {
		p := DefaultPopulation()
		spoil(&p)
		if err := Generate(&bytes.Buffer{}, parsed(t, pit), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTable(t *testing.T) {
	tickets := read(t, duellist("a", 0, 100), duellist("b", 5, 1200), duellist("c", 5, 1200),
		`{"At":21,"TicketId":"f","Players":[{"PlayerId":"pf","LatencyInMs":{"l1":10}}]}`)
	used := time.Duration(0)
	report, err := Run(t.Context(), parsed(t, pit), tickets, Options{CPU: func() time.Duration {
		used += time.Second
		return used
	}})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteTable(&text, report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 players, over 21s", "50.0 %", "2 matched tickets per CPU second", "waited, " +
		"s", "skill, spread in a match", "latency of players, ms", "l2", "Near", "ticket f can never be matched: " +
		"player pf has no value for arena"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	asJSON, err := json.Marshal(report)
	if err != nil || !strings.Contains(string(asJSON), `"tickets":{"total":4,"players":4,"matched":2,"timedOut":0,`+
		`"unmatchable":1,"waiting":1}`) {
		t.Errorf("JSON %s, %v", asJSON, err)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// BenchmarkRun is a simulation of 10,000 tickets, reading left out.
func BenchmarkRun(b *testing.B) {
	set := parsed(b, pit)
	p := DefaultPopulation()
	p.Tickets, p.Rate = 10_000, 1000
	var text bytes.Buffer
	if err := Generate(&text, set, p); err != nil {
		b.Fatal(err)
	}
	tickets, err := ReadTickets(&text, set)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Run(b.Context(), set, tickets, Options{Timeout: time.Minute}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*p.Tickets)/b.Elapsed().Seconds(), "tickets/s")
}
