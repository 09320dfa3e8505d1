package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/examples/arena/protocol"
)

// TestWalkthroughGateway is about the HTTP gateway, and about named sessions, which
// go through it.
func TestWalkthroughGateway(t *testing.T) { walk(t, gatewayItems) }

var gatewayItems = []item{
	{
		34, "create_session gives a player session",
		"create_session: within 12 s a player session in a new ACTIVE game session as asked for, which its game " +
			"server hears of",
		checkCreate,
	},
	{
		35, "find_session lists what can be joined",
		"find_session: the sessions that can be joined, with the four keys that clients read; a full one is left " +
			"out; [] without any",
		checkFind,
	},
	{
		36, "join_session gives a player session",
		"join_session: another player session in the same game session",
		checkJoin,
	},
	{
		37, "the local paths behave alike",
		"the _local paths do the same with any fleet-… id and no location",
		checkLocal,
	},
	{
		38, "failures leave nothing behind",
		"no server ready: an error object and no game session; no activation: an error before 15 s, the game " +
			"session TERMINATED",
		checkFailures,
	},
	{
		39, "the same request twice",
		"the same create_session twice at the same time: one game session, one player session",
		checkTwice,
	},
	{
		40, "bad requests",
		"bad JSON, missing key: 400 and an error object; unknown path: 403; or, if so configured, the original " +
			"gateway's answers",
		checkBadRequests,
	},
	{
		41, "a named session is created and started",
		"Create: Pending, without HTTP; again: refused; Start: Starting, then InProgress with address and player " +
			"session id",
		checkNamed,
	},
	{
		42, "a named session on the local network",
		"LAN: no HTTP; a second process finds the session within 5 s and joins its host, which Start has made the " +
			"game server",
		checkLAN,
	},
	{
		43, "what a state does not allow",
		"Start from InProgress, End from Pending, Destroy of an unknown name: typed errors, the states stay",
		checkStates,
	},
}

// limit is when the clients of the gateway have given up.
const limit = 15 * time.Second

// An answer is one of the gateway.
type answer struct {
	status int
	text   string
}

// ask makes a request of the gateway, which must be answered before the clients of
// the original one had given up.
func (w *world) ask(method, path, body string) answer {
	w.Helper()
	a, err := w.try(w.Context(), method, path, body)
	must(w.T, err)
	return a
}

func (w *world) try(ctx context.Context, method, path, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, w.Gateway+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if kind := response.Header.Get("Content-Type"); err == nil && kind != "application/json" {
		err = fmt.Errorf("%s %s: Content-Type %q", method, path, kind)
	}
	return answer{response.StatusCode, string(text)}, err
}

// creation is the body of create_session as a game engine writes it: all numbers
// are doubles.
func creation(name, player string, places int) string {
	return fmt.Sprintf(`{"session_name":%q,"build_id":1234.0,"uuid":%q,"num_connections":%d.0}`, name, player, places)
}

// joining is the body of join_session.
func joining(session, player string) string {
	return fmt.Sprintf(`{"GameSessionId":%q,"uuid":%q}`, session, player)
}

// A place is what the gateway's player session says.
type place struct {
	PlayerSessionId, PlayerId, GameSessionId, FleetId, FleetArn, CreationTime, Status, IpAddress string
	Port                                                                                         json.Number
}

func (p place) address() string { return net.JoinHostPort(p.IpAddress, p.Port.String()) }

// placeKeys are the keys that a player session has, and optional those that it may
// have. A session on a local path has no ARNs.
var (
	placeKeys = []string{"PlayerSessionId", "PlayerId", "GameSessionId", "FleetId", "CreationTime", "Status",
		"IpAddress", "Port"}
	optional = []string{"FleetArn", "DnsName", "PlayerData", "TerminationTime"}
)

