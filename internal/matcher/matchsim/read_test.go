package matchsim

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// pit is a duel with a rule of every kind that time relaxes.
const pit = `{"name":"pit","ruleLanguageVersion":"1.0",
	"playerAttributes":[{"name":"skill","type":"number","default":100},{"name":"arena","type":"string"},
		{"name":"tags","type":"string_list","default":["a"]},{"name":"votes","type":"string_number_map",
		"default":{"keep":1}}],
	"teams":[{"name":"north","minPlayers":1,"maxPlayers":1},{"name":"south","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"Near","type":"distance","maxDistance":50,
	"measurements":["max(flatten(teams[*].players.attributes[skill]))"],
	"referenceValue":"min(flatten(teams[*].players.attributes[skill]))"},
		{"name":"Arena","type":"comparison","operation":"=",
		"measurements":["flatten(teams[*].players.attributes[arena])"]},
		{"name":"Ping","type":"latency","maxLatency":100}],
	"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":20,"value":150}]}]}`

func parsed(t testing.TB, body string) *ruleset.Set {
	t.Helper()
	set, err := ruleset.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestReadTickets(t *testing.T) {
	const lines = `
{"At": 2.5, "ConfigurationName": "duel", "TicketId": "late",` +
		` "Players": [{"PlayerId": "p2", "Team": "north", "LatencyInMs": {"us-east-1": 40}}]}

{"Players":[{"PlayerId":"p1","PlayerAttributes":{"skill":{"N":23},"arena":{"S":"pit"},"tags":{"SL":["b","a","b"]},` +
		`"votes":{"SDM":{"keep":2}},"undeclared":{"S":"x"}}}]}
{"At":1,"GameSessionArn":"arn:aws:gamelift:us-east-1::gamesession/fleet-1/gs-1",` +
		`"Players":[{"PlayerId":"p3","Team":"north"}]}
`
	tickets, err := ReadTickets(strings.NewReader(lines), parsed(t, pit))
	if err != nil {
		t.Fatal(err)
	}
	if len(tickets) != 3 || tickets[0].ID != "line-4" || tickets[1].ID != "line-5" || !tickets[1].Backfill ||
		tickets[2].ID != "late" {
		t.Fatalf("got %+v", tickets)
	}
	if waited := tickets[2].Start.Sub(tickets[0].Start); waited != 2500*time.Millisecond {
		t.Errorf("they are %v apart", waited)
	}
	if p := tickets[2].Players[0]; p.ID != "p2" || p.Team != "north" || p.Latency["us-east-1"] != 40 {
		t.Errorf("player %+v", p)
	}
	a := tickets[0].Players[0].Attributes
	if a["skill"].N != 23 || a["arena"].S != "pit" || len(a["tags"].SL) != 2 || a["votes"].SDM["keep"] != 2 ||
		tickets[0].Players[0].Latency != nil {
		t.Errorf("player %+v", tickets[0].Players[0])
	}
}

func TestReadStartTimes(t *testing.T) {
	const lines = `{"StartTime":1700000010.5,"Players":[{"PlayerId":"b"}]}
{"StartTime":"2023-11-14T22:13:20Z","Players":[{"PlayerId":"a"}]}`
	tickets, err := ReadTickets(strings.NewReader(lines), parsed(t, pit))
	if err != nil || tickets[0].Players[0].ID != "a" ||
		tickets[1].Start.Sub(tickets[0].Start) != 10500*time.Millisecond {
		t.Errorf("got %v, %v", tickets, err)
	}
}

// Every mistake is named by its line and its member.
func TestReadErrors(t *testing.T) {
	const ok = `{"At":0,"TicketId":"t-1","Players":[{"PlayerId":"p"}]}` + "\n"
	for line, want := range map[string]string{
		`nonsense`:                         "line 2: not a JSON object",
		`[]`:                               "line 2: not a JSON object",
		`{"Players":[{"PlayerId":"q"}]`:    "line 2: not a JSON object",
		`{"Players":[{"PlayerId":"q"}]} x`: "line 2: not a JSON object",
		`{}`:                               "line 2: member Players is missing",
		`{"Players":[]}`:                   "line 2: member Players is empty",
		`{"players":[{"PlayerId":"q"}]}`: "line 2: unknown member players: must be one of TicketId, " +
			"ConfigurationName, Players",
		`{"Players":[{"PlayerId":"q"},{"playerId":"q"}]}`: "line 2: unknown member Players[1].playerId",
		`{"Players":[{}]}`: "line 2: " +
			"Players[0].PlayerId is missing",
		`{"Players":[{"PlayerId":7}]}`: "line 2: Cannot read " +
			"'players.1.member.playerId': expected a string",
		`{"Players":[{"PlayerId":"q","LatencyInMs":{"l":0}}]}`: "latencyInMs",
		`{"Players":[{"PlayerId":"q","PlayerAttributes":{"skill":{"N":"x"}}}]}`: "'players.1.member.playerAttributes." +
			"skill.value.n': expected a number",
		`{"Players":[{"PlayerId":"q","PlayerAttributes":{"skill":{"S":"x"}}}]}`: "line 2: " +
			"Players[0].PlayerAttributes.skill: player attribute skill is declared as number",
		`{"Players":[{"PlayerId":"q","PlayerAttributes":{"skill":{}}}]}`: "line 2: " +
			"Players[0].PlayerAttributes.skill has 0 values",
		`{"Players":[{"PlayerId":"q","PlayerAttributes":{"skill":{"N":1,"S":"x"}}}]}`: "skill has 2 values",
		`{"TicketId":"t-1","Players":[{"PlayerId":"q"}]}`: "line 2: TicketId t-1 is " +
			"also in line 1",
		`{"TicketId":"no spaces","Players":[{"PlayerId":"q"}]}`: "ticketId",
		`{"At":-1,"Players":[{"PlayerId":"q"}]}`:                "line 2: member At is -1",
		`{"At":1e300,"Players":[{"PlayerId":"q"}]}`:             "line 2: member At is 1e+300",
		`{"At":"soon","Players":[{"PlayerId":"q"}]}`: "line 2: not a JSON object " +
			"as expected",
		`{"At":1,"StartTime":1,"Players":[{"PlayerId":"q"}]}`: "line 2: a line cannot " +
			"have both At and StartTime",
		`{"StartTime":1,"Players":[{"PlayerId":"q"}]}`: "line 2: member At is missing",
		`{"StartTime":"2023-13-01T00:00:00Z","Players":[{"PlayerId":"q"}]}`: "line 2: not a JSON object " +
			"as expected: StartTime",
		`{"Players":[` + strings.Repeat(`{"PlayerId":"q"},`, 500_000) +
			`{"PlayerId":"q"}]}`: "line 2 is longer than",
		`{"Players":` + strings.Repeat(`[`, 5_000) + strings.Repeat(`]`, 5_000) +
			`}`: "line 2: ",
		`{"Players":[{"PlayerId":"q","PlayerAttributes":{"skill":{"N":1e999}}}]}`: "line 2: ",
		`{"Players":[{"PlayerId":"q","PlayerAttributes":` + strings.Repeat(`{"x":`, 100) + `1` +
			strings.Repeat(`}`, 101) + `]}`: "line 2: ",
	} {
		tickets, err := ReadTickets(strings.NewReader(ok+line), parsed(t, pit))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: got %v, %v, want %q", line, tickets, err, want)
		}
	}
}

func FuzzReadTickets(f *testing.F) {
	f.Add(`{"At":1,"Players":[{"PlayerId":"p1","PlayerAttributes":{"skill":{"N":23},"tags":{"SL":["a"]}},` +
		`"LatencyInMs":{"l":3}}]}`)
	f.Add(`{"StartTime":"2023-11-14T22:13:20Z","GameSessionArn":"a","Players":[{"PlayerId":"a","Team":"x"}]}` + "\n{}")
	set := parsed(f, pit)
	f.Fuzz(func(t *testing.T, text string) {
		tickets, err := ReadTickets(strings.NewReader(text), set)
		if (err == nil) == (tickets == nil) && strings.TrimSpace(text) != "" {
			t.Fatalf("got %v and %v", tickets, err)
		}
		for _, ticket := range tickets {
			if ticket.ID == "" || len(ticket.Players) == 0 {
				t.Fatalf("read %+v", ticket)
			}
		}
	})
}
