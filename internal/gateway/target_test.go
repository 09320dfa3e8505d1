package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// Which fleet is the first is asked once in a while, and again when it fails.
func TestFirstFleetIsRemembered(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	w.idle[testFleet]["custom-lab"] = 9
	var log bytes.Buffer
	d := openGateway(t, w, func(c *Config) { c.Clock, c.Log = clock, slog.New(slog.NewTextHandler(&log, nil)) })
	create := func(name string) reply {
		return d.ask(http.MethodPost, "/create_session", createBody(name, "ada", 2))
	}
	for i := range 3 {
		create(fmt.Sprint("n", i)).wantStatus(t, 200)
	}
	if n := w.count("Fleet"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	clock.Advance(firstFleetTime)
	create("later").wantStatus(t, 200)
	if n := w.count("Fleet"); n != 2 {
		t.Errorf("asked %d times when that was long ago", n)
	}
	w.do(func() {
		w.fails["CreateGameSession"] = fault.New(fault.InvalidFleetStatus, "the fleet is being deleted")
	})
	create("gone").wantCode(t, NoCapacity)
	create("gone").wantCode(t, NoCapacity)
	if n := w.count("Fleet"); n != 3 {
		t.Errorf("asked %d times when the fleet was gone", n)
	}
	if n := strings.Count(log.String(), "gateway fleet chosen"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// TestNoneFree names the fleet, and the setting if the gateway has chosen the fleet, in development alone.
func TestNoneFree(t *testing.T) {
	const hint = " Start one there, or choose another fleet with the setting gateway-fleet."
	for _, tt := range []struct {
		development, configured bool
		want                    string
	}{
		{true, false, "No game server is free in fleet " + testFleet + "." + hint},
		{true, true, "No game server is free in fleet " + testFleet + "."},
		{false, false, "No game server is free. Try again later."},
	} {
		w := newWorld()
		w.idle[testFleet] = map[string]int{"custom-lab": 0}
		d := openGateway(t, w, func(c *Config) {
			if c.Development = tt.development; tt.configured {
				c.Default = Target{FleetID: testFleet}
			}
		})
		r := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2))
		if r.wantCode(t, NoCapacity); r.field("error") != tt.want {
			t.Errorf("%+v: got %s", tt, r.text)
		}
	}
}

// A request's key says where a text ends: two players cannot make up the same.
func TestKeysDoNotMeet(t *testing.T) {
	texts := []string{"", "a", "b", "ab", "a b", "1 a", " ", "\x00"}
	seen := map[string]string{}
	for _, player := range texts {
		for _, name := range texts {
			for _, c := range []*creation{{player: player, name: name}, {player: player, key: name + "k"}} {
				key, what := c.requestKey(), fmt.Sprintf("%q %q %q", player, c.name, c.key)
				if seen[key] != "" {
					t.Errorf("%s and %s have the same key", seen[key], what)
				}
				seen[key] = what
			}
		}
	}
}

func TestPatterns(t *testing.T) {
	mux := http.NewServeMux()
	for _, p := range Patterns() {
		mux.Handle(p, http.NotFoundHandler()) // panics if it is none
	}
}
