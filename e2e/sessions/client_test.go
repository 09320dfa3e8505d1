package sessions

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
)

// TestWalkthroughClient is about the session client on the service's API, and the
// session interface of game servers.
func TestWalkthroughClient(t *testing.T) { walk(t, clientItems) }

var clientItems = []item{
	{
		44, "Configure comes first",
		"Configure: a region is taken, an empty one without default refused; before, every call fails with an " +
			"empty result",
		checkConfigure,
	},
	{
		45, "CreateSession gives a session's id",
		"CreateSession: the session's id, in the async form by an event too; the same token gives the same session",
		checkCreateSession,
	},
	{
		46, "the game server hears of the creation",
		"game server: OnCreateSessionBegin with the session, OnCreateSessionEnd when it is ACTIVE, once each",
		checkCreateCallbacks,
	},
	{
		47, "SearchSessions lists sessions",
		"SearchSessions: a session once it is ACTIVE; filter, sort, pages, alias for fleet; async by an event",
		checkSearch,
	},
	{
		48, "JoinSession takes the player into the game",
		"JoinSession: the player is ACTIVE at the service; an unknown or full session is refused; async by an event",
		checkJoinSession,
	},
	{
		49, "LeaveSession hangs up",
		"LeaveSession: the connection is closed, the player session COMPLETED; async by an event",
		checkLeaveSession,
	},
	{
		50, "the game server ends with its last player",
		"the last player leaves: OnDestroySessionBegin, the process ends, OnDestroySessionEnd, the game session " +
			"TERMINATED",
		checkDestroyCallbacks,
	},
	{
		51, "a session on a queue",
		"CreateSessionOnQueue: the placement's id; FULFILLED; its session is found and joined",
		checkQueue,
	},
	{
		52, "readiness and health of a game server",
		"NotifyProcessReady: refused before Init, then ready at the service; the health check is reported",
		checkHealth,
	},
	{
		53, "matchmaking",
		"matchmaking: ticket's id; acceptance, completion, failure as events; accept, reject; stop: CANCELLED",
		checkMatchmaking,
	},
	{
		54, "one notification for each call",
		"every async call has exactly one completion event, also with an invalid request",
		checkNotifications,
	},
}

// wantKind checks the kind of an error.
func wantKind(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
}

// request asks for a session of two on the fleet.
func (w *world) request(token string) session.CreateSessionRequest {
	return session.CreateSessionRequest{FleetID: w.fleet, MaxPlayer: 2, IdempotencyToken: token}
}

// nobody is the id of a session that does not exist.
func (w *world) nobody() string {
	return fmt.Sprintf("arn:aws:gamelift:%s::gamesession/%s/%s/gsess-00000000-0000-4000-8000-000000000000", w.Region,
		w.fleet, home)
}

func checkConfigure(t *testing.T) {
	w := newWorld(t, func(c *muster.Config) { c.Region = "us-east-1" })
	p := w.stranger(w.HTTP, "ada")
	w.wantNotConfigured(p)
	wantKind(t, "Configure without a region", p.Configure(t.Context(), ""), session.ErrInvalid)
	done := p.complete(t.Context(), func(ctx context.Context) error { return p.Configure(ctx, "") })
	if !errors.Is(done.Err, session.ErrInvalid) {
		t.Errorf("ConfigureAsync without a region: %v", done.Err)
	}
	w.wantNotConfigured(p)
	p.wire.want(t) // none
	must(t, p.Configure(t.Context(), "us-east-1"))
	if page, err := p.SearchSessions(t.Context(), session.SearchSessionsRequest{FleetID: w.fleet}); err != nil ||
		len(page.SessionConfigs) != 0 {
		t.Errorf("SearchSessions: %+v, %v", page, err)
	}
	other := w.stranger(w.HTTP, "bob")
	done = other.complete(t.Context(), func(ctx context.Context) error { return other.Configure(ctx, "us-east-1") })
	if done.Err != nil {
		t.Errorf("ConfigureAsync: %v", done.Err)
	}
}

