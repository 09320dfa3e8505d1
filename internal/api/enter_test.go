package api_test

import (
	"net/http"
	"testing"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire"
)

// A service that has too much to do says so in the words that clients take for
// "later", whoever asks, and lets go of every call that it took on.
func TestTooManyCalls(t *testing.T) {
	inside, limit, asked := 0, 1, 0
	endpoint := newEndpoint(t, api.Config{
		Enter: func() bool {
			if asked++; inside >= limit {
				return false
			}
			inside++
			return true
		},
		Leave: func() { inside-- },
	})
	call := func(protocol wire.Protocol, signed bool) (status int, name string) {
		body := map[wire.Protocol]string{wire.JSON: "{}", wire.CBOR: "\xa0"}[protocol]
		r := newRequest(protocol, "http://localhost", "ListFleets", []byte(body))
		if signed {
			sign(t, r, []byte(body))
		}
		w := do(endpoint, r)
		if w.Code != http.StatusOK {
			name, _ = exception(t, w)
		}
		return w.Code, name
	}
	for _, protocol := range []wire.Protocol{wire.JSON, wire.CBOR} {
		limit = 1
		for range 3 {
			if status, name := call(protocol, true); status != http.StatusOK || inside != 0 {
				t.Fatalf("%s below the limit: %d %s, %d inside", protocol, status, name, inside)
			}
		}
		if status, name := call(protocol, false); status != http.StatusBadRequest || name == "ThrottlingException" ||
			inside != 0 {
			t.Errorf("%s without a signature: %d %s, %d inside", protocol, status, name, inside)
		}
		limit = 0
		for _, signed := range []bool{true, false} {
			if status, name := call(protocol, signed); status != http.StatusBadRequest ||
				name != "ThrottlingException" || inside != 0 {
				t.Errorf("%s above the limit, signed %t: %d %s, %d inside", protocol, signed, status, name, inside)
			}
		}
	}
	if asked != 12 {
		t.Errorf("asked %d times, want 12", asked)
	}
}
