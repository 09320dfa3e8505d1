package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/examples/arena/game"
	"github.com/muster-gg/muster/internal/bots"
	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
)

func TestBotsMisuse(t *testing.T) {
	for want, args := range map[string]string{
		"--players is 0":                       "--players 0",
		"--slots is 201":                       "--slots 201",
		"--stay is 0s":                         "--stay 0s",
		"--for is -1s":                         "--for -1s",
		"must be a duration such as 1s, or a":  "--every 20",
		`--connect is "quic": must be one of`:  "--connect quic",
		`--output is "wide": must be table`:    "-o wide",
		"--location needs --fleet or":          "--location custom-home",
		"--gateway is for bots without":        "--gateway http://127.0.0.1:3000 --queue q",
		"--api needs --fleet":                  "--api",
		"need --matchmaking":                   "--team red",
		"--latency here=far: must be millisec": "--matchmaking duel --latency here=far",
		"[fleet queue] were all set":           "--fleet f --queue q",
		"no endpoint: set AWS_ENDPOINT_URL":    "--queue q",
	} {
		got := execute(t, nil, append([]string{"bots"}, strings.Fields(args)...)...)
		if got.status != exitMisuse || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
}

func TestInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "0": 0, "20/s": 50 * time.Millisecond, "90/m": time.Minute / 90,
	} {
		if got, err := interval(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "20", "-1s", "20/h", "0/s", "-1/s", "1e9/s", "NaN/s"} {
		if got, err := interval(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestBotTicket has attributes of each type, and values of ranges.
func TestBotTicket(t *testing.T) {
	b := botsRun{matchmaking: "duel", team: "red", latencies: map[string]string{"us-west-2": "20..22", "here": "7"},
		attributes: map[string]string{"skill": "5..6", "mode": "ctf", "maps": "a+b", "level": "-1.5"}}
	for range 50 {
		r, err := b.ticket("ada")
		if err != nil {
			t.Fatal(err)
		}
		p := r.Players[0]
		if ms := p.LatencyInMS["us-west-2"]; ms < 20 || ms > 22 || p.LatencyInMS["here"] != 7 || p.Team != "red" {
			t.Fatalf("got %+v", p)
		}
		skill := string(p.PlayerAttributes["skill"])
		if skill != `{"N":5}` && skill != `{"N":6}` || string(p.PlayerAttributes["mode"]) != `{"S":"ctf"}` ||
			string(p.PlayerAttributes["maps"]) != `{"SL":["a","b"]}` ||
			string(p.PlayerAttributes["level"]) != `{"N":-1.5}` {
			t.Fatalf("got %s", p.PlayerAttributes)
		}
	}
}

// A botField is a service with a fleet, a queue, a matchmaking configuration and two game servers.
type botField struct {
	*mustertest.Service
	fleet string
}

func newBotField(t *testing.T, change ...func(*muster.Config)) *botField {
	s := mustertest.Start(t, change...)
	f := &botField{s, s.Fleet("custom-home")}
	in := &gamelift.DescribeFleetAttributesInput{FleetIds: []string{f.fleet}}
	arn := mustertest.Call(t, s.Client.DescribeFleetAttributes, in).FleetAttributes[0].FleetArn
	queue := mustertest.Call(t, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: new("arenas"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: arn}},
	}).GameSessionQueue.GameSessionQueueArn
	mustertest.Call(t, s.Client.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: new("duel"), RuleSetBody: new(duelRules),
	})
	mustertest.Call(t, s.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: new("duel"), RuleSetName: new("duel"), AcceptanceRequired: new(true),
		AcceptanceTimeoutSeconds: new(int32(60)), RequestTimeoutSeconds: new(int32(120)),
		GameSessionQueueArns: []string{*queue},
	})
	return f
}

// arena runs a game server until the test ends.
func (f *botField) arena(t *testing.T, compute string) {
	host := f.Compute(f.fleet, "custom-home", compute)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- game.Run(ctx, []string{"-port=0", "-authtoken=" + host.AuthToken, "-hostid=" + host.HostID,
			"-fleetid=" + host.FleetID, "-websocketurl=" + host.WebSocketURL}, t.Output())
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the game server ended with %v", err)
		}
	})
}

