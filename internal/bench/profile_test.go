package bench_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/mustertest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func configFor(t *testing.T, e muster.Endpoints) bench.Config {
	config := bench.DefaultConfig()
	config.Endpoint, config.WebSocketURL, config.MetricsURL = e.HTTP, e.WS, e.HTTP+"/metrics"
	config.Credentials = sigv4.ClientCredentials{AccessKey: e.AccessKey, SecretKey: e.SecretKey, Region: e.Region}
	config.Connections, config.Duration, config.Pool, config.Locations = 4, 200*time.Millisecond, 6, 2
	config.Waiting = 20
	config.Note = func(text string) { t.Log(text) }
	return config
}

// Each profile works, in a closed and in an open loop, and leaves nothing behind.
func TestProfiles(t *testing.T) {
	s := mustertest.Start(t)
	for _, p := range bench.Profiles() {
		for loop, rate := range map[string]float64{"closed": 0, "open": 50} {
			t.Run(p.Name+"/"+loop, func(t *testing.T) {
				config := configFor(t, s.Endpoints)
				config.Rate = rate
				r, err := bench.Run(t.Context(), p, config)
				if err != nil {
					t.Fatal(err)
				}
				judge(t, r)
			})
		}
	}
	checkNothingIsLeft(t, s.Client)
}

// TestLegacyLives runs lives on server SDK 3, in a closed and in an open loop and in rounds.
func TestLegacyLives(t *testing.T) {
	s := mustertest.Start(t, func(c *muster.Config) { c.Legacy, c.LegacyPorts = "on", "0,0,0" })
	p, _ := bench.Lookup("lives")
	config := configFor(t, s.Endpoints)
	config.SDK, config.LegacyAddress, config.Locations = bench.SDKLegacy, s.Legacy[0], 1
	for loop, rate := range map[string]float64{"closed": 0, "open": 50} {
		t.Run(loop, func(t *testing.T) {
			config := config
			config.Rate = rate
			r, err := bench.Run(t.Context(), p, config)
			if err != nil {
				t.Fatal(err)
			}
			if judge(t, r); r.SDK != bench.SDKLegacy {
				t.Errorf("server SDK %q", r.SDK)
			}
		})
	}
	t.Run("round", func(t *testing.T) {
		config := config
		config.Duration = time.Minute
		b, err := bench.Open(t.Context(), p, config)
		if err != nil {
			t.Fatal(err)
		}
		if r := b.Round(t.Context(), 9); r.Operations != 9 || r.Failures() != 0 {
			t.Errorf("%d operations, errors %v", r.Operations, r.Errors)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("other fleet", func(t *testing.T) {
		config := config
		config.LegacyFleet = "fleet-124"
		if r, err := bench.Run(t.Context(), p, config); r != nil || err == nil {
			t.Errorf("ran in a fleet that does not exist: %v", err)
		} else {
			t.Log(err)
		}
	})
	fleets := mustertest.Call(t, s.Client.DescribeFleetAttributes, &gamelift.DescribeFleetAttributesInput{})
	if n := len(fleets.FleetAttributes); n != 1 || *fleets.FleetAttributes[0].FleetId != config.LegacyFleet {
		t.Errorf("%d fleets are left, want the one of the service", n)
	}
}

func judge(t *testing.T, r *bench.Result) {
	t.Helper()
	if r.Operations == 0 || r.Units < r.Operations || r.UnitsRate <= 0 || r.Failures() != 0 {
		t.Errorf("%d operations, %d units, errors %v", r.Operations, r.Units, r.Errors)
	}
	if l := r.Latency; l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
		t.Errorf("latency %+v", l)
	}
	if r.Server == nil || r.Server.ResidentBytes == 0 {
		t.Errorf("of the service: %+v", r.Server)
	}
	if r.Profile == "players" && r.Units != 25*r.Operations {
		t.Errorf("%d players in %d calls", r.Units, r.Operations)
	}
	if r.Profile == "sessions" && r.OfferedRate == 0 && (r.Units != 6 || !r.Exhausted) {
		t.Errorf("%d game sessions from a pool of 6", r.Units)
	}
	if m := r.Matchmaking; r.Profile == "matchmaking" &&
		(m == nil || r.OfferedRate == 0 && m.Matches == 0 || m.Matches > 0 && m.Latency.P50 <= 0 ||
			10*int(m.Matches) > m.WaitingBefore+int(r.Operations)) {
		t.Errorf("%d tickets, %+v", r.Operations, m)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func checkNothingIsLeft(t *testing.T, client *gamelift.Client) {
	t.Helper()
	fleets, err := client.DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fleets.FleetAttributes {
		if f.Status == "ACTIVE" {
			t.Errorf("fleet %s is left", aws.ToString(f.Name))
		}
	}
	locations, err := client.ListLocations(t.Context(), &gamelift.ListLocationsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locations.Locations {
		if strings.HasPrefix(aws.ToString(l.LocationName), "custom-bench") {
			t.Errorf("location %s is left", *l.LocationName)
		}
	}
}

// A run that is cut short says what it has measured, and tidies up.
func TestInterruption(t *testing.T) {
	e := mustertest.Start(t).Endpoints
	config := configFor(t, e)
	config.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seconds := 0
	config.Progress = func(p bench.Progress) {
		if seconds++; p.Operations > 0 {
			cancel()
		}
	}
	p, _ := bench.Lookup("search")
	r, err := bench.Run(ctx, p, config)
	if err != nil {
		t.Fatal(err)
	}
	if judge(t, r); seconds == 0 || r.Seconds >= 60 {
		t.Errorf("%v seconds, %d reports", r.Seconds, seconds)
	}
}

// Rounds share what was prepared.
func TestRounds(t *testing.T) {
	config := configFor(t, mustertest.Start(t).Endpoints)
	config.Duration = time.Minute
	for _, name := range []string{"sessions", "accept", "lives"} {
		p, _ := bench.Lookup(name)
		b, err := bench.Open(t.Context(), p, config)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, operations := range []int64{1, 5} {
			if r := b.Round(t.Context(), operations); r.Operations != operations || r.Failures() != 0 || r.Exhausted {
				t.Errorf("%s: %d operations, want %d; errors %v", name, r.Operations, operations, r.Errors)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(name, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	e := mustertest.Start(t).Endpoints
	p, _ := bench.Lookup("player")
	for want, change := range map[string]func(*bench.Config){
		"without a path":              func(c *bench.Config) { c.Endpoint = "localhost" },
		"UnrecognizedClientException": func(c *bench.Config) { c.Credentials.AccessKey = "AKIDSTRANGER" },
		"1 to 25 players":             func(c *bench.Config) { c.Batch = 26 },
		"one connection":              func(c *bench.Config) { c.Connections = 0 },
		"one location":                func(c *bench.Config) { c.Locations = 0 },
		"duration":                    func(c *bench.Config) { c.Duration = 0 },
		"negative":                    func(c *bench.Config) { c.Rate = -1 },
		"player needs server SDK 5":   func(c *bench.Config) { c.SDK = bench.SDKLegacy },
		"must be 5 or legacy":         func(c *bench.Config) { c.SDK = "3" },
		"open files":                  func(c *bench.Config) { c.Pool = 1 << 60 },
	} {
		config := configFor(t, e)
		change(&config)
		if r, err := bench.Run(t.Context(), p, config); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
