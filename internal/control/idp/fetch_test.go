package idp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func (w *world) expect(name, token string, want error, fetches int64) {
	w.Helper()
	if err := w.verify(token); !errors.Is(err, want) {
		w.Errorf("%s: got %v, want %v", name, err, want)
	}
	if got := w.fetches.Load(); got != fetches {
		w.Errorf("%s: %d fetches of keys, want %d", name, got, fetches)
	}
}

func TestRotation(t *testing.T) {
	w := newWorld(t)
	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old, rotated := w.sign(claims{"exp": 4e9}), w.signed(jose.ES256, next, "n", w.claims(claims{"exp": 4e9}))
	w.expect("first", old, nil, 1)
	w.change(func() { w.keys.Keys = []jose.JSONWebKey{{Key: next.Public(), KeyID: "n"}} })
	w.expect("too early to fetch again", rotated, ErrInvalid, 1)
	w.expect("the old key is cached", old, nil, 1)
	w.clock.Advance(refetchInterval)
	w.expect("new key", rotated, nil, 2)
	w.expect("the old key is gone", old, ErrInvalid, 2)
	w.clock.Advance(fresh)
	w.expect("old documents", rotated, nil, 3)
}

func TestRemovedKey(t *testing.T) {
	w := newWorld(t)
	token := w.sign(claims{"exp": 4e9})
	w.expect("first", token, nil, 1)
	w.change(func() { w.keys.Keys = w.keys.Keys[1:] })
	w.clock.Advance(fresh)
	w.expect("removed", token, ErrInvalid, 2)
}

func TestInventedKeyIDs(t *testing.T) {
	w := newWorld(t)
	w.expect("first", w.sign(nil), nil, 1)
	w.clock.Advance(refetchInterval)
	for i := range 50 {
		w.expect("invented", w.signed(jose.ES256, ecKey, fmt.Sprint(i), w.claims(nil)), ErrInvalid, 2)
	}
	w.expect("bad signature of a known key", w.signed(jose.ES256, ecKey, "r", w.claims(nil)), ErrInvalid, 2)
	w.expect("still right", w.sign(nil), nil, 2)
}

func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	token := w.sign(claims{"exp": 4e9})
	broken := func(a http.ResponseWriter, _ *http.Request) { http.Error(a, "internal detail", http.StatusBadGateway) }
	w.change(func() { w.handle = broken })
	w.expect("down", token, ErrUnreachable, 0)
	if err := w.verify(token); strings.Contains(err.Error(), "detail") {
		t.Errorf("the error shows the answer: %v", err)
	}
	w.change(func() { w.handle = nil })
	w.expect("too early to try again", token, ErrUnreachable, 0)
	w.clock.Advance(retryInterval)
	w.expect("up", token, nil, 1)
	w.change(func() { w.handle = broken })
	w.clock.Advance(fresh)
	w.expect("down with keys", token, nil, 1)
	unknown := w.signed(jose.ES256, ecKey, "n", w.claims(claims{"exp": 4e9}))
	w.expect("down with a key that may be new", unknown, ErrUnreachable, 1)
	w.clock.Advance(maxAge)
	w.expect("down for a day", token, ErrUnreachable, 1)
}

