package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// duelRules is a rule set of two players within 50 points of one another.
const duelRules = `{"name":"duel","ruleLanguageVersion":"1.0",
	"playerAttributes":[{"name":"skill","type":"number","default":100}],
	"teams":[{"name":"north","minPlayers":1,"maxPlayers":1},{"name":"south","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"Near","type":"distance","maxDistance":50,
	"measurements":["max(flatten(teams[*].players.attributes[skill]))"],
	"referenceValue":"min(flatten(teams[*].players.attributes[skill]))"}]}`

// inFile writes a file for one test.
func inFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMatchValidate(t *testing.T) {
	rules := inFile(t, "rules.json", duelRules)
	if got := execute(t, nil, "match", "validate", rules); got.status != exitOK ||
		got.stdout != rules+" is valid: 2 teams of 2 to 2 players, 1 rule.\n" {
		t.Errorf("got %+v", got)
	}
	broken := inFile(t, "broken.json", strings.Replace(duelRules, `"maxDistance":50`, `"maxDistance":"far"`, 1))
	if got := execute(t, nil, "match", "validate", broken); got.status != exitFailure ||
		!strings.Contains(got.stderr, broken+": rules[0].maxDistance: ") {
		t.Errorf("got %+v", got)
	}
	if got := execute(t, nil, "match", "validate", "absent.json"); got.status != exitFailure ||
		!strings.Contains(got.stderr, "absent.json") {
		t.Errorf("got %+v", got)
	}
}

// What generate makes up, simulate takes; the matches are in the file, and nothing of
// a progress bar stands in what is no terminal.
func TestMatchSimulate(t *testing.T) {
	rules := inFile(t, "rules.json", duelRules)
	made := execute(t, nil, "match", "generate", "--rules", rules, "--tickets", "200", "--seed", "7")
	if made.status != exitOK || strings.Count(made.stdout, "\n") != 200 {
		t.Fatalf("generate gave %+v", made)
	}
	tickets := inFile(t, "tickets.ndjson", made.stdout)
	matches := filepath.Join(t.TempDir(), "matches.ndjson")
	got := execute(t, nil, "match", "simulate", "--rules", rules, "--tickets", tickets, "--request-timeout", "1m",
		"--matches", matches, "--json")
	if got.status != exitOK || got.stderr != "" {
		t.Fatalf("simulate gave %+v", got)
	}
	var report struct {
		Matches int
		Tickets struct{ Total, Matched int }
	}
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(matches)
	if err != nil || report.Tickets.Total != 200 || report.Matches < 50 ||
		strings.Count(string(written), "\n") != report.Matches {
		t.Errorf("report %+v, file of %d bytes, %v", report, len(written), err)
	}
	got = execute(t, nil, "match", "simulate", "--rules", rules, "--tickets", tickets)
	if !strings.Contains(got.stdout, "waited, s") {
		t.Errorf("the table is %+v", got)
	}
}

func TestMatchMisuse(t *testing.T) {
	rules := inFile(t, "rules.json", duelRules)
	tickets := inFile(t, "tickets.ndjson", `{"Players":[{"PlayerId":"p","PlayerAttributes":{"skill":{"S":"x"}}}]}`)
	simulate := []string{"match", "simulate", "--rules", rules, "--tickets", tickets}
	for want, args := range map[string][]string{
		"--rules is missing":                      {"match", "generate"},
		"--tickets is missing":                    {"match", "simulate", "--rules", rules},
		"share of parties 2: must be from 0 to 1": {"match", "generate", "--rules", rules, "--parties", "2"},
		`--clock is "sun": must be virtual or`:    append(simulate, "--clock", "sun"),
		"--request-timeout is -1s":                append(simulate, "--request-timeout", "-1s"),
		"--additional-players is -1":              append(simulate, "--additional-players", "-1"),
		"--batch is -1":                           append(simulate, "--batch", "-1"),
		"cannot both be standard input":           {"match", "simulate", "--rules", "-", "--tickets", "-"},
		"an argument is missing":                  {"match", "explain"},
		"no endpoint: set AWS_ENDPOINT_URL":       {"match", "explain", "t-1", "--region", "here"},
	} {
		if got := execute(t, nil, args...); got.status != exitMisuse || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: got %+v, want %q", args, got, want)
		}
	}
	got := execute(t, nil, simulate...)
	if got.status != exitFailure ||
		!strings.Contains(got.stderr, tickets+": line 1: Players[0].PlayerAttributes.skill") {
		t.Errorf("got %+v", got)
	}
}

func TestMatchHelpEndsWithAnExample(t *testing.T) {
	for _, command := range (&app{}).matchCommand().Commands() {
		if command.Short == "" || command.Example == "" {
			t.Errorf("muster match %s has no description or no example", command.Name())
		}
	}
}

