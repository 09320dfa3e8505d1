package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The first gateway of this interface had weaknesses, named by its authors or
// found in its code. There is a test for each that lies in this package; limits on
// callers are the guard's.

// 1: it asked every 10 ms whether the game session was active.
func TestActivationIsAwaitedNotPolled(t *testing.T) {
	w := newWorld()
	w.behaves = lingers
	d := openGateway(t, w)
	done := make(chan reply, 1)
	go func() { done <- d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)) }()
	if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusActive })
	(<-done).wantStatus(t, 200)
	if w.count("DescribeGameSession") != 0 || w.count("AwaitGameSession") != 1 {
		t.Errorf("calls %v", w.calls)
	}
}

// 2: it used the first fleet of the Region.
func TestTargetIsConfigured(t *testing.T) {
	const other = "fleet-33333333-3333-4333-8333-333333333333"
	tests := []struct {
		name   string
		config func(*Config)
		fleet  string
		asked  int // for the first fleet
	}{
		{"route by build", func(c *Config) {
			c.Routes, c.Default = map[int32]Target{4711: {FleetID: other}}, Target{FleetID: testFleet}
		}, other, 0},
		{"explicit default", func(c *Config) {
			c.Routes, c.Default = map[int32]Target{1: {FleetID: testFleet}}, Target{FleetID: other}
		}, other, 0},
		{"alias", func(c *Config) { c.Default = Target{AliasID: testAlias} }, testFleet, 0},
		{"queue", func(c *Config) { c.Default = Target{Queue: testQueue} }, testFleet, 0},
		{"first fleet as the last resort", func(c *Config) { c.Routes = map[int32]Target{1: {FleetID: other}} },
			testFleet, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			if tt.asked == 0 {
				w.idle[other] = map[string]int{"custom-lab": 1}
			}
			d := openGateway(t, w, func(c *Config) { c.Queues = w; tt.config(c) })
			r := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
			if r.field("FleetId") != tt.fleet || w.count("Fleet") != tt.asked {
				t.Errorf("fleet %s, asked %d times for the first", r.field("FleetId"), w.count("Fleet"))
			}
		})
	}
}

// 3: it used the location of the first compute.
func TestLocationIsChosen(t *testing.T) {
	tests := []struct {
		name     string
		idle     map[string]int
		explicit string
		unknown  bool
		want     string
		code     Code
	}{
		{name: "most idle", idle: map[string]int{"custom-a": 1, "custom-b": 3, "custom-c": 0}, want: "custom-b"},
		{name: "ties by name", idle: map[string]int{"custom-b": 2, "custom-a": 2}, want: "custom-a"},
		{name: "explicit wins", idle: map[string]int{"custom-a": 1, "custom-b": 3}, explicit: "custom-a",
			want: "custom-a"},
		{name: "unknown are tried by name, past the full ones", idle: map[string]int{"custom-a": 0, "custom-b": 1},
			unknown: true, want: "custom-b"},
		{name: "none", idle: map[string]int{"custom-a": 0}, code: NoCapacity},
		{name: "no locations", idle: map[string]int{}, code: NoCapacity},
		{name: "all unknown and full", idle: map[string]int{"custom-a": 0, "custom-b": 0}, unknown: true,
			code: NoCapacity},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.idle[testFleet], w.unknown = tt.idle, tt.unknown
			d := openGateway(t, w, func(c *Config) { c.Default = Target{FleetID: testFleet, Location: tt.explicit} })
			r := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2))
			if tt.code != "" {
				r.wantCode(t, tt.code)
				return
			}
			r.wantStatus(t, 200)
			if got := w.alive()[0].Location; got != tt.want {
				t.Errorf("location %s, want %s", got, tt.want)
			}
		})
	}
}

