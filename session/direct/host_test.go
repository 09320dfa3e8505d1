package direct_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

// created, described and placed are answers of a service on which things go well.
var (
	created = answers(wire.OpCreateGameSession,
		&wire.CreateGameSessionOutput{GameSession: &wire.GameSession{GameSessionId: gsess}})
	ended  = answers(wire.OpTerminateGameSession, &wire.TerminateGameSessionOutput{})
	nobody = answers(wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsOutput{})
)

func described(statuses ...wire.GameSessionStatus) wire.Handler {
	var list []*wire.DescribeGameSessionsOutput
	for _, s := range statuses {
		list = append(list, &wire.DescribeGameSessionsOutput{GameSessions: []wire.GameSession{{GameSessionId: gsess,
			Status: s}}})
	}
	return answers(wire.OpDescribeGameSessions, list...)
}

func reserved(port int32) wire.Handler {
	return answers(wire.OpCreatePlayerSession, &wire.CreatePlayerSessionOutput{PlayerSession: &wire.PlayerSession{
		PlayerSessionId: "psess-1", PlayerId: "ada", GameSessionId: gsess, IpAddress: "203.0.113.7",
		Port: wire.Some(port),
	}})
}

func inside(players ...wire.PlayerSession) wire.Handler {
	return answers(wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsOutput{PlayerSessions: players})
}

var hostRequest = session.HostRequest{SessionName: "x", OwnerID: "ada", Connections: 4}

// TestHostFailures are hosts that come to nothing, and what is left of them.
func TestHostFailures(t *testing.T) {
	t.Parallel()
	active := wire.GameSessionStatusActive
	full := wire.OpCreatePlayerSession.Refuse(fault.GameSessionFull, "full")
	stranger := inside(
		wire.PlayerSession{PlayerId: "ada", Status: wire.PlayerSessionStatusReserved},
		wire.PlayerSession{PlayerId: "bob", Status: wire.PlayerSessionStatusActive})
	gone := inside(
		wire.PlayerSession{PlayerId: "ada", Status: wire.PlayerSessionStatusReserved},
		wire.PlayerSession{PlayerId: "bob", Status: wire.PlayerSessionStatusCompleted})
	for name, test := range map[string]struct {
		handlers []wire.Handler
		want     error
		code     string
		last     string // the operations at the end
	}{
		"no capacity": {
			[]wire.Handler{wire.OpCreateGameSession.Refuse(fault.FleetCapacityExceeded, "none")},
			session.ErrUnavailable, "FleetCapacityExceededException", "CreateGameSession",
		},
		"dies while it starts": {
			[]wire.Handler{created, described(wire.GameSessionStatusActivating, wire.GameSessionStatusTerminated),
				nobody, ended},
			session.ErrUnavailable, "", "DescribePlayerSessions TerminateGameSession",
		},
		"vanishes": {[]wire.Handler{created, described(), nobody, ended}, session.ErrNotFound, "",
			"TerminateGameSession"},
		"full": {[]wire.Handler{created, described(active), full, nobody, ended}, session.ErrFull,
			"GameSessionFullException", "TerminateGameSession"},
		"full, others inside": {[]wire.Handler{created, described(active), full, stranger}, session.ErrFull,
			"GameSessionFullException", "DescribePlayerSessions"},
		"full, others left": {[]wire.Handler{created, described(active), full, gone, ended}, session.ErrFull,
			"GameSessionFullException", "TerminateGameSession"},
		"place without address": {[]wire.Handler{created, described(active), reserved(0), nobody, ended},
			session.ErrTransport, "", "TerminateGameSession"},
		"cannot be ended": {
			[]wire.Handler{created, described(active), full, nobody,
				wire.OpTerminateGameSession.Refuse(fault.InvalidGameSessionStatus, "over")},
			session.ErrFull, "GameSessionFullException", "TerminateGameSession",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "vanishes" {
				test.handlers[1] = answers(wire.OpDescribeGameSessions, &wire.DescribeGameSessionsOutput{})
			}
			s := newScript(t, test.handlers...)
			_, err := s.provider(direct.Target{AliasID: "alias-1", Location: "custom-attic"}).Host(t.Context(),
				hostRequest)
			wantError(t, err, test.want, test.code)
			if got := s.made(); !strings.HasSuffix(got, test.last) {
				t.Errorf("called %s, want %s at the end", got, test.last)
			}
		})
	}
}

func TestBuildIDIsAProperty(t *testing.T) {
	t.Parallel()
	r := hostRequest
	r.BuildID, r.Properties = 7, map[string]string{}
	for i := range 16 {
		r.Properties[fmt.Sprint(i)] = "x"
	}
	_, err := newScript(t).provider(direct.Target{FleetID: fleet}).Host(t.Context(), r)
	wantError(t, err, session.ErrInvalid, "")
	if len(r.Properties) != 16 {
		t.Error("the caller's properties were changed")
	}
}

