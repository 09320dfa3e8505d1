package gameserver_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/gameserver"
)

const match = `{"matchId":"m1","matchmakingConfigurationArn":"arn:m","teams":[{"name":"red",` +
	`"players":[{"playerId":"p1","attributes":{` +
	`"skill":{"attributeType":"DOUBLE","valueAttribute":23},"n":{"attributeType":"N","valueAttribute":-1.5},` +
	`"mode":{"attributeType":"STRING","valueAttribute":"duel"},"s":{"attributeType":"S","valueAttribute":""},` +
	`"maps":{"attributeType":"STRING_LIST","valueAttribute":["a","b"]},"sl":{"attributeType":"SL",` +
	`"valueAttribute":[]},` +
	`"ranks":{"attributeType":"STRING_DOUBLE_MAP","valueAttribute":{"x":1}},"sdm":{"attributeType":"SDM",` +
	`"valueAttribute":{}}` +
	`}}]},{"name":"blue","players":[]}],"autoBackfillMode":"AUTOMATIC","autoBackfillTicketId":"t","new":[1]}`

func TestParseMatchmakerData(t *testing.T) {
	data, err := gameserver.ParseMatchmakerData(match)
	if err != nil {
		t.Fatal(err)
	}
	p1 := gameserver.Player{PlayerID: "p1", Team: "red", Attributes: map[string]gameserver.AttributeValue{
		"skill": gameserver.DoubleAttribute(23), "n": gameserver.DoubleAttribute(-1.5),
		"mode": gameserver.StringAttribute("duel"), "s": gameserver.StringAttribute(""),
		"maps": gameserver.StringListAttribute("a", "b"), "sl": gameserver.StringListAttribute([]string{}...),
		"ranks": gameserver.StringDoubleMapAttribute(map[string]float64{"x": 1}),
		"sdm":   gameserver.StringDoubleMapAttribute(map[string]float64{}),
	}}
	want := gameserver.MatchmakerData{
		MatchID: "m1", MatchmakingConfigurationARN: "arn:m", AutoBackfillMode: "AUTOMATIC", AutoBackfillTicketID: "t",
		Teams: []gameserver.Team{{Name: "red", Players: []gameserver.Player{p1}},
			{Name: "blue", Players: []gameserver.Player{}}},
	}
	if !reflect.DeepEqual(data, want) {
		t.Errorf("\n got  %+v\n want %+v", data, want)
	}
	if got, ok := data.Player("p1"); !ok || !reflect.DeepEqual(got, p1) {
		t.Errorf("found %+v, %t", got, ok)
	}
	if _, ok := data.Player("p2"); ok {
		t.Error("found who is not there")
	}
}

func TestParseMatchmakerDataRefuses(t *testing.T) {
	attribute := func(a string) string {
		return `{"matchmakingConfigurationArn":"a","teams":[{"players":[{},{"attributes":{"skill":` + a + `}}]}]}`
	}
	for text, says := range map[string]string{
		``:                                    "there is none",
		`[]`:                                  "array",
		`null`:                                "matchmakingConfigurationArn is missing",
		`{"teams":[]}`:                        "matchmakingConfigurationArn is missing",
		`{"matchmakingConfigurationArn":"a"}`: "teams is missing",
		`{"matchmakingConfigurationArn":"a"`:  "unexpected end",
		`{"matchmakingConfigurationArn":7,"teams":[]}`:     "number",
		`{"matchmakingConfigurationArn":"a","teams":null}`: "teams is missing",
		`{"matchmakingConfigurationArn":"a","teams":{}}`:   "object",
		attribute(`{"attributeType":"DOUBLE","valueAttribute":"x"}`): "teams[0].players[1].attributes: " +
			`"skill": no value of type N`,
		attribute(`{"attributeType":"STRING","valueAttribute":null}`):     "no value of type S",
		attribute(`{"attributeType":"STRING_LIST","valueAttribute":[1]}`): "no value of type SL",
		attribute(`{"attributeType":"COLOUR","valueAttribute":1}`):        `unknown type "COLOUR"`,
	} {
		if _, err := gameserver.ParseMatchmakerData(text); !errors.Is(err, gameserver.ErrMatchmakerData) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// FuzzParseMatchmakerData finds nothing that makes it panic, and whatever it
// accepts can be asked for in a backfill.
func FuzzParseMatchmakerData(f *testing.F) {
	f.Add(match)
	f.Add(`{"matchmakingConfigurationArn":"a","teams":[{"players":[{"attributes":{"a":{}}}]}]}`)
	f.Add(`{"teams":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		data, err := gameserver.ParseMatchmakerData(text)
		if err != nil {
			if !errors.Is(err, gameserver.ErrMatchmakerData) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, team := range data.Teams {
			for _, p := range team.Players {
				if _, err := json.Marshal(p.Attributes); err != nil {
					t.Errorf("%+v: %v", p, err)
				}
				if found, ok := data.Player(p.PlayerID); !ok || found.PlayerID != p.PlayerID {
					t.Errorf("%q is not found", p.PlayerID)
				}
			}
		}
	})
}
