package server

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// TestChanges follows a game session, a placement and a ticket in the log: lines have the ids that later events do not
// repeat. A node that only follows the shard logs nothing.
func TestChanges(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}}))
	begin := event.At(time.Unix(1_000_000, 0))
	const room = 7
	bodies := []any{
		&fleet.ProcessConnected{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "p"}},
		&fleet.ProcessBecameReady{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "p"}, Port: 9},
		&fleet.ProcessLost{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "p"}, ReconnectBy: begin},
		&fleet.ProcessResumed{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "p"}},
		&fleet.GameSessionCreated{Ordinal: 1, ID: "gs", Name: "S", Maximum: 4, IPAddress: "::1", Port: 9, At: begin,
			Host: fleet.ProcessKey{Compute: "c"}},
		&fleet.GameSessionActivated{Ordinal: 1, At: begin.Add(time.Second), Slots: []fleet.Slot{{PlayerID: "ada"}}},
		&fleet.PlayersReserved{Session: 1, Players: []fleet.Slot{{PlayerID: "bob"}, {PlayerID: "eve"}}},
		&fleet.PlayerAccepted{Session: 1, Index: 1, At: begin},
		&fleet.PlayersTimedOut{Session: 1, Indexes: []uint32{0, 2}},
		&fleet.PlayerRemoved{Session: 1, Index: 1, At: begin.Add(time.Minute)},
		&fleet.GameSessionEnded{Ordinal: 1, Reason: "FORCE_TERMINATED", At: begin.Add(time.Hour)},
		&fleet.ProcessHasEnded{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "p"}, Reason: fleet.EndedCrashed},
		&fleet.ProcessHasEnded{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "q"}, Reason: fleet.EndedByMove},
		&fleet.ProcessConnected{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "r"}},
		&fleet.ProcessHasEnded{ProcessKey: fleet.ProcessKey{Compute: "c", ID: "r"}, Reason: fleet.EndedItself},
	}
	commit := &router.Commit{}
	for _, body := range bodies {
		commit.Facts = append(commit.Facts, event.Fact{Room: room, Body: body})
	}
	commit.Facts = append(commit.Facts,
		event.Fact{Room: region.PlacementsRoom, Body: &placement.PlacementEnded{ID: "pl", Status: placement.TimedOut}},
		event.Fact{Room: region.MatchmakingRoom,
			Body: &matchmaking.TicketEnded{ID: "t", Status: matchmaking.Cancelled}})
	commit.Rooms = make([]fleet.RoomID, len(commit.Facts))
	for i := range bodies {
		commit.Rooms[i] = fleet.RoomID{Fleet: "fleet-1", Location: "custom-a"}
	}
	newChanges(log, 1)[0].observe(commit, false)
	if out.Len() > 0 {
		t.Errorf("a node that does not own the shard logs %s", out.String())
	}
	newChanges(log, 1)[0].observe(commit, true)
	const in, of = " fleet=fleet-1", " fleet=fleet-1 game_session=gs name=S"
	want := []string{
		`msg="server process ready"` + in + ` location=custom-a compute=c process=p port=9`,
		`msg="server process lost"` + in + ` location=custom-a compute=c process=p reconnect_by=` +
			begin.Time().Local().Format(time.TimeOnly),
		`msg="server process resumed"` + in + ` location=custom-a compute=c process=p`,
		`msg="game session created"` + of + ` location=custom-a compute=c max_players=4 address=[::1]:9`,
		`msg="game session active"` + of + ` took=1s`,
		`msg="player slot reserved"` + of + ` player=ada`,
		`msg="player slot reserved"` + of + ` player=bob`,
		`msg="player slot reserved"` + of + ` player=eve`,
		`msg="player joined"` + of + ` player=bob players=1 max_players=4`,
		`msg="player slot timed out"` + of + ` player=ada`,
		`msg="player slot timed out"` + of + ` player=eve`,
		`msg="player left"` + of + ` player=bob players=0 max_players=4 took=1m0s`,
		`msg="game session ended"` + of + ` took=1h0m0s reason=FORCE_TERMINATED`,
		`msg="server process ended"` + in + ` location=custom-a compute=c process=p reason="it crashed" failed=true`,
		`msg="server process ended"` + in + ` location=custom-a compute=c process=r ` +
			`reason="it reported its end before it was ready" failed=true`,
		`msg="placement ended" placement=pl status=TIMED_OUT reason=""`,
		`msg="ticket ended" ticket=t status=CANCELLED reason=""`,
	}
	if got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