// 4: it looked at no build.
func TestBuildIsChecked(t *testing.T) {
	w := newWorld()
	var log bytes.Buffer
	config := func(mode BuildCheck) func(*Config) {
		return func(c *Config) {
			c.BuildCheck, c.Routes = mode, map[int32]Target{4711: {FleetID: testFleet}}
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
	}
	enforce, warn, off := openGateway(t, w, config(BuildEnforce)), openGateway(t, w, config(BuildWarn)),
		openGateway(t, w, config(BuildOff))
	r := enforce.ask(http.MethodPost, "/create_session", createBody("n", "ada", 3)).wantStatus(t, 200)
	if got := w.alive()[0].GameProperties; !slices.Contains(got, wire.GameProperty{Key: "build_id", Value: "4711"}) {
		t.Errorf("game properties %v", got)
	}
	other := strings.Replace(createBody("m", "bob", 2), "4711", "-5", 1)
	enforce.ask(http.MethodPost, "/create_session", other).wantCode(t, BuildMismatch)
	enforce.ask(http.MethodPost, "/create_session", strings.Replace(other, `"build_id"`, `"x"`, 1)).wantCode(t,
		BuildMismatch)
	warn.ask(http.MethodPost, "/create_session", other).wantStatus(t, 200)
	if !strings.Contains(log.String(), "no route for the client's build") {
		t.Errorf("log %q", log.String())
	}
	join := func(player string) string {
		return strings.Replace(joinBody(r.field("GameSessionId"), player), "{", `{"build_id":12,`, 1)
	}
	enforce.ask(http.MethodPost, "/join_session", join("bob")).wantCode(t, BuildMismatch)
	warn.ask(http.MethodPost, "/join_session", join("bob")).wantStatus(t, 200)
	off.ask(http.MethodPost, "/join_session", join("cid")).wantStatus(t, 200)
	if !strings.Contains(log.String(), "another build") {
		t.Errorf("log %q", log.String())
	}
}

func TestFindByBuild(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 3)).wantStatus(t, 200)
	for query, want := range map[string]int{"": 1, "?build_id=4711": 1, "?build_id=1": 0} {
		if got := d.ask(http.MethodGet, "/find_session"+query, "").wantStatus(t, 200).list(t); len(got) != want {
			t.Errorf("%q finds %d, want %d", query, len(got), want)
		}
	}
	for _, query := range []string{
		"?build_id=x", "?build_id=", "?build_id=1&build_id=2", "?build_id=4294967296", "?%zz",
	} {
		d.ask(http.MethodGet, "/find_session"+query, "").wantCode(t, InvalidRequest)
	}
}

// 5: it sent the API's messages to clients.
func TestMessagesStayInside(t *testing.T) {
	w := newWorld()
	w.fails["CreatePlayerSessions"] = fault.New(fault.InternalService, "secret detail of fleet-9")
	var log bytes.Buffer
	d := openGateway(t, w, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	r := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2))
	r.wantCode(t, Internal)
	_ = d.g.Close(t.Context()) // what is cleaned up is logged, too
	if strings.Contains(r.text, "secret") || !strings.Contains(log.String(), "secret detail") ||
		!strings.Contains(log.String(), r.field("requestId")) {
		t.Errorf("answer %s, log %s", r.text, log.String())
	}
	dev := openGateway(t, w, func(c *Config) { c.Development = true })
	r = dev.ask(http.MethodPost, "/create_session", createBody("m", "ada", 2))
	if !strings.Contains(r.field("error"), "secret detail") {
		t.Errorf("in development: %s", r.text)
	}
}

