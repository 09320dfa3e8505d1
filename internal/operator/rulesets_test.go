package operator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const duel = `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":1},` +
	`{"name":"b","minPlayers":1,"maxPlayers":1}]}`

func quoted(text string) string {
	q, _ := json.Marshal(text)
	return string(q)
}

func TestCheckRuleSet(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		duel: `{"valid":true}`,
		"{\n \"ruleLanguageVersion\": \"1.0\",\n \"teams\": [\n  " +
			"{\"name\": \"a\", \"minPlayers\": 0, \"maxPlayers\": 0}]}": `"line":4,"column":`,
		"{\n \"ruleLanguageVersion\": 1.0,,}": `"line":2,"column":29`,
	} {
		status, text := w.send("POST", "/v1/rulesets/check", "AKID", `{"ruleSetBody":`+quoted(body)+`}`)
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", body, status, text, want)
		}
	}
	long := duel[:len(duel)-1] + strings.Repeat(" ", 65_000) + "}"
	if status, text := w.send("POST", "/v1/rulesets/check", "AKID", `{"ruleSetBody":`+quoted(long)+`}`); status != 200 {
		t.Errorf("a long rule set: %d %s", status, text)
	}
}

func TestSimulate(t *testing.T) {
	w := newWorld(t)
	tickets := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"TicketId":"t%d","Players":[{"PlayerId":"p%d"}]}`, i, i))
		}
		return `"tickets":[` + strings.Join(list, ",") + `]`
	}
	body := `{"ruleSetBody":` + quoted(duel)
	for _, c := range []struct{ body, want string }{
		{body + `,` + tickets(4) + `}`, `"matches":2`},
		{body + `,"population":{"tickets":10,"seed":7}}`, `"total":10`},
		{body + `}`, `"total":1000`},
		{body + `,` + tickets(1) + `,"population":{}}`, "either tickets or population"},
		{body + `,"population":{"tickets":5001}}`, "at most 5000"},
		{body + `,` + tickets(5001) + `}`, "at most 5000"},
		{body + `,"population":{"tickets":0}}`, "population: 0 tickets"},
		{body + `,"tickets":[{"name":"x"}]}`, "tickets: line 1"},
		{body + `,"timeoutSeconds":-1}`, "timeoutSeconds is -1"},
		{`{"ruleSetBody":"{}"}`, "ruleSetBody is not valid"},
	} {
		if _, text := w.send("POST", "/v1/rulesets/simulate", "AKID", c.body); !strings.Contains(text, c.want) {
			t.Errorf("%.200s: %.500s, want %s", c.body, text, c.want)
		}
	}
	w.door.busy <- struct{}{}
	if status, text := w.send("POST", "/v1/rulesets/simulate", "AKID", body+`}`); status == 200 ||
		!strings.Contains(text, "Another simulation") {
		t.Errorf("two at once: %d %s", status, text)
	}
}

func TestOverviewAndSearch(t *testing.T) {
	w := newWorld(t)
	viewer := w.keyFor("viewer", `{"Effect":"Allow","Action":["muster:OverviewRead","muster:SearchRead",`+
		`"muster:GameSessionRead"],"Resource":"*"}`)
	for _, c := range []struct {
		key, path string
		status    int
		want      string
	}{
		{"AKID", "/v1/overview", 200, `"fleets":3`},
		{"AKID", "/v1/overview", 200, `{"kind":"nodeDown","resource":"n4","text":"node n4 is not up"}`},
		{viewer, "/v1/overview", 200, `"fleets":3`},
		{viewer, "/v1/search?q=anna", 200, `"id":"anna"`},
		{viewer, "/v1/search?text=anna", 400, "Unknown parameter"},
		{viewer, "/v1/fleets", 200, `"omittedFleets":100`},
		{viewer, "/v1/fleets?limit=1000", 200, `"omittedFleets":1000`},
		{viewer, "/v1/fleets?limit=1001", 400, "it must be a number from 1 to 1000"},
		{viewer, "/v1/players/anna", 403, "AccessDenied"},
	} {
		if status, text := w.ask("GET", c.path, c.key); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.path, status, text, c.status, c.want)
		}
	}
	if _, text := w.ask("GET", "/v1/overview", viewer); strings.Contains(text, `"nodes"`) ||
		strings.Contains(text, `"changes"`) || strings.Contains(text, "n4") {
		t.Errorf("a viewer sees %s", text)
	}
}
