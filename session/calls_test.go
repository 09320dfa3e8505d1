package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

func TestCreateSearchJoinLeave(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	create := session.CreateSessionRequest{FleetID: "fleet-1", MaxPlayer: 2, IdempotencyToken: "once"}
	id, err := w.CreateSession(ctx, create)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.CreateSession(ctx, create); err != nil || again != id {
		t.Fatalf("the same token gives %q, %v instead of %q", again, err, id)
	}
	page, err := w.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1"})
	if err != nil || len(page.SessionConfigs) != 1 || page.SessionConfigs[0].SessionID != id {
		t.Fatalf("found %v, %v", page, err)
	}
	if err := w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"}); err != nil {
		t.Fatal(err)
	}
	if r := await[session.Reserved](t, w.heard, 1); r.Op == 0 || r.Reservation.SessionID != id {
		t.Errorf("Reserved is %+v", r)
	}
	if place, ok := w.Current(); !ok || place.SessionID != id || w.Connection() == nil {
		t.Errorf("after JoinSession the player is in %v, %v", place, ok)
	}
	for range 2 { // the second time there is nothing to leave
		if err := w.LeaveSession(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := w.Current(); ok || w.Connection() != nil || len(w.service.Places()) != 0 {
		t.Error("the player is still there")
	}
}

func TestCreateOnQueue(t *testing.T) {
	w := newWorld(t)
	id, err := w.CreateSessionOnQueue(t.Context(),
		session.CreateSessionOnQueueRequest{QueueName: "queue", PlacementID: "p-1", MaxPlayer: 2})
	if err != nil || id != "p-1" {
		t.Fatal(id, err)
	}
	p, err := w.Placement(t.Context(), id)
	if err != nil || p.Status != "FULFILLED" || p.SessionID == "" {
		t.Fatalf("placement is %+v, %v", p, err)
	}
}

// A namedCall is a call of the client, by its method.
type namedCall struct {
	name string
	call func(context.Context, *session.Client) error
}

// calls are all calls of the service: valid decides about their requests.
func calls(sessionID string, valid bool) []namedCall {
	id := func(id string) string {
		if valid {
			return id
		}
		return ""
	}
	limit := -1
	if valid {
		limit = 2
	}
	return []namedCall{
		{"CreateSession", func(ctx context.Context, c *session.Client) error {
			_, err := c.CreateSession(ctx, session.CreateSessionRequest{FleetID: "fleet-1", MaxPlayer: limit})
			return err
		}},
		{"CreateSessionOnQueue", func(ctx context.Context, c *session.Client) error {
			_, err := c.CreateSessionOnQueue(ctx, session.CreateSessionOnQueueRequest{QueueName: "queue",
				PlacementID: "p-9", MaxPlayer: limit})
			return err
		}},
		{"Placement", func(ctx context.Context, c *session.Client) error {
			_, err := c.Placement(ctx, id("p-1"))
			return err
		}},
		{"SearchSessions", func(ctx context.Context, c *session.Client) error {
			_, err := c.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: "fleet-1", MaxResult: limit})
			return err
		}},
		{"JoinSession", func(ctx context.Context, c *session.Client) error {
			return c.JoinSession(ctx, session.JoinSessionRequest{SessionID: id(sessionID), PlayerID: "ada"})
		}},
		{"StartMatchmaking", func(ctx context.Context, c *session.Client) error {
			_, err := c.StartMatchmaking(ctx, session.StartMatchmakingRequest{ConfigurationName: id("duel"),
				Players: []session.Player{{PlayerID: "ada"}}})
			return err
		}},
		{"AcceptMatch", func(ctx context.Context, c *session.Client) error {
			return c.AcceptMatch(ctx, session.AcceptMatchRequest{TicketID: id("t-1"), PlayerIDs: []string{"ada"},
				AcceptMatch: true})
		}},
		{"StopMatchmaking", func(ctx context.Context, c *session.Client) error {
			return c.StopMatchmaking(ctx, session.StopMatchmakingRequest{TicketID: id("t-1")})
		}},
	}
}

// providerOp is what the provider calls a call.
func providerOp(name string) string {
	if name == "JoinSession" {
		return "Reserve"
	}
	return name
}

