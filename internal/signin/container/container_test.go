package container

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/jonboulle/clockwork"
)

const token = "Basic c2VjcmV0" // sent as it is

// A source counts how often it is asked.
type source struct {
	clock *clockwork.FakeClock
	asked atomic.Int32
	lasts time.Duration // 0: for ever
	err   error
}

func (s *source) credentials(ctx context.Context) (Credentials, error) {
	keys := Credentials{AccessKeyID: "ASIA" + string('0'+s.asked.Add(1)), SecretAccessKey: "secret", Token: "session"}
	if s.lasts != 0 {
		keys.Expiration = s.clock.Now().Add(s.lasts)
	}
	return keys, errors.Join(s.err, ctx.Err())
}

func newSource() *source {
	return &source{clock: clockwork.NewFakeClockAt(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)), lasts: time.Hour}
}

func request(change func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodGet, Path, nil)
	r.RemoteAddr = "127.0.0.1:40000"
	r.Header.Set("Authorization", token)
	change(r)
	return r
}

// do serves a request.
func do(h http.Handler, change func(*http.Request)) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(change))
	return w
}

func TestAnswers(t *testing.T) {
	from := func(peer string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = peer } }
	as := func(given string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", given) }
	}
	right := `{"AccessKeyId":"ASIA1","SecretAccessKey":"secret","Token":"session","Expiration":"2026-11-25T13:00:00Z"}`
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
		body   string // or the code of an error
	}{
		"right":            {func(*http.Request) {}, 200, right},
		"IPv6":             {from("[::1]:1"), 200, right},
		"IPv4 in IPv6":     {from("[::ffff:127.0.0.1]:1"), 200, right},
		"another loopback": {from("127.9.9.9:1"), 200, right},
		"another machine":  {from("192.0.2.1:1"), 403, "AccessDenied"},
		"no address":       {from("@"), 403, "AccessDenied"},
		"no token":         {func(r *http.Request) { r.Header.Del("Authorization") }, 401, "AccessDenied"},
		"wrong token":      {as(token[:len(token)-1] + "1"), 401, "AccessDenied"},
		"half a token":     {as(token[:5]), 401, "AccessDenied"},
		"as a bearer":      {as("Bearer " + token), 401, "AccessDenied"},
		"another path":     {func(r *http.Request) { r.URL.Path = "/" }, 404, "NotFound"},
		"another method":   {func(r *http.Request) { r.Method = http.MethodPost }, 405, "MethodNotAllowed"},
	} {
		s := newSource()
		w := do(New(token, s.credentials, s.clock), c.change)
		var failed failure
		err := json.Unmarshal(w.Body.Bytes(), &failed)
		got := strings.TrimSpace(w.Body.String())
		if c.status != 200 {
			got = failed.Code
		}
		if w.Code != c.status || got != c.body || err != nil || c.status != 200 && failed.Message == "" ||
			w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
		if asked := s.asked.Load(); (asked == 1) != (c.status == 200) {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
}

// TestNoToken: without a token nobody is served, also not who sends none.
func TestNoToken(t *testing.T) {
	s := newSource()
	w := do(New("", s.credentials, s.clock), func(r *http.Request) { r.Header.Del("Authorization") })
	if w.Code != 401 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCache(t *testing.T) {
	s := newSource()
	h := New(token, s.credentials, s.clock)
	key := func(want string) {
		t.Helper()
		if w := do(h, func(*http.Request) {}); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s instead of %s", w.Body, want)
		}
	}
	key("ASIA1")
	s.clock.Advance(55*time.Minute - 1)
	key("ASIA1")
	s.clock.Advance(1)
	key("ASIA2")
	s.clock.Advance(56 * time.Minute)
	s.err = errors.New("you are not signed in: run 'muster login'")
	key("ASIA2") // as long as they last
	s.clock.Advance(4 * time.Minute)
	key(`{"code":"CredentialsUnavailable","message":"you are not signed in: run 'muster login'"}`)
	s.err, s.lasts = nil, -time.Second
	key(errExpired.Error())
	s.lasts = 0
	key(`"Token":"session"}`) // without an end
	before := s.asked.Load()
	key("ASIA")
	if s.asked.Load() != before+1 {
		t.Error("keys without an end are kept")
	}
}

// TestAtOnce: many clients at once cause one fetch, and one that gives up does not spoil it.
func TestAtOnce(t *testing.T) {
	s := newSource()
	hold := make(chan struct{})
	h := New(token, func(ctx context.Context) (Credentials, error) {
		<-hold
		return s.credentials(ctx)
	}, s.clock)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			if w := do(h, func(*http.Request) {}); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	close(hold)
	wait.Wait()
	if s.asked.Load() != 1 {
		t.Errorf("asked %d times", s.asked.Load())
	}
	hh := h.(*handler)
	hh.fetching <- struct{}{}
	w := do(h, func(r *http.Request) { *r = *r.WithContext(gone) })
	if w.Code != 503 || !strings.Contains(w.Body.String(), context.Canceled.Error()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestSDK: the SDK for Go finds the keys by the two variables, and shows the error.
func TestSDK(t *testing.T) {
	s := newSource()
	server := httptest.NewServer(New(token, s.credentials, s.clock))
	defer server.Close()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL+Path)
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", token)
	config, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion("us-west-2"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := config.Credentials.Retrieve(t.Context())
	if err != nil || keys.AccessKeyID != "ASIA1" || keys.SecretAccessKey != "secret" ||
		keys.SessionToken != "session" || !keys.CanExpire {
		t.Fatalf("%+v, %v", keys, err)
	}
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "another")
	config, err = awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion("us-west-2"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = config.Credentials.Retrieve(t.Context())
	if err == nil || !strings.Contains(err.Error(), "AccessDenied: The header Authorization is not the token.") {
		t.Errorf("got %v", err)
	}
}