// wantNotConfigured checks that no call works.
func (w *world) wantNotConfigured(p *player) {
	w.Helper()
	ctx := w.Context()
	id, err := p.CreateSession(ctx, w.request("token-1"))
	w.wantNothing("CreateSession", id, err)
	id, err = p.CreateSessionOnQueue(ctx, session.CreateSessionOnQueueRequest{QueueName: "q", PlacementID: "p",
		MaxPlayer: 2})
	w.wantNothing("CreateSessionOnQueue", id, err)
	placement, err := p.Placement(ctx, "p")
	w.wantNothing("Placement", placement, err)
	page, err := p.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: w.fleet})
	w.wantNothing("SearchSessions", page, err)
	w.wantNothing("JoinSession", "", p.JoinSession(ctx,
		session.JoinSessionRequest{SessionID: w.nobody(), PlayerID: "ada"}))
	id, err = p.StartMatchmaking(ctx, session.StartMatchmakingRequest{ConfigurationName: "c",
		Players: []session.Player{{PlayerID: "ada"}}})
	w.wantNothing("StartMatchmaking", id, err)
	w.wantNothing("StopMatchmaking", "", p.StopMatchmaking(ctx, session.StopMatchmakingRequest{TicketID: "t"}))
	w.wantNothing("AcceptMatch", "", p.AcceptMatch(ctx,
		session.AcceptMatchRequest{TicketID: "t", PlayerIDs: []string{"ada"}}))
	w.wantNothing("StartTracking", "", p.StartTracking("t", "ada"))

	created := p.complete(ctx, func(ctx context.Context) error {
		_, err := p.CreateSession(ctx, w.request("token-1"))
		return err
	})
	w.wantNothing("CreateSession of Async", created.Result, created.Err)
	found := p.complete(ctx, func(ctx context.Context) error {
		_, err := p.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: w.fleet})
		return err
	})
	w.wantNothing("SearchSessions of Async", found.Result, found.Err)
	joined := p.complete(ctx, func(ctx context.Context) error {
		return p.JoinSession(ctx, session.JoinSessionRequest{SessionID: w.nobody(), PlayerID: "ada"})
	})
	w.wantNothing("JoinSession of Async", joined.Result, joined.Err)
}

// wantNothing checks that a call has failed because Configure was not called, and
// has no result.
func (w *world) wantNothing(what string, result any, err error) {
	w.Helper()
	wantKind(w.T, what, err, session.ErrNotConfigured)
	if result != nil && !reflect.ValueOf(result).IsZero() {
		w.Errorf("%s gives %+v", what, result)
	}
}

func checkCreateSession(t *testing.T) {
	w := newWorld(t)
	w.arena()
	w.arena() // for a second session, which must not come
	p := w.apiPlayer(w.HTTP, "ada")
	id, err := p.CreateSession(t.Context(), w.request("evening-1"))
	must(t, err)
	if gs := w.session(id); *gs.MaximumPlayerSessionCount != 2 || *gs.FleetId != w.fleet {
		t.Errorf("the session is %+v", gs)
	}
	again, err := p.CreateSession(t.Context(), w.request("evening-1"))
	if err != nil || again != id {
		t.Errorf("the same token gives %q, %v, want %s", again, err, id)
	}
	create := func(token string) session.Complete {
		return p.complete(t.Context(), func(ctx context.Context) error {
			_, err := p.CreateSession(ctx, w.request(token))
			return err
		})
	}
	if done := create("evening-1"); done.Err != nil || done.Result != id {
		t.Errorf("the event is %+v, want %s", done, id)
	}
	if all := w.sessions(); len(all) != 1 {
		t.Errorf("there are %d sessions", len(all))
	}
	if done := create("evening-2"); done.Err != nil || done.Result == id || done.Result == "" {
		t.Errorf("another token gives %+v", done)
	}
}

func checkCreateCallbacks(t *testing.T) {
	w := newWorld(t)
	r := w.readyRoom()
	p := w.apiPlayer(w.HTTP, "ada")
	request := w.request("")
	request.SessionName, request.SessionProperties = "Friday", map[string]string{"level": "harbour"}
	id, err := p.CreateSession(t.Context(), request)
	must(t, err)
	eventually(t, "two callbacks", func() bool { return len(r.noted()) >= 2 })
	if c := r.config; c.SessionID != id || c.SessionName != "Friday" || c.MaxPlayer != 2 ||
		c.SessionProperties["level"] != "harbour" || int(c.Port) != r.port() {
		t.Errorf("the game server hears of %+v", c)
	}
	must(t, r.Close(context.Background()))
	r.want("OnCreateSessionBegin while ACTIVATING", "OnCreateSessionEnd while ACTIVE",
		"OnDestroySessionBegin while ACTIVE", "OnDestroySessionEnd while TERMINATED")
}

// search makes a search that must succeed, and gives the names of what is found.
func (p *player) search(r session.SearchSessionsRequest) (names []string, next string) {
	p.t.Helper()
	page, err := p.SearchSessions(p.t.Context(), r)
	must(p.t, err)
	return namesOf(page), page.NextToken
}

