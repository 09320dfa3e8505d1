package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
	"github.com/muster-gg/muster/session/lan"
)

// loopback makes a local network of this machine alone.
func loopback(port int) (*lan.Network, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 {
			return lan.New(lan.Config{Port: port, Interfaces: []string{i.Name}})
		}
	}
	return nil, errors.New("this machine has no loopback")
}

// playOnLAN is a second player's program: it looks for a session on the local
// network, for as long as searches last, and then joins it with each line that it
// reads, until the game lets it in. It leaves when there is nothing more to read.
func playOnLAN(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	port, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	network, err := loopback(port)
	if err != nil {
		return err
	}
	client := session.New(session.Config{LAN: network, Connector: connector("bob"), PlayerID: "bob"})
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }()
	found, err := client.Named().Find(ctx, session.FindRequest{LAN: true, Stop: 1})
	if err != nil || len(found) == 0 {
		return fmt.Errorf("found %d sessions: %w", len(found), err)
	}
	fmt.Fprintf(out, "found %s of %s, %d of %d places are free\n", found[0].Name, found[0].OwnerName,
		found[0].OpenConnections, found[0].Connections)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := client.Named().Join(ctx, gameName, found[0]); err != nil {
			fmt.Fprintf(out, "not joined: %v\n", err)
			continue
		}
		at, err := client.Named().ConnectString(gameName)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "joined at %s\n", at)
	}
	return nil
}

// A listenServer is the game of a host on the local network: it lets players in
// when the host has started.
type listenServer struct {
	host   atomic.Pointer[player]
	joined chan string // addresses of players who are in
}

func (l *listenServer) admit(_ context.Context, s *gamenet.Session, _ handshake.Hello) (handshake.Admission, error) {
	if s, _ := l.host.Load().Named().Get(gameName); s.State != session.InProgress {
		return handshake.Admission{}, &handshake.RefusedError{Code: handshake.NoSession,
			Text: "the game has not started"}
	}
	l.joined <- s.RemoteAddr().String()
	return handshake.Admission{Handler: spectator{}}, nil
}

// open begins to listen, until the test ends.
func (l *listenServer) open(t *testing.T) (port int) {
	t.Helper()
	door, err := handshake.NewServer(handshake.ServerConfig{Version: protocol.Version, Unticketed: true,
		Admit: l.admit})
	must(t, err)
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Address: "127.0.0.1:0",
		NewHandler: door.NewHandler}})
	must(t, err)
	must(t, server.Start(t.Context()))
	t.Cleanup(func() { _ = server.Close(context.Background()) }) // players who do not hang up are cut off
	return server.Addr().(*net.TCPAddr).Port
}

// freePort finds a UDP port that nobody uses.
func freePort(t *testing.T) int {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

func checkLAN(t *testing.T) {
	l := &listenServer{joined: make(chan string, 1)}
	port, announcements := l.open(t), freePort(t)
	network, err := loopback(announcements)
	must(t, err)
	wire := newWire(t)
	host := newPlayer(t, wire, session.Config{
		Remote: gateway.New(gateway.Config{URL: "http://127.0.0.1:1", HTTPClient: wire.client()}),
		LAN:    network, ListenIP: "127.0.0.1", ListenPort: port, PlayerID: "ada", PlayerName: "Ada",
	})
	l.host.Store(host)
	must(t, host.Configure(t.Context(), ""))
	must(t, host.Named().Create(t.Context(), gameName, session.Settings{
		IsLANMatch: true, NumPublicConnections: 4, ShouldAdvertise: true, AllowJoinInProgress: true,
		Properties: map[string]string{session.PropertyName: "Friday"},
	}))
	host.wantState(gameName, session.Pending)

	bob := launch(t, "lanplayer", strconv.Itoa(announcements))
	bob.printed.await(t, "found Friday of Ada, 4 of 4 places are free\n")
	join := func() { _, err := io.WriteString(bob.stdin, "join\n"); must(t, err) }
	join()
	bob.printed.await(t, "not joined: .*the game has not started")

	must(t, host.Named().Start(t.Context(), gameName))
	host.wantState(gameName, session.InProgress)
	address, err := host.Named().ConnectString(gameName)
	if err != nil || !strings.HasSuffix(address, ":"+strconv.Itoa(port)) || host.Named().Connection(gameName) != nil {
		t.Errorf("the host is at %q, %v, want its own port %d and no connection", address, err, port)
	}
	join()
	if at := bob.printed.await(t, `\njoined at (\S+)\n`); at != address {
		t.Errorf("bob has joined at %s, the host is at %s", at, address)
	}
	receive(t, "bob in the game", l.joined)
	must(t, bob.stdin.Close())
	bob.ends()
	wire.want(t) // none
}