// 6: one function did everything, for as long as it took. 15: it left what it had
// created behind.
func TestDeadlineEndsTheGameSession(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	w.behaves = lingers
	d := openGateway(t, w, func(c *Config) { c.Clock = clock })
	done := make(chan reply, 1)
	go func() { done <- d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)) }()
	if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	clock.Advance(DefaultDeadline - time.Millisecond)
	select {
	case r := <-done:
		t.Fatalf("answer before the deadline: %s", r.text)
	default:
	}
	clock.Advance(time.Millisecond)
	(<-done).wantCode(t, ActivationTimeout)
	if err := w.await(t.Context(), func() bool { return w.calls["TerminateGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	if left := w.alive(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	by := w.confirmBy[w.sessions[0].GameSessionId]
	if want := clock.Now().Add(5 * time.Second); !by.Equal(want) {
		t.Errorf("hand over by %v, want %v", by, want)
	}
}

func TestEveryStepHasTheDeadline(t *testing.T) {
	for _, call := range []string{
		"Fleet", "Locations", "CreateGameSession", "AwaitGameSession", "CreatePlayerSessions", "DescribePlayerSessions",
	} {
		t.Run(call, func(t *testing.T) {
			w, clock := newWorld(), clockwork.NewFakeClock()
			w.hangs = call
			d := openGateway(t, w, func(c *Config) { c.Clock = clock })
			done := make(chan reply, 1)
			go func() { done <- d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)) }()
			if err := w.await(t.Context(), func() bool { return w.calls[call] == 1 }); err != nil {
				t.Fatal(err)
			}
			clock.Advance(DefaultDeadline)
			if r := <-done; r.status != http.StatusGatewayTimeout {
				t.Errorf("answer %d %s", r.status, r.text)
			}
			_ = d.g.Close(t.Context())
			if left := w.alive(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestFindHasTheDeadline(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	w.hangs = "SearchGameSessions"
	d := openGateway(t, w, func(c *Config) { c.Clock = clock })
	done := make(chan reply, 1)
	go func() { done <- d.ask(http.MethodGet, "/find_session", "") }()
	if err := w.await(t.Context(), func() bool { return w.calls["SearchGameSessions"] == 1 }); err != nil {
		t.Fatal(err)
	}
	clock.Advance(DefaultDeadline)
	(<-done).wantCode(t, Timeout)
}

// 7: to reuse a game session it read, then wrote, and retried without end.
func TestReuseIsOneStep(t *testing.T) {
	w := newWorld()
	w.do(func() {
		s := w.begin("arn:aws:gamelift:eu-west-1::gamesession/"+testFleet+"/custom-lab/empty", testFleet, "custom-lab")
		s.Status, s.MaximumPlayerSessionCount = wire.GameSessionStatusActive, wire.Some[int32](9)
	})
	d := openGateway(t, w, func(c *Config) { c.Reuse = true })
	first := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	if lastPart(first.field("GameSessionId")) != "empty" || w.count("CreateGameSession") != 0 ||
		w.sessions[0].Name != "n" {
		t.Fatalf("took %s", first.text)
	}
	again := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	if again.text != first.text {
		t.Errorf("repeated: %s, first %s", again.text, first.text)
	}
	w.do(func() { w.fails["ClaimGameSession"] = fault.New(fault.Conflict, "taken") })
	before := w.count("ClaimGameSession")
	d.ask(http.MethodPost, "/create_session", createBody("m", "bob", 2)).wantStatus(t, 200)
	if n := w.count("ClaimGameSession") - before; n != maxClaims || w.count("CreateGameSession") != 1 {
		t.Errorf("%d claims, %d creations", n, w.count("CreateGameSession"))
	}
	w.do(func() { w.fails["ClaimGameSession"] = fault.New(fault.NotFound, "none") })
	d.ask(http.MethodPost, "/create_session", createBody("o", "cid", 2)).wantStatus(t, 200)
	if w.count("CreateGameSession") != 2 {
		t.Error("no game session was created when none was empty")
	}
}

func TestReuseIsOffByDefault(t *testing.T) {
	w := newWorld()
	openGateway(t, w).ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	if w.count("ClaimGameSession") != 0 {
		t.Error("a game session was claimed")
	}
}

// 8: the local form of find had no filter.
func TestFindFiltersAlike(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"] = 9
	d := openGateway(t, w)
	for i, name := range []string{"open", "full", "closed", "over", "starting"} {
		d.ask(http.MethodPost, "/create_session", createBody(name, "p", 1+1/(i+1))).wantStatus(t, 200)
	}
	w.do(func() {
		w.sessions[2].MaximumPlayerSessionCount, w.sessions[2].PlayerSessionCreationPolicy = wire.Some[int32](9),
			wire.PlayerSessionCreationPolicyDenyAll
		w.sessions[3].MaximumPlayerSessionCount, w.sessions[3].Status = wire.Some[int32](9),
			wire.GameSessionStatusTerminated
		w.sessions[4].MaximumPlayerSessionCount, w.sessions[4].Status = wire.Some[int32](9),
			wire.GameSessionStatusActivating
	})
	for _, path := range []string{"/find_session", "/find_session_local"} {
		list := d.ask(http.MethodGet, path, "").wantStatus(t, 200).list(t)
		if len(list) != 1 || list[0].(map[string]any)["Name"] != "open" {
			t.Errorf("%s: %v", path, list)
		}
	}
}

// 9: it showed everything of a game session.
func TestFields(t *testing.T) {
	w := newWorld()
	d, minimal := openGateway(t, w), openGateway(t, w, func(c *Config) { c.Fields = FieldsMinimal })
	d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	w.do(func() { w.sessions[0].GameSessionData, w.sessions[0].MatchmakerData = "d", "m" })
	full := d.ask(http.MethodGet, "/find_session", "").list(t)[0].(map[string]any)
	for _, key := range []string{
		"GameSessionId", "Name", "FleetId", "FleetArn", "CreationTime", "CurrentPlayerSessionCount",
		"MaximumPlayerSessionCount", "Status",
		"GameProperties", "IpAddress", "Port", "PlayerSessionCreationPolicy", "Location", "GameSessionData",
		"MatchmakerData",
	} {
		if full[key] == nil {
			t.Errorf("full has no %s: %v", key, full)
		}
	}
	little := minimal.ask(http.MethodGet, "/find_session", "").list(t)[0].(map[string]any)
	for _, key := range []string{"GameSessionId", "Name", "CurrentPlayerSessionCount", "MaximumPlayerSessionCount"} {
		if little[key] == nil || len(little) != 4 {
			t.Errorf("minimal is %v", little)
		}
	}
}

// 10: it found one page.
func TestFindFollowsPages(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"], w.pageSize = 100, 3
	d, capped := openGateway(t, w), openGateway(t, w, func(c *Config) { c.FindLimit = 5 })
	for i := range 8 {
		d.ask(http.MethodPost, "/create_session", createBody(fmt.Sprint("n", i), "ada", 2)).wantStatus(t, 200)
	}
	if got := d.ask(http.MethodGet, "/find_session", "").list(t); len(got) != 8 {
		t.Errorf("found %d", len(got))
	}
	if got := capped.ask(http.MethodGet, "/find_session", "").list(t); len(got) != 5 {
		t.Errorf("found %d up to the limit", len(got))
	}
}

func TestFindLooksAtAllTargets(t *testing.T) {
	const other = "fleet-33333333-3333-4333-8333-333333333333"
	w := newWorld()
	w.idle[other] = map[string]int{"custom-lab": 2}
	d := openGateway(t, w, func(c *Config) {
		c.Queues = w
		c.Routes = map[int32]Target{1: {FleetID: other}, 2: {FleetID: other}, 3: {Queue: testQueue},
			4: {AliasID: testAlias}}
		c.Default, c.Search = Target{FleetID: testFleet}, []Target{{FleetID: other}}
	})
	for _, build := range []string{"1", "4711", "3"} {
		d.ask(http.MethodPost, "/create_session",
			strings.Replace(createBody("n"+build, "ada", 2), "4711", build, 1)).wantStatus(t, 200)
	}
	before := w.count("SearchGameSessions")
	if got := d.ask(http.MethodGet, "/find_session", "").list(t); len(got) != 3 ||
		w.count("SearchGameSessions")-before != 3 {
		t.Errorf("found %d with %d searches", len(got), w.count("SearchGameSessions")-before)
	}
}

// 11: anybody could send anything of any size.
func TestBodyIsLimited(t *testing.T) {
	d := openGateway(t, newWorld())
	d.ask(http.MethodPost, "/create_session", `{"session_name":"`+strings.Repeat("x", DefaultMaxBody)+`"}`).wantCode(t,
		BodyTooLarge)
}

// 12: private places are part of num_connections.
func TestPlacesAreTheSum(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	d.ask(http.MethodPost, "/create_session",
		`{"session_name":"n","build_id":1,"uuid":"ada","num_connections":7.0}`).wantStatus(t, 200)
	if got := w.alive()[0].MaximumPlayerSessionCount.Or(0); got != 7 {
		t.Errorf("%d places", got)
	}
}

// 13: a defect made 502 of 500. 18: find failed without an answer of its own.
func TestOneErrorPath(t *testing.T) {
	kinds := map[fault.Kind]Code{
		fault.Throttling: RateLimited, fault.ServiceUnavailable: Unavailable, fault.InternalService: Internal,
		fault.LimitExceeded: LimitExceeded,
		fault.AccessDenied:  Internal, fault.UnsupportedRegion: NotSupported,
	}
	for kind, code := range kinds {
		for _, call := range []string{
			"Fleet", "Locations", "CreateGameSession", "AwaitGameSession", "CreatePlayerSessions",
			"DescribePlayerSessions",
		} {
			w := newWorld()
			w.fails[call] = fault.New(kind, "as the test wants")
			openGateway(t, w).ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantCode(t, code)
		}
		w := newWorld()
		w.fails["SearchGameSessions"] = fault.New(kind, "as the test wants")
		d := openGateway(t, w)
		d.ask(http.MethodGet, "/find_session", "").wantCode(t, code)
		d.ask(http.MethodGet, "/find_session_local", "").wantCode(t, code)
		w.fails["CreatePlayerSessions"] = w.fails["SearchGameSessions"]
		d.ask(http.MethodPost, "/join_session", joinBody("arn:x", "ada")).wantCode(t, code)
	}
	w := newWorld()
	w.fails["SearchGameSessions"] = errors.New("broken")
	openGateway(t, w).ask(http.MethodGet, "/find_session", "").wantCode(t, Internal)
}

// 14: a game session that ended before it was active counted as ready.
func TestOnlyActiveIsReady(t *testing.T) {
	w := newWorld()
	w.behaves = breaks
	d := openGateway(t, w)
	d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantCode(t, ActivationFailed)
	_ = d.g.Close(t.Context())
	if w.count("CreatePlayerSessions") != 0 || w.count("TerminateGameSession") != 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// 15: what it had created stayed when no place could be had.
func TestFailureEndsTheGameSession(t *testing.T) {
	tests := map[string]error{"refused": fault.New(fault.InvalidRequest, "no"), "lost": context.DeadlineExceeded}
	for name, err := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.fails["CreatePlayerSessions"] = err
			d := openGateway(t, w)
			if r := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)); r.status < 400 {
				t.Fatalf("answer %s", r.text)
			}
			_ = d.g.Close(t.Context())
			if left := w.alive(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A failed cleanup is logged, a game session that ended by itself is not.
func TestLeftBehindIsLogged(t *testing.T) {
	for kind, warns := range map[fault.Kind]bool{
		fault.Throttling: true, fault.NotFound: false, fault.InvalidGameSessionStatus: false,
	} {
		w := newWorld()
		w.fails["CreatePlayerSessions"] = fault.New(fault.LimitExceeded, "no")
		w.fails["TerminateGameSession"] = fault.New(kind, "as the test wants")
		var log bytes.Buffer
		d := openGateway(t, w, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantCode(t, LimitExceeded)
		_ = d.g.Close(t.Context())
		if got := strings.Contains(log.String(), "cleanup failed"); got != warns {
			t.Errorf("%s: log %q", kind, log.String())
		}
	}
}

func TestGameSessionWithPlayersStays(t *testing.T) {
	w := newWorld()
	w.fails["CreatePlayerSessions"] = fault.New(fault.InternalService, "too late")
	w.behaves = lingers
	d := openGateway(t, w)
	done := make(chan reply, 1)
	go func() { done <- d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)) }()
	if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	w.do(func() {
		w.sessions[0].Status = wire.GameSessionStatusActive
		w.admit(w.sessions[0], "bob", "")
	})
	(<-done).wantCode(t, Internal)
	_ = d.g.Close(t.Context())
	if len(w.alive()) != 1 {
		t.Error("a game session with a player was ended")
	}
}

// 16: a retry created another game session.
func TestSingleFlight(t *testing.T) {
	w := newWorld()
	w.behaves = lingers
	d := openGateway(t, w)
	var ready, wait sync.WaitGroup
	answers := make([]reply, 100)
	for i := range answers {
		ready.Add(1)
		wait.Go(func() {
			ready.Done()
			answers[i] = d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2))
		})
	}
	ready.Wait()
	if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 3)).wantCode(t, RequestConflict)
	d.ask(http.MethodPost, "/create_session", strings.Replace(createBody("n", "ada", 2), "4711", "1", 1)).wantCode(t,
		RequestConflict)
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusActive })
	wait.Wait()
	for _, r := range answers {
		if r.status != 200 || r.text != answers[0].text {
			t.Fatalf("answer %d %s, another %s", r.status, r.text, answers[0].text)
		}
	}
	if w.count("CreateGameSession") != 1 || w.count("CreatePlayerSessions") != 1 {
		t.Errorf("calls %v", w.calls)
	}
}

