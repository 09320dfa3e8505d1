package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	readyEvery = 100 * time.Millisecond // between looks at the port
	notReady   = 10 * time.Second       // after which a port that is not open is reported
	stopDelay  = 10 * time.Second       // for the game to end when it is asked to
	lastCall   = 10 * time.Second       // for the calls after its end

	sessionFileVariable = "MUSTER_GAME_SESSION_FILE"
)

// An exitError is the exit code of a program that muster runs, which becomes its own.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("the program exited with %d", e.code) }

// A wrapper is a run of muster run: a game without server SDK, and the connection that it lacks.
type wrapper struct {
	*app
	fleet, location, name, ip string
	region, endpoint, caFile  string
	profile                   string
	port, readyPort           uint16
	readyLine                 string

	pattern  *regexp.Regexp // of readyLine; nil: none
	log      *slog.Logger
	trust    *tls.Config
	client   *gamelift.Client // nil: an agent has registered the compute
	sessions string           // file of the game session
}

func (a *app) runCommand() *cobra.Command {
	w := &wrapper{app: a}
	command := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGUMENT]...",
		Short: "Run a game without server SDK as a server process",
		Long: `Run a game server that knows nothing of GameLift as a server process of an
Anywhere fleet: register a compute, report the process as ready when its port is
open or when it has written a line, take one game session, and exit with the exit
code of the game.

The game is started at once and hosts one game session. When that begins, the file
that the variable ` + sessionFileVariable + ` names has it as JSON. The game session
ends when the game exits. It gets SIGTERM, and 10 seconds to end, when the service
asks the process to end, and on Ctrl-C.

Under muster agent it uses the compute of the agent.`,
		Example: `  muster run --ready-port 7777 -- ./server -port 7777
  muster run --fleet fleet-1234 --location custom-lab --port 7777 --ready-line 'Done \(' -- java -jar server.jar`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := w.complete(command.Context()); err != nil {
				return &misuseError{err}
			}
			return w.run(command.Context(), args)
		},
	}
	s := command.Flags()
	s.SetInterspersed(false)
	s.StringVar(&w.fleet, "fleet", sampleFleet, "Anywhere fleet, by its id, ARN or name")
	s.StringVar(&w.location, "location", sampleLocation, "location of the fleet")
	s.StringVar(&w.name, "name", "", "name of the compute (default from host and process)")
	s.StringVar(&w.ip, "ip-address", "127.0.0.1", "IP address for players")
	s.Uint16Var(&w.port, "port", 0, "port for players (default --ready-port, else environment MUSTER_PORT)")
	s.Uint16Var(&w.readyPort, "ready-port", 0, "ready when this TCP or UDP port is open")
	s.StringVar(&w.readyLine, "ready-line", "", "ready when a line of standard output matches this regular expression")
	s.StringVar(&w.region, "region", "", "region (environment AWS_REGION)")
	s.StringVar(&w.profile, "profile", "", "profile of the AWS configuration (environment AWS_PROFILE)")
	s.StringVar(&w.endpoint, "endpoint", "",
		"base URL of the API (environment AWS_ENDPOINT_URL_GAMELIFT or AWS_ENDPOINT_URL)")
	s.StringVar(&w.caFile, "ca-file", "", "PEM file of the CA to trust (environment MUSTER_CA_FILE)")
	command.MarkFlagsMutuallyExclusive("ready-port", "ready-line")
	return command
}

