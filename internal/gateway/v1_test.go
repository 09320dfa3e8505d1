package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// as authenticates the player that the request's X-Player names, as the guard does.
func as(d *testGateway) *testGateway {
	h := d.server.Config.Handler
	d.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(WithPlayer(r.Context(), r.Header.Get("X-Player"))))
	})
	return d
}

func TestIdempotencyKey(t *testing.T) {
	for name, config := range map[string]func(*Config){
		"fleet": func(c *Config) { c.Default = Target{FleetID: testFleet} },
		"alias": func(c *Config) { c.Default = Target{AliasID: testAlias} },
		"queue": func(c *Config) { c.Default = Target{Queue: testQueue} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.idle[testFleet]["custom-b"] = 9
			open := func() *testGateway { return openGateway(t, w, func(c *Config) { c.Queues = w }, config) }
			d := open()
			const body = `{"name":"n","maxPlayers":2,"buildId":7}`
			ask := func(d *testGateway, body string) reply {
				return d.ask("POST", "/v1/sessions", body, "Idempotency-Key", "k")
			}
			first := ask(d, body).wantStatus(t, 201)
			for _, again := range []*testGateway{d, open()} {
				r := ask(again, body).wantStatus(t, 200)
				if r.field("session", "id") != first.field("session", "id") ||
					!r.body.(map[string]any)["replayed"].(bool) {
					t.Errorf("repeated: %s, first %s", r.text, first.text)
				}
			}
			ask(d, strings.Replace(body, `"n"`, `"m"`, 1)).wantCode(t, RequestConflict)
			ask(d, strings.Replace(body, `:2`, `:3`, 1)).wantCode(t, RequestConflict)
			other := d.ask("POST", "/v1/sessions", body, "Idempotency-Key", "other").wantStatus(t, 201)
			mine := ask(d, `{"name":"n","maxPlayers":2,"player":{"id":"ada"}}`).wantStatus(t, 201)
			without := d.ask("POST", "/v1/sessions", body).wantStatus(t, 201)
			for _, r := range []reply{other, mine, without} {
				if r.field("session", "id") == first.field("session", "id") {
					t.Errorf("%s is the answer to another request", r.text)
				}
			}
		})
	}
}

func TestIdempotencyKeyLater(t *testing.T) {
	for name, target := range map[string]Target{"fleet": {FleetID: testFleet}, "queue": {Queue: testQueue}} {
		t.Run(name, func(t *testing.T) { idempotencyKeyLater(t, target) })
	}
}

func idempotencyKeyLater(t *testing.T, target Target) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.Queues, c.Default = w, target })
	ask := func() reply {
		return d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":2,"player":{"id":"ada"}}`, "Idempotency-Key",
			"k")
	}
	first := ask().wantStatus(t, 201)
	if again := ask().wantStatus(t, 200); again.field("player", "id") != first.field("player", "id") {
		t.Errorf("repeated: %s, first %s", again.text, first.text)
	}
	w.do(func() { w.players[0].Status = wire.PlayerSessionStatusTimedout })
	if again := ask().wantStatus(t, 200); again.field("session", "id") != first.field("session", "id") ||
		again.field("player", "id") == first.field("player", "id") {
		t.Errorf("repeated when the place was free again: %s, first %s", again.text, first.text)
	}
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusTerminated })
	ask().wantCode(t, RequestConflict)
	for _, bad := range [][]string{
		{"Idempotency-Key", ""}, {"Idempotency-Key", strings.Repeat("k", 256)}, {"Idempotency-Key", "\xff"},
	} {
		d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":2}`, bad...).wantCode(t, InvalidRequest)
	}
}

// While the first request waits for ACTIVE, a gateway that knows nothing of it
// waits with it.
func TestIdempotencyKeyWhileActivating(t *testing.T) {
	w := newWorld()
	w.behaves = lingers
	one, two := openGateway(t, w), openGateway(t, w)
	answers := make(chan reply, 2)
	for i, d := range []*testGateway{one, two} {
		go func() {
			answers <- d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":2}`, "Idempotency-Key", "k")
		}()
		if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == i+1 }); err != nil {
			t.Fatal(err)
		}
	}
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusActive })
	a, b := <-answers, <-answers
	if a.field("session", "id") != b.field("session", "id") || a.status+b.status != 401 || len(w.sessions) != 1 {
		t.Errorf("answers %s and %s", a.text, b.text)
	}
}

