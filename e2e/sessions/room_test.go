package sessions

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/gameserver"
)

// A room is a game server in this process, on the session interface. It notes
// which callbacks come, and what the service says of the game session then.
type room struct {
	*gameserver.Host
	world   *world
	door    *handshake.Server
	network *gamenet.ServerService

	mu     sync.Mutex
	id     string // of the game session
	config gameserver.SessionConfig
	notes  []string
}

// room makes a game server that is not connected to the service. It ends with the
// test. healthy may be nil.
func (w *world) room(cfg gameserver.Config, healthy func() bool) *room {
	w.Helper()
	cfg.Getenv = noEnvironment
	cfg.EmptyLimit = time.Second
	r := &room{Host: gameserver.NewHost(cfg), world: w}
	var err error
	r.door, err = handshake.NewServer(handshake.ServerConfig{Version: protocol.Version, Admit: r.admit,
		Resume: true})
	must(w.T, err)
	r.network, err = gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Address: "127.0.0.1:0",
		NewHandler: r.door.NewHandler}})
	must(w.T, err)
	must(w.T, r.network.Start(w.Context()))
	_, err = r.Subscribe(gameserver.SessionCallbacks{
		OnCreateSessionBegin: func(c gameserver.SessionConfig) bool {
			r.hosts(c)
			r.note("OnCreateSessionBegin")
			return true
		},
		OnCreateSessionEnd:   func() { r.note("OnCreateSessionEnd") },
		OnSessionHealthCheck: healthy,
		OnDestroySessionBegin: func() bool {
			r.note("OnDestroySessionBegin")
			r.door.StopAdmitting()
			return r.network.Close(context.Background()) == nil
		},
		OnDestroySessionEnd: func() { r.note("OnDestroySessionEnd") },
	})
	must(w.T, err)
	w.Cleanup(func() {
		_ = r.Close(context.Background())         // a test looks at the end itself
		_ = r.network.Close(context.Background()) // once more, if the Host was never connected
	})
	return r
}

// readyRoom makes a game server that waits for a game session.
func (w *world) readyRoom() *room {
	w.Helper()
	r := w.room(gameserver.Config{}, nil)
	must(w.T, r.Init(w.Context(), w.compute()))
	must(w.T, r.NotifyProcessReady(w.Context(), r.port()))
	return r
}

// port is where players connect.
func (r *room) port() int { return r.network.Addr().(*net.TCPAddr).Port }

func (r *room) hosts(c gameserver.SessionConfig) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.config = c.SessionID, c
}

// note notes a callback and the status of the game session at the service.
func (r *room) note(callback string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := "unknown"
	out, err := r.world.admin.DescribeGameSessions(context.Background(),
		&gamelift.DescribeGameSessionsInput{GameSessionId: &r.id})
	if err == nil && len(out.GameSessions) == 1 {
		status = string(out.GameSessions[0].Status)
	}
	r.notes = append(r.notes, fmt.Sprintf("%s while %s", callback, status))
}

// noted are the callbacks so far.
func (r *room) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// want checks which callbacks came.
func (r *room) want(callbacks ...string) {
	r.world.Helper()
	if got := r.noted(); !slices.Equal(got, callbacks) {
		r.world.Errorf("the callbacks are %q, want %q", got, callbacks)
	}
}

// admit lets a player in whose player session the service accepts.
func (r *room) admit(ctx context.Context, s *gamenet.Session, hello handshake.Hello) (handshake.Admission, error) {
	c := gameserver.PlayerConnection{ConnectionID: s.ID(), PlayerSessionID: hello.Ticket}
	if err := r.ValidatePlayerJoinSession(ctx, c); err != nil {
		return handshake.Admission{}, &handshake.RefusedError{Code: handshake.TicketRefused, Text: err.Error()}
	}
	return handshake.Admission{Handler: &roommate{host: r.Host, connection: c}}, nil
}

// A roommate is a player who is in.
type roommate struct {
	spectator
	host       *gameserver.Host
	connection gameserver.PlayerConnection
}

// OnDisconnected implements gamenet.Handler.
func (p *roommate) OnDisconnected(_ *gamenet.Session, cause error) {
	if handshake.Lost(cause) {
		p.host.HandlePlayerConnectionLost(p.connection)
		return
	}
	// Fails when the service has ended the process.
	_ = p.host.HandlePlayerLeaveSession(context.Background(), p.connection)
}
