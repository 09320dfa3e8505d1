package game

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gameserver"
)

const (
	drainLimit = 10 * time.Second // for the players to be told and taken out
	endLimit   = 10 * time.Second // for saying goodbye to the service

	// A player who has not read for so many packets, eight seconds of ticks, or so many bytes is disconnected.
	queuePackets = 256
	queueBytes   = 256 << 10

	visitors = 100 // connections beyond the players, of those who are to be refused
)

// Run is the whole life of the game server: it connects, hosts one game session, and returns when that has ended, the
// service wants the process to end, or ctx is done. It returns nil after an orderly end, and an error when the process
// was not let in or has lost its connection for good. See Usage for args, which do not begin with the program's name.
func Run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(stdout, Usage)
		return err
	}
	if err != nil {
		return err
	}
	return o.run(ctx, args, stdout)
}

// run is Run with the options that args stand for.
func (o options) run(ctx context.Context, args []string, stdout io.Writer) error {
	out := &printer{to: stdout, quiet: !o.log}
	out.line("LogInit: Command Line: %s", o.commandLine(args))
	out.line("LogSampleGame: Initializing the GameLift Server")
	out.line("LogSampleGame: AUTH_TOKEN : %s", o.redact(o.AuthToken))
	out.line("LogSampleGame: HOST_ID: %s", o.HostID)
	out.line("LogSampleGame: FLEET_ID: %s", o.FleetID)
	out.line("LogSampleGame: WEBSOCKET_URL: %s", o.WebSocketURL)
	out.line("LogSampleGame: PID : %s", o.ProcessID)
	return serve(ctx, o, out)
}

// serve opens the port for players, connects to the service, and plays. What was begun last ends first.
func serve(ctx context.Context, o options, out *printer) (err error) {
	turn := gamenet.NewExecutor(gamenet.ExecutorConfig{})
	defer func() { err = errors.Join(err, turn.Close(context.WithoutCancel(ctx))) }()
	server := gameserver.New(gameserver.Config{Trace: out.message,
		Log: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	g := newGame(o, out, server, turn)
	if err := g.listen(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.drain(ctx)) }()

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
	if err := g.host(ctx); err != nil {
		return err
	}
	return errors.Join(g.drain(ctx), g.goodbye(ctx))
}

// listen opens the port for players.
func (g *game) listen(ctx context.Context) error {
	transport, fingerprint, err := g.options.link.Open()
	if err != nil {
		return err
	}
	if g.entry, err = g.newEntry(); err != nil {
		return err
	}
	g.net, err = gamenet.NewServer(gamenet.ServerConfig{
		Config: gamenet.Config{
			Address:      net.JoinHostPort(g.options.address, strconv.Itoa(g.options.Port)),
			Transport:    playerPorts{transport},
			NewHandler:   g.newHandler,
			MaxPacket:    protocol.MaxPacket,
			QueuePackets: queuePackets, QueueBytes: queueBytes, WhenFull: gamenet.FullDisconnect,
		},
		MaxSessions: max(1000, g.options.maxPlayers+visitors),
	})
	if err != nil {
		return err
	}
	if err := g.net.Start(ctx); err != nil {
		return fmt.Errorf("listen for players: %w", err)
	}
	if fingerprint != "" {
		g.out.always("LogNet: Certificate fingerprint (SHA-256): %s", fingerprint)
	}
	return nil
}

// host says that the process is ready, and plays until it is to end. It returns an error if the process could not
// begin, or has lost the service.
func (g *game) host(ctx context.Context) error {
	terminate := make(chan struct{})
	g.out.line("Calling ProcessReady")
	err := g.server.ProcessReady(ctx, gameserver.ProcessParameters{
		Port:                portOf(g.net.Addr()),
		OnStartGameSession:  func(gs gameserver.GameSession) { g.start(ctx, gs) },
		OnUpdateGameSession: g.updated,
		OnProcessTerminate: func() {
			g.out.line("LogSampleGame: Game Server Process is terminating")
			if at, ok := g.server.TerminationTime(); ok {
				g.out.line("LogSampleGame: Termination is planned for %s", at.UTC().Format(time.RFC3339))
			}
			close(terminate)
		},
		OnHealthCheck: func() bool {
			g.out.line("LogSampleGame: Performing Health Check")
			return true
		},
	})
	if err != nil {
		g.out.line("[error] GameLift Server Initialization Failed: Error %v", err)
		return fmt.Errorf("process ready: %w", err)
	}
	g.out.line("LogSampleGame: GameLift Server Initialization Successful, players connect to %s", g.net.Addr())

	ticks := g.turn.Every(time.Second/time.Duration(g.options.tickRate), g.tick)
	defer ticks.Stop()
	select {
	case <-g.over:
	case <-terminate:
	case <-ctx.Done():
	case <-g.server.Done():
	}
	if err := g.server.Err(); err != nil {
		return fmt.Errorf("game server: %w", err)
	}
	return nil
}

// drain disconnects the players and gives their player sessions back. When it returns nobody is there and nobody can
// come.
func (g *game) drain(ctx context.Context) error {
	g.entry.StopAdmitting()
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	err := g.net.Close(draining)
	if errors.Is(err, context.DeadlineExceeded) {
		g.out.line("LogNet: Not every player has hung up in time")
		return nil // they were cut off
	}
	return err
}

// goodbye tells the service that the process ends.
func (g *game) goodbye(ctx context.Context) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if err := g.server.ProcessEnding(ending); err != nil {
		g.out.line("[error] Process ending failed: %v", err) // the process ends all the same
		return nil
	}
	g.out.line("LogSampleGame: Process ending")
	return nil
}

// A printer writes the log.
type printer struct {
	mu    sync.Mutex
	to    io.Writer
	quiet bool
}

// line prints a line, if a log is wanted.
func (p *printer) line(format string, args ...any) {
	if !p.quiet {
		p.always(format, args...)
	}
}

// always prints a line that players cannot do without.
func (p *printer) always(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.to, format+"\n", args...)
}

// Write prints lines of the log: why the service cannot be reached, for example.
func (p *printer) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to.Write(lines)
}

// message shows a message between this process and the service.
func (p *printer) message(m gameserver.Message) {
	if !m.Sent {
		p.line("Received message from websocket: %s", m.Text)
		return
	}
	remote := url.URL{Host: m.Remote.String()}
	p.line("Sending Socket Message, isConnected:true, endpoint: %s, host: %s, port: %s",
		remote.Host, remote.Hostname(), remote.Port())
}

// highestPort is the highest that a process may name. Source: server SDK 5, validation of ProcessParameters.
const highestPort = 60000

// playerPorts is a transport that, where any free port will do, finds one that players can be sent to: of those that a
// system gives out by itself some are too high.
type playerPorts struct{ gamenet.Transport }

func (t playerPorts) Listen(ctx context.Context, address string) (gamenet.Listener, error) {
	const attempts = 64
	_, wanted, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var tooHigh []gamenet.Listener // held until another is found, so that they are not given out again
	defer func() {
		for _, l := range tooHigh {
			_ = l.Close() // it is unused
		}
	}()
	for range attempts {
		l, err := t.Transport.Listen(ctx, address)
		if err != nil || wanted != "0" || portOf(l.Addr()) <= highestPort {
			return l, err
		}
		tooHigh = append(tooHigh, l)
	}
	return nil, errors.New("the system gives out no port up to 60000; name one with -port")
}

// portOf is the port of an address of TCP or UDP.
func portOf(a net.Addr) int {
	address, _ := netip.ParseAddrPort(a.String())
	return int(address.Port())
}