func TestListPages(t *testing.T) {
	const other = "fleet-33333333-3333-4333-8333-333333333333"
	w := newWorld()
	w.idle[testFleet]["custom-lab"], w.idle[other], w.pageSize = 9, map[string]int{"custom-lab": 9}, 2
	d := openGateway(t, w, func(c *Config) {
		c.Default, c.Routes = Target{FleetID: testFleet}, map[int32]Target{1: {FleetID: other}}
	})
	for i := range 7 {
		d.ask("POST", "/v1/sessions", fmt.Sprintf(`{"name":"n%d","maxPlayers":2,"buildId":%d}`, i, i%2)).wantStatus(t,
			201)
	}
	w.do(func() { w.sessions[0].PlayerSessionCreationPolicy = wire.PlayerSessionCreationPolicyDenyAll })
	for query, want := range map[string]int{
		"limit=3": 6, "limit=1": 6, "limit=100": 6, "limit=3&open=false": 7, "limit=2&buildId=1": 3,
		"limit=2&filter=gameSessionName%3D'n2'": 1,
	} {
		seen, cursor := map[string]bool{}, ""
		for page := 0; page < 20; page++ {
			r := d.ask("GET", "/v1/sessions?"+query+cursor, "").wantStatus(t, 200)
			for _, s := range r.object(t)["sessions"].([]any) {
				seen[s.(map[string]any)["id"].(string)] = true
			}
			if cursor = r.field("cursor"); cursor == "" {
				break
			}
			cursor = "&cursor=" + cursor
		}
		if len(seen) != want || cursor != "" {
			t.Errorf("%s: %d, want %d", query, len(seen), want)
		}
	}
	cursor := d.ask("GET", "/v1/sessions?limit=1", "").field("cursor")
	for _, query := range []string{
		"cursor=x", "cursor=" + cursor + "&open=false", "limit=0", "limit=101", "limit=x", "open=1", "filter=", "sort=",
		"buildId=1.5", "open=true&open=true", "cursor=e30", "filter=%FF",
	} {
		d.ask("GET", "/v1/sessions?"+query, "").wantCode(t, InvalidRequest)
	}
}

// Where players are authenticated, a request speaks for its own player only, and
// an answer shows no other's tickets.
func TestOwnPlayerOnly(t *testing.T) {
	w := newWorld()
	d := as(openGateway(t, w, func(c *Config) { c.Queues, c.Matchmaking = w, w }))
	ada := func(method, path, body string) reply { return d.ask(method, path, body, "X-Player", "ada") }
	ada("POST", "/v1/sessions", `{"name":"n","maxPlayers":9,"player":{"id":"bob"}}`).wantCode(t, WrongPlayer)
	ada("POST", "/v1/sessions", `{"name":"n","maxPlayers":9}`).wantCode(t, WrongPlayer)
	id := ada("POST", "/v1/sessions", `{"name":"n","maxPlayers":9,"player":{"id":"ada"}}`).wantStatus(t,
		201).field("session", "id")
	ada("POST", "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"ada"},{"id":"bob"}]}`).wantCode(t,
		WrongPlayer)
	ada("POST", "/create_session", createBody("n", "bob", 2)).wantCode(t, WrongPlayer)
	ada("POST", "/join_session", joinBody(id, "bob")).wantCode(t, WrongPlayer)
	ada("POST", "/v1/tickets", `{"configuration":"duel","players":[{"id":"ada"},{"id":"bob"}]}`).wantCode(t,
		WrongPlayer)

	d.ask("POST", "/v1/tickets", `{"id":"of-bob","configuration":"duel","players":[{"id":"bob"}]}`).wantStatus(t, 201)
	for _, r := range []reply{
		ada("GET", "/v1/tickets/of-bob", ""), ada("DELETE", "/v1/tickets/of-bob", ""),
		ada("GET", "/v1/tickets/of-bob/events", ""),
		ada("POST", "/v1/tickets/of-bob/acceptance", `{"accept":false,"players":["ada"]}`),
	} {
		r.wantCode(t, TicketNotFound)
	}
	ada("POST", "/v1/tickets/of-bob/acceptance", `{"accept":false,"players":["bob"]}`).wantCode(t, WrongPlayer)
	d.ask("POST", "/v1/tickets",
		`{"id":"both","configuration":"duel","players":[{"id":"bob"},{"id":"ada"}]}`).wantStatus(t, 201)
	w.do(func() {
		ticket := w.tickets["both"]
		ticket.Status = wire.MatchmakingConfigurationStatusCompleted
		ticket.GameSessionConnectionInfo = &wire.GameSessionConnectionInfo{
			GameSessionArn: id, IpAddress: "192.0.2.1", Port: wire.Some[int32](7777),
			MatchedPlayerSessions: []wire.MatchedPlayerSession{{PlayerId: "bob", PlayerSessionId: "psess-b"},
				{PlayerId: "ada", PlayerSessionId: "psess-a"}},
		}
	})
	if r := ada("GET", "/v1/tickets/both", "").wantStatus(t, 200); strings.Contains(r.text, "psess-b") ||
		!strings.Contains(r.text, "psess-a") {
		t.Errorf("ada sees %s", r.text)
	}
	if r := d.ask("GET", "/v1/tickets/both", "").wantStatus(t, 200); !strings.Contains(r.text, "psess-b") {
		t.Errorf("a server sees %s", r.text)
	}
}