func namesOf(page session.SearchSessionsResponse) (names []string) {
	for _, s := range page.SessionConfigs {
		names = append(names, s.SessionName)
	}
	return names
}

func checkSearch(t *testing.T) {
	w := newWorld(t)
	p := w.apiPlayer(w.HTTP, "ada")
	w.checkActivation(p)
	for i, name := range []string{"duo", "trio"} {
		w.server(7778+i, atOnce)
		w.newSession(gamelift.CreateGameSessionInput{
			Name: &name, MaximumPlayerSessionCount: new(int32(2 + i)),
			GameProperties: []types.GameProperty{{Key: new("mode"), Value: new("ctf")}},
		})
	}
	alias := call(t, w.admin.CreateAlias, &gamelift.CreateAliasInput{
		Name: new("Live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
			FleetId: &w.fleet},
	}).Alias.AliasId
	const sorted = "maximumSessions ASC"
	for _, c := range []struct {
		request session.SearchSessionsRequest
		want    string
	}{
		{session.SearchSessionsRequest{FleetID: w.fleet, SortExpression: sorted}, "solo duo trio"},
		{session.SearchSessionsRequest{FleetID: w.fleet, SortExpression: "maximumSessions DESC"}, "trio duo solo"},
		{session.SearchSessionsRequest{FleetID: w.fleet, FilterExpression: "gameSessionProperties.mode='ctf'",
			SortExpression: sorted}, "duo trio"},
		{session.SearchSessionsRequest{FleetID: w.fleet, FilterExpression: "gameSessionName='trio'"}, "trio"},
		{session.SearchSessionsRequest{AliasID: *alias, SortExpression: sorted}, "solo duo trio"},
	} {
		if names, next := p.search(c.request); strings.Join(names, " ") != c.want || next != "" {
			t.Errorf("%+v finds %q, next %q, want %s", c.request, names, next, c.want)
		}
	}
	request := session.SearchSessionsRequest{FleetID: w.fleet, SortExpression: sorted, MaxResult: 2}
	first, token := p.search(request)
	request.NextToken = token
	second, end := p.search(request)
	if !slices.Equal(first, []string{"solo", "duo"}) || !slices.Equal(second, []string{"trio"}) || token == "" ||
		end != "" {
		t.Errorf("two pages are %q and %q, then %q", first, second, end)
	}
	done := p.complete(t.Context(), func(ctx context.Context) error {
		_, err := p.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: w.fleet, SortExpression: sorted})
		return err
	})
	must(t, done.Err)
	names := namesOf(done.Result.(session.SearchSessionsResponse))
	if !slices.Equal(names, []string{"solo", "duo", "trio"}) {
		t.Errorf("the event has %q", names)
	}
}

// checkActivation finds a session as soon as it is ACTIVE, and not before.
func (w *world) checkActivation(p *player) {
	w.Helper()
	goOn := make(chan struct{})
	slow := w.server(7777, func() bool { <-goOn; return true })
	request := w.request("")
	request.SessionName, request.MaxPlayer = "solo", 1
	id, err := p.CreateSession(w.Context(), request)
	if err != nil {
		close(goOn)
		w.Fatal(err)
	}
	receive(w.T, "the session at its server", slow.started)
	names, _ := p.search(session.SearchSessionsRequest{FleetID: w.fleet})
	close(goOn)
	if len(names) != 0 {
		w.Errorf("found is %q, before it is ACTIVE", names)
	}
	w.awaitSession(id, types.GameSessionStatusActive)
	page, err := p.SearchSessions(w.Context(), session.SearchSessionsRequest{FleetID: w.fleet})
	must(w.T, err)
	if found := page.SessionConfigs; len(found) != 1 || found[0].SessionID != id ||
		found[0].Status != session.StatusActive ||
		found[0].MaxPlayer != 1 || found[0].IPAddress != "127.0.0.1" || found[0].Port != 7777 {
		w.Errorf("found is %+v", found)
	}
}