// pythonTime is how Python writes a time.
var pythonTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?\+00:00$`)

// wantPlace checks that an answer is a player session, for a player and to the
// letter.
func (w *world) wantPlace(a answer, player string) (p place) {
	w.Helper()
	if a.status != http.StatusOK {
		w.Fatalf("status %d: %s", a.status, a.text)
	}
	decoder := json.NewDecoder(strings.NewReader(a.text))
	decoder.UseNumber()
	must(w.T, decoder.Decode(&p))
	w.wantKeys(a.text, placeKeys, optional)
	port, err := strconv.Atoi(p.Port.String())
	switch {
	case p.PlayerId != player, p.Status != "RESERVED", p.IpAddress != "127.0.0.1", err != nil, port < 1,
		!strings.HasPrefix(p.PlayerSessionId, "psess-"), !pythonTime.MatchString(p.CreationTime),
		!strings.Contains(a.text, `"Port":`+p.Port.String()):
		w.Errorf("the player session of %s is %s", player, a.text)
	}
	return p
}

// wantKeys checks which keys a JSON object has.
func (w *world) wantKeys(object string, required, optional []string) {
	w.Helper()
	var keys map[string]json.RawMessage
	must(w.T, json.Unmarshal([]byte(object), &keys))
	for _, key := range required {
		if _, ok := keys[key]; !ok {
			w.Errorf("%s lacks %s", object, key)
		}
		delete(keys, key)
	}
	for key := range keys {
		if !slices.Contains(optional, key) {
			w.Errorf("%s has a %s", object, key)
		}
	}
}

// create has the gateway create a session.
func (w *world) create(name, player string, places int) place {
	w.Helper()
	return w.wantPlace(w.ask(http.MethodPost, "/create_session", creation(name, player, places)), player)
}

// play takes a player into the arena until the test ends.
func (w *world) play(p place) *bot.Bot {
	w.Helper()
	b, err := bot.Join(w.Context(), bot.Config{Server: p.address(), PlayerSession: p.PlayerSessionId, Name: p.PlayerId})
	must(w.T, err)
	w.Cleanup(func() { _ = b.Leave() }) // whoever minds looks at the player session
	w.wantPlayer(p.PlayerSessionId, types.PlayerSessionStatusActive)
	return b
}

func checkCreate(t *testing.T) {
	w := newWorld(t)
	arena := w.arenaProcess()
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
	defer cancel()
	a, err := w.try(ctx, http.MethodPost, "/create_session", creation("Friday night", "ada", 4))
	must(t, err)
	ada := w.wantPlace(a, "ada")
	if gs := w.session(ada.GameSessionId); *gs.Name != "Friday night" || *gs.MaximumPlayerSessionCount != 4 ||
		gs.Status != types.GameSessionStatusActive || *gs.FleetId != ada.FleetId || *gs.FleetArn != ada.FleetArn ||
		ada.FleetId != w.fleet {
		t.Errorf("the game session is %s %q with %d places", gs.Status, *gs.Name, *gs.MaximumPlayerSessionCount)
	}
	arena.printed.await(t, `GameSession Initializing : `+regexp.QuoteMeta(ada.GameSessionId)+"\n")
	w.play(ada)
}

// A listed is a session in the gateway's list, with the keys that clients read.
type listed struct {
	GameSessionId, Name                                  string
	MaximumPlayerSessionCount, CurrentPlayerSessionCount *float64
}

// find asks for a list of sessions.
func (w *world) find(path string) (list []listed) {
	w.Helper()
	a := w.ask(http.MethodGet, path, "")
	if a.status != http.StatusOK || !strings.HasPrefix(a.text, "[") {
		w.Fatalf("GET %s: %d %s", path, a.status, a.text)
	}
	must(w.T, json.Unmarshal([]byte(a.text), &list))
	return list
}

// wantListed checks that a list is one session.
func (w *world) wantListed(list []listed, id, name string, places, players float64) {
	w.Helper()
	if len(list) != 1 {
		w.Fatalf("%d sessions are listed, want one", len(list))
	}
	s := list[0]
	if s.GameSessionId != id || s.Name != name || s.MaximumPlayerSessionCount == nil ||
		*s.MaximumPlayerSessionCount != places ||
		s.CurrentPlayerSessionCount == nil || *s.CurrentPlayerSessionCount != players {
		w.Errorf("listed is %+v, want %s %q with %v of %v players", s, id, name, players, places)
	}
}

func checkFind(t *testing.T) {
	w := newWorld(t)
	w.arena()
	if a := w.ask(http.MethodGet, "/find_session", ""); a != (answer{http.StatusOK, "[]"}) {
		t.Errorf("without sessions the answer is %d %s", a.status, a.text)
	}
	ada := w.create("Duel", "ada", 2)
	w.wantListed(w.find("/find_session"), ada.GameSessionId, "Duel", 2, 1)
	w.wantPlace(w.ask(http.MethodPost, "/join_session", joining(ada.GameSessionId, "bob")), "bob")
	if list := w.find("/find_session"); len(list) != 0 {
		t.Errorf("a full session is listed: %+v", list)
	}
}

func checkJoin(t *testing.T) {
	w := newWorld(t)
	w.arena()
	ada := w.create("Friday", "ada", 4)
	bob := w.wantPlace(w.ask(http.MethodPost, "/join_session", joining(ada.GameSessionId, "bob")), "bob")
	if bob.GameSessionId != ada.GameSessionId || bob.PlayerSessionId == ada.PlayerSessionId ||
		bob.address() != ada.address() {
		t.Errorf("ada has %+v, bob has %+v", ada, bob)
	}
	playTogether(t, w.play(ada), w.play(bob))
}

// playTogether checks that two players are in one game.
func playTogether(t *testing.T, ada, bob *bot.Bot) {
	t.Helper()
	must(t, ada.Say("hello"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, bob.Until(ctx, func(w bot.World) bool {
		return slices.Contains(w.Said, protocol.Said{Number: ada.Number(), Text: "hello"})
	}))
}

func checkLocal(t *testing.T) {
	w := newWorld(t)
	w.arena()
	if list := w.find("/find_session_local"); len(list) != 0 {
		t.Errorf("without sessions there is %+v", list)
	}
	ada := w.wantPlace(w.ask(http.MethodPost, "/create_session_local", creation("Old times", "ada", 2)), "ada")
	const prefix = "arn:aws:gamelift:local::gamesession/"
	_, part, ok := strings.Cut(strings.TrimPrefix(ada.GameSessionId, prefix), "/")
	if !ok || strings.Contains(part, "/") || !strings.HasPrefix(ada.GameSessionId, prefix+"fleet-") {
		t.Errorf("the session's id is %s, want one without a location", ada.GameSessionId)
	}
	w.wantListed(w.find("/find_session_local"), ada.GameSessionId, "Old times", 2, 1)

	bob := w.wantPlace(w.ask(http.MethodPost, "/join_session_local",
		joining(prefix+"fleet-of-another-name/"+part, "bob")), "bob")
	if bob.GameSessionId != ada.GameSessionId || bob.PlayerSessionId == ada.PlayerSessionId {
		t.Errorf("ada has %+v, bob has %+v", ada, bob)
	}
	if list := w.find("/find_session_local"); len(list) != 0 {
		t.Errorf("a full session is listed: %+v", list)
	}
	playTogether(t, w.play(ada), w.play(bob))
}

// wantError checks that an answer is an error object with a status.
func (w *world) wantError(a answer, status int) {
	w.Helper()
	var e struct{ Error, Code, RequestID string }
	must(w.T, json.Unmarshal([]byte(a.text), &e))
	if a.status != status || e.Error == "" || e.Code == "" || e.RequestID == "" {
		w.Errorf("the answer is %d %s, want %d and an error object", a.status, a.text, status)
	}
	w.wantKeys(a.text, []string{"error", "code", "requestId"}, nil)
}

func checkFailures(t *testing.T) {
	t.Run("no server", func(t *testing.T) {
		w := newWorld(t)
		w.wantError(w.ask(http.MethodPost, "/create_session", creation("Friday", "ada", 4)),
			http.StatusServiceUnavailable)
		if left := w.sessions(); len(left) != 0 {
			t.Errorf("a game session is left behind: %s is %s", *left[0].GameSessionId, left[0].Status)
		}
	})
	t.Run("no fleet", func(t *testing.T) {
		w := newEmptyWorld(t)
		w.wantError(w.ask(http.MethodPost, "/create_session", creation("Friday", "ada", 4)),
			http.StatusServiceUnavailable)
		w.wantError(w.ask(http.MethodGet, "/find_session", ""), http.StatusServiceUnavailable)
	})
	t.Run("no activation", checkNoActivation)
}

func checkNoActivation(t *testing.T) {
	w := newWorld(t, func(c *muster.Config) { c.Gateway.Deadline = 2 * time.Second })
	silent := w.server(7777, never)
	w.wantError(w.ask(http.MethodPost, "/create_session", creation("Friday", "ada", 4)), http.StatusGatewayTimeout)
	w.awaitSession(receive(t, "the game session at its server", silent.started).GameSessionID,
		types.GameSessionStatusTerminated)
	if all := w.sessions(); len(all) != 1 {
		t.Errorf("there are %d game sessions", len(all))
	}
}

func checkTwice(t *testing.T) {
	w := newWorld(t)
	var sent, answered sync.WaitGroup
	sent.Add(2)
	w.server(7777, func() bool { sent.Wait(); return true }) // so that one request meets the other under way
	w.server(7778, atOnce)                                   // for a second session, which must not come
	ctx := httptrace.WithClientTrace(t.Context(),
		&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Done() }})
	var answers [2]answer
	for i := range answers {
		answered.Go(func() {
			var err error
			answers[i], err = w.try(ctx, http.MethodPost, "/create_session", creation("Friday", "ada", 4))
			if err != nil {
				t.Error(err)
			}
		})
	}
	answered.Wait()
	one, other := w.wantPlace(answers[0], "ada"), w.wantPlace(answers[1], "ada")
	if one.PlayerSessionId != other.PlayerSessionId || one.GameSessionId != other.GameSessionId {
		t.Errorf("the answers are %+v and %+v", one, other)
	}
	if all, players := w.sessions(), w.players(one.GameSessionId); len(all) != 1 || len(players) != 1 {
		t.Errorf("there are %d game sessions, and %d player sessions in the one that was answered", len(all),
			len(players))
	}
}

// badRequests are requests to the gateway that are wrong in themselves.
var badRequests = map[string]struct{ path, body string }{
	"no JSON":                    {"/create_session", `{"session_name":`},
	"no body":                    {"/create_session", ``},
	"no object":                  {"/create_session", `[]`},
	"create without name":        {"/create_session", `{"build_id":1,"uuid":"ada","num_connections":4}`},
	"create without player":      {"/create_session", `{"session_name":"x","build_id":1,"num_connections":4}`},
	"create without connections": {"/create_session_local", `{"session_name":"x","build_id":1,"uuid":"ada"}`},
	"join without session":       {"/join_session", `{"uuid":"ada"}`},
	"join without player":        {"/join_session", `{"GameSessionId":"gsess-1"}`},
	"join with no JSON":          {"/join_session_local", `GameSessionId`},
}

const (
	missingRoute  = `{"message": "Missing Authentication Token"}`
	internalError = `{"message": "Internal server error"}`
)

func checkBadRequests(t *testing.T) {
	t.Run("ours", func(t *testing.T) {
		w := newWorld(t)
		for name, r := range badRequests {
			t.Run(name, func(t *testing.T) {
				w := w.in(t)
				w.wantError(w.ask(http.MethodPost, r.path, r.body), http.StatusBadRequest)
			})
		}
		w.wantNoRoute()
	})
	t.Run("compatible", checkCompatible)
}

// wantNoRoute checks what is answered to paths and methods that there are none for.
func (w *world) wantNoRoute() {
	w.Helper()
	for _, route := range [][2]string{
		{"POST", "/make_coffee"}, {"GET", "/"}, {"GET", "/create_session"}, {"POST", "/find_session"},
	} {
		if a := w.ask(route[0], route[1], ""); a != (answer{http.StatusForbidden, missingRoute}) {
			w.Errorf("%v: %d %s", route, a.status, a.text)
		}
	}
}

// checkCompatible is about the original gateway's answers.
func checkCompatible(t *testing.T) {
	compatible := func(c *muster.Config) { c.Gateway.CompatErrors = "on" }
	a := newEmptyWorld(t, compatible).ask(http.MethodGet, "/find_session", "")
	if a != (answer{http.StatusBadGateway, internalError}) {
		t.Errorf("find without a fleet: %d %s", a.status, a.text)
	}
	w := newWorld(t, compatible)
	for name, r := range badRequests {
		t.Run(name, func(t *testing.T) {
			if a := w.in(t).ask(http.MethodPost, r.path, r.body); a != (answer{http.StatusBadGateway, internalError}) {
				t.Errorf("%d %s", a.status, a.text)
			}
		})
	}
	w.wantNoRoute()
	create := func() answer { return w.ask(http.MethodPost, "/create_session", creation("Duel", "ada", 1)) }
	if a := create(); a != (answer{http.StatusBadGateway, internalError}) {
		t.Errorf("without a server: %d %s", a.status, a.text)
	}
	w.server(7777, atOnce)
	ada := w.wantPlace(create(), "ada")
	for _, id := range []string{ada.GameSessionId, ada.GameSessionId + "0"} { // a full one, and none
		_, err := w.admin.CreatePlayerSessions(t.Context(),
			&gamelift.CreatePlayerSessionsInput{GameSessionId: &id, PlayerIds: []string{"bob"}})
		refusal, ok := errors.AsType[smithy.APIError](err)
		if !ok {
			t.Fatalf("bob has a place in %s: %v", id, err)
		}
		message := new(bytes.Buffer)
		must(t, json.NewEncoder(message).Encode(refusal.ErrorMessage()))
		want := answer{http.StatusInternalServerError, strings.TrimSpace(message.String())}
		if a := w.ask(http.MethodPost, "/join_session", joining(id, "bob")); a != want {
			t.Errorf("joined %s: %+v, want %+v", id, a, want)
		}
	}
}