// TestBadDocuments: whatever an issuer publishes, a token is not accepted with it.
func TestBadDocuments(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request went to another host")
	}))
	defer elsewhere.Close()
	answer := func(path, body string) func(*world) {
		return func(w *world) {
			w.handle = func(a http.ResponseWriter, r *http.Request) {
				w.handle = nil
				if r.URL.Path != path {
					w.mu.Unlock()
					w.ServeHTTP(a, r)
					w.mu.Lock()
					w.handle = func(a http.ResponseWriter, _ *http.Request) { fmt.Fprint(a, body) }
					return
				}
				fmt.Fprint(a, body)
			}
		}
	}
	const discovery = "/.well-known/openid-configuration"
	for name, change := range map[string]func(w *world){
		"other issuer":         func(w *world) { w.document["issuer"] = "https://example.com" },
		"no keys":              func(w *world) { delete(w.document, "jwks_uri") },
		"keys by ftp":          func(w *world) { w.document["jwks_uri"] = "ftp://127.0.0.1/keys" },
		"keys by http":         func(w *world) { w.document["jwks_uri"] = "http://keys.example.com/keys" },
		"keys not found":       func(w *world) { w.document["jwks_uri"] = w.server.URL + "/nothing" },
		"keys unreachable":     func(w *world) { w.document["jwks_uri"] = "http://127.0.0.1:1/" },
		"keys with a bad URL":  func(w *world) { w.document["jwks_uri"] = "http://127.0.0.1:x\x7f/" },
		"keys of another type": func(w *world) { w.document["jwks_uri"] = 7 },
		"methods of another type": func(w *world) {
			w.document["token_endpoint_auth_methods_supported"] = "x"
		},
		"token endpoint by http": func(w *world) { w.document["token_endpoint"] = "http://example.com" },
		"no JSON":                answer(discovery, "<html>"),
		"too long":               answer(discovery, "{\"issuer\":\""+strings.Repeat("x", maxDocument)),
		"keys no JSON":           answer("/keys", "<html>"),
		"keys too long":          answer("/keys", strings.Repeat(" ", maxDocument+1)),
		"redirect elsewhere": func(w *world) {
			w.handle = func(a http.ResponseWriter, r *http.Request) {
				http.Redirect(a, r, elsewhere.URL, http.StatusFound)
			}
		},
		"redirects without end": func(w *world) {
			w.handle = func(a http.ResponseWriter, r *http.Request) {
				http.Redirect(a, r, r.URL.Path, http.StatusFound)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.change(func() { change(w) })
			if err := w.verify(w.sign(nil)); !errors.Is(err, ErrUnreachable) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRedirectOnTheSameHost(t *testing.T) {
	w := newWorld(t)
	w.document["jwks_uri"] = w.server.URL + "/moved"
	w.handle = func(a http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			w.handle = nil
			http.Redirect(a, r, "/keys", http.StatusFound)
			return
		}
		_, _ = a.Write([]byte(marshal(t, w.document)))
	}
	w.expect("moved", w.sign(nil), nil, 1)
}

func TestIssuerURL(t *testing.T) {
	for url, want := range map[string]struct{ plain, ok bool }{
		"https://example.com/realms/x": {false, true}, "http://127.0.0.1:8080": {true, true},
		"http://[::1]/": {true, true}, "http://localhost": {true, true}, "http://example.com": {},
		"http://localhost.example.com": {}, "ftp://127.0.0.1": {}, "https://": {}, "example.com": {},
		"https://u:p@example.com": {}, "https://example.com?x=y": {}, "https://example.com/#x": {}, "https://%": {},
	} {
		if plain, err := checkIssuer(url); plain != want.plain || (err == nil) != want.ok {
			t.Errorf("%s: %v, %v", url, plain, err)
		}
	}
	if err := checkEndpoint("x", "http://127.0.0.1/", false); err == nil {
		t.Error("an issuer with https may direct to loopback without it")
	}
	w := newWorld(t)
	p := w.provider()
	p.Issuer = "http://example.com"
	if _, err := w.Verify(t.Context(), p, w.sign(nil)); !errors.Is(err, ErrUnreachable) {
		t.Errorf("an issuer without https: %v", err)
	}
}

// TestConcurrent: many callers cause one fetch, and all get its keys.
func TestConcurrent(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	var once sync.Once
	started := make(chan struct{})
	w.handle = func(http.ResponseWriter, *http.Request) {}
	hold := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(started) })
		<-release
		hold.ServeHTTP(a, r)
	})
	w.handle = nil
	token := w.sign(nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := w.verify(token); err != nil {
				t.Error(err)
			}
		})
	}
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Verify(ctx, w.provider(), token); !errors.Is(err, context.Canceled) ||
		!errors.Is(err, ErrUnreachable) {
		t.Errorf("a caller that gives up: %v", err)
	}
	close(release)
	wg.Wait()
	if got := w.fetches.Load(); got != 1 {
		t.Errorf("%d fetches", got)
	}
}

// TestOldWhileFetching: callers with usable keys do not wait for a fetch.
func TestOldWhileFetching(t *testing.T) {
	w := newWorld(t)
	token := w.sign(claims{"exp": 4e9})
	w.expect("first", token, nil, 1)
	w.clock.Advance(fresh + time.Second)
	i := w.issuer(w.server.URL)
	i.fetching <- struct{}{} // another caller fetches
	w.expect("meanwhile", token, nil, 1)
	<-i.fetching
	w.expect("after", token, nil, 2)
}
