// Command guess is a whole multiplayer game, both the game server and the client: players race to find a number from 1
// to 100, and each sees the guesses of all. Do steps 1 to 3 of docs/tutorial.md, with this server, and then play:
//
//	go run ./examples/guess server -websocketurl=$MUSTER_WS_URL -hostid=desk -fleetid=$FLEET -authtoken=$TOKEN
//	go run ./examples/guess play http://127.0.0.1:3000 ada
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

// The protocol: a client sends its name with Hello, and then guesses; the server sends lines of text to all clients.
const version, guessPacket, textPacket, gameOver = 1, 1, 2, 1 // gameOver is the code of a gamenet.Reason

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if len(os.Args) == 4 && os.Args[1] == "play" {
		err = play(ctx, os.Args[2], os.Args[3])
	} else {
		err = serve(ctx, os.Args[1:]) // ParseArgs keeps words that it does not know in Rest
	}
	if stop(); err != nil {
		log.Fatal(err)
	}
}

// serve is the game server. It hosts one game session, and returns when its end is reported to the service.
func serve(ctx context.Context, args []string) error {
	flags, errArgs := gameserver.ParseArgs(args)
	r := &room{host: gameserver.NewHost(gameserver.Config{Log: slog.Default()}), secret: rand.IntN(100) + 1}
	players, errPlayers := handshake.NewServer(handshake.ServerConfig{Version: version, Admit: r.admit})
	cfg := gamenet.Config{Address: fmt.Sprint(":", flags.Port), NewHandler: players.NewHandler, Log: slog.Default()}
	network, errNetwork := gamenet.NewServer(gamenet.ServerConfig{Config: cfg})
	disconnect := func() bool { return network.Close(context.WithoutCancel(ctx)) == nil } // waits for OnDisconnected
	_, errHost := r.host.Subscribe(gameserver.SessionCallbacks{OnDestroySessionBegin: disconnect})
	if err := errors.Join(errArgs, errPlayers, errNetwork, errHost); err != nil {
		return err // the settings are wrong
	}
	if err := network.Start(ctx); err != nil {
		return err
	}
	if err := r.host.Init(ctx, flags.ServerParameters); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.host.HandleDestroySession)()            // Ctrl-C
	_ = r.host.NotifyProcessReady(ctx, network.Addr().(*net.TCPAddr).Port) // Wait returns its error
	return r.host.Wait()
}

// A room is the game, and the handler of all players. Their callbacks overlap: a field that changes would need a lock.
type room struct {
	host    *gameserver.Host
	players gamenet.Group
	secret  int
}

// admit accepts a player if the service accepts the ticket, which is the player session id.
func (r *room) admit(ctx context.Context, s *gamenet.Session, hello handshake.Hello) (handshake.Admission, error) {
	s.SetValue(string(hello.Data)) // the name
	c := gameserver.PlayerConnection{ConnectionID: s.ID(), PlayerSessionID: hello.Ticket}
	return handshake.Admission{Handler: r}, r.host.ValidatePlayerJoinSession(ctx, c)
}

func (r *room) OnConnected(s *gamenet.Session) { r.players.Add(s) }

func (r *room) OnPacket(s *gamenet.Session, packet gamenet.Packet) {
	guess, _ := strconv.Atoi(string(packet.Payload)) // 0 for what is no number
	if guess != r.secret {
		hint := map[bool]string{true: "low", false: "high"}[guess < r.secret]
		line := fmt.Appendf(nil, "%q guesses %d: too %s", s.Value(), guess, hint)
		_ = r.players.Broadcast(gamenet.Packet{ID: textPacket, Payload: line})
		return
	}
	for _, player := range r.players.Members() {
		player.Disconnect(gamenet.Reason{Code: gameOver, Text: fmt.Sprintf("%q wins: it was %d", s.Value(), guess)})
	}
	r.host.HandleDestroySession() // begins the end of the process
}

func (r *room) OnDisconnected(s *gamenet.Session, _ error) {
	_ = r.host.HandlePlayerLeaveSession(context.Background(), gameserver.PlayerConnection{ConnectionID: s.ID()})
}

// play is the client. It joins a game session with a free slot, or creates one, and returns when the game has ended.
func play(ctx context.Context, url, name string) (err error) {
	d := &screen{over: make(chan error, 2)}
	cfg := handshake.Config{Version: version, Data: []byte(name)}
	cfg.NewHandler = func(*gamenet.Session) gamenet.Handler { return d }
	remote := gateway.New(gateway.Config{URL: url})
	c := session.New(session.Config{Remote: remote, Connector: session.Gamenet{Config: cfg}})
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	d.games = c.Named()
	configured := c.Configure(ctx, "")
	found, err := d.games.Find(ctx, session.FindRequest{})
	if err = errors.Join(configured, err); err == nil && len(found) > 0 {
		err = d.games.Join(ctx, "game", found[0])
	} else if err == nil {
		create := d.games.Create(ctx, "game", session.Settings{NumPublicConnections: 4})
		err = errors.Join(create, d.games.Start(ctx, "game"))
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { d.over <- nil })() // Ctrl-C: Close, above, leaves the game
	cause := <-d.over
	if end, ok := errors.AsType[*gamenet.PeerError](cause); ok && end.Code == gameOver {
		_, cause = fmt.Fprintln(os.Stdout, end.Text)
	}
	return cause
}

// A screen is the client's handler.
type screen struct {
	games *session.NamedSessions
	over  chan error
}

func (d *screen) OnConnected(s *gamenet.Session) {
	go func() {
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			_ = s.Send(gamenet.Packet{ID: guessPacket, Payload: input.Bytes()})
		}
	}()
}

func (d *screen) OnPacket(_ *gamenet.Session, packet gamenet.Packet) {
	fmt.Fprintln(os.Stdout, string(packet.Payload))
}

func (d *screen) OnDisconnected(_ *gamenet.Session, cause error) {
	_ = d.games.Destroy(context.Background(), "game") // leaves; in a callback it does not wait
	d.over <- cause
}