func TestPlayerLimit(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) {
		c.Limit = func(player string) (time.Duration, bool) { return 1500 * time.Millisecond, player != "eager" }
	})
	id := d.ask("POST", "/create_session", createBody("n", "ada", 5)).wantStatus(t, 200).field("GameSessionId")
	for _, r := range []reply{
		d.ask("POST", "/create_session", createBody("n", "eager", 5)),
		d.ask("POST", "/join_session", joinBody(id, "eager")),
		d.ask("POST", "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"bob"},{"id":"eager"}]}`),
	} {
		r.wantCode(t, RateLimited)
		if got := r.header.Get("Retry-After"); got != "2" {
			t.Errorf("Retry-After: %s", got)
		}
	}
	if w.count("CreatePlayerSessions") != 1 {
		t.Errorf("calls %v", w.calls)
	}
}

func TestTickets(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.Matchmaking = w })
	r := d.ask("POST", "/v1/tickets",
		`{"id":"t-1","configuration":"duel","players":[{"id":"ada","team":"red","attributes":{"skill":23,`+
			`"map":"lab","modes":["a","b"],"crew":{"x":1.5}},"latencies":{"eu-west-1":20}}]}`).wantStatus(t, 201)
	if r.header.Get("Location") != "/v1/tickets/t-1" || r.field("status") != "QUEUED" {
		t.Errorf("started %s", r.text)
	}
	p := w.starts[0].Players[0]
	if p.Team != "red" || p.PlayerAttributes["skill"].N.Or(0) != 23 || p.PlayerAttributes["map"].S != "lab" ||
		len(p.PlayerAttributes["modes"].SL) != 2 ||
		p.PlayerAttributes["crew"].SDM["x"] != 1.5 || p.LatencyInMs["eu-west-1"] != 20 {
		t.Errorf("player %+v", p)
	}
	for body, names := range map[string]string{
		`{"configuration":"duel","players":[]}`:                      "players",
		`{"players":[{"id":"a"}]}`:                                   "configuration",
		`{"configuration":"duel","players":[{"id":"a"},{"id":"a"}]}`: "twice",
		`{"configuration":"duel","players":[{"id":"a",` +
			`"attributes":{"x":true}}]}`: "players[0].attributes.x",
		`{"configuration":"duel","players":[{"id":"a",` +
			`"attributes":{"x":["a",1]}}]}`: "players[0].attributes.x[1]",
		`{"configuration":"duel","players":[{"id":"a",` +
			`"attributes":{"x":{"y":"z"}}}]}`: "players[0].attributes.x.y",
		`{"configuration":"duel","players":[{"id":"a",` +
			`"latencies":{"r":0}}]}`: "players[0].latencies.r",
		`{"id":"a b","configuration":"duel","players":[{"id":"a"}]}`:                                    "id",
		`{"configuration":"duel","players":[` + strings.Repeat(`{"id":"a"},`, 10) + `{"id":"a"}]}`:      "players",
		`{"configuration":"duel","players":[{"id":"a","attributes":{` + members(11, `"x%d":1`) + `}}]}`: "attributes",
		`{"configuration":"duel","players":[{"id":"a","latencies":{` + members(21, `"x%d":1`) + `}}]}`:  "latencies",
	} {
		r := d.ask("POST", "/v1/tickets", body)
		r.wantCode(t, InvalidRequest)
		if !strings.Contains(r.field("error"), names) {
			t.Errorf("%s: %s does not name %s", body, r.text, names)
		}
	}
	d.ask("POST", "/v1/tickets", `{"configuration":"none","players":[{"id":"a"}]}`).wantCode(t, ConfigurationNotFound)
	d.ask("GET", "/v1/tickets/none", "").wantCode(t, TicketNotFound)
	d.ask("GET", "/v1/tickets/a%20b", "").wantCode(t, InvalidRequest)
	d.ask("POST", "/v1/tickets/t-1/acceptance", `{"players":["ada"]}`).wantCode(t, InvalidRequest)
	d.ask("POST", "/v1/tickets/t-1/acceptance", `{"accept":1,"players":["ada"]}`).wantCode(t, InvalidRequest)
	w.do(func() { w.tickets["t-1"].Status = wire.MatchmakingConfigurationStatusRequiresAcceptance })
	rejected := d.ask("POST", "/v1/tickets/t-1/acceptance", `{"accept":false,"players":["ada"]}`)
	if rejected.field("status") != "PLACING" || w.accepts[0].AcceptanceType != wire.AcceptanceTypeReject {
		t.Errorf("rejected: %s", rejected.text)
	}
	if r := d.ask("DELETE", "/v1/tickets/t-1", ""); r.field("status") != "CANCELLED" {
		t.Errorf("stopped: %s", r.text)
	}
	d.ask("DELETE", "/v1/tickets/t-1", "").wantStatus(t, 200)
	if w.count("StopMatchmaking") != 1 {
		t.Errorf("stopped %d times", w.count("StopMatchmaking"))
	}
}