// complete checks the options and fills in what is missing.
func (w *wrapper) complete(ctx context.Context) (err error) {
	if w.readyLine != "" {
		if w.pattern, err = regexp.Compile(w.readyLine); err != nil {
			return fmt.Errorf("--ready-line: %w", err)
		}
	}
	if w.port == 0 {
		w.port = w.readyPort
	}
	if text := w.getenv("MUSTER_PORT"); w.port == 0 && text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return fmt.Errorf("MUSTER_PORT: %q is no port", text)
		}
		w.port = uint16(n)
	}
	if w.port == 0 {
		return errors.New("--port or --ready-port must be given")
	}
	if w.name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "host"
		}
		w.name = fmt.Sprintf("%s-%d", notInNames.ReplaceAllString(host, "-"), os.Getpid())
	}
	w.log = slog.New(slog.NewTextHandler(w.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if w.getenv("GAMELIFT_SDK_WEBSOCKET_URL") != "" {
		w.trust, err = w.trusted(w.caFile)
		return err
	}
	w.client, w.trust, err = w.apiClient(ctx, w.profile, w.region, w.endpoint, w.caFile, true)
	return err
}

// notInNames matches what a compute's name may not have. Source: API reference, ComputeName.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9-]`)

// run runs the game. The error is an *exitError for an exit code other than 0.
func (w *wrapper) run(ctx context.Context, args []string) (err error) {
	dir, err := os.MkdirTemp("", "muster-run-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w.sessions = filepath.Join(dir, "game-session.json")
	params, err := w.register(ctx)
	if err != nil {
		return err
	}
	defer w.deregister(ctx)
	return w.play(ctx, params, args)
}

// register returns what the process connects with; nothing under an agent, which has set the environment.
func (w *wrapper) register(ctx context.Context) (p gameserver.ServerParameters, err error) {
	if w.client == nil {
		return p, nil
	}
	fleet, err := fleetNamed(ctx, w.client, w.fleet)
	if err != nil {
		return p, err
	}
	w.fleet = aws.ToString(fleet.FleetId)
	out, err := w.client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &w.fleet,
		Location: &w.location, ComputeName: &w.name, IpAddress: &w.ip})
	if err != nil {
		return p, apiError(err)
	}
	token, err := w.client.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &w.fleet,
		ComputeName: &w.name})
	if err != nil {
		return p, apiError(err)
	}
	w.tell("compute %s in fleet %s", w.name, w.fleet)
	return gameserver.ServerParameters{WebSocketURL: aws.ToString(out.Compute.GameLiftServiceSdkEndpoint),
		HostID: w.name, FleetID: w.fleet, AuthToken: aws.ToString(token.AuthToken)}, nil
}

func (w *wrapper) deregister(ctx context.Context) {
	if w.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	_, err := w.client.DeregisterCompute(ctx, &gamelift.DeregisterComputeInput{FleetId: &w.fleet, ComputeName: &w.name})
	if err != nil {
		w.log.Warn("compute not deregistered", "compute", w.name, "error", apiError(err))
	}
}

// play runs the game to its end.
func (w *wrapper) play(ctx context.Context, params gameserver.ServerParameters, args []string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Env = append(slices.Clone(w.environ), sessionFileVariable+"="+w.sessions)
	command.Cancel = func() error { return interrupt(command.Process) }
	command.WaitDelay = stopDelay
	said := make(chan struct{})
	output := &lineWatch{to: w.stdout, pattern: w.pattern, found: sync.OnceFunc(func() { close(said) })}
	command.Stdout, command.Stderr = output, w.stderr
	if err := command.Start(); err != nil {
		return notStarted(args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()

	server := gameserver.New(gameserver.Config{Log: w.log, TLSConfig: w.trust, Getenv: w.getenv})
	failed := w.offer(ctx, server, params, said, stop, ended)
	if failed != nil {
		stop()
	}
	err := w.await(ctx, server, stop, ended)
	if failed != nil && !errors.Is(failed, errEnded) {
		return failed
	}
	return err
}

// notStarted returns the error of a program that could not be started.
func notStarted(program string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %s", program)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not executable", program)
	}
	return err
}

// tell writes a line of progress to standard error.
func (w *wrapper) tell(format string, args ...any) {
	fmt.Fprintf(w.stderr, "muster run: "+format+"\n", args...)
}

// errEnded is the end of the game before it was ready.
var errEnded = errors.New("the game ended before it was ready")

// offer connects the process and reports it as ready, once it is.
func (w *wrapper) offer(ctx context.Context, server *gameserver.Server, params gameserver.ServerParameters,
	said <-chan struct{}, stop func(), ended chan error) error {
	if err := server.Connect(ctx, params); err != nil {
		return err
	}
	if err := w.awaitReady(ctx, said, ended); err != nil {
		return err
	}
	err := server.ProcessReady(ctx, gameserver.ProcessParameters{
		Port: int(w.port),
		OnStartGameSession: func(g gameserver.GameSession) {
			if err := w.begin(ctx, server, g); err != nil {
				w.log.Error("game session not started", "game_session", g.GameSessionID, "error", err)
				stop()
			}
		},
		OnProcessTerminate: func() {
			w.tell("the service asks the process to end")
			stop()
		},
	})
	if err == nil {
		w.tell("ready at port %d", w.port)
	}
	return err
}

