package lobby

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// A world is a service with a fleet of game servers, and the lobby under test.
type world struct {
	*mustertest.Service
	lobby *Lobby
}

// start runs a service with two game servers, for two players each.
func start(t *testing.T) world {
	t.Parallel()
	s := mustertest.Start(t)
	fleet := s.ReadyFleet(2)
	client := gamelift.NewFromConfig(s.AWS) // retries as in production; s.Client does not retry
	return world{s, &Lobby{Client: client, FleetID: fleet.ID, Location: fleet.Location, MaxPlayers: 2,
		Poll: 5 * time.Millisecond}}
}

// join has a player join, which must succeed.
func (w world) join(player string) *types.PlayerSession {
	w.Helper()
	p, err := w.lobby.Join(w.Context(), player, "join-"+player)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// gameSessions returns the number of game sessions that were created.
func (w world) gameSessions() int {
	w.Helper()
	return len(mustertest.Call(w, w.Client.DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{FleetId: &w.lobby.FleetID}).GameSessions)
}

func TestPlayersShareGameSession(t *testing.T) {
	w := start(t)
	ada, bob := w.join("ada"), w.join("bob")
	if *ada.GameSessionId != *bob.GameSessionId {
		t.Error("ada and bob are in different game sessions")
	}
}

func TestFullGameSession(t *testing.T) {
	w := start(t)
	ada := w.join("ada")
	w.Fill(*ada.GameSessionId)
	if bob := w.join("bob"); *bob.GameSessionId == *ada.GameSessionId {
		t.Error("bob is in the full game session")
	}
}

// Two players reserve slots, and one of them connects. After a minute the other slot is free.
func TestReservationExpires(t *testing.T) {
	w := start(t)
	ada, bob := w.join("ada"), w.join("bob")
	w.Connect(*ada.PlayerSessionId)
	w.Advance(time.Minute)
	if eve := w.join("eve"); *eve.GameSessionId != *bob.GameSessionId {
		t.Error("eve did not get the slot of bob")
	}
}

func TestThrottledCallIsRetried(t *testing.T) {
	w := start(t)
	w.Inject(mustertest.Fault{Operation: "CreatePlayerSession", Exception: "ThrottlingException"})
	w.join("ada")
	if left := w.Faults(); len(left) != 0 {
		t.Errorf("no call was throttled: %v", left)
	}
}

// The SDK repeats the call when the connection is closed without an answer. The token makes it the same game session.
func TestLostAnswer(t *testing.T) {
	w := start(t)
	w.Inject(mustertest.Fault{Operation: "CreateGameSession", LoseAnswer: true})
	w.join("ada")
	if n := w.gameSessions(); n != 1 {
		t.Errorf("%d game sessions were created, want 1", n)
	}
}

// A game session ends when its game server was lost for 3 minutes and 20 seconds.
func TestKilledGameServer(t *testing.T) {
	w := start(t)
	ada := w.join("ada")
	w.Kill(*ada.GameSessionId)
	w.Advance(4 * time.Minute)
	if bob := w.join("bob"); *bob.GameSessionId == *ada.GameSessionId {
		t.Error("bob is in the game session whose game server was killed")
	}
}
