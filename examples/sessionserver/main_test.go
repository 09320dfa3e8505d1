package main

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
)

// host starts the game server on a compute of the service, and gives the address
// for its players.
func (s *service) host(args ...string) (*program, string) {
	s.t.Helper()
	p := s.compute("Desktop")
	server := launch(s.t, append([]string{
		"-log", "-authtoken=" + p.AuthToken, "-hostid=" + p.HostID, "-fleetid=" + p.FleetID,
		"-websocketurl=" + p.WebSocketURL, "-port", "0",
	}, args...)...)
	_, port, err := net.SplitHostPort(server.prints(`ready players=(\S+)`))
	if err != nil {
		s.t.Fatal(err)
	}
	return server, net.JoinHostPort("127.0.0.1", port)
}

// An ear hears what the players say.
type ear struct{ heard chan string }

func (e ear) OnConnected(*gamenet.Session) {}
func (e ear) OnPacket(_ *gamenet.Session, p gamenet.Packet) {
	select {
	case e.heard <- string(p.Payload):
	default: // enough
	}
}
func (e ear) OnDisconnected(*gamenet.Session, error) {}

// join connects with a player session.
func join(t *testing.T, address, ticket string) (*handshake.Conn, ear, error) {
	e := ear{make(chan string, 16)}
	conn, err := handshake.Dial(t.Context(), handshake.Config{
		Config:  gamenet.Config{Address: address, NewHandler: func(*gamenet.Session) gamenet.Handler { return e }},
		Version: 1, Ticket: ticket,
	})
	if err == nil {
		t.Cleanup(func() { leave(t, conn) })
	}
	return conn, e, err
}

func leave(t *testing.T, conn *handshake.Conn) {
	if err := conn.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestEvening plays a whole game session of real processes: three players with player sessions, of whom one connects
// again, and one without, a talk, and the end after the last player.
func TestEvening(t *testing.T) {
	s := start(t)
	server, address := s.host()
	session := s.session()
	server.prints(`game session begins.* name=Evening level=harbour players=4`)
	tickets := call(t, s.CreatePlayerSessions, &gamelift.CreatePlayerSessionsInput{
		GameSessionId: session, PlayerIds: []string{"ada", "bob", "eve"},
	}).PlayerSessions

	ada, _, err := join(t, address, *tickets[0].PlayerSessionId)
	if err != nil {
		t.Fatal(err)
	}
	bob, heard, err := join(t, address, *tickets[1].PlayerSessionId)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = join(t, address, "psess-00000000-0000-4000-8000-000000000000")
	if _, refused := errors.AsType[*handshake.RefusedError](err); !refused {
		t.Errorf("joined without a player session: %v", err)
	}
	before := ada
	if ada, _, err = join(t, address, *tickets[0].PlayerSessionId); err != nil { // her connection was lost, say
		t.Fatal(err)
	}
	<-before.Done()
	eventually(t, "bob hears ada", func() bool { // who was let in just now may not be among those who are told yet
		if err := ada.Session().Send(gamenet.Packet{ID: 1, Payload: []byte("hello")}); err != nil {
			t.Fatal(err)
		}
		select {
		case said := <-heard.heard:
			if said != "hello" {
				t.Errorf("heard %q", said)
			}
			return true
		default:
			return false
		}
	})
	for player, status := range map[string]types.PlayerSessionStatus{
		"ada": types.PlayerSessionStatusActive, "bob": types.PlayerSessionStatusActive,
		"eve": types.PlayerSessionStatusReserved,
	} {
		if got := s.players(session)[player].Status; got != status {
			t.Errorf("%s is %s, want %s", player, got, status)
		}
	}

	leave(t, ada)
	eventually(t, "ada has left",
		func() bool { return s.players(session)["ada"].Status == types.PlayerSessionStatusCompleted })
	leave(t, bob)
	eve, _, err := join(t, address, *tickets[2].PlayerSessionId) // her reservation keeps the process
	if err != nil {
		t.Fatal(err)
	}
	leave(t, eve)
	server.ends(0)
	s.awaitStatus(session, types.GameSessionStatusTerminated)
	if got := s.players(session)["bob"].Status; got != types.PlayerSessionStatusCompleted {
		t.Errorf("bob is %s", got)
	}
	if strings.Contains(server.text(), "level=ERROR") {
		t.Error("the game server complains")
	}
}

// TestInterrupt sends the players away and says goodbye to the service.
func TestInterrupt(t *testing.T) {
	s := start(t)
	server, address := s.host()
	session := s.session()
	ticket := call(t, s.CreatePlayerSession, &gamelift.CreatePlayerSessionInput{GameSessionId: session,
		PlayerId: new("ada")}).PlayerSession
	ada, _, err := join(t, address, *ticket.PlayerSessionId)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ada.Done()
	server.ends(0)
	s.awaitStatus(session, types.GameSessionStatusTerminated)
}

// TestWrongToken ends with an exit status that says so.
func TestWrongToken(t *testing.T) {
	s := start(t)
	p := s.compute("Desktop")
	launch(t, "-authtoken=wrong", "-hostid="+p.HostID, "-fleetid="+p.FleetID, "-websocketurl="+p.WebSocketURL,
		"-port=0").ends(1)
	launch(t, "-port").ends(1)
}
