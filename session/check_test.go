package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/session"
)

func many(n int) map[string]string {
	m := make(map[string]string)
	for i := range n {
		m[fmt.Sprint("k", i)] = "v"
	}
	return m
}

func attribute(text string) session.StartMatchmakingRequest {
	return session.StartMatchmakingRequest{ConfigurationName: "duel", Players: []session.Player{{
		PlayerID: "ada", PlayerAttributes: map[string]json.RawMessage{"skill": json.RawMessage(text)},
	}}}
}

// TestRequestsThatAreInvalid checks that invalid requests are rejected before they are sent, with the field in the
// message.
func TestRequestsThatAreInvalid(t *testing.T) {
	type create = session.CreateSessionRequest
	type queue = session.CreateSessionOnQueueRequest
	type search = session.SearchSessionsRequest
	type join = session.JoinSessionRequest
	type start = session.StartMatchmakingRequest
	type accept = session.AcceptMatchRequest
	long := func(n int) string { return strings.Repeat("é", n) }
	tooMany := make([]session.Player, 11)
	for i := range tooMany {
		tooMany[i].PlayerID = "p"
	}
	for _, test := range []struct {
		request any
		names   string // "" for a request that is valid
	}{
		{create{}, ""},
		{create{FleetID: "f", AliasID: "a"}, "FleetID f and AliasID a"},
		{create{AliasID: "a"}, ""},
		{create{FleetID: "f", MaxPlayer: -1}, "MaxPlayer"},
		{create{FleetID: "f", MaxPlayer: 201}, "MaxPlayer"},
		{create{FleetID: "f", MaxPlayer: 200, SessionProperties: many(16)}, ""},
		{create{FleetID: "f", SessionProperties: many(17)}, "properties"},
		{create{FleetID: "f", SessionProperties: map[string]string{"": "v"}}, "key"},
		{create{FleetID: "f", SessionProperties: map[string]string{long(33): "v"}}, "key"},
		{create{FleetID: "f", SessionProperties: map[string]string{long(32): long(96)}}, ""},
		{create{FleetID: "f", SessionProperties: map[string]string{"k": long(97)}}, "property k"},
		{create{FleetID: "f", IdempotencyToken: "a b"}, "IdempotencyToken"},
		{create{FleetID: "f", IdempotencyToken: strings.Repeat("a", 49)}, "IdempotencyToken"},
		{create{FleetID: "f", IdempotencyToken: "Az-09"}, ""},
		{create{FleetID: "f", SessionName: long(1025)}, "SessionName"},
		{create{FleetID: "f", CreatorID: long(1025)}, "CreatorID"},
		{queue{QueueName: "q", MaxPlayer: 1}, "PlacementID"},
		{queue{PlacementID: "p", MaxPlayer: 1}, ""},
		{queue{QueueName: "q", PlacementID: "p"}, "MaxPlayer"},
		{queue{QueueName: "q", PlacementID: "p.", MaxPlayer: 1}, "PlacementID"},
		{search{}, ""},
		{search{FleetID: "f", AliasID: "a"}, "FleetID f and AliasID a"},
		{search{FleetID: "f", MaxResult: 21}, "MaxResult"},
		{search{FleetID: "f", FilterExpression: long(1025)}, "FilterExpression"},
		{join{PlayerID: "ada"}, "SessionID"},
		{join{SessionID: "s"}, "PlayerID"},
		{join{SessionID: "s", PlayerID: long(1025)}, "PlayerID"},
		{join{SessionID: "s", PlayerID: "ada", PlayerData: long(2049)}, "PlayerData"},
		{start{Players: tooMany[:1]}, "ConfigurationName"},
		{start{ConfigurationName: "duel"}, "Players"},
		{start{ConfigurationName: "duel", Players: tooMany}, "Players"},
		{start{ConfigurationName: "duel", Players: make([]session.Player, 1)}, "PlayerID"},
		{start{ConfigurationName: "duel", Players: tooMany[:1], TicketID: "a_b"}, "TicketID"},
		{start{ConfigurationName: "duel", Players: tooMany[:1], TicketID: "a.b-c"}, ""},
		{attribute(`{"N": 23}`), ""},
		{attribute(`{"S": "x"}`), ""},
		{attribute(`{"SL": ["x", "y"]}`), ""},
		{attribute(`{"SDM": {"x": 1.5}}`), ""},
		{attribute(`{"N": "23"}`), "attribute skill"},
		{attribute(`{"N": null}`), "attribute skill"},
		{attribute(`{"SL": [1]}`), "attribute skill"},
		{attribute(`{"SDM": {"x": "y"}}`), "attribute skill"},
		{attribute(`{"N": 1, "S": "x"}`), "attribute skill"},
		{attribute(`{"n": 1}`), "attribute skill"},
		{attribute(`{}`), "attribute skill"},
		{attribute(`23`), "attribute skill"},
		{attribute(``), "attribute skill"},
		{session.StopMatchmakingRequest{}, "TicketID"},
		{accept{PlayerIDs: []string{"ada"}}, "TicketID"},
		{accept{TicketID: "t"}, "PlayerIDs"},
		{accept{TicketID: "t", PlayerIDs: []string{""}}, "player's id"},
	} {
		t.Run(fmt.Sprintf("%T/%s", test.request, test.names), func(t *testing.T) {
			w := newWorld(t)
			err := w.send(t.Context(), test.request)
			switch {
			case test.names == "" && errors.Is(err, session.ErrInvalid):
				t.Errorf("%+v is refused: %v", test.request, err)
			case test.names != "" &&
				(!errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), test.names)):
				t.Errorf("%+v: the error is %v, which should name %s", test.request, err, test.names)
			}
		})
	}
}