func TestReplay(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"], w.pageSize = 20, 2
	d := openGateway(t, w)
	body := createBody("n", "ada", 2)
	// The player holds many other places, some in game sessions of the same name.
	for i := range 3 {
		other := d.ask(http.MethodPost, "/create_session", createBody("n", fmt.Sprint("p", i), 2)).wantStatus(t, 200)
		d.ask(http.MethodPost, "/join_session", joinBody(other.field("GameSessionId"), "ada")).wantStatus(t, 200)
	}
	first := d.ask(http.MethodPost, "/create_session", body).wantStatus(t, 200)
	if again := d.ask(http.MethodPost, "/create_session", body).wantStatus(t, 200); again.text != first.text {
		t.Errorf("repeated: %s, first %s", again.text, first.text)
	}
	restarted := openGateway(t, w)
	if again := restarted.ask(http.MethodPost, "/create_session", body).wantStatus(t, 200); again.text != first.text {
		t.Errorf("repeated after a restart: %s, first %s", again.text, first.text)
	}
	keyed := openGateway(t, w, func(c *Config) { c.Secret = []byte("of this gateway") })
	if other := keyed.ask(http.MethodPost, "/create_session", body).wantStatus(t, 200); other.text == first.text {
		t.Error("the secret has no effect on the token")
	}
	for _, change := range []func(string) string{
		func(s string) string { return strings.Replace(s, `"n"`, `"m"`, 1) },
		func(s string) string { return strings.Replace(s, "4711", "4712", 1) },
		func(s string) string {
			return strings.Replace(s, `"num_connections":2`, `"num_connections":3`, 1)
		},
	} {
		other := d.ask(http.MethodPost, "/create_session", change(body)).wantStatus(t, 200)
		if other.field("GameSessionId") == first.field("GameSessionId") {
			t.Errorf("%s gives the answer to %s", change(body), body)
		}
	}
	w.do(func() { w.session(first.field("GameSessionId")).Status = wire.GameSessionStatusTerminating })
	other := d.ask(http.MethodPost, "/create_session", body).wantStatus(t, 200)
	if other.field("GameSessionId") == first.field("GameSessionId") {
		t.Error("a place in a game session that is about to end was given again")
	}
	w.do(func() {
		w.session(first.field("GameSessionId")).Status = wire.GameSessionStatusActive
		for _, p := range w.players {
			if p.PlayerSessionId == first.field("PlayerSessionId") {
				p.Status = wire.PlayerSessionStatusTimedout
			}
		}
	})
	other = d.ask(http.MethodPost, "/create_session", body).wantStatus(t, 200)
	if other.field("GameSessionId") == first.field("GameSessionId") {
		t.Error("a place that is not RESERVED any more was given again")
	}
}

