package sigv4

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func FuzzAuthorization(f *testing.F) {
	f.Add(Algorithm + " Credential=AKIDLONG/20260304/x/gamelift/aws4_request, SignedHeaders=host;x-amz-date, " +
		"Signature=00")
	f.Add(Algorithm + " Credential=AKIDLONG/20260304//gamelift/aws4_request,SignedHeaders=host,Signature=00,")
	f.Add(Algorithm + " Signature=,,=,;Credential")
	f.Add("Basic YTpi")
	v := newVerifier()
	f.Fuzz(func(t *testing.T, header string) {
		c, err := parseAuthorization(header)
		if err == nil && (c.accessKeyID == "" || c.signature == "" || c.signedHeaders == "" ||
			len(c.scope.date) != len(dateLayout)) {
			t.Errorf("accepted %q as %+v", header, c)
		}
		r := newRequest("http://h/", nil)
		r.Header.Set("X-Amz-Date", stamp(now))
		r.Header.Set("Authorization", header)
		refusedWell(t, v, r)
	})
}

func FuzzPresigned(f *testing.F) {
	f.Add("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDLONG%2F20260304%2Fx%2Fgamelift%2Faws4_request" +
		"&X-Amz-Date=20260304T050607Z" +
		"&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=00")
	f.Add("X-Amz-Algorithm=&X-Amz-Algorithm=")
	f.Add("X-Amz-Algorithm=%")
	f.Add("a=b&;c")
	v := newVerifier()
	f.Fuzz(func(t *testing.T, query string) {
		r := newRequest("http://h/", nil)
		r.Header.Del("X-Amz-Target")
		r.URL.RawQuery = query
		refusedWell(t, v, r)
		once, err := appendCanonicalQuery(nil, query, false)
		if err != nil {
			return
		}
		again, err := appendCanonicalQuery(nil, string(once), false)
		if err != nil || string(again) != string(once) {
			t.Errorf("%q becomes %q, then %q, %v", query, once, again, err)
		}
		want, err := url.ParseQuery(string(once))
		if given, bad := url.ParseQuery(query); err != nil || bad == nil && len(given) != len(want) {
			t.Errorf("%q lost a parameter: %v, %v", query, want, err)
		}
	})
}

// refusedWell checks that an invented signature is rejected with a fault that reveals nothing about the key.
func refusedWell(t *testing.T, v *Verifier, r *http.Request) {
	t.Helper()
	_, err := v.Verify(view(r), sha256.Sum256(nil), now)
	switch kind := fault.Of(err); {
	case err == nil:
		t.Error("accepted")
	case kind.Kind == fault.InternalService || strings.Contains(err.Error(), keys["AKIDLONG"].Secret):
		t.Error(err)
	}
}