// Every Async call completes once, with the error that its Op has.
func TestAsyncCompletesOnce(t *testing.T) {
	boom := session.Errorf("Test", session.ErrUnavailable, "not today")
	for name, test := range map[string]struct {
		prepare func(*world, namedCall)
		valid   bool
		want    error
	}{
		"success": {func(*world, namedCall) {}, true, nil},
		"refused": {func(w *world, k namedCall) { w.service.Fail(providerOp(k.name), boom) }, true,
			session.ErrUnavailable},
		"foreign error": {func(w *world, k namedCall) { w.service.Fail(providerOp(k.name), errors.New("boom")) }, true,
			session.ErrTransport},
		"invalid": {func(*world, namedCall) {}, false, session.ErrInvalid},
		"not configured": {func(w *world, _ namedCall) {
			w.Client = session.New(session.Config{Remote: w.service.Remote()})
			w.Subscribe(w.heard.hear)
		}, true, session.ErrNotConfigured},
		"no service": {func(w *world, _ namedCall) {
			w.Client = session.New(session.Config{})
			w.Subscribe(w.heard.hear)
		}, true, session.ErrUnsupported},
	} {
		for i := range calls("", true) {
			t.Run(name+"/"+calls("", true)[i].name, func(t *testing.T) {
				w := newWorld(t)
				sessionID := w.active(t)
				if err := errors.Join(ticketToAccept(t, w), queued(t, w)); err != nil {
					t.Fatal(err)
				}
				k := calls(sessionID, test.valid)[i]
				test.prepare(w, k)
				op := w.Async(t.Context(), func(ctx context.Context) error { return k.call(ctx, w.Client) })
				if test.want == session.ErrInvalid || test.want == session.ErrNotConfigured {
					select {
					case <-op.Done():
					default:
						t.Fatal("a call that is refused is not complete at once")
					}
				}
				if err := settled(t, op); !errors.Is(err, test.want) {
					t.Fatalf("got %v, want %v", err, test.want)
				}
				if err := w.Close(context.Background()); err != nil { // all events are heard
					t.Fatal(err)
				}
				events, _ := w.heard.all()
				if got := completions(events, k.name); len(got) != 1 || got[0].Op != op.ID() || got[0].Err != op.Err() {
					t.Errorf("completions are %v, the error is %v", got, op.Err())
				}
			})
		}
	}
}

// ticketToAccept makes the ticket t-1 that waits for ada.
func ticketToAccept(t *testing.T, w *world) error {
	_, err := w.StartMatchmaking(t.Context(), session.StartMatchmakingRequest{
		ConfigurationName: "duel", TicketID: "t-1", Players: []session.Player{{PlayerID: "ada"}, {PlayerID: "bob"}},
	})
	if err == nil {
		_, err = w.service.Propose("t-1")
	}
	return err
}

func queued(t *testing.T, w *world) error {
	_, err := w.CreateSessionOnQueue(t.Context(),
		session.CreateSessionOnQueueRequest{QueueName: "queue", PlacementID: "p-1", MaxPlayer: 2})
	return err
}

// A context that is done ends every call, with the kind of its end.
func TestContextsThatAreOver(t *testing.T) {
	why := errors.New("the game has ended")
	for name, test := range map[string]struct {
		over  func(context.Context) (context.Context, context.CancelFunc)
		wants []error
	}{
		"canceled": {context.WithCancel, []error{session.ErrCanceled, context.Canceled}},
		"with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(why) }
		}, []error{session.ErrCanceled, context.Canceled, why}},
		"past its deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 0)
		}, []error{session.ErrTimeout, context.DeadlineExceeded}},
	} {
		for i, k := range calls("", true) {
			t.Run(name+"/"+k.name, func(t *testing.T) {
				w := newWorld(t)
				k := calls(w.active(t), true)[i]
				ctx, cancel := test.over(t.Context())
				cancel()
				err := settled(t, w.Async(ctx, func(ctx context.Context) error { return k.call(ctx, w.Client) }))
				for _, want := range test.wants {
					if !errors.Is(err, want) {
						t.Errorf("the error is %v, which should be %v", err, want)
					}
				}
			})
		}
	}
}

