package operator

import (
	"net/url"
	"strings"
	"testing"
)

func TestEndedSessions(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]string{
		"": `Limit:100 `,
		"fleet=f&location=custom-a&reason=R&creator=c&player=p&limit=7&after=x": `FleetID:f Location:custom-a ` +
			`Reason:R CreatorID:c PlayerID:p Property:\u003cnil\u003e Limit:7 NextToken:x`,
		"from=2026-01-31T12:00:00Z&to=2026-02-01T12:00:00%2B01:00": `From:2026-01-31 12:00:00 +0000 ` +
			`UTC To:2026-02-01 12`,
		"property=mode%3Da%3Db":   `\u0026{mode a=b}`,
		"property=mode":           `"Parameter property is \"mode\": it must be a game property as KEY=VALUE."`,
		"from=yesterday":          `"Parameter from is \"yesterday\": it must be a time from 1970`,
		"to=9999-01-01T00:00:00Z": `it must be a time from 1970`,
		"limit=0":                 `it must be a number from 1 to 1000`,
		"limit=1001":              `it must be a number from 1 to 1000`,
		"fleet=a&fleet=b":         `"Parameter fleet was given 2 times; give it once."`,
		"flet=a":                  `Unknown parameter \"flet\"`,
	} {
		wantStatus := 200
		if strings.Contains(want, "arameter") || strings.Contains(want, "must be") {
			wantStatus = 400
		}
		status, body := w.get("/v1/gamesessions/ended?" + query)
		if status != wantStatus || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %d %s", query, status, body, wantStatus, want)
		}
	}
	if status, _ := w.ask("GET", "/v1/gamesessions/ended", ""); status != 403 {
		t.Errorf("without a signature: %d", status)
	}
}

func FuzzEndedQuery(f *testing.F) {
	f.Add("from=2026-01-31T12:00:00Z&limit=3&property=a=b")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		if q, err := parseEndedQuery(values); err == nil && (q.Limit < 1 || q.Limit > maxEnded) {
			t.Errorf("limit %d", q.Limit)
		}
	})
}