func checkJoinSession(t *testing.T) {
	w := newWorld(t)
	w.arena()
	id := w.newSession(gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32(2))})
	ada, bob, eve := w.apiPlayer(w.HTTP, "ada"), w.apiPlayer(w.HTTP, "bob"), w.apiPlayer(w.HTTP, "eve")
	unknown := session.JoinSessionRequest{SessionID: w.nobody(), PlayerID: "ada"}
	wantKind(t, "an unknown session", ada.JoinSession(t.Context(), unknown), session.ErrNotFound)
	done := ada.complete(t.Context(), func(ctx context.Context) error { return ada.JoinSession(ctx, unknown) })
	if !errors.Is(done.Err, session.ErrNotFound) {
		t.Errorf("JoinSessionAsync into an unknown session: %v", done.Err)
	}
	must(t, ada.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "ada"}))
	w.wantIn(ada, id, "ada")

	op := bob.Async(t.Context(), func(ctx context.Context) error {
		return bob.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "bob"})
	})
	if done := bob.wait(op); done.Err != nil {
		t.Fatalf("JoinSessionAsync: %v", done.Err)
	}
	w.wantIn(bob, id, "bob")
	if place := heardOf[session.Reserved](bob); place.Op != op.ID() {
		t.Errorf("the place was reserved for call %d, want %d", place.Op, op.ID())
	}

	full := session.JoinSessionRequest{SessionID: id, PlayerID: "eve"}
	wantKind(t, "a full session", eve.JoinSession(t.Context(), full), session.ErrFull)
	done = eve.complete(t.Context(), func(ctx context.Context) error { return eve.JoinSession(ctx, full) })
	if !errors.Is(done.Err, session.ErrFull) {
		t.Errorf("JoinSessionAsync into a full session: %v", done.Err)
	}
	if eve.Connection() != nil || len(w.players(id)) != 2 {
		t.Errorf("eve is in, or there are %d players", len(w.players(id)))
	}
}

// wantIn checks that a player is in the game of a session.
func (w *world) wantIn(p *player, id, name string) {
	w.Helper()
	place, ok := p.Current()
	if conn := p.Connection(); !ok || conn == nil || place.SessionID != id || place.PlayerID != name {
		w.Fatalf("%s is in %+v, %v", name, place, ok)
	}
	got := w.player(place.PlayerSessionID)
	if got.Status != types.PlayerSessionStatusActive || *got.PlayerId != name || *got.GameSessionId != id {
		w.Errorf("at the service %s is %s in %s", *got.PlayerId, got.Status, *got.GameSessionId)
	}
}

func checkLeaveSession(t *testing.T) {
	w := newWorld(t)
	w.arena()
	id := w.newSession(gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32(4))})
	bob := w.apiPlayer(w.HTTP, "bob") // who stays, so that the game does
	must(t, bob.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "bob"}))
	w.wantLeft(id, "ada", func(p *player) error { return p.LeaveSession(t.Context()) })
	w.wantLeft(id, "eve", func(p *player) error {
		return p.complete(t.Context(), p.LeaveSession).Err
	})
	w.wantIn(bob, id, "bob")
}

// wantLeft has a player join and leave a session.
func (w *world) wantLeft(id, name string, leave func(*player) error) {
	w.Helper()
	p := w.apiPlayer(w.HTTP, name)
	must(w.T, p.JoinSession(w.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: name}))
	place, _ := p.Current()
	conn := p.Connection()
	must(w.T, leave(p))
	select {
	case <-conn.Done():
	default:
		w.Errorf("%s has left, and the connection is open", name)
	}
	if _, in := p.Current(); in || p.Connection() != nil {
		w.Errorf("%s has left, and is in the game", name)
	}
	w.awaitPlayer(place.PlayerSessionID, types.PlayerSessionStatusCompleted)
}

func checkDestroyCallbacks(t *testing.T) {
	t.Run("callbacks", func(t *testing.T) {
		w := newWorld(t)
		r := w.readyRoom()
		id := w.visit()
		if err := r.Wait(); err != nil || r.ExitCode() != 0 {
			t.Errorf("the game server ended with %v, exit code %d", err, r.ExitCode())
		}
		r.want("OnCreateSessionBegin while ACTIVATING", "OnCreateSessionEnd while ACTIVE",
			"OnDestroySessionBegin while ACTIVE", "OnDestroySessionEnd while TERMINATED")
		w.awaitSession(id, types.GameSessionStatusTerminated)
	})
	t.Run("process", func(t *testing.T) {
		w := newWorld(t)
		arena := w.arenaProcess()
		id := w.visit()
		arena.ends()
		w.awaitSession(id, types.GameSessionStatusTerminated)
	})
}

// visit has a player make a session, come and leave again.
func (w *world) visit() (id string) {
	w.Helper()
	id = w.newSession(gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32(2))})
	p := w.apiPlayer(w.HTTP, "ada")
	must(w.T, p.JoinSession(w.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "ada"}))
	must(w.T, p.LeaveSession(w.Context()))
	return id
}