func TestHandedOverBehindTheAnswer(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	r := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	_ = d.g.Close(t.Context())
	if len(w.confirmed) != 1 || w.confirmed[0] != r.field("GameSessionId") {
		t.Errorf("confirmed over: %v", w.confirmed)
	}
}

// A client that gives up does not stop its creation: the retry finds it.
func TestClientGoneAndBack(t *testing.T) {
	w := newWorld()
	w.behaves = lingers
	d := openGateway(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, d.server.URL+"/create_session",
			strings.NewReader(createBody("n", "ada", 2)))
		res, err := d.client.Do(req)
		if err == nil {
			res.Body.Close()
		}
		gone <- err
	}()
	if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer")
	}
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusActive })
	d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	if w.count("CreateGameSession") != 1 {
		t.Errorf("%d game sessions", w.count("CreateGameSession"))
	}
}

// 17: it checked nothing.
func TestRequestsAreChecked(t *testing.T) {
	d := openGateway(t, newWorld())
	long := strings.Repeat("é", 1025)
	create := func(change ...string) string {
		return strings.NewReplacer(change...).Replace(`{"session_name":"n","build_id":1,"uuid":"ada",` +
			`"num_connections":2}`)
	}
	tests := []struct{ path, body, names string }{
		{"/create_session", "", "body"},
		{"/create_session", " \n", "body"},
		{"/create_session", "[]", "body"},
		{"/create_session", "null", "body"},
		{"/create_session", `"text"`, "body"},
		{"/create_session", `{"session_name":"n"`, "body"},
		{"/create_session", create() + "{}", "body"},
		{"/create_session", create() + "]", "body"},
		{"/create_session", "\xff" + create(), "UTF-8"},
		{"/create_session", create(`"session_name"`, `"x"`), "session_name"},
		{"/create_session", create(`"n"`, `""`), "session_name"},
		{"/create_session", create(`"n"`, `null`), "session_name"},
		{"/create_session", create(`"n"`, `7`), "session_name"},
		{"/create_session", create(`"n"`, `"`+long+`"`), "session_name"},
		{"/create_session", create(`"uuid"`, `"UUID"`), "uuid"},
		{"/create_session", create(`"ada"`, `"`+long+`"`), "uuid"},
		{"/create_session", create(`"ada"`, `["ada"]`), "uuid"},
		{"/create_session", create(`:2`, `:0`), "num_connections"},
		{"/create_session", create(`:2`, `:201`), "num_connections"},
		{"/create_session", create(`:2`, `:2.5`), "num_connections"},
		{"/create_session", create(`:2`, `:"2"`), "num_connections"},
		{"/create_session", create(`:2`, `:NaN`), "num_connections"},
		{"/create_session", create(`:2`, `:1e999`), "num_connections"},
		{"/create_session", create(`:2`, `:-1`), "num_connections"},
		{"/create_session", create(`:2`, `:2,"num_connections":2`), "num_connections"},
		{"/create_session", create(`:1`, `:2147483648`), "build_id"},
		{"/create_session", create(`:1`, `:true`), "build_id"},
		{"/join_session", `{"uuid":"ada"}`, "GameSessionId"},
		{"/join_session", `{"GameSessionId":"arn:x"}`, "uuid"},
		{"/join_session", `{"GameSessionId":"arn x","uuid":"ada"}`, "GameSessionId"},
		{"/join_session", `{"GameSessionId":"` + strings.Repeat("a", 513) + `","uuid":"ada"}`, "GameSessionId"},
		{"/join_session_local", `{"GameSessionId":"arn:aws:gamelift:local::gamesession/x","uuid":"ada"}`,
			"GameSessionId"},
	}
	for _, tt := range tests {
		r := d.ask(http.MethodPost, tt.path, tt.body)
		r.wantCode(t, InvalidRequest)
		if !strings.Contains(r.field("error"), tt.names) {
			t.Errorf("%s: %s does not name %s", tt.body, r.text, tt.names)
		}
	}
}