// The call is signed, and each kind of answer is told in words.
func TestMatchExplain(t *testing.T) {
	answers := map[string]string{
		"/v1/tickets/t-1/explain": `{"ticketId":"t-1","ageSeconds":12.5,"poolSize":3,"largestMatch":1,
			"missing":"team south has 0 of at least 1 players","candidates":2,
			"rejections":[{"rule":"Near","candidates":2,"example":"t-2: distance 51, at most 50"},{"rule":"",
			"candidates":1}],
			"nextExpansion":{"inSeconds":7.5,"changes":[{"target":"rules[Near].maxDistance","from":"50","to":"150"}],
			"admits":1}}`,
		"/v1/tickets/t-2/explain": `{"ticketId":"t-2","ageSeconds":1,"poolSize":1,` +
			`"unmatchable":"player p has no value for arena, which has no default","rejections":[]}`,
		"/v1/tickets/t-3/explain": `{"ticketId":"t-3","status":"REQUIRES_ACCEPTANCE","ageSeconds":4,
			"timeoutInSeconds":56,
			"match":{"matchId":"m-1","tickets":["t-3","t-4"],"acceptanceTimeoutInSeconds":25.5,"accepted":["p3"],
			"unanswered":["p4","p5"]}}`,
		"/v1/tickets/t-5/explain": `{"ticketId":"t-5","status":"PLACING","ageSeconds":4,"timeoutInSeconds":56,
			"match":{"matchId":"m-2","tickets":["t-5"]},
			"placement":{"placementId":"m-2","gameSessionQueueName":"games","status":"PENDING",
			"candidates":[{"fleetId":"fleet-2","location":"custom-b","dropped":"not in AllowedLocations"}],
			"steps":[{"kind":"REFUSED","fleetId":"fleet-1","location":"custom-a","text":"no process is free"}],
			"waiting":{"lines":[{"fleetId":"fleet-1","location":"custom-a","position":2,"length":3}]}}}`,
		"/v1/tickets/t-6/explain": `{"ticketId":"t-6","status":"SEARCHING","ageSeconds":1,"poolSize":9,
			"largestMatch":4,"missing":"rule FairTeams does not hold: distance 51, at most 50","candidates":8,
			"rejections":[],"failures":[{"rule":"FairTeams","matches":120,"example":"distance 51, at most 50"}]}`,
		"/v1/tickets/odd/explain": `<html>`,
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Authorization"); !strings.HasPrefix(a, "AWS4-HMAC-SHA256 Credential=AKID/") ||
			!strings.Contains(a, "/eu-west-1/gamelift/aws4_request") {
			t.Errorf("signed as %q", a)
		}
		body, ok := answers[r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"NotFoundException","message":"Ticket t-9 does not exist."}`)
		case body == "<html>":
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, body)
		default:
			fmt.Fprint(w, body)
		}
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL + "/", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_REGION=eu-west-1"}
	for _, test := range []struct {
		args   []string
		status int
		want   []string // parts of what is printed, spaces folded
	}{
		{[]string{"t-1"}, exitOK, []string{
			"Ticket t-1 has waited for 12.5 s, in a pool of 3 tickets.",
			"has 1 player: team south has 0 of at least 1 players",
			"2 fail Near, such as t-2: distance 51, at most 50.",
			"1 fails by the sizes of the teams.",
			"In 7.5 s rules[Near].maxDistance changes from 50 to 150, which admits 1 of the tickets above.",
		}},
		{[]string{"t-1", "--json"}, exitOK, []string{`"poolSize":3`}},
		{[]string{"t-2"}, exitOK, []string{"No match can ever include it: player p has no value for arena,"}},
		{[]string{"t-3"}, exitOK, []string{
			"Ticket t-3 is REQUIRES_ACCEPTANCE after 4.0 s, and times out in 56.0 s.",
			"It is in the match m-1 of 2 tickets: t-3, t-4.",
			"Accepted by p3.", "No answer from p4, p5, for 25.5 s more.",
		}},
		{[]string{"t-5"}, exitOK, []string{
			"Ticket t-5 is PLACING", "It is in the match m-2 of 1 ticket: t-5.",
			"The placement of the match in the queue games is PENDING.",
			"Left out is fleet-2 in custom-b: not in AllowedLocations.",
			"REFUSED: fleet-1 in custom-a: no process is free.",
			"It waits for a server process of fleet-1 in custom-a, as 2 of 3.",
		}},
		{[]string{"t-6"}, exitOK, []string{
			"Larger matches with it were tried, of which none is valid: 120 fail FairTeams: distance 51, at most 50.",
		}},
		{[]string{"t-9"}, exitFailure, []string{"NotFoundException: Ticket t-9 does not exist."}},
		{[]string{"odd"}, exitFailure, []string{"the service answered 502 Bad Gateway"}},
	} {
		got := execute(t, environ, append([]string{"match", "explain"}, test.args...)...)
		if got.status != test.status {
			t.Errorf("%v: status %d: %s", test.args, got.status, got.stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(strings.Join(strings.Fields(got.stdout+got.stderr), " "), want) {
				t.Errorf("%v: no %q in %s%s", test.args, want, got.stdout, got.stderr)
			}
		}
	}
}