func members(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, ",")
}

func TestCreateRequests(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.AllowTarget = true })
	for body, names := range map[string]string{
		`{"maxPlayers":2}`: "name",
		`{"name":"n"}`:     "maxPlayers",
		`{"name":"n","maxPlayers":2,"player":{}}`:                   "player.id",
		`{"name":"n","maxPlayers":2,"player":"ada"}`:                "player",
		`{"name":"n","maxPlayers":2,"player":{"id":"a","data":""}}`: "player.data",
		`{"name":"n","maxPlayers":2,"properties":{"build_id":"1"}}`: "properties",
		`{"name":"n","maxPlayers":2,"properties":{"":"1"}}`:         "properties",
		`{"name":"n","maxPlayers":2,"properties":{"x":1}}`:          "properties.x",
		`{"name":"n","maxPlayers":2,"properties":{` + members(15, `"x%d":""`) +
			`}}`: "properties",
		`{"name":"n","maxPlayers":2,"latencies":{"r":1}}`:       "latencies",
		`{"name":"n","maxPlayers":2,"wait":"no"}`:               "wait",
		`{"name":"n","maxPlayers":2,"wait":false}`:              "wait",
		`{"name":"n","maxPlayers":2,"target":{"location":"x"}}`: "target",
		`{"name":"n","maxPlayers":2,"target":{"fleetId":"` + testFleet + `","aliasId":"` + testAlias +
			`"}}`: "target",
		`{"name":"n","maxPlayers":2,"target":{"fleetId":"x"}}`: "target",
		`{"name":"n","maxPlayers":2,"data":"` + strings.Repeat("x", maxData+1) +
			`"}`: "data",
		`{"name":"n","maxPlayers":2,"buildId":1.5}`: "buildId",
		`{"name":"n","maxPlayers":2,"properties":{"x":"` + strings.Repeat("y", 97) +
			`"}}`: "properties.x",
		`{"name":"n","maxPlayers":2,"player":{"id":"a"},"latencies":{` + members(21, `"x%d":1`) +
			`},"wait":true}`: "latencies",
	} {
		r := d.ask("POST", "/v1/sessions", body)
		r.wantCode(t, InvalidRequest)
		if !strings.Contains(r.field("error"), names) {
			t.Errorf("%s: %s does not name %s", body, r.text, names)
		}
	}
	d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":2,"target":{"queue":"q"}}`).wantCode(t, NotSupported)
	r := d.ask("POST", "/v1/sessions",
		`{"name":"n","maxPlayers":2,"data":"d","properties":{"b":"2","a":""},"target":{"fleetId":"`+testFleet+
			`","location":"custom-lab"},"buildId":3}`).wantStatus(t, 201)
	s := w.sessions[0]
	if s.GameSessionData != "d" || fmt.Sprint(s.GameProperties) != "[{a } {b 2} {build_id 3}]" ||
		strings.Contains(r.text, s.IpAddress) {
		t.Errorf("created %+v, answer %s", s, r.text)
	}
	if r.field("player") != "" || r.object(t)["session"].(map[string]any)["buildId"] != 3.0 ||
		r.field("session", "createdAt") != "2025-12-17T10:48:17.441Z" {
		t.Errorf("answer %s", r.text)
	}
}

