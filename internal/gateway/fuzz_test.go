package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// FuzzRequests sends any body to any route: the answer is a JSON object or list,
// and nothing panics.
func FuzzRequests(f *testing.F) {
	for i, seed := range []string{
		`{"session_name":"n","build_id":1,"uuid":"ada","num_connections":2}`, `{"GameSessionId":"arn:x","uuid":"ada"}`,
		``, `[]`, `{"a":1e999}`,
		`{"name":"n","maxPlayers":2,"properties":{"a":"b"},"player":{"id":"x","data":"y"},"latencies":{"r":1},` +
			`"wait":false,"target":{"queue":"q"}}`,
		`{"players":[{"id":"a"},{"id":"b","data":"c"}],"buildId":4.0}`,
		`{"configuration":"duel","players":[{"id":"a","attributes":{"x":1,"y":"z","l":["a"],"m":{"k":2}}}]}`,
		`{"accept":true,"players":["a"]}`, `{"a":{"a":{"a":[[[]]]}}}`, "{\"\xff\":1}",
	} {
		f.Add(uint8(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		w := newWorld()
		g, err := New(Config{Service: w, Queues: w, Matchmaking: w, Region: testRegion, AllowTarget: true,
			LegacyIDs: true, Development: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		for i := range routes {
			route := &routes[(i+int(n))%len(routes)]
			if route.method != http.MethodPost {
				continue
			}
			rec := httptest.NewRecorder()
			g.Handler().ServeHTTP(rec, httptest.NewRequest(route.method, route.path, bytes.NewReader(body)))
			var answer any
			if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%s: %q is no JSON", route.path, rec.Body)
			}
			if o, ok := answer.(map[string]any); !ok || rec.Code == http.StatusInternalServerError || rec.Code >= 400 &&
				o["error"] == "" {
				t.Fatalf("%s: %d %s", route.path, rec.Code, rec.Body)
			}
		}
	})
}
