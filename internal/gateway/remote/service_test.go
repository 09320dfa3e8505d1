package remote_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/remote"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/mustertest"
)

// TestAgainstMuster goes through the life of a game session over a real port.
func TestAgainstMuster(t *testing.T) {
	w := start(t)
	if _, err := w.Fleet(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v without a fleet", err)
	}
	w.newFleet()
	if fleet, err := w.Fleet(t.Context()); err != nil || fleet != w.fleet {
		t.Errorf("the first fleet is %q, %v", fleet, err)
	}
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	_, err := w.CreateGameSession(t.Context(), w.creation(4))
	if !fault.Is(err, fault.FleetCapacityExceeded) {
		t.Errorf("got %v without a game server", err)
	}
	w.launch(south)
	w.launch(south)
	w.locations()

	g, err := w.CreateGameSession(t.Context(), w.creation(4))
	if err != nil || g.Status != wire.GameSessionStatusActivating {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := w.ConfirmGameSession(t.Context(), g.GameSessionId); err != nil {
		t.Error(err)
	}
	together(5, func(int) {
		if g, err := w.AwaitGameSession(t.Context(), g.GameSessionId); err != nil ||
			g.Status != wire.GameSessionStatusActive || g.Port.Or(0) != 7777 {
			t.Errorf("%+v, %v", g, err)
		}
	})
	w.watchPlayers(g.GameSessionId)
	w.find(g.GameSessionId)
}

func (w *world) creation(maximum int32) gateway.Creation {
	return gateway.Creation{Input: &wire.CreateGameSessionInput{
		FleetId: w.fleet, Location: south, Name: "duel", MaximumPlayerSessionCount: wire.Some(maximum),
		GameProperties: []wire.GameProperty{{Key: "mode", Value: "duel"}, {Key: "build_id", Value: "1"}},
	}}
}

// locations checks the answer about the fleet's locations: two processes wait in the south.
func (w *world) locations() {
	w.Helper()
	for _, target := range []gateway.Target{{FleetID: w.fleet}, {AliasID: w.alias}} {
		got, err := w.Locations(w.Context(), target)
		if want := []gateway.Location{{Name: north}, {Name: south, Idle: 2}}; err != nil || !slices.Equal(got, want) {
			w.Errorf("%+v: %+v, %v", target, got, err)
		}
	}
	got, err := w.Locations(w.Context(), gateway.Target{FleetID: w.fleet, Location: south})
	if err != nil || len(got) != 1 || got[0].Name != south {
		w.Errorf("%+v, %v", got, err)
	}
	for target, kind := range map[gateway.Target]fault.Kind{
		{Queue: "q"}: fault.InvalidRequest, {FleetID: "fleet-none"}: fault.NotFound,
		{AliasID: "alias-none"}: fault.NotFound,
	} {
		if _, err := w.Locations(w.Context(), target); !fault.Is(err, kind) {
			w.Errorf("%+v: got %v, want %s", target, err, kind)
		}
	}
}

// watchPlayers watches a game session while a player reserves and the session ends.
func (w *world) watchPlayers(id string) {
	w.Helper()
	seen := make(chan *wire.GameSession, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- w.WatchGameSession(w.Context(), id, func(g *wire.GameSession) error { seen <- g; return nil })
	}()
	if g := receive(w.T, "the game session as it is", seen); g.CurrentPlayerSessionCount.Or(-1) != 0 ||
		g.Name != "duel" {
		w.Errorf("%+v", g)
	}
	out, err := w.CreatePlayerSessions(w.Context(),
		&wire.CreatePlayerSessionsInput{GameSessionId: id, PlayerIds: []string{"ada"},
			PlayerDataMap: map[string]string{"ada": "red"}})
	if err != nil || len(out.PlayerSessions) != 1 {
		w.Fatalf("%+v, %v", out, err)
	}
	if p := out.PlayerSessions[0]; p.PlayerId != "ada" || p.PlayerData != "red" ||
		p.Status != wire.PlayerSessionStatusReserved || p.Port.Or(0) != 7777 || p.CreationTime.IsZero() {
		w.Errorf("%+v", p)
	}
	if g := receive(w.T, "a player more", seen); g.CurrentPlayerSessionCount.Or(-1) != 1 {
		w.Errorf("%+v", g)
	}
	players, err := w.DescribePlayerSessions(w.Context(),
		&wire.DescribePlayerSessionsInput{PlayerSessionId: out.PlayerSessions[0].PlayerSessionId})
	if err != nil || len(players.PlayerSessions) != 1 || players.PlayerSessions[0].GameSessionId != id {
		w.Errorf("%+v, %v", players, err)
	}
	terminated, err := w.TerminateGameSession(w.Context(),
		&wire.TerminateGameSessionInput{GameSessionId: id,
			TerminationMode: wire.TerminationModeTriggerOnProcessTerminate})
	if err != nil || terminated.GameSession.GameSessionId != id {
		w.Errorf("%+v, %v", terminated, err)
	}
	if err := receive(w.T, "the end of the watch", ended); err != nil {
		w.Error(err)
	}
	if g, err := w.DescribeGameSession(w.Context(), id); err != nil || g.Status != wire.GameSessionStatusTerminated {
		w.Errorf("%+v, %v", g, err)
	}
}

// find searches for another game session, when over has ended.
func (w *world) find(over string) {
	w.Helper()
	g, err := w.CreateGameSession(w.Context(), w.creation(2))
	if err != nil {
		w.Fatal(err)
	}
	if g, err = w.AwaitGameSession(w.Context(), g.GameSessionId); err != nil {
		w.Fatal(err)
	}
	out, err := w.SearchGameSessions(w.Context(),
		&wire.SearchGameSessionsInput{AliasId: w.alias, FilterExpression: "gameSessionProperties.mode='duel'"})
	if err != nil || len(out.GameSessions) != 1 || out.GameSessions[0].GameSessionId != g.GameSessionId {
		w.Errorf("%+v, %v", out, err)
	}
	_, err = w.CreatePlayerSessions(w.Context(),
		&wire.CreatePlayerSessionsInput{GameSessionId: over, PlayerIds: []string{"bob"}})
	if !fault.Is(err, fault.InvalidGameSessionStatus) && !fault.Is(err, fault.NotFound) {
		w.Errorf("got %v for a game session that is over", err)
	}
	_, err = w.SearchGameSessions(w.Context(), &wire.SearchGameSessionsInput{FleetId: w.fleet,
		FilterExpression: "mode='duel'"})
	if !fault.Is(err, fault.InvalidRequest) {
		w.Errorf("got %v for a bad filter", err)
	}
}

// TestClaims has more players than empty game sessions claim one concurrently: no two may share one, and no claim may
// rename another's.
func TestClaims(t *testing.T) {
	w := start(t)
	w.newFleet()
	const empty, players = 3, 6
	for range empty {
		w.launch(south)
		g, err := w.CreateGameSession(t.Context(), w.creation(8))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AwaitGameSession(t.Context(), g.GameSessionId); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	owners := map[string]string{}
	together(players, func(i int) {
		player := fmt.Sprint("player-", i)
		g, p, err := w.ClaimGameSession(t.Context(), gateway.Claim{
			Target: gateway.Target{AliasID: w.alias}, PlayerID: player, Name: player, Maximum: 2,
			Properties: []wire.GameProperty{{Key: "build_id", Value: "2"}},
		})
		if fault.Is(err, fault.NotFound) {
			return
		}
		if err != nil || p.PlayerId != player || p.GameSessionId != g.GameSessionId {
			t.Errorf("%s: %+v, %+v, %v", player, g, p, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if other, ok := owners[g.GameSessionId]; ok {
			t.Errorf("%s and %s have the same game session", player, other)
		}
		owners[g.GameSessionId] = player
	})
	if len(owners) == 0 {
		t.Error("nobody has a game session")
	}
	for id, owner := range owners {
		g, err := w.DescribeGameSession(t.Context(), id)
		if err != nil || g.Name != owner || g.MaximumPlayerSessionCount.Or(0) != 2 {
			t.Errorf("%s has %+v, %v", owner, g, err)
			continue
		}
		want := []wire.GameProperty{{Key: "mode", Value: "duel"}, {Key: "build_id", Value: "2"}}
		if !slices.Equal(g.GameProperties, want) {
			t.Errorf("properties %v, want %v", g.GameProperties, want)
		}
	}
	_, _, err := w.ClaimGameSession(t.Context(), gateway.Claim{Target: gateway.Target{Queue: "q"}, PlayerID: "ada"})
	if !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("got %v for a queue", err)
	}
}

func TestReadyTellsTheReason(t *testing.T) {
	w := start(t)
	stranger := w.config
	stranger.Credentials = mustertest.StaticKey("AKIASTRANGER00000000", "secret")
	if err := w.connect(remote.Config{AWS: stranger}).Ready(t.Context()); !fault.Is(err, fault.UnrecognizedClient) {
		t.Errorf("got %v with unknown keys", err)
	}
	nowhere := w.config
	nowhere.BaseEndpoint = aws.String("http://127.0.0.1:1")
	if err := w.connect(remote.Config{AWS: nowhere}).Ready(t.Context()); err == nil ||
		fault.Is(err, fault.InternalService) {
		t.Errorf("got %v without a service", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Ready(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the caller left", err)
	}
	if err := w.Ready(t.Context()); err != nil {
		t.Errorf("a caller who left made it unready: %v", err)
	}
}