// checkHealth: a process is used once it is ready, and its first health report is the answer of the game's callback.
// The following reports, and the end of an unhealthy process, are in gameserver.TestUnhealthyProcess, with a clock.
func checkHealth(t *testing.T) {
	w := newWorld(t)
	reports := make(chan string, 16)
	r := w.room(gameserver.Config{Trace: func(m gameserver.Message) {
		if m.Sent && strings.Contains(m.Text, "HeartbeatServerProcess") {
			reports <- m.Text
		}
	}}, func() bool { return false })
	wantKind(t, "NotifyProcessReady before Init", r.NotifyProcessReady(t.Context(), r.port()),
		gameserver.ErrNotConnected)
	must(t, r.Init(t.Context(), w.compute()))
	_, err := w.admin.CreateGameSession(t.Context(),
		&gamelift.CreateGameSessionInput{FleetId: &w.fleet, Location: new(home),
			MaximumPlayerSessionCount: new(int32(2))})
	if _, none := errors.AsType[*types.FleetCapacityExceededException](err); !none {
		t.Errorf("before NotifyProcessReady a session is answered with %v", err)
	}
	must(t, r.NotifyProcessReady(t.Context(), r.port()))
	if report := receive(t, "a health report", reports); !strings.Contains(report, `"HealthStatus":false`) {
		t.Errorf("the report of an unhealthy process is %s", report)
	}
	id := w.newSession(gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: new(int32(2))})
	if got := w.session(id); int(*got.Port) != r.port() {
		t.Errorf("the session's port is %d, want %d", *got.Port, r.port())
	}
}

func checkNotifications(t *testing.T) {
	w := newWorld(t)
	w.arena()
	p := w.apiPlayer(w.HTTP, "ada")
	create := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.CreateSession(ctx, w.request("evening-1"))
		return err
	})
	created := p.wait(create)
	must(t, created.Err)
	id := created.Result.(string)
	w.awaitSession(id, types.GameSessionStatusActive)
	search := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: w.fleet})
		return err
	})
	receive(t, "the end of the search", search.Done())
	join := p.Async(t.Context(), func(ctx context.Context) error {
		return p.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
	})
	receive(t, "the end of the join", join.Done())
	leave := p.Async(t.Context(), p.LeaveSession)
	receive(t, "the end of the leave", leave.Done())

	badCreate := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.CreateSession(ctx, session.CreateSessionRequest{MaxPlayer: 2})
		return err
	})
	badToken := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.CreateSession(ctx, w.request("no token"))
		return err
	})
	badSearch := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.SearchSessions(ctx, session.SearchSessionsRequest{})
		return err
	})
	badJoin := p.Async(t.Context(),
		func(ctx context.Context) error { return p.JoinSession(ctx, session.JoinSessionRequest{SessionID: id}) })
	badQueue := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.CreateSessionOnQueue(ctx, session.CreateSessionOnQueueRequest{QueueName: queue, MaxPlayer: 2})
		return err
	})
	badMatch := p.Async(t.Context(), func(ctx context.Context) error {
		_, err := p.StartMatchmaking(ctx, session.StartMatchmakingRequest{ConfigurationName: configuration})
		return err
	})
	noLeave := p.Async(t.Context(), p.LeaveSession) // from nowhere, which is no failure
	for name, done := range map[string]<-chan struct{}{
		"create": badCreate.Done(), "token": badToken.Done(), "search": badSearch.Done(), "join": badJoin.Done(),
		"queue": badQueue.Done(), "match": badMatch.Done(),
	} {
		select {
		case <-done:
		default:
			t.Errorf("%s: an invalid request is not complete at once", name)
		}
	}
	receive(t, "the end of the leave from nowhere", noLeave.Done())
	p.close()
	for id, kind := range map[session.OpID]error{
		create.ID(): nil, search.ID(): nil, join.ID(): nil, leave.ID(): nil, noLeave.ID(): nil,
		badCreate.ID(): session.ErrInvalid, badToken.ID(): session.ErrInvalid, badSearch.ID(): session.ErrInvalid,
		badJoin.ID():  session.ErrInvalid,
		badQueue.ID(): session.ErrInvalid, badMatch.ID(): session.ErrInvalid,
	} {
		if all := p.completions(id); len(all) != 1 || !errors.Is(all[0], kind) {
			t.Errorf("call %d has the completions %v, want %v, once", id, all, kind)
		}
	}
}