func TestRequestsAreTakenAsTheyCome(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"] = 9
	d := openGateway(t, w)
	for i, body := range []string{
		`{"session_name":"n","build_id":-2147483648,"uuid":"ada","num_connections":4.0}`,
		`{"session_name":"n","build_id":4.0,"uuid":"ada","num_connections":4e0,"more":{"a":[1]},"\u006d":null}`,
		` {"num_connections":200,"uuid":"` + strings.Repeat("é", 1024) + `","session_name":"` +
			strings.Repeat("é", 1024) + `"}` + "\r\n",
	} {
		r := d.ask(http.MethodPost, "/create_session", body, "Content-Type",
			[]string{"application/json", "text/plain", ""}[i])
		r.wantStatus(t, 200)
	}
}

// TestHandedOverBeforeTheAnswer keeps a game session without a player, which no
// place that is reserved keeps, through a crash behind the answer.
func TestHandedOverBeforeTheAnswer(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	r := d.ask(http.MethodPost, "/v1/sessions", `{"name":"n","maxPlayers":2}`).wantStatus(t, 201)
	if len(w.confirmed) != 1 || w.confirmed[0] != r.field("session", "id") {
		t.Errorf("confirmed over: %v", w.confirmed)
	}
}

// TestJoinRepeated takes one place, however often and at once it is asked for.
func TestJoinRepeated(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	id := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 3)).wantStatus(t, 200).field("GameSessionId")
	answers := make(chan reply, 20)
	for range cap(answers) {
		go func() { answers <- d.ask(http.MethodPost, "/join_session", joinBody(id, "bob")) }()
	}
	places := make(map[string]bool)
	for range cap(answers) {
		r := <-answers
		places[r.wantStatus(t, 200).field("PlayerSessionId")] = true
	}
	again := d.ask(http.MethodPost, "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"bob"}]}`).wantStatus(t,
		201)
	if len(places) != 1 || !strings.Contains(again.text, slices.Collect(maps.Keys(places))[0]) {
		t.Errorf("bob has the places %v, and %s", places, again.text)
	}
	d.ask(http.MethodPost, "/join_session", joinBody(id, "cid")).wantStatus(t, 200)
}

