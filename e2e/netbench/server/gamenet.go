package server

import (
	"context"
	"errors"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/frame"
	"github.com/muster-gg/muster/e2e/netbench/room"
	"github.com/muster-gg/muster/gamenet"
)

// game is the server with gamenet: each room is a group, and a tick is one frame that is encoded once.
type game struct {
	service *gamenet.ServerService
	work    Work
	rooms   *room.Rooms[*gamenet.Session]
	groups  [room.Count]*gamenet.Group
}

// sessions is more than any load connects.
const sessions = 12_000

func startGamenet(work Work) (Server, error) {
	s := &game{work: work}
	s.rooms = room.New(work.interval(), s.broadcast)
	for i := range s.groups {
		s.groups[i] = new(gamenet.Group)
	}
	config := gamenet.ServerConfig{MaxSessions: sessions}
	config.Address = "127.0.0.1:0"
	config.Codec = gamenet.U16
	config.NewHandler = func(*gamenet.Session) gamenet.Handler { return &gamer{server: s} }
	if work == RoomsFast {
		config.WhenFull = gamenet.FullBlock // rooms that tick as fast as it goes need something to hold them
		config.FlushDelay = time.Millisecond
	}
	var err error
	if s.service, err = gamenet.NewServer(config); err != nil {
		return nil, err
	}
	return s, s.service.Start(context.Background())
}

// errLeft: a player has left the room.
var errLeft = errors.New("a player has left")

// broadcast gives a tick to the group of a room.
func (s *game) broadcast(room int, players []*gamenet.Session, packets []byte) error {
	if s.groups[room].Len() < len(players) {
		return errLeft
	}
	f := s.service.NewFrame()
	defer f.Release()
	for at := 0; at < len(packets); at += frame.StateSize {
		err := f.Append(gamenet.Packet{ID: frame.StateID, Payload: packets[at+frame.Header : at+frame.StateSize]})
		if err != nil {
			return err
		}
	}
	return s.groups[room].BroadcastFrame(f)
}

// A gamer is the handler of one session.
type gamer struct {
	server *game
	joined bool
}

func (g *gamer) OnConnected(*gamenet.Session) {}

func (g *gamer) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	if g.server.work == Echo {
		_ = s.Send(p) // the load notices
		return
	}
	if err := g.take(s, p); err != nil {
		s.Disconnect(gamenet.Reason{Text: err.Error()})
	}
}

func (g *gamer) take(s *gamenet.Session, p gamenet.Packet) error {
	if !g.joined {
		state, err := frame.StateOf(p.ID, p.Payload)
		if err != nil {
			return err
		}
		g.server.groups[min(int(state.Room), room.Count-1)].Add(s) // Take refuses other rooms
		g.joined = true
	}
	return g.server.rooms.Take(s, p.ID, p.Payload)
}

func (g *gamer) OnDisconnected(*gamenet.Session, error) {}

func (s *game) Address() string { return s.service.Addr().String() }

// Close cuts the connections without a farewell: nothing is measured any more.
func (s *game) Close() error {
	s.rooms.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.service.Close(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
