package wire

import (
	"strings"
	"testing"
)

func TestLiterals(t *testing.T) {
	const placement = `{"PlacementId": "p\u202e\"\n😀", "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 4,
		"PlayerLatencies": [{"PlayerId": "a", "LatencyInMilliseconds": 31.5}, {}], "GameProperties": []}`
	for _, c := range []struct{ operation, body, python, golang string }{
		{"ListFleets", `{}`, `()`, `&gamelift.ListFleetsInput{}`},
		{"StartGameSessionPlacement", placement, `(
    PlacementId="p\u202e\"\n😀",
    GameSessionQueueName="q",
    GameProperties=[],
    MaximumPlayerSessionCount=4,
    PlayerLatencies=[
        {
            "PlayerId": "a",
            "LatencyInMilliseconds": 31.5,
        },
        {},
    ],
)`, `&gamelift.StartGameSessionPlacementInput{
		PlacementId: aws.String("p\u202e\"\n😀"),
		GameSessionQueueName: aws.String("q"),
		GameProperties: []types.GameProperty{},
		MaximumPlayerSessionCount: aws.Int32(4),
		PlayerLatencies: []types.PlayerLatency{
			{
				PlayerId: aws.String("a"),
				LatencyInMilliseconds: aws.Float32(31.5),
			},
			{},
		},
	}`},
		{"CreateMatchmakingConfiguration", `{"AcceptanceRequired": true, "FlexMatchMode": "STANDALONE",
			"Description": null}`, "(\n    AcceptanceRequired=True,\n    FlexMatchMode=\"STANDALONE\",\n)",
			"&gamelift.CreateMatchmakingConfigurationInput{\n\t\tAcceptanceRequired: aws.Bool(true),\n" +
				"\t\tFlexMatchMode: \"STANDALONE\",\n\t}"},
		{"StartMatchmaking", `{"Players": [{"LatencyInMs": {"b": 2, "a": 1}, "PlayerAttributes": {"x": {"N": 1e2}}}]}`,
			`(
    Players=[
        {
            "PlayerAttributes": {
                "x": {
                    "N": 1e2,
                },
            },
            "LatencyInMs": {
                "a": 1,
                "b": 2,
            },
        },
    ],
)`, `&gamelift.StartMatchmakingInput{
		Players: []types.Player{
			{
				PlayerAttributes: map[string]types.AttributeValue{
					"x": {
						N: aws.Float64(1e2),
					},
				},
				LatencyInMs: map[string]int32{
					"a": 1,
					"b": 2,
				},
			},
		},
	}`},
		{"DescribeFleetEvents", `{"StartTime": 1.5}`, "(\n    StartTime=1.5,\n)",
			"&gamelift.DescribeFleetEventsInput{\n\t\tStartTime: aws.Time(time.UnixMilli(1500)),\n\t}"},
		{"UpdateScript", `{"ZipFile": "/wA="}`, "(\n    ZipFile=base64.b64decode(\"/wA=\"),\n)",
			"&gamelift.UpdateScriptInput{\n\t\tZipFile: []byte(\"\\xff\\x00\"),\n\t}"},
	} {
		o, _ := Lookup(c.operation)
		if got, err := o.PythonLiteral([]byte(c.body)); err != nil || got.Text != c.python ||
			got.Base64 != strings.Contains(c.python, "base64.") {
			t.Errorf("%s in Python: %v\n%s\nwant\n%s", c.operation, err, got.Text, c.python)
		}
		got, err := o.GoLiteral([]byte(c.body))
		if err != nil || got.Text != c.golang || got.Types != strings.Contains(c.golang, "types.") ||
			got.Time != strings.Contains(c.golang, "time.") {
			t.Errorf("%s in Go: %v\n%+v\nwant\n%s", c.operation, err, got, c.golang)
		}
	}
}

// TestSampleLiterals: the sample of each operation has literals.
func TestSampleLiterals(t *testing.T) {
	for _, o := range Operations {
		for _, literal := range []func([]byte) (Literal, error){o.GoLiteral, o.PythonLiteral} {
			if got, err := literal(o.Sample()); err != nil || got.Text == "" {
				t.Errorf("%s: %q, %v", o.Name, got.Text, err)
			}
		}
	}
}

// TestNoLiterals: texts that are no input are refused in words.
func TestNoLiterals(t *testing.T) {
	for body, want := range map[string]string{
		`[]`: "not a JSON object", ``: "not a JSON object", `null`: "not a JSON object", `{`: "not a JSON object",
		`{} {}`:                              "more than a JSON object",
		`{"Nothing": 1}`:                     `no member "Nothing" in CreateFleetInput`,
		`{"Name": 1}`:                        "Name is not a text",
		`{"Name": {}}`:                       "Name is not a text",
		`{"Locations": {}}`:                  "Locations is not a list of",
		`{"Locations": [1]}`:                 "Locations is not a LocationConfiguration",
		`{"Locations": [{"import os": ""}]}`: `no member "import os" in LocationConfiguration`,
		`{"Locations": [null]}`:              "Locations is not a LocationConfiguration",
		`{"ResourceCreationLimitPolicy": {"NewGameSessionsPerCreator": 1.5}}`:        "is not a whole number",
		`{"ResourceCreationLimitPolicy": {"NewGameSessionsPerCreator": 4294967296}}`: "is not a whole number",
		`{"Tags": [{"Key": 7}]}`: "Key is not a text",
		`{"ComputeType": true}`:  "ComputeType is not a text",
	} {
		o, _ := Lookup("CreateFleet")
		for _, literal := range []func([]byte) (Literal, error){o.GoLiteral, o.PythonLiteral} {
			if got, err := literal([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s is %q, %v; want %s", body, got.Text, err, want)
			}
		}
	}
}
