package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

// endLimit is how long the process takes at most to say goodbye to the service.
const endLimit = 10 * time.Second

// Run is the whole life of the game server: it connects, hosts one game session,
// and returns when that has ended, the service wants the process to end, or ctx
// is done. It returns nil after an orderly end, and an error when the process
// was not let in or has lost its connection for good. See Usage for args, which
// do not begin with the program's name.
func Run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	out := &printer{to: stdout, quiet: !o.log}
	out.line("LogInit: Command Line: %s", o.commandLine(args))
	out.line("LogSampleGame: Initializing the GameLift Server")
	out.line("LogSampleGame: AUTH_TOKEN : %s", o.redact(o.AuthToken))
	out.line("LogSampleGame: HOST_ID: %s", o.HostID)
	out.line("LogSampleGame: FLEET_ID: %s", o.FleetID)
	out.line("LogSampleGame: WEBSOCKET_URL: %s", o.WebSocketURL)
	out.line("LogSampleGame: PID : %s", o.ProcessID)

	listener, err := listen(ctx, o.address, o.Port)
	if err != nil {
		return err
	}
	defer listener.Close()
	server := gameserver.New(gameserver.Config{Trace: out.message})
	defer server.Wait()
	defer server.Close()
	out.line("[info] Connecting to GameLift WebSocket server")
	if err := server.Connect(ctx, o.ServerParameters); err != nil {
		out.line("[error] GameLift Server Initialization Failed: Error %v", err)
		return fmt.Errorf("game server initialization: %w", err)
	}
	out.line("[info] Connected to WebSocket")
	out.line("[info] Connection established successfully.")
	out.line("[info] Networking outcome success. Init SDK success")
	return host(ctx, o, out, server, listener)
}

// host says that the process is ready, plays, and says that it ends.
func host(ctx context.Context, o options, out *printer, server *gameserver.Server, listener net.Listener) error {
	g := newGame(o, out, server)
	terminate := make(chan struct{})
	out.line("Calling ProcessReady")
	err := server.ProcessReady(ctx, gameserver.ProcessParameters{
		Port:               listener.Addr().(*net.TCPAddr).Port,
		OnStartGameSession: func(gs gameserver.GameSession) { g.start(ctx, gs) },
		OnProcessTerminate: func() {
			out.line("LogSampleGame: Game Server Process is terminating")
			close(terminate)
		},
		OnHealthCheck: func() bool {
			out.line("LogSampleGame: Performing Health Check")
			return true
		},
	})
	if err != nil {
		out.line("[error] GameLift Server Initialization Failed: Error %v", err)
		return fmt.Errorf("process ready: %w", err)
	}
	out.line("LogSampleGame: GameLift Server Initialization Successful, players connect to %s", listener.Addr())

	playing, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan struct{})
	go func() {
		defer close(served)
		g.serve(playing, listener)
	}()
	select {
	case <-g.over:
	case <-terminate:
	case <-ctx.Done():
	case <-server.Done():
	}
	stop()
	<-served
	return end(ctx, out, server)
}

// end tells the service that the process ends.
func end(ctx context.Context, out *printer, server *gameserver.Server) error {
	if err := server.Err(); err != nil {
		return fmt.Errorf("game server: %w", err)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if err := server.ProcessEnding(ending); err != nil {
		out.line("[error] Process ending failed: %v", err) // the process ends all the same
		return nil
	}
	out.line("LogSampleGame: Process ending")
	return nil
}

// listen opens the port for players. Of the ports that a system gives out by
// itself, some are above the highest that a process may name.
func listen(ctx context.Context, address string, port int) (net.Listener, error) {
	const highest, attempts = 60000, 64
	for range attempts {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("listen for players: %w", err)
		}
		if port != 0 || l.Addr().(*net.TCPAddr).Port <= highest {
			return l, nil
		}
		defer l.Close() // held until another is found, so that it is not given out again
	}
	return nil, errors.New("listen for players: the system gives out no port up to 60000; name one with -port")
}

// A printer writes the log.
type printer struct {
	mu    sync.Mutex
	to    io.Writer
	quiet bool
}

func (p *printer) line(format string, args ...any) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.to, format+"\n", args...)
}

// message shows a message between this process and the service.
func (p *printer) message(m gameserver.Message) {
	if !m.Sent {
		p.line("Received message from websocket: %s", m.Text)
		return
	}
	remote := url.URL{Host: m.Remote.String()}
	p.line("Sending Socket Message, isConnected:true, endpoint: %s, host: %s, port: %s", remote.Host, remote.Hostname(), remote.Port())
}
