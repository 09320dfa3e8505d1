package control

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// lastNumber restarts the plane when a number has been the last that its only shard gave to a room.
func (w *world) lastNumber(number uint32) {
	w.t.Helper()
	w.stop()
	journal, last := w.journals[0].Reopen(), uint64(0)
	if err := journal.Replay(w.ctx, 0, func(seq uint64, _ []byte) error { last = seq; return nil }); err != nil {
		w.t.Fatal(err)
	}
	record := bytes.NewBuffer([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1}) // an ordinary one of owner 1; see package shard
	for _, body := range []any{&region.RoomOpened{Fleet: "fleet-between", Location: "custom-a"}, &region.RoomClosed{}} {
		if err := region.Events.Append(record, event.Fact{Room: number, Body: body}); err != nil {
			w.t.Fatal(err)
		}
	}
	if _, err := journal.Append(w.ctx, last, record.Bytes()); err != nil {
		w.t.Fatal(err)
	}
	w.restart()
}

// hostOn is like host with one process, on a location whose room has this number.
func (w *world) hostOn(number uint16) (id string, s *socket) {
	w.t.Helper()
	id, sockets := w.host(1)
	if _, err := w.read(w.ctx, w.room(id, "custom-a"), func(r *fleet.Room) {
		if r.Address().Room != number {
			w.t.Errorf("the room has number %d, want %d", r.Address().Room, number)
		}
	}); err != nil {
		w.t.Fatal(err)
	}
	return id, sockets[0]
}

// The number of a deleted location's room is used again. The ids of its player sessions lead to them as long as the
// history keeps them, and then to none: never to a player of the later location.
func TestOldPlayerSessionsOfAReusedNumber(t *testing.T) {
	w := newWorld(t, func(w *world) { w.journals = w.journals[:1] })
	before, s := w.hostOn(1)
	old := w.active(before, nil, s)
	x := text(w.must("CreatePlayerSession", object{"GameSessionId": old, "PlayerId": "x"}), "PlayerSession",
		"PlayerSessionId")
	s.ok(s.accept(old, x))
	s.ok(s.end())
	w.archived(old)
	described := fmt.Sprint(w.must("DescribePlayerSessions", object{"PlayerSessionId": x}))
	w.must("DeleteFleet", object{"FleetId": before})
	w.advance("the room to be closed", time.Minute, func() bool {
		found, err := w.read(w.ctx, w.room(before, "custom-a"), func(*fleet.Room) {})
		return err == nil && !found
	})
	w.lastNumber(region.MaxRooms)

	later, s := w.hostOn(1)
	session := w.active(later, nil, s)
	y := text(w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "y"}), "PlayerSession",
		"PlayerSessionId")
	if err := s.accept(session, x); !fault.Is(err, fault.NotFound) {
		t.Errorf("the later location accepted the former one's player: %v", err)
	}
	for range 2 { // in memory and in the history
		if got := fmt.Sprint(w.must("DescribePlayerSessions", object{"PlayerSessionId": x})); got != described {
			t.Errorf("the former player session is %s, and was %s", got, described)
		}
		out := w.must("DescribePlayerSessions", object{"PlayerSessionId": y})
		if got := text(out, "PlayerSessions", 0, "GameSessionId"); got != session {
			t.Errorf("the later player session is in %s, not %s", got, session)
		}
		if w.status(session) == "ACTIVE" {
			s.ok(s.end())
			w.archived(session)
		}
	}
	w.elapse(30*24*time.Hour + time.Hour)
	w.advance("the end of the entry", time.Minute, func() bool {
		_, err := w.call("DescribePlayerSessions", object{"PlayerSessionId": x})
		return fault.Is(err, fault.NotFound)
	})
}
