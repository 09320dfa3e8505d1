package session_test

import (
	"context"
	"fmt"
	"net"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

// A lanGame is the game server in the program of the player who hosts.
type lanGame struct {
	server *gamenet.ServerService
	games  *session.NamedSessions // set before open is closed
	open   chan struct{}          // closed when players may join
}

// host listens for players, and announces the game on the local network until it is closed.
func host(ctx context.Context, network session.LAN) (_ *lanGame, err error) {
	g := &lanGame{open: make(chan struct{})}
	entry, err := handshake.NewServer(handshake.ServerConfig{
		Version: 1, Unticketed: true, // there are no player sessions on a local network
		Admit: g.admit,
	})
	if err != nil {
		return nil, err
	}
	g.server, err = gamenet.NewServer(gamenet.ServerConfig{
		Config: gamenet.Config{Address: "127.0.0.1:0", NewHandler: entry.NewHandler},
	})
	if err != nil {
		return nil, err
	}
	if err := g.server.Start(ctx); err != nil {
		return nil, err
	}
	client := session.New(session.Config{LAN: network, PlayerID: "ada", ListenIP: "127.0.0.1",
		ListenPort: g.server.Addr().(*net.TCPAddr).Port})
	g.games = client.Named()
	close(g.open)
	return g, g.games.Create(ctx, "game", session.Settings{
		NumPublicConnections: 2, IsLANMatch: true, Properties: map[string]string{session.PropertyName: "Friday"},
	})
}

// admit counts a player, so that searches see how many slots are open.
func (g *lanGame) admit(ctx context.Context, _ *gamenet.Session, h handshake.Hello) (handshake.Admission, error) {
	<-g.open
	player := string(h.Data)
	if err := g.games.RegisterPlayer(ctx, "game", player); err != nil {
		return handshake.Admission{}, err // the session is full
	}
	fmt.Println(player, "joins")
	return handshake.Admission{Handler: guest{g, player}}, nil
}

func (g *lanGame) close(ctx context.Context) error {
	if err := g.games.Destroy(ctx, "game"); err != nil { // no further players
		return err
	}
	return g.server.Close(ctx)
}

// A guest is a player's connection at the host.
type guest struct {
	game   *lanGame
	player string
}

func (guest) OnConnected(*gamenet.Session) {}

func (guest) OnPacket(*gamenet.Session, gamenet.Packet) {}

func (g guest) OnDisconnected(*gamenet.Session, error) {
	// It fails if the game has ended.
	_ = g.game.games.UnregisterPlayer(context.Background(), "game", g.player)
	fmt.Println(g.player, "has left")
}

// A player hosts a game on the local network, and another one joins. Neither needs a service or Configure.
func ExampleNamedSessions_lanHost() {
	ctx := context.Background()
	var network sessiontest.LAN // lan.New(lan.Config{}) in a game
	game, err := host(ctx, &network)
	if err != nil {
		fmt.Println(err)
		return
	}
	bob := session.New(session.Config{LAN: &network, PlayerID: "bob", Connector: session.Gamenet{
		Config: handshake.Config{
			Config:  gamenet.Config{NewHandler: func(*gamenet.Session) gamenet.Handler { return screen{} }},
			Version: 1, Data: []byte("bob"),
		},
	}})
	found, err := bob.Named().Find(ctx, session.FindRequest{LAN: true, Stop: 1})
	if err != nil || len(found) == 0 {
		fmt.Println("nothing found:", err)
		return
	}
	if err := bob.Named().Join(ctx, "game", found[0]); err != nil {
		fmt.Println(err)
		return
	}
	mine, _ := game.games.Get("game")
	fmt.Println(found[0].Name, mine.Players, mine.OpenPublic)
	fmt.Println(bob.Close(ctx), game.close(ctx))
	// Output:
	// bob joins
	// Friday [bob] 1
	// bob has left
	// <nil> <nil>
}

// A screen is a player's side of the game.
type screen struct{}

func (screen) OnConnected(*gamenet.Session)              {}
func (screen) OnPacket(*gamenet.Session, gamenet.Packet) {}
func (screen) OnDisconnected(*gamenet.Session, error)    {}
