package room

import (
	"bytes"
	"errors"
	"testing"

	"github.com/muster-gg/muster/e2e/netbench/frame"
)

func TestRooms(t *testing.T) {
	ticks := make(chan []byte)
	stop := errors.New("stop")
	rooms := New(0, func(room int, players []int, packets []byte) error {
		if room != 7 {
			t.Errorf("room %d ticks", room)
		}
		for i, player := range players {
			if player != 100+i {
				t.Errorf("connection %d is player %d", player, i)
			}
		}
		ticks <- bytes.Clone(packets)
		return stop
	})
	packet := make([]byte, frame.StateSize)
	for player := range uint16(Players) {
		frame.State{Room: 7, Player: player, Tick: uint32(player)}.Put(packet)
		if err := rooms.Take(100+int(player), frame.StateID, frame.Payload(packet)); err != nil {
			t.Fatal(err)
		}
	}
	rest := <-ticks
	rooms.Stop()
	for player := range uint16(Players) {
		if packet, rest, _ = frame.Next(rest); packet == nil {
			t.Fatal("the tick ends before player", player)
		}
		want := frame.State{Room: 7, Player: player, Tick: uint32(player)}
		if got, err := frame.Check(packet); err != nil || got != want {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes more than the players", len(rest))
	}
}

func TestTakeRefuses(t *testing.T) {
	rooms := New(Tick, func(int, []int, []byte) error { return nil })
	packet := make([]byte, frame.EchoSize)
	frame.PutEcho(packet, 1)
	if rooms.Take(1, frame.EchoID, frame.Payload(packet)) == nil {
		t.Error("an echo packet is taken for a state")
	}
	for _, s := range []frame.State{{Room: Count}, {Player: Players}} {
		s.Put(packet[:frame.StateSize])
		if err := rooms.Take(1, frame.StateID, packet[frame.Header:frame.StateSize]); !errors.Is(err, errUnasked) {
			t.Errorf("player %d in room %d: %v", s.Player, s.Room, err)
		}
	}
	rooms.Stop()
}