// placed answers with a placement in these states, one after the other.
func placed(states ...wire.GameSessionPlacementState) wire.Handler {
	var list []*wire.DescribeGameSessionPlacementOutput
	for _, s := range states {
		list = append(list, &wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: &wire.GameSessionPlacement{
			PlacementId: "p-1", Status: s, GameSessionArn: gsess, IpAddress: "203.0.113.7",
			Port: wire.Some[int32](7777),
		}})
	}
	return answers(wire.OpDescribeGameSessionPlacement, list...)
}

func placing(in chan<- *wire.StartGameSessionPlacementInput) wire.Handler {
	return wire.OpStartGameSessionPlacement.Handle(func(
		_ context.Context, got *wire.StartGameSessionPlacementInput,
	) (*wire.StartGameSessionPlacementOutput, error) {
		in <- got
		return &wire.StartGameSessionPlacementOutput{GameSessionPlacement: &wire.GameSessionPlacement{
			PlacementId: got.PlacementId, Status: wire.GameSessionPlacementStatePending,
		}}, nil
	})
}

func TestHostOnQueue(t *testing.T) {
	t.Parallel()
	in := make(chan *wire.StartGameSessionPlacementInput, 1)
	s := newScript(t, placing(in), placed(wire.GameSessionPlacementStatePending,
		wire.GameSessionPlacementStateFulfilled),
		described(wire.GameSessionStatusActive), reserved(7777))
	r := hostRequest
	r.BuildID = 7
	place, err := s.provider(direct.Target{QueueName: "q"}).Host(t.Context(), r)
	if err != nil || place.PlayerSessionID != "psess-1" {
		t.Fatal(place, err)
	}
	got := <-in
	if got.GameSessionQueueName != "q" || got.GameSessionName != "x" || got.MaximumPlayerSessionCount.Or(0) != 4 ||
		len(got.GameProperties) != 1 || got.GameProperties[0] != (wire.GameProperty{Key: "build_id", Value: "7"}) {
		t.Errorf("asked for %+v", got)
	}
}

// TestHostOnQueueFails takes placements back that came to nothing.
func TestHostOnQueueFails(t *testing.T) {
	t.Parallel()
	stopped := answers(wire.OpStopGameSessionPlacement, &wire.StopGameSessionPlacementOutput{})
	late := wire.OpStopGameSessionPlacement.Refuse(fault.InvalidRequest, "too late")
	for name, test := range map[string]struct {
		states   []wire.GameSessionPlacementState
		handlers []wire.Handler
		cancel   bool
		want     error
		last     string
	}{
		"failed": {
			[]wire.GameSessionPlacementState{wire.GameSessionPlacementStateFailed}, []wire.Handler{late}, false,
			session.ErrUnavailable, "StopGameSessionPlacement DescribeGameSessionPlacement",
		},
		"canceled": {
			[]wire.GameSessionPlacementState{wire.GameSessionPlacementStatePending}, []wire.Handler{stopped}, true,
			session.ErrCanceled, "StopGameSessionPlacement",
		},
		"canceled too late": {
			[]wire.GameSessionPlacementState{wire.GameSessionPlacementStateFulfilled},
			[]wire.Handler{late, nobody, ended}, true,
			session.ErrCanceled, "StopGameSessionPlacement DescribeGameSessionPlacement DescribePlayerSessions " +
				"TerminateGameSession",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, append(test.handlers, placing(make(chan *wire.StartGameSessionPlacementInput, 1)),
				placed(test.states...))...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancel {
				go func() { s.await("StartGameSessionPlacement"); cancel() }()
			}
			_, err := s.provider(direct.Target{QueueName: "q"}).Host(ctx, hostRequest)
			wantError(t, err, test.want, "")
			if got := s.made(); !strings.HasSuffix(got, test.last) {
				t.Errorf("called %s, want %s at the end", got, test.last)
			}
		})
	}
}

func TestQueueAndPlacement(t *testing.T) {
	t.Parallel()
	in := make(chan *wire.StartGameSessionPlacementInput, 1)
	s := newScript(t, placing(in), placed(wire.GameSessionPlacementStateFulfilled))
	p := s.provider(direct.Target{})
	id, err := p.CreateSessionOnQueue(t.Context(), session.CreateSessionOnQueueRequest{
		SessionName: "duel", MaxPlayer: 2, QueueName: "q", PlacementID: "p-1",
		SessionProperties: map[string]string{"a": "1"},
	})
	if err != nil || id != "p-1" || (<-in).PlacementId != "p-1" {
		t.Fatal(id, err)
	}
	got, err := p.Placement(t.Context(), id)
	want := session.Placement{PlacementID: "p-1", Status: "FULFILLED", SessionID: gsess, IPAddress: "203.0.113.7",
		Port: 7777}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
