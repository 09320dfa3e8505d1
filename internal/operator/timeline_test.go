package operator

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/internal/control/access"
)

const (
	timelineFleet = "fleet-11111111-1111-1111-1111-111111111111"
	timelineARN   = "arn:aws:gamelift:us-west-2::gamesession/" + timelineFleet + "/custom-a/g"
)

func TestTimeline(t *testing.T) {
	w := newWorld(t)
	for id, want := range map[string]int{"g": 200, url.PathEscape(timelineARN): 200, "nobody": 404,
		url.PathEscape(timelineARN + "x"): 404, timelineARN: 404} {
		status, body := w.get("/v1/game-sessions/" + id + "/timeline")
		if status != want || want == 200 && !strings.Contains(body, `"omittedPlayerSessions":1000`) {
			t.Errorf("%s: %d %s, want %d", id, status, body, want)
		}
	}
	if status, _ := w.ask("GET", "/v1/game-sessions/g/timeline", ""); status != 403 {
		t.Errorf("without a signature: %d", status)
	}
}

// TestTimelineResource: a policy can name the fleet, and a search by the last segment of an ARN does not evade it.
func TestTimelineResource(t *testing.T) {
	w := newWorld(t)
	const (
		fleets = "arn:aws:muster:us-west-2:111122223333:fleet/"
		allow  = `{"Effect":"Allow","Action":"muster:GameSessionRead","Resource":"` + fleets
		deny   = `,{"Effect":"Deny","Action":"muster:GameSessionRead","Resource":"` + fleets
	)
	for name, c := range map[string]struct {
		statements    string
		byID, byARN   int
		otherFleetARN int
	}{
		"all":           {allow + `*"}`, 200, 200, 404},
		"one":           {allow + timelineFleet + `"}`, 403, 200, 403},
		"other":         {allow + `fleet-2"}`, 403, 403, 403},
		"all but one":   {allow + `*"}` + deny + timelineFleet + `"}`, 403, 403, 404},
		"all but other": {allow + `*"}` + deny + `fleet-2"}`, 200, 200, 404},
	} {
		key, err := w.access.CreateKey(t.Context(), nil, access.KeyInput{Service: strings.ReplaceAll(name, " ", "-"),
			Document: json.RawMessage(`{"Version":"2012-10-17","Statement":[` + c.statements + `]}`)})
		if err != nil {
			t.Fatal(err)
		}
		w.keys[key.ID] = aws.Credentials{AccessKeyID: key.ID, SecretAccessKey: key.Secret}
		for id, want := range map[string]int{"g": c.byID, timelineARN: c.byARN,
			strings.Replace(timelineARN, "1111/", "2222/", 1): c.otherFleetARN} {
			status, body := w.ask("GET", "/v1/game-sessions/"+url.PathEscape(id)+"/timeline", key.ID)
			if status != want {
				t.Errorf("%s may read %s: %d %s, want %d", name, id, status, body, want)
			}
		}
	}
}
