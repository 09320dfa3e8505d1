package sample

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/serversdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token     = "3c1b6f0e-5f0a-4c55-9b0e-2f1f6f2b7a10"
	sessionID = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-lab/gsess-1"
)

// A service is a control plane with one process and one game session. It knows
// the player sessions psess-1 to psess-3.
type service struct {
	refuse error
	idle   bool // gives out no game session

	mu       sync.Mutex
	push     func(control.Push)
	port     int32
	calls    []string
	sessions map[string]string // player session id to status
	changed  chan struct{}
}

func newService() *service {
	return &service{changed: make(chan struct{}, 1), sessions: map[string]string{"psess-1": "RESERVED", "psess-2": "RESERVED", "psess-3": "TIMEDOUT"}}
}

func (s *service) Connect(_ context.Context, c control.ServerConnect) (control.ServerLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push = c.Push
	return s, s.refuse
}

// note records a call.
func (s *service) note(format string, args ...any) {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *service) Activate(r control.ProcessReady, done func(error)) {
	s.mu.Lock()
	s.port = r.Port
	push := s.push
	s.mu.Unlock()
	s.note("activate")
	done(nil)
	if !s.idle {
		push(control.CreateGameSessionPush{GameSessionID: sessionID, Name: "duel", MaximumPlayerSessionCount: 4, Port: r.Port})
	}
}

func (s *service) Heartbeat(healthy bool, done func(error)) { done(nil); s.note("healthy %t", healthy) }

func (s *service) ActivateGameSession(gs string, done func(error)) {
	done(nil)
	s.note("active %s", gs)
}

func (s *service) AcceptPlayerSession(_, ps string, done func(error)) {
	s.mu.Lock()
	status, ok := s.sessions[ps]
	if status == "RESERVED" {
		s.sessions[ps] = "ACTIVE"
	}
	s.mu.Unlock()
	switch {
	case !ok:
		done(fault.New(fault.NotFound, "no such player session"))
	case status != "RESERVED":
		done(fault.New(fault.Conflict, "player session is %s", status))
	default:
		done(nil)
		s.note("accept %s", ps)
	}
}

func (s *service) RemovePlayerSession(_, ps string, done func(error)) {
	done(nil)
	s.note("remove %s", ps)
}

func (s *service) UpdatePlayerSessionCreationPolicy(_, _ string, done func(error)) { done(nil) }

func (s *service) DescribePlayerSessions(_ control.PlayerSessionQuery, done func(control.PlayerSessionPage, error)) {
	done(control.PlayerSessionPage{}, nil)
}

func (s *service) ComputeCertificate(done func(path, compute string, err error)) { done("", "", nil) }
func (s *service) Terminate(done func(error))                                    { done(nil); s.note("terminate") }
func (s *service) Disconnected()                                                 {}

func (s *service) await(t *testing.T, call string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		found := strings.Contains("\n"+strings.Join(s.calls, "\n")+"\n", "\n"+call+"\n")
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-s.changed:
		case <-limit:
			t.Fatalf("still waiting for %q in %v", call, s.calls)
		}
	}
}