// awaitReady waits until the game is ready.
func (w *wrapper) awaitReady(ctx context.Context, said <-chan struct{}, ended chan error) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	late := w.time().NewTimer(notReady)
	defer late.Stop()
	switch {
	case w.pattern != nil:
		w.tell("waits for a line that matches %s", w.readyLine)
	case w.readyPort != 0:
		w.tell("waits for port %d", w.readyPort)
	}
	for {
		select {
		case err := <-ended:
			ended <- err // for await
			return errEnded
		case <-ctx.Done():
			return errEnded
		case <-said:
			return nil
		case <-late.Chan():
			if w.pattern != nil {
				w.tell("no line matches --ready-line yet")
			} else {
				w.tell("port %d is not open yet: check --ready-port", w.readyPort)
			}
		case <-tick.C:
			if w.pattern == nil && (w.readyPort == 0 || isOpen(ctx, w.readyPort)) {
				return nil
			}
		}
	}
}

// isOpen reports whether a TCP port of this machine accepts connections, or a UDP port is bound.
func isOpen(ctx context.Context, port uint16) bool {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	dialer := net.Dialer{Timeout: readyEvery}
	if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
		conn.Close()
		return true
	}
	return udpBound(ctx, port)
}

// bindFails reports whether a UDP port cannot be bound. A game that binds it at the same time fails.
func bindFails(ctx context.Context, port uint16) bool {
	for _, host := range []string{"127.0.0.1", ""} {
		conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err != nil {
			return ctx.Err() == nil
		}
		_ = conn.Close() // nothing was sent
	}
	return false
}

// begin gives the game session to the game.
func (w *wrapper) begin(ctx context.Context, server *gameserver.Server, g gameserver.GameSession) error {
	text, err := json.MarshalIndent(struct {
		GameSessionID             string            `json:"gameSessionId"`
		Name                      string            `json:"name"`
		MaximumPlayerSessionCount int               `json:"maximumPlayerSessionCount"`
		GameProperties            map[string]string `json:"gameProperties"`
		GameSessionData           string            `json:"gameSessionData"`
		MatchmakerData            string            `json:"matchmakerData"`
		IPAddress                 string            `json:"ipAddress"`
		Port                      int               `json:"port"`
	}{g.GameSessionID, g.Name, g.MaximumPlayerSessionCount, g.GameProperties, g.GameSessionData, g.MatchmakerData,
		g.IPAddress, g.Port}, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(w.sessions, append(text, '\n'), 0o600); err != nil {
		return err
	}
	w.tell("game session %s begins", g.GameSessionID)
	return server.ActivateGameSession(ctx)
}

// await waits for the end of the game, and reports it.
func (w *wrapper) await(ctx context.Context, server *gameserver.Server, stop func(), ended <-chan error) error {
	var err error
	select {
	case err = <-ended:
	case <-server.Done(): // the service has given the process up
		stop()
		err = cmp.Or(<-ended, server.Err())
	}
	asked := ctx.Err() != nil
	w.tell("the game has ended")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	if end := server.ProcessEnding(last); end != nil {
		w.log.Warn("end of the process not reported", "error", end)
	}
	server.Close()
	server.Wait()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if asked && (errors.Is(err, context.Canceled) || failed && exit.ExitCode() < 0) {
		return nil // it has ended because it was asked to
	}
	if failed {
		return &exitError{max(exit.ExitCode(), exitFailure)}
	}
	return err
}

// A lineWatch passes output on, and looks for a line until it has found it.
type lineWatch struct {
	to      io.Writer
	pattern *regexp.Regexp // nil: none, or found
	found   func()
	line    []byte
}

// Write implements io.Writer.
func (l *lineWatch) Write(p []byte) (int, error) {
	if l.pattern != nil {
		l.look(p)
	}
	return l.to.Write(p)
}

func (l *lineWatch) look(p []byte) {
	l.line = append(l.line, p...)
	for l.pattern != nil {
		n, line, err := bufio.ScanLines(l.line, false)
		if n == 0 || err != nil {
			break
		}
		if l.pattern.Match(line) {
			l.pattern = nil
			l.found()
		}
		l.line = l.line[n:]
	}
	if l.pattern == nil || len(l.line) > maxReadyLine {
		l.line = nil
	}
}

// maxReadyLine is the maximum length of the line of --ready-line, in bytes.
const maxReadyLine = 64 << 10
