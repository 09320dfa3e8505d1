package guard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

func TestRatesOfAddresses(t *testing.T) {
	g := guard(t, Config{AddressRate: Rate{PerSecond: 1, Burst: 2}}, nil)
	from := func(address string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = address
		return g.do(r)
	}
	for range 2 {
		if w := from("192.0.2.1:1000"); w.Code != http.StatusOK {
			t.Fatal(w.Code)
		}
	}
	w := from("192.0.2.1:2000") // another port is the same address
	g.refused(w, http.StatusTooManyRequests, "rate_limited")
	if w.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	if w := from("192.0.2.2:1000"); w.Code != http.StatusOK {
		t.Errorf("another address got %d", w.Code)
	}
	g.clock.Advance(time.Second)
	if w := from("192.0.2.1:1000"); w.Code != http.StatusOK {
		t.Errorf("a second later: %d", w.Code)
	}
	for i := range 3 { // one /64 is one address
		if w := from(fmt.Sprintf("[2001:db8::%d]:1", i)); (w.Code == http.StatusOK) != (i < 2) {
			t.Errorf("request %d of a network got %d", i, w.Code)
		}
	}
	if w := from("[2001:db8:0:1::1]:1"); w.Code != http.StatusOK {
		t.Errorf("another network got %d", w.Code)
	}
	for i := range 3 { // who has no address shares with others
		if w := from("@"); (w.Code == http.StatusOK) != (i < 2) {
			t.Errorf("request %d from nowhere got %d", i, w.Code)
		}
	}
}

func TestRatesOfPlayers(t *testing.T) {
	g := guard(t, Config{
		PlayerRate: Rate{PerSecond: 0.1},
		Player:     func(r *http.Request) string { return r.Header.Get("Player") },
	}, nil)
	if w := g.get("/", "Player: ada"); w.Code != http.StatusOK {
		t.Error(w.Code)
	}
	w := g.get("/", "Player: ada")
	g.refused(w, http.StatusTooManyRequests, "rate_limited")
	if w.Header().Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	for range 3 {
		if w := g.get("/"); w.Code != http.StatusOK {
			t.Errorf("a request for no player got %d", w.Code)
		}
	}
	if g.Players().Allow("ada") || !g.Players().Allow("bob") {
		t.Error("the handler sees other limits than the guard")
	}
}

func TestLimiter(t *testing.T) {
	clock := clockwork.NewFakeClockAt(epoch)
	l := NewLimiter(Rate{PerSecond: 2, Burst: 4}, clock)
	for i := range 6 {
		if l.Allow("ada") != (i < 4) {
			t.Errorf("request %d", i)
		}
	}
	clock.Advance(500 * time.Millisecond)
	if !l.Allow("ada") || l.Allow("ada") {
		t.Error("half a second is one request")
	}
	var none *Limiter
	if NewLimiter(Rate{}, nil) != none || !none.Allow("ada") {
		t.Error("no rate is a limit")
	}
	if r := (Rate{PerSecond: 0.2}); r.burst() != 1 {
		t.Errorf("the burst of a slow rate is %d", r.burst())
	}
}

func TestLimiterForgets(t *testing.T) {
	clock := clockwork.NewFakeClockAt(epoch)
	l := NewLimiter(Rate{PerSecond: 1, Burst: 2}, clock)
	l.limit = 10
	for i := range 100 {
		l.Allow(fmt.Sprint("player-", i))
	}
	if n := len(l.buckets); n != 10 || l.recent.Len() != 10 {
		t.Errorf("%d keys are remembered", n)
	}
	clock.Advance(2 * time.Second) // all are full again
	for range 5 {
		l.Allow("ada")
	}
	if n := len(l.buckets); n != 1 {
		t.Errorf("%d keys are remembered after they do not matter any more", n)
	}
}

func TestLimiterTogether(t *testing.T) {
	l := NewLimiter(Rate{PerSecond: 1, Burst: 50}, clockwork.NewFakeClockAt(epoch))
	var allowed atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if l.Allow("ada") {
					allowed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := allowed.Load(); n != 50 {
		t.Errorf("%d were allowed, want 50", n)
	}
}

// TestCallers distinguishes callers: all players of a game share its key, so they differ by their addresses.
func TestCallers(t *testing.T) {
	var got string
	g := guard(t, Config{Keys: map[string]string{"game": "0123456789abcdef"}},
		func(_ http.ResponseWriter, r *http.Request) { got = Caller(r.Context()) })
	for address, want := range map[string]string{
		"192.0.2.1:1000": "key game 192.0.2.1", "192.0.2.2:1000": "key game 192.0.2.2",
		"[2001:db8::7]:1000": "key game 2001:db8::/64",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = address
		r.Header.Set("X-Api-Key", "0123456789abcdef")
		if w := g.do(r); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, caller %q, want %q", address, w.Code, got, want)
		}
	}
}