func (f *botField) environ() []string {
	return []string{"AWS_ENDPOINT_URL_GAMELIFT=" + f.HTTP, "AWS_REGION=" + f.Region,
		"AWS_ACCESS_KEY_ID=" + f.AccessKey, "AWS_SECRET_ACCESS_KEY=" + f.SecretKey, "MUSTER_GATEWAY_URL=" + f.Gateway}
}

// active counts the players that a game server has accepted.
func (f *botField) active(t *testing.T) (n int) {
	games := mustertest.Call(t, f.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &f.fleet})
	for _, g := range games.GameSessions {
		in := &gamelift.DescribePlayerSessionsInput{GameSessionId: g.GameSessionId,
			PlayerSessionStatusFilter: new("ACTIVE")}
		n += len(mustertest.Call(t, f.Client.DescribePlayerSessions, in).PlayerSessions)
	}
	return n
}

// play runs bots until all have joined, and returns the result.
func (f *botField) play(t *testing.T, players int, args string) result {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stdout bytes.Buffer
	stderr := &lockedBuffer{}
	a := &app{environ: f.environ(), stdin: strings.NewReader(""), stdout: &stdout, stderr: stderr}
	ended := make(chan int, 1)
	go func() {
		ended <- a.run(ctx, append([]string{"bots", "--every=1ms", "--stay=1h", "-o=json"}, strings.Fields(args)...))
	}()
	mustertest.Eventually(t, "all bots have joined", func() bool {
		select {
		case status := <-ended:
			t.Fatalf("ended with %d: %s", status, stderr)
		default:
		}
		return strings.Contains(stderr.String(), "All have joined")
	})
	if n := f.active(t); n != players {
		t.Errorf("%d players are active, want %d", n, players)
	}
	stop()
	return result{<-ended, stdout.String(), stderr.String()}
}

// TestBots fills a game server through each way in.
func TestBots(t *testing.T) {
	t.Parallel()
	viaQueue := func(c *muster.Config) { c.Gateway.Queue = "arenas" }
	for name, test := range map[string]struct {
		args   string // FLEET is the fleet
		change func(*muster.Config)
		via    string
	}{
		"fleet of the gateway": {"", nil, "gateway"},
		"queue of the gateway": {"", viaQueue, "gateway"},
		"fleet":                {"--fleet FLEET", nil, "API"},
		"name of a fleet":      {"--fleet Arena", nil, "API"},
		"queue":                {"--queue arenas", nil, "API"},
		"match":                {"--matchmaking duel --attribute skill=1..9 --latency custom-home=10", nil, "gateway"},
		"match, by the API":    {"--matchmaking duel --api", nil, "API"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*muster.Config)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			f := newBotField(t, changes...)
			f.arena(t, "desk")
			got := f.play(t, 2, "--players 2 --slots 2 "+strings.ReplaceAll(test.args, "FLEET", f.fleet))
			var report struct {
				Joined, MostJoined, Joins, Waiting int
			}
			err := json.Unmarshal([]byte(got.stdout), &report)
			if got.status != exitOK || err != nil || report.Joined != 2 || report.Joins != 2 ||
				report.MostJoined != 2 || report.Waiting != 0 || !strings.Contains(got.stderr, test.via) {
				t.Errorf("got %+v", got)
			}
			mustertest.Eventually(t, "the bots have left", func() bool { return f.active(t) == 0 })
		})
	}
}