type buffer struct {
	mu sync.Mutex
	strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

// A run is a sample server at work.
type run struct {
	*service
	t      *testing.T
	out    buffer
	result chan error
	cancel context.CancelFunc
}

// begin runs the sample against a real door.
func begin(t *testing.T, s *service, more ...string) *run {
	t.Helper()
	door := serversdk.New(serversdk.Config{Servers: s, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(door)
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{service: s, t: t, result: make(chan error, 1), cancel: cancel}
	args := append([]string{
		"-log", "-authtoken=" + token, "-hostid=DesktopPC", "-fleetid=fleet-1", "-websocketurl=ws" + strings.TrimPrefix(server.URL, "http"), "-port", "0",
	}, more...)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		r.result <- Run(ctx, args, &r.out)
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
		server.Close()
		if err := door.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *run) end() error {
	r.t.Helper()
	select {
	case err := <-r.result:
		return err
	case <-time.After(20 * time.Second):
		r.t.Fatalf("the sample does not end:\n%s", r.out.String())
		return nil
	}
}

// A guest is a player's connection.
type guest struct {
	net.Conn
	lines *bufio.Reader
	t     *testing.T
}

func (r *run) join(line string) *guest {
	r.t.Helper()
	r.mu.Lock()
	port := r.port
	r.mu.Unlock()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	g := &guest{conn, bufio.NewReader(conn), r.t}
	g.say(line)
	return g
}

func (g *guest) say(line string) {
	g.t.Helper()
	if _, err := fmt.Fprintln(g, line); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guest) expect(want string) {
	g.t.Helper()
	got, err := g.lines.ReadString('\n')
	if err != nil || strings.TrimSuffix(got, "\n") != want {
		g.t.Fatalf("heard %q (%v), want %q", got, err, want)
	}
}

func TestGameSession(t *testing.T) {
	r := begin(t, newService())
	r.await(t, "active "+sessionID)
	r.await(t, "healthy true")

	r.join("JOIN").expect("REFUSED a player session id is needed")
	r.join("HELLO").expect("REFUSED the first line must be JOIN and a player session id")
	r.join("JOIN psess-9").expect("REFUSED NotFoundException: no such player session")
	r.join("JOIN psess-3").expect("REFUSED ConflictException: player session is TIMEDOUT")
	ada := r.join("JOIN psess-1")
	ada.expect("WELCOME 1")
	r.join("JOIN psess-1").expect("REFUSED this player session is in use")
	bob := r.join("JOIN psess-2")
	bob.expect("WELCOME 2")
	bob.say("SAY hello there")
	ada.expect("SAID 2 hello there")
	bob.expect("SAID 2 hello there")

	ada.say("LEAVE")
	r.await(t, "remove psess-1")
	bob.Close() // drops
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.await(t, "remove psess-2")
	r.await(t, "terminate")
	checkLog(t, r.out.String())
}

// checkLog checks the lines that the walk-through looks for, in order.
func checkLog(t *testing.T, log string) {
	t.Helper()
	if strings.Contains(log, token) {
		t.Error("the log tells the token")
	}
	rest := log
	for _, line := range []string{
		"LogInit: Command Line: -log -authtoken=…7a10 -hostid=DesktopPC -fleetid=fleet-1 -websocketurl=ws://",
		"Initializing the GameLift Server", "AUTH_TOKEN : …7a10", "HOST_ID: DesktopPC", "FLEET_ID: fleet-1", "WEBSOCKET_URL: ws://127.0.0.1", "PID : ",
		"[info] Connecting to GameLift WebSocket server", "[info] Connected to WebSocket", "[info] Connection established successfully.",
		"[info] Networking outcome success. Init SDK success", "Calling ProcessReady",
		"Sending Socket Message, isConnected:true, endpoint: 127.0.0.1:", `Received message from websocket: {"Action":"ActivateServerProcess","RequestId":"`,
		"GameSession Initializing : " + sessionID, "Join succeeded: player 1",
	} {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the log lacks %q after the lines before it:\n%s", line, log)
		}
		rest = after
	}
	if !strings.Contains(log, "Performing Health Check") {
		t.Error("the log lacks the health check")
	}
}

func TestRefusedByTheService(t *testing.T) {
	s := newService()
	s.refuse = fault.New(fault.AccessDenied, "the token has expired")
	r := begin(t, s)
	err := r.end()
	var e *gameserver.Error
	if !errors.As(err, &e) || e.Code != 403 {
		t.Errorf("ended with %v, want code 403", err)
	}
	if !strings.Contains(r.out.String(), "GameLift Server Initialization Failed: Error $connect: 403") {
		t.Errorf("log:\n%s", r.out.String())
	}
}

func TestTerminateRemovesPlayers(t *testing.T) {
	r := begin(t, newService(), "-linger")
	r.await(t, "active "+sessionID)
	ada := r.join("JOIN psess-1")
	ada.expect("WELCOME 1")
	ada.say("LEAVE")
	r.await(t, "remove psess-1")
	r.join("JOIN psess-2").expect("WELCOME 2")
	r.push(control.TerminateProcessPush{TerminationTime: time.Now().Add(time.Minute)})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.await(t, "remove psess-2")
	r.await(t, "terminate")
	if r.calls[len(r.calls)-1] != "terminate" {
		t.Errorf("after the end: %v", r.calls)
	}
}

func TestUnticketedPlayersAndInterrupt(t *testing.T) {
	s := newService()
	s.idle = true
	r := begin(t, s, "--AllowUnticketed")
	r.await(t, "activate")
	ada, bob := r.join("JOIN"), r.join("JOIN ")
	first, second := ada.number(), bob.number()
	bob.say("SAY hi")
	ada.expect(fmt.Sprintf("SAID %d hi", second))
	if first == second {
		t.Errorf("both are number %d", first)
	}
	r.cancel()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.await(t, "terminate")
}

func (g *guest) number() (n int) {
	g.t.Helper()
	line, err := g.lines.ReadString('\n')
	if _, scanErr := fmt.Sscanf(line, "WELCOME %d", &n); err != nil || scanErr != nil {
		g.t.Fatalf("heard %q (%v), want WELCOME", line, err)
	}
	return n
}

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("-LOG --allowunticketed -Linger -address 127.0.0.9 -logsecrets -processid p"))
	if err != nil || !o.log || !o.allowUnticketed || !o.linger || !o.logSecrets || o.address != "127.0.0.9" || o.Port != 7777 || o.ProcessID != "p" {
		t.Errorf("parsed %+v, %v", o, err)
	}
	if o, err = parse([]string{"-port=0"}); err != nil || o.Port != 0 || o.ProcessID == "" || o.address != "127.0.0.1" {
		t.Errorf("parsed %+v, %v", o, err)
	}
	for _, line := range []string{"-unknown", "map", "log", "-port=x", "-log=1"} {
		if _, err := parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), "flags, in any case") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestRedact(t *testing.T) {
	for secret, want := range map[string]string{"": "", "abcd": "…cd", "abcdefgh": "…efgh", token: "…7a10"} {
		if got := (options{}).redact(secret); got != want {
			t.Errorf("redact(%s) = %s, want %s", secret, got, want)
		}
	}
	if got := (options{logSecrets: true}).redact(token); got != token {
		t.Errorf("with -logsecrets: %s", got)
	}
}