// A creator who does not enter its game session may end it.
func TestEndSession(t *testing.T) {
	for name, test := range map[string]struct {
		change func(d *testGateway, w *world, path string)
		query  string // after playerSession=
		want   Code   // "" for success
	}{
		"ends":    {func(*testGateway, *world, string) {}, "", ""},
		"no id":   {func(*testGateway, *world, string) {}, "-", InvalidRequest},
		"another": {func(*testGateway, *world, string) {}, "psess-9", Forbidden},
		"entered": {func(_ *testGateway, w *world, _ string) {
			w.do(func() { w.players[0].Status = wire.PlayerSessionStatusActive })
		}, "", Forbidden},
		"second player": {func(d *testGateway, _ *world, path string) {
			d.ask("POST", path+"/players", `{"players":[{"id":"bob"}]}`).wantStatus(d.t, 201)
		}, "", Forbidden},
		"created by another": {func(_ *testGateway, w *world, _ string) {
			w.do(func() { w.players[0].PlayerId = "bob" })
		}, "", Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d := openGateway(t, w)
			r := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":2,"player":{"id":"ada"}}`).wantStatus(t, 201)
			path, slot := "/v1/sessions/"+escape(r.field("session", "id")), cmp.Or(test.query, r.field("player", "id"))
			test.change(d, w, path)
			end := d.ask("DELETE", path+"?playerSession="+strings.TrimPrefix(slot, "-"), "")
			if test.want != "" {
				end.wantCode(t, test.want)
			} else if end.wantStatus(t, 200); end.field("status") != "TERMINATED" {
				t.Errorf("answer %s", end.text)
			}
			if ended := w.count("TerminateGameSession") > 0; ended != (test.want == "") {
				t.Errorf("ended: %v", ended)
			}
		})
	}
	openGateway(t, newWorld()).ask("DELETE", "/v1/sessions/gsess-9?playerSession=x", "").wantCode(t, SessionNotFound)
}