// TestBotsFail has errors that a user can correct.
func TestBotsFail(t *testing.T) {
	t.Parallel()
	f := newBotField(t)
	f.arena(t, "desk")
	for args, want := range map[string]string{
		"--fleet fleet-0":                "not found: check the name",
		"--fleet Lab":                    `there is no fleet with the id, ARN or name "Lab"`,
		"--queue none":                   "there is no queue none: check the name",
		"--matchmaking none":             "configuration_not_found: ",
		"--gateway http://127.0.0.1:1":   "the gateway could not be reached: ",
		"--queue arenas --secret-key no": "signature",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			got := execute(t, f.environ(), append([]string{"bots"}, strings.Fields(args)...)...)
			if got.status != exitFailure || !strings.Contains(got.stderr, "muster: no bot has joined") ||
				!strings.Contains(got.stderr, want) || got.stdout != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestBotsRefused has a game server of another version, which a retry cannot help: the bots end, and the message has
// the flag to correct, not the game servers that are not free meanwhile.
func TestBotsRefused(t *testing.T) {
	t.Parallel()
	f := newBotField(t)
	f.arena(t, "desk")
	got := execute(t, f.environ(), strings.Fields("bots --every 0 --players 3 --connect gamenet --game-version 7")...)
	if got.status != exitFailure || !strings.Contains(got.stderr, "VersionMismatch: this server speaks version") ||
		!strings.Contains(got.stderr, ": use --game-version ") || got.stdout != "" {
		t.Errorf("got %+v", got)
	}
}

// TestProgress has no line that a terminal cuts off within a word.
func TestProgress(t *testing.T) {
	s := bots.Snapshot{Joined: 2, Failures: []bots.Failure{{Reason: "refused by the game server: Full", Count: 3}}}
	const line = "  10 s  2 joined  0 waiting  0.5 joins/s  p50 0 s  p99 0 s"
	for width, want := range map[int]string{0: "  refused by the game server: Full: 3", terminalWidth: "  3 failures"} {
		if got := progress(s, 10*time.Second, 0.5, width); got != line+want {
			t.Errorf("width %d: got %q", width, got)
		}
	}
}

// TestMostSpecific prefers a failure at a game server to those of bots that found none free.
func TestMostSpecific(t *testing.T) {
	full := bots.Failure{Count: 9, Last: session.Errorf("Start", session.ErrUnavailable, "full")}
	refused := bots.Failure{Count: 1, Last: &bots.ConnectError{Address: "h:1", Err: errors.New("refused")}}
	if got := mostSpecific([]bots.Failure{full, refused}); got != refused.Last {
		t.Errorf("got %v", got)
	}
	if got := mostSpecific([]bots.Failure{full}); got != full.Last {
		t.Errorf("got %v", got)
	}
}

// TestLineConnections sends the player session id to game servers of any kind.
func TestLineConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	clock := clockwork.NewFakeClock()
	connect := func(network string, to net.Addr) (session.Connection, error) {
		place := session.Reservation{PlayerSessionID: "psess-1", IPAddress: "127.0.0.1"}
		if to != nil {
			place.Port = int(netip.MustParseAddrPort(to.String()).Port())
		}
		return lineConnector{network, clock}.Connect(t.Context(), place)
	}
	t.Run("tcp", func(t *testing.T) {
		c, err := connect("tcp", listener.Addr())
		if err != nil {
			t.Fatal(err)
		}
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		wantLine(t, bufio.NewReader(server))
		_ = server.Close()
		<-c.Done()
		if err := errors.Join(c.Err(), c.Close(t.Context()), c.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Run("udp", func(t *testing.T) {
		c, err := connect("udp", socket.LocalAddr())
		if err != nil {
			t.Fatal(err)
		}
		datagrams := bufio.NewReader(packets{socket})
		wantLine(t, datagrams)
		if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		clock.Advance(repeat)
		wantLine(t, datagrams)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("none", func(t *testing.T) {
		c, err := connect("none", nil)
		if err != nil || c.Err() != nil || c.Close(t.Context()) != nil {
			t.Errorf("got %v, %v", c, err)
		}
	})
	_ = listener.Close()
	if _, err := connect("tcp", listener.Addr()); err == nil {
		t.Error("connected to a closed port")
	}
}

// packets reads datagrams as a stream.
type packets struct{ net.PacketConn }

func (p packets) Read(b []byte) (int, error) {
	n, _, err := p.ReadFrom(b)
	return n, err
}

func wantLine(t *testing.T, from *bufio.Reader) {
	t.Helper()
	if line, err := from.ReadString('\n'); err != nil || line != "psess-1\n" {
		t.Errorf("received %q, %v", line, err)
	}
}

func TestFix(t *testing.T) {
	unknown := &session.Error{Op: "x", Kind: session.ErrDenied}
	full := &session.Error{Op: "Start", Kind: session.ErrUnavailable, Code: "no_capacity"}
	if got := fix(unknown); got != "" {
		t.Errorf("got %q", got)
	}
	if got := fix(full); got != ": "+noServer {
		t.Errorf("got %q", got)
	}
}
