package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire"
)

// FuzzRequest holds that any request gets an answer that a client can read.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/", "", "GameLift.ListFleets", "application/x-amz-json-1.1", "{}")
	f.Add("POST", "/p/service/GameLift/operation/ListFleets", "rpc-v2-cbor", "", "application/cbor", "\xa0")
	f.Add("POST", "//operation//", "rpc-v2-cbor", "x", "", "")
	f.Add("GET", "/?X-Amz-Algorithm=AWS4-HMAC-SHA256", "", ".", "text/html", "x")
	endpoint := newEndpoint(f, api.Config{})
	f.Fuzz(func(t *testing.T, method, path, protocol, target, contentType, body string) {
		r := httptest.NewRequest("POST", "http://h/", strings.NewReader(body))
		r.Method, r.RequestURI = method, path
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
		for name, value := range map[string]string{
			"Smithy-Protocol": protocol, "X-Amz-Target": target, "Content-Type": contentType,
		} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := do(endpoint, r)
		if name, message := exception(t, w); w.Code == 200 || name == "" || message == "" {
			t.Errorf("got %d %q", w.Code, w.Body)
		}
		p := wire.JSON
		if protocol == "rpc-v2-cbor" {
			p = wire.CBOR
		}
		checkHeaders(t, p, w)
	})
}
