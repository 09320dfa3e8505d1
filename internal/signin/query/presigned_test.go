package query

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// presigned returns a GET request with its signature in the URL, valid for 15 minutes or what the query says.
func (w *world) presigned(query string) *http.Request {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.url+"?"+query, nil)
	if err != nil {
		w.Fatal(err)
	}
	c := aws.Credentials{AccessKeyID: adaKey, SecretAccessKey: "secret"}
	signed, header, err := v4.NewSigner().PresignHTTP(w.Context(), c, r, emptyHash, "sts", "us-east-1", w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	if r, err = http.NewRequestWithContext(w.Context(), http.MethodGet, signed, nil); err != nil {
		w.Fatal(err)
	}
	for name := range header {
		if name != "Host" {
			r.Header[name] = header[name]
		}
	}
	return r
}

func TestPresigned(t *testing.T) {
	const identity = "Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires="
	w := newWorld(t)
	if !Matches(w.presigned(identity + "60")) {
		t.Error("it does not match")
	}
	if status, body := w.send(w.presigned(identity + "60")); status != 200 || !strings.Contains(body,
		":user/ada</Arn>") {
		t.Errorf("got %d %s", status, body)
	}
	late := w.presigned(identity + "60")
	longLived := w.presigned(identity + "604800")
	w.clock.Advance(61 * time.Second)
	status, body := w.send(late)
	w.failsWith("late", status, body, 403, "SignatureDoesNotMatch", "Signature expired")
	if status, _ := w.send(longLived); status != 200 {
		t.Error("refused within its time")
	}
	w.clock.Advance(maxExpires)
	status, body = w.send(longLived)
	w.failsWith("long-lived", status, body, 403, "SignatureDoesNotMatch", "Signature expired")
	status, body = w.send(w.presigned("Action=GetSessionToken&Version=2011-06-15&X-Amz-Expires=60"))
	w.failsWith("other operation", status, body, 400, "InvalidAction", "must be called with POST")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		w.url+"?Action=GetCallerIdentity&Version=2011-06-15", nil)
	if err != nil {
		t.Fatal(err)
	}
	status, body = w.send(r)
	w.failsWith("unsigned", status, body, 403, "MissingAuthenticationToken", "")
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		method, target, kind, amzTarget string
		want                            bool
	}{
		{"POST", "/", "application/x-www-form-urlencoded; charset=utf-8", "", true},
		{"POST", "/", "application/x-www-form-urlencoded", "", true},
		{"POST", "/", "application/x-www-form-urlencoded", "GameLift.ListFleets", false},
		{"POST", "/x", "application/x-www-form-urlencoded", "", false},
		{"POST", "/", "application/x-amz-json-1.1", "", false},
		{"POST", "/", "", "", false}, {"POST", "/", ";", "", false},
		{"PUT", "/", "application/x-www-form-urlencoded", "", false},
		{"GET", "/?Action=GetCallerIdentity", "", "", true}, {"GET", "/", "", "", false},
		{"GET", "/x?Action=GetCallerIdentity", "", "", false},
		{"HEAD", "/?Action=GetCallerIdentity", "", "", false},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		r.Header.Set("Content-Type", c.kind)
		if c.amzTarget != "" {
			r.Header.Set("X-Amz-Target", c.amzTarget)
		}
		if got := Matches(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