// TestReplayOfAClaimedSession does not give the first creator a slot in a game session that another player has claimed
// since, nor does its build stay.
func TestReplayOfAClaimedSession(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.Reuse = true })
	first := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 4)).wantStatus(t, 200)
	w.do(func() { // ada's reservation lapses
		w.players[0].Status = wire.PlayerSessionStatusTimedout
		w.session(first.field("GameSessionId")).CurrentPlayerSessionCount = wire.Some[int32](0)
	})
	taken := d.ask(http.MethodPost, "/v1/sessions", `{"name":"m","maxPlayers":2,"player":{"id":"bob"}}`).wantStatus(t,
		201)
	if taken.field("session", "id") != first.field("GameSessionId") || strings.Contains(taken.text, "4711") {
		t.Fatalf("bob took %s", taken.text)
	}
	d.ask(http.MethodPost, "/join_session", joinBody(first.field("GameSessionId"), "ada")).wantStatus(t, 200)
	again := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 4)).wantStatus(t, 200)
	if again.field("GameSessionId") == first.field("GameSessionId") {
		t.Errorf("ada creates again and is in bob's: %s", again.text)
	}
}

// TestFindShowsTheNewest where not all can be shown.
func TestFindShowsTheNewest(t *testing.T) {
	w := newWorld()
	w.idle[testFleet]["custom-lab"] = 100
	d := openGateway(t, w, func(c *Config) { c.FindLimit = 2 })
	for i := range 4 {
		d.ask(http.MethodPost, "/create_session", createBody(fmt.Sprint("n", i), "ada", 2)).wantStatus(t, 200)
	}
	got := d.ask(http.MethodGet, "/find_session", "")
	if !strings.Contains(got.text, `"n3"`) || !strings.Contains(got.text, `"n2"`) {
		t.Errorf("found %s", got.text)
	}
}