// send makes the call that a request is for.
func (w *world) send(ctx context.Context, request any) (err error) {
	switch r := request.(type) {
	case session.CreateSessionRequest:
		_, err = w.CreateSession(ctx, r)
	case session.CreateSessionOnQueueRequest:
		_, err = w.CreateSessionOnQueue(ctx, r)
	case session.SearchSessionsRequest:
		_, err = w.SearchSessions(ctx, r)
	case session.JoinSessionRequest:
		err = w.JoinSession(ctx, r)
	case session.StartMatchmakingRequest:
		_, err = w.StartMatchmaking(ctx, r)
	case session.StopMatchmakingRequest:
		err = w.StopMatchmaking(ctx, r)
	case session.AcceptMatchRequest:
		err = w.AcceptMatch(ctx, r)
	default:
		err = fmt.Errorf("%T is no request", r)
	}
	return err
}

func TestNamedCallsThatAreInvalid(t *testing.T) {
	w := newWorld(t)
	n, ctx := w.Named(), t.Context()
	must(t, n.Create(ctx, "game", small))
	results, findErr := n.Find(ctx, session.FindRequest{Limit: -1})
	for call, err := range map[string]error{
		"no name":       n.Create(ctx, "", small),
		"no place":      n.Create(ctx, "b", session.Settings{}),
		"201 places":    n.Create(ctx, "b", session.Settings{NumPublicConnections: 200, NumPrivateConnections: 1}),
		"negative":      n.Update(ctx, "game", session.Settings{NumPublicConnections: 2, NumPrivateConnections: -1}),
		"no session id": n.Join(ctx, "b", session.SearchResult{}),
		"no port":       n.Join(ctx, "b", session.SearchResult{SessionID: "s", LAN: true, IPAddress: "10.0.0.1"}),
		"limit":         findErr,
	} {
		if !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if len(results) != 0 || len(n.All()) != 1 {
		t.Error("a call that was refused has done something")
	}
}

// Without a part of the configuration, what needs it says so.
func TestMissingParts(t *testing.T) {
	w := newWorld(t, func(c *session.Config) { c.LAN, c.Connector = nil, nil })
	n, ctx := w.Named(), t.Context()
	must(t, n.Create(ctx, "game", small))
	_, findErr := n.Find(ctx, session.FindRequest{LAN: true})
	for call, err := range map[string]error{
		"join session":  w.JoinSession(ctx, session.JoinSessionRequest{SessionID: "s", PlayerID: "ada"}),
		"create on LAN": n.Create(ctx, "b", onLAN()),
		"find on LAN":   findErr,
		"start":         n.Start(ctx, "game"),
		"join":          n.Join(ctx, "b", session.SearchResult{SessionID: "s"}),
	} {
		if !errors.Is(err, session.ErrUnsupported) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if s, _ := n.Get("game"); s.State != session.Pending {
		t.Errorf("the session is %s", s.State)
	}
}
