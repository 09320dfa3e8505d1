package console

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire"
)

var (
	offered = regexp.MustCompile(`<option value="([^"]*[=<>;][^"]*)">`)
	shown   = regexp.MustCompile(`<td><code>(gameSession[^<]* [^<]*)</code>`)
)

// TestNewSession: the list creates game sessions in the fleet that is shown, and shows the command that does so.
func TestNewSession(t *testing.T) {
	w := newWorld(t)
	w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: []string{"fleet-1"}}
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{
		FleetAttributes: []wire.FleetAttributes{{FleetId: "fleet-1", Name: "arena", FleetArn: "arn:f"}}}
	w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{}
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{
		LocationAttributes: []wire.LocationAttributes{{LocationState: &wire.LocationState{Location: "custom-a"}}}}
	w.answers["DescribeFleetLocationUtilization"] = &wire.DescribeFleetLocationUtilizationOutput{}
	w.answers["DescribeGameSessions"] = &wire.DescribeGameSessionsOutput{}
	body := w.shows("GET", "/console/game-sessions?fleet=fleet-1", nil, 200, `<option selected>custom-a</option>`,
		"aws gamelift create-game-session --fleet-id fleet-1 --maximum-player-session-count 4 --location custom-a")
	examples := append(offered.FindAllStringSubmatch(body, -1), shown.FindAllStringSubmatch(body, -1)...)
	for _, e := range examples {
		if _, err := search.ParseFilter(html.UnescapeString(e[1])); err != nil {
			t.Errorf("the example %s: %v", e[1], err)
		}
	}
	if len(examples) < 9 {
		t.Errorf("examples %v", examples)
	}
	form := url.Values{"fleet": {"fleet-1"}, "session-name": {"Bob's"}, "players": {"8"}, "location": {"custom-a"},
		"properties": {"mode = ranked\r\n\r\nmap=a=b"}, "to": {"command"}}
	w.shows("POST", "/console/game-sessions", form, 200, `--maximum-player-session-count 8`, `Bob&#39;s`,
		html.EscapeString(`[{"Key":"mode","Value":"ranked"},{"Key":"map","Value":"a=b"}]`))
	if w.inputs["CreateGameSession"] != nil {
		t.Error("the command was run")
	}
	form.Del("to")
	w.answers["CreateGameSession"] = &wire.CreateGameSessionOutput{GameSession: &wire.GameSession{
		GameSessionId: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-a/g"}}
	w.leads("/console/game-sessions", form,
		"/console/game-sessions/g?fleet=fleet-1&location=custom-a&done=session-created")
	in := w.inputs["CreateGameSession"].(*wire.CreateGameSessionInput)
	if in.Name != "Bob's" || in.MaximumPlayerSessionCount.Or(0) != 8 || len(in.GameProperties) != 2 ||
		in.GameProperties[1].Value != "a=b" {
		t.Errorf("created %+v", in)
	}
	form.Set("properties", "mode")
	w.shows("POST", "/console/game-sessions", form, 400, "must be a key, an equals sign, and a value",
		`value="Bob&#39;s"`)
	w.fails["gamelift:CreateGameSession"] = denied
	body = w.do("GET", "/console/game-sessions?fleet=fleet-1", nil).Body.String()
	if strings.Contains(body, "gs-name") {
		t.Error("a reader has the form")
	}
}