func TestConfigure(t *testing.T) {
	var service sessiontest.Service
	c := session.New(session.Config{Remote: service.Remote(), DefaultRegion: "eu-west-1"})
	defer c.Close(t.Context())
	for region, want := range map[string]string{"": "eu-west-1", "us-east-1": "us-east-1"} {
		err := settled(t, c.Async(t.Context(), func(ctx context.Context) error { return c.Configure(ctx, region) }))
		if err != nil || service.Region() != want {
			t.Errorf("Configure(%q) leads to %q, %v", region, service.Region(), err)
		}
	}
	for _, region := range []string{"nowhere", "us east-1", "us-east-1/", "US-EAST-1", "us-east"} {
		if err := c.Configure(t.Context(), region); !errors.Is(err, session.ErrInvalid) ||
			!strings.Contains(err.Error(), region) || service.Region() == region {
			t.Errorf("Configure(%q) gives %v, the region is %s", region, err, service.Region())
		}
	}
	service.Fail("Configure", session.Errorf("Configure", session.ErrInvalid, "there is no region"))
	if err := c.Configure(t.Context(), ""); !errors.Is(err, session.ErrInvalid) {
		t.Error(err)
	}
	if _, err := c.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "fleet-1"}); err != nil {
		t.Error("after a Configure that has failed the one from before does not hold:", err)
	}
}

// Errors name the call that the program has made, not that of the provider or the connector.
func TestErrorsNameTheCall(t *testing.T) {
	w := newWorld(t)
	n, id := w.Named(), w.active(t)
	must(t, n.Create(t.Context(), "game", small))
	refusal := session.Errorf("Provider", session.ErrFull, "no")
	for _, test := range []struct {
		fail func(string, error)
		op   string
		call func(context.Context) error
		want string
	}{
		{w.service.Fail, "Reserve", func(ctx context.Context) error {
			return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
		}, "JoinSession: no"},
		{w.connector.Fail, "Connect", func(ctx context.Context) error {
			return w.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: "ada"})
		}, "JoinSession: no"},
		{w.service.Fail, "Host", func(ctx context.Context) error { return n.Start(ctx, "game") }, "Start: no"},
		{w.lan.Fail, "Announce", func(ctx context.Context) error { return n.Create(ctx, "b", onLAN()) }, "Create: no"},
		{nil, "", func(ctx context.Context) error { return n.Create(ctx, "game", small) },
			`Create "game": a session of this name exists and is Pending: choose another name, or destroy it first`},
		{nil, "", func(ctx context.Context) error { return n.Start(ctx, "b") },
			`Start "b": there is no session of this name`},
	} {
		if test.fail != nil {
			test.fail(test.op, refusal)
		}
		if err := test.call(t.Context()); err == nil || err.Error() != test.want {
			t.Errorf("%s fails: got %v, want %s", test.op, err, test.want)
		}
	}
	w.service.Fail("WatchTicket", refusal)
	w.service.Fail("WatchTicket", session.Errorf("Provider", session.ErrDenied, "no"))
	must(t, w.StartTracking("t-1", "ada"))
	if e := await[session.MatchError](t, w.heard, 1); e.Err.Error() != "StartTracking: no" {
		t.Error(e.Err)
	}
	must(t, w.StopTracking(t.Context()))
}

func TestCreatePlayerID(t *testing.T) {
	c := session.New(session.Config{})
	for _, test := range []struct {
		braces, dashes bool
		length         int
	}{{false, false, 32}, {false, true, 36}, {true, false, 34}, {true, true, 38}} {
		id := c.CreatePlayerID(test.braces, test.dashes)
		if len(id) != test.length || strings.HasPrefix(id, "{") != test.braces ||
			strings.HasSuffix(id, "}") != test.braces || strings.Contains(id, "-") != test.dashes {
			t.Errorf("CreatePlayerID(%v, %v) is %q", test.braces, test.dashes, id)
		}
	}
	if first, second := c.CreatePlayerID(false, true), c.CreatePlayerID(false, true); first == second {
		t.Error("two players have the same id")
	}
}