func TestJoinRequests(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.BuildCheck = BuildEnforce })
	id := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9,"buildId":3}`).wantStatus(t, 201).field("session",
		"id")
	path := "/v1/sessions/" + escape(id) + "/players"
	d.ask("POST", path, `{"players":[{"id":"a"}],"buildId":4}`).wantCode(t, BuildMismatch)
	d.ask("POST", path, `{"players":[{"id":"a"},{"id":"a"}]}`).wantCode(t, InvalidRequest)
	d.ask("POST", path, `{"players":[`+members(26, `{"id":"p%d"}`)+`]}`).wantCode(t, InvalidRequest)
	d.ask("POST", path, `{"players":[`+members(10, `{"id":"p%d"}`)+`]}`).wantCode(t, SessionFull)
	d.ask("POST", "/v1/sessions/a%20b/players", `{"players":[{"id":"a"}]}`).wantCode(t, InvalidRequest)
	r := d.ask("POST", path, `{"players":[{"id":"z"},{"id":"a","data":"x"}],"buildId":3}`).wantStatus(t, 201)
	players := r.object(t)["players"].([]any)
	if len(players) != 2 || players[0].(map[string]any)["playerId"] != "z" ||
		players[1].(map[string]any)["data"] != "x" {
		t.Errorf("joined %s", r.text)
	}
	// A proxy may have decoded the path.
	if r := d.ask("GET", "/v1/sessions/"+id, "").wantStatus(t, 200); r.field("id") != id {
		t.Errorf("got %s", r.text)
	}
	d.ask("POST", "/v1/sessions/"+id+"/players", `{"players":[{"id":"y"}]}`).wantStatus(t, 201)
}

func TestQueueDeadline(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	w.behaves = lingers
	d := openGateway(t, w, func(c *Config) { c.Queues, c.Default, c.Clock = w, Target{Queue: testQueue}, clock })
	done := make(chan reply, 1)
	go func() { done <- d.ask("POST", "/create_session", createBody("n", "ada", 2)) }()
	if err := w.await(t.Context(), func() bool { return w.pending }); err != nil {
		t.Fatal(err)
	}
	clock.Advance(DefaultDeadline)
	(<-done).wantCode(t, ActivationTimeout)
	_ = d.g.Close(t.Context())
	for _, p := range w.placements {
		if p.Status != wire.GameSessionPlacementStateCancelled {
			t.Errorf("placement is %s", p.Status)
		}
	}
}

func TestQueueFailures(t *testing.T) {
	queue := func(w *world) func(*Config) {
		return func(c *Config) { c.Queues, c.Default = w, Target{Queue: testQueue} }
	}
	w := newWorld()
	w.behaves = breaks
	openGateway(t, w, queue(w)).ask("POST", "/create_session", createBody("n", "ada", 2)).wantCode(t, NoCapacity)

	w = newWorld()
	w.fails["StartGameSessionPlacement"] = fault.New(fault.NotFound, "no queue")
	openGateway(t, w, queue(w)).ask("POST", "/create_session", createBody("n", "ada", 2)).wantCode(t, NoFleet)

	// A target that the client has named is the client's to mend.
	chosen := openGateway(t, w, queue(w), func(c *Config) { c.AllowTarget = true })
	for _, target := range []string{`{"queue":"gone"}`, `{"fleetId":"fleet-gone"}`, `{"fleetId":"fleet-gone",` +
		`"location":"custom-lab"}`} {
		chosen.ask("POST", "/v1/sessions", `{"name":"chosen","maxPlayers":2,"target":`+target+`}`).wantCode(t,
			InvalidRequest)
	}

	// A placed game session has an id that is not ours; the repetition finds it.
	w = newWorld()
	d := openGateway(t, w, queue(w))
	first := d.ask("POST", "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	again := d.ask("POST", "/create_session", createBody("n", "ada", 2)).wantStatus(t, 200)
	if again.text != first.text {
		t.Errorf("repeated: %s, first %s", again.text, first.text)
	}
	if w.count("StartGameSessionPlacement") != 1 {
		t.Errorf("%d placements", w.count("StartGameSessionPlacement"))
	}
}

// A stop that comes too late leaves a game session; without players it ends.
func TestQueueStoppedTooLate(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	w.behaves = lingers
	d := openGateway(t, w, func(c *Config) {
		c.Queues, c.Default, c.Clock = w, Target{Queue: testQueue}, clock
	})
	done := make(chan reply, 1)
	go func() { done <- d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":2}`) }()
	if err := w.await(t.Context(), func() bool { return w.pending }); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock() // the placement is fulfilled, and no waiter is notified before the deadline
	for _, p := range w.placements {
		s := w.begin("arn:aws:gamelift:eu-west-1::gamesession/"+testFleet+"/custom-lab/late", testFleet, "custom-lab")
		s.Status, p.Status, p.GameSessionArn = wire.GameSessionStatusActive, wire.GameSessionPlacementStateFulfilled,
			s.GameSessionId
	}
	w.mu.Unlock()
	clock.Advance(DefaultDeadline + time.Second)
	(<-done).wantCode(t, ActivationTimeout)
	_ = d.g.Close(t.Context())
	if len(w.alive()) != 0 {
		t.Errorf("left behind: %v", w.alive())
	}
}
