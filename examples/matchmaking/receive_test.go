package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deliver sends an event to a receiver, signed with a secret at a time.
func deliver(r *receiver, body string, secret []byte, at time.Time) (status int) {
	request := httptest.NewRequest(http.MethodPost, "/all", strings.NewReader(body))
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "e-1.%d.%s", at.Unix(), `{"id":"e-1","detail":{"type":"PlacementFailed"}}`)
	request.Header.Set("webhook-id", "e-1")
	request.Header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	request.Header.Set("webhook-signature", "v1,bm90aGluZw== v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, request)
	return answer.Code
}

func TestReceive(t *testing.T) {
	t.Parallel()
	const event = `{"id":"e-1","detail":{"type":"PlacementFailed"}}`
	secret, now := []byte("a secret of 24 bytes or so"), time.Now()
	var out bytes.Buffer
	r := &receiver{secret: secret, out: &out, seen: map[string]bool{}}
	for _, test := range []struct {
		name, body string
		secret     []byte
		at         time.Time
		want       int
		printed    string
	}{
		{"of somebody else", event, []byte("another secret"), now, http.StatusBadRequest,
			"refused: webhook-signature is not that of the secret\n"},
		{"changed on the way", strings.Replace(event, "Failed", "Fulfilled", 1), secret, now, http.StatusBadRequest,
			"refused: webhook-signature is not that of the secret\n"},
		{"an old one again", event, secret, time.Unix(1, 0), http.StatusBadRequest,
			"refused: webhook-timestamp \"1\" is not of now\n"},
		{"the first", event, secret, now, http.StatusServiceUnavailable, "answered the first delivery with 503\n"},
		{"its second try", event, secret, now, http.StatusNoContent, "verified /all PlacementFailed e-1\n"},
		{"a repetition", event, secret, now, http.StatusNoContent, "again: /all e-1\n"},
	} {
		out.Reset()
		if got := deliver(r, test.body, test.secret, test.at); got != test.want || out.String() != test.printed {
			t.Errorf("%s: status %d, printed %q; want %d, %q", test.name, got, out.String(), test.want, test.printed)
		}
	}
}
