package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/mustertest"
)

// crowded has more tickets within the distance than a batch takes, if all come at once: the figures are others with
// another seed of the random batches.
const crowded = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number","default":10}],
"teams":[{"name":"red","minPlayers":2,"maxPlayers":3},{"name":"blue","minPlayers":2,"maxPlayers":3}],
"rules":[{"name":"Fair","type":"distance","maxDistance":2,
"measurements":["flatten(teams[*].players.attributes[skill])"],
"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"}]}`

// TestConsoleSimulates: the simulator of the console has the figures of the commands that it shows.
func TestConsoleSimulates(t *testing.T) {
	s := mustertest.Start(t, func(c *muster.Config) { c.Shards, c.OpenConsole = 1, "on" })
	mustertest.Call(t, s.Client.CreateMatchmakingRuleSet,
		&gamelift.CreateMatchmakingRuleSetInput{Name: new("crowd"), RuleSetBody: new(crowded)})
	rules := inFile(t, "rules.json", crowded)
	for _, c := range []struct {
		form url.Values
		make []string
	}{
		{url.Values{"tickets": {"600"}, "at-once": {"yes"}, "parties": {"30"}, "seed": {"42"}, "timeout": {"60"}},
			[]string{"--tickets", "600", "--rate", "1e9", "--parties", "0.3", "--seed", "42"}},
		{url.Values{"tickets": {"400"}, "at-once": {"yes"}, "parties": {"0"}, "seed": {"7"}, "timeout": {"60"}},
			[]string{"--tickets", "400", "--rate", "1e9", "--parties", "0", "--seed", "7"}},
	} {
		page := strings.ReplaceAll(posted(t, s, "/console/rule-sets/crowd/simulate", c.form), ",", "") // of thousands
		made := execute(t, nil, append([]string{"match", "generate", "--rules", rules}, c.make...)...)
		got := execute(t, nil, "match", "simulate", "--rules", rules, "--request-timeout", "60s", "--json",
			"--tickets", inFile(t, "tickets.ndjson", made.stdout))
		var r matchsim.Report
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatal(err, got.stderr)
		}
		rule := r.Rules[0]
		for _, want := range []string{
			fmt.Sprintf("<dt>Matches</dt><dd>%d</dd>", r.Matches),
			fmt.Sprintf("<dd>%d <small>of %d</small></dd>", r.Tickets.Matched, r.Tickets.Total),
			fmt.Sprintf("<dt>Timed out</dt><dd>%d</dd>", r.Tickets.TimedOut),
			fmt.Sprintf("<dt>Median waiting time</dt><dd>%.1f s</dd>", r.Waiting.P50),
			fmt.Sprintf("<dt>Longest waiting time</dt><dd>%.1f s</dd>", r.Waiting.Max),
			fmt.Sprintf(`<td class="n">%d</td><td class="n">%d</td>`, rule.Matched.Failed,
				rule.Matched.Failed+rule.Matched.Passed),
			fmt.Sprintf(`<td class="n">%.4g</td>`, r.Attributes[0].Spread.P50),
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%v: the page has no %s", c.form, want)
			}
		}
		if r.Matches == 0 {
			t.Errorf("%v: nothing matched", c.form)
		}
	}
}

// posted sends a form of the open console, and returns the page.
func posted(t *testing.T, s *mustertest.Service, path string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := s.Web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %d %v: %s", path, answer.StatusCode, err, body)
	}
	return string(body)
}
