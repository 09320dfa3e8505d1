package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/bots"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
	"github.com/muster-gg/muster/session/gateway"
)

// defaultGateway is the address of the session gateway of muster dev and muster serve.
const defaultGateway = "http://127.0.0.1:3000"

// A botsRun is a run of muster bots.
type botsRun struct {
	*operatorCall // with api
	config        bots.Config
	gateway       gateway.Config
	target        direct.Target
	matchmaking   string
	team          string
	latencies     map[string]string
	attributes    map[string]string
	connect       string
	gameVersion   uint32
	api           bool // not through the gateway
	limit         time.Duration
	output        string
	http          *http.Transport
}

func (a *app) botsCommand() *cobra.Command {
	b := &botsRun{operatorCall: &operatorCall{app: a}}
	command := &cobra.Command{
		Use:   "bots",
		Short: "Fill game sessions with virtual players",
		Long: `Fill game sessions with virtual players, to see a game server, a queue or a matchmaking
configuration at work. Each bot joins as a game client does: it searches for a game
session with a free slot, or creates one, or waits for a match and accepts it. It stays
connected for a while, leaves, and joins again, until Ctrl-C or --for.

Bots use the session gateway, which chooses the fleet or queue. With --fleet, --alias or
--queue, or with --api, they use the API, with credentials as other commands.

Of --connect, arena is the sample game of "muster dev", whose players walk in a circle;
gamenet the handshake of package gamenet; tcp and udp send the player session id in a
line, udp once a second; none reserves a slot, which is free again after a minute.

Progress goes to standard error, the summary to standard output. The exit status is 1 if
no bot has joined.`,
		Example: `  muster bots
  muster bots --players 100 --every 20/s --stay 2m --for 10m
  ` + sourceDev() + `; muster bots --queue arenas --connect udp
  muster bots --matchmaking duel --latency us-west-2=20..80 --attribute skill=1..100 -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := errors.Join(b.check(), b.complete(command)); err != nil {
				return &misuseError{err}
			}
			return b.run(command.Context())
		},
	}
	b.addFlags(command)
	return command
}

func (b *botsRun) addFlags(command *cobra.Command) {
	f, c := command.Flags(), &b.config
	f.IntVar(&c.Players, "players", 20, "number of bots, 1 to 10000")
	f.StringVar(&b.target.FleetID, "fleet", "", "join game sessions of this fleet, given by its id, ARN or name")
	f.StringVar(&b.target.AliasID, "alias", "", "join game sessions of the fleet of this alias")
	f.StringVar(&b.target.QueueName, "queue", "", "join game sessions of this queue")
	f.StringVar(&b.target.Location, "location", "", "only in this location of the fleet")
	f.StringVar(&b.matchmaking, "matchmaking", "", "join matches of this matchmaking configuration")
	command.MarkFlagsMutuallyExclusive("fleet", "alias", "queue", "matchmaking")
	f.StringVar(&b.team, "team", "", "team of the rule set for all bots, with --matchmaking")
	f.StringToStringVar(&b.latencies, "latency", nil, "`REGION=MS`: latency, as 40 or 20..80, with --matchmaking")
	f.StringToStringVar(&b.attributes, "attribute", nil,
		"`NAME=VALUE` of players: 40, 1..100, text or a+b, with --matchmaking")
	f.Lookup("latency").DefValue, f.Lookup("attribute").DefValue = "", "" // not shown
	f.DurationVar(&c.Stay, "stay", 30*time.Second, "how long a bot stays in a game session")
	c.Every = 200 * time.Millisecond
	every := func(text string) (err error) {
		c.Every, err = interval(text)
		return err
	}
	f.Func("every", "time between two joins, or their rate: `1s or 20/s` (default 200ms)", every)
	f.DurationVar(&b.limit, "for", 0, "how long to run; 0: until Ctrl-C")
	f.IntVar(&c.Slots, "slots", 10, "slots of the game sessions that bots create, 1 to 200")
	f.StringVar(&b.connect, "connect", "arena", "connection to game servers: "+strings.Join(connections, ", "))
	f.Uint32Var(&b.gameVersion, "game-version", 1, "version of the game's protocol, with --connect gamenet")
	f.StringVar(&b.gateway.URL, "gateway", "",
		"base URL of the session gateway (environment MUSTER_GATEWAY_URL; default "+defaultGateway+")")
	f.StringVar(&b.gateway.APIKey, "api-key", "", "API key for the gateway")
	f.StringVar(&b.gateway.BearerToken, "bearer-token", "", "bearer token for the gateway")
	f.BoolVar(&b.api, "api", false, "use the API of the service, not the gateway")
	b.operatorCall.addFlags(command)
	f.StringVarP(&b.output, "output", "o", "table", "form of the summary: table or json")
	_ = command.RegisterFlagCompletionFunc("output", // not wide, as of others
		cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// interval parses a duration, or a rate as 20/s or 90/m.
func interval(text string) (time.Duration, error) {
	count, unit, isRate := strings.Cut(text, "/")
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	n, err := strconv.ParseFloat(count, 64)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute}[unit]
	if !isRate || err != nil || per == 0 || !(n > 0 && n <= 10_000) { // NaN too
		return 0, errors.New("must be a duration such as 1s, or a rate such as 20/s or 90/m")
	}
	return time.Duration(float64(per) / n), nil
}

// check reports invalid flags.
func (b *botsRun) check() error {
	toAPI := b.target != direct.Target{}
	switch c := b.config; {
	case c.Players < 1 || c.Players > 10_000:
		return fmt.Errorf("--players is %d: must be 1 to 10000", c.Players)
	case c.Slots < 1 || c.Slots > 200:
		return fmt.Errorf("--slots is %d: must be 1 to 200", c.Slots)
	case c.Stay <= 0:
		return fmt.Errorf("--stay is %s: must be more than 0", c.Stay)
	case b.limit < 0:
		return fmt.Errorf("--for is %s: must not be negative", b.limit)
	case !slices.Contains(connections, b.connect):
		return fmt.Errorf("--connect is %q: must be one of %s", b.connect, strings.Join(connections, ", "))
	case b.output != "table" && b.output != "json":
		return fmt.Errorf("--output is %q: must be table or json", b.output)
	case b.target.Location != "" && b.target.FleetID == "" && b.target.AliasID == "":
		return errors.New("--location needs --fleet or --alias")
	case b.gateway.URL != "" && (toAPI || b.api):
		return errors.New("--gateway is for bots without --api, --fleet, --alias and --queue: " +
			"the gateway's settings gateway-fleet, gateway-alias and gateway-queue choose the target")
	case b.api && !toAPI && b.matchmaking == "":
		return errors.New("--api needs --fleet, --alias, --queue or --matchmaking")
	case b.matchmaking == "" && (b.team != "" || len(b.latencies)+len(b.attributes) > 0):
		return errors.New("--team, --latency and --attribute need --matchmaking")
	}
	b.api = b.api || toAPI
	if b.matchmaking == "" {
		return nil
	}
	b.config.Ticket = func(id string) session.StartMatchmakingRequest {
		r, _ := b.ticket(id) // checked below
		return r
	}
	_, err := b.ticket("")
	return err
}

// span matches a number, or a range of numbers.
var span = regexp.MustCompile(`^(-?\d+(?:\.\d+)?)(?:\.\.(-?\d+(?:\.\d+)?))?$`)

// number returns a number, or a random one of a range.
func number(text string) (float64, bool) {
	m := span.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	low, err := strconv.ParseFloat(m[1], 64)
	high := low
	if m[2] != "" && err == nil {
		high, err = strconv.ParseFloat(m[2], 64)
	}
	return low + float64(int64(rand.Float64()*(high-low+1))), err == nil && low <= high
}

// ticket makes a bot's request for a match, with random values of the ranges.
func (b *botsRun) ticket(id string) (session.StartMatchmakingRequest, error) {
	p := session.Player{PlayerID: id, Team: b.team, LatencyInMS: map[string]int{},
		PlayerAttributes: map[string]json.RawMessage{}}
	for region, text := range b.latencies {
		ms, ok := number(text)
		if !ok || ms < 0 {
			return session.StartMatchmakingRequest{}, fmt.Errorf(
				"--latency %s=%s: must be milliseconds, such as 40 or 20..80", region, text)
		}
		p.LatencyInMS[region] = int(ms)
	}
	for name, text := range b.attributes {
		var value any = map[string]string{"S": text}
		if n, ok := number(text); ok {
			value = map[string]float64{"N": n}
		} else if strings.Contains(text, "+") {
			value = map[string][]string{"SL": strings.Split(text, "+")}
		}
		p.PlayerAttributes[name], _ = json.Marshal(value) // cannot fail
	}
	return session.StartMatchmakingRequest{ConfigurationName: b.matchmaking, Players: []session.Player{p}}, nil
}

// complete fills in what the environment has.
func (b *botsRun) complete(command *cobra.Command) (err error) {
	if b.api {
		err = b.operatorCall.complete(command.Context())
	} else {
		b.tls, err = b.trusted(b.caFile)
	}
	for _, url := range []string{b.getenv("MUSTER_GATEWAY_URL"), defaultGateway} {
		if b.gateway.URL == "" {
			b.gateway.URL = url
		}
	}
	b.http = http.DefaultTransport.(*http.Transport).Clone()
	b.http.TLSClientConfig, b.http.MaxIdleConns, b.http.MaxIdleConnsPerHost = b.tls, 0, b.config.Players
	return err
}

// gatewayStreams is the number of event streams that a gateway allows a caller. Source: internal/gateway, Config.
const gatewayStreams = 100

// remote returns the provider of all bots, and where it is.
func (b *botsRun) remote() (session.Provider, string) {
	client := &http.Client{Transport: b.http}
	if b.api {
		return direct.New(direct.Config{Endpoint: b.service, Region: b.keys.Region, HTTPClient: client,
			Credentials: b.gamelift().Options().Credentials, Target: b.target}), "the API at " + b.service
	}
	b.gateway.HTTPClient = client
	p := gateway.New(b.gateway)
	if b.config.Players > gatewayStreams {
		p = struct { // no session.TicketWatcher
			session.Provider
			session.Matchmaker
			session.Releaser
		}{p, p.(session.Matchmaker), p.(session.Releaser)}
	}
	return p, "the session gateway at " + b.gateway.URL
}

func (b *botsRun) run(ctx context.Context) error {
	if b.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer b.time().AfterFunc(b.limit, cancel).Stop()
	}
	defer b.http.CloseIdleConnections()
	if _, known := arn.ParseFleet(b.target.FleetID); !known && b.target.FleetID != "" {
		fleet, err := fleetNamed(ctx, b.gamelift(), b.target.FleetID)
		if err != nil {
			return fmt.Errorf("no bot has joined: %w", err)
		}
		b.target.FleetID = *fleet.FleetId
	}
	remote, at := b.remote()
	b.config.Clock, b.config.Name = b.time(), "bot-"+uuid.NewString()[:6]
	b.config.Client = func(id string) *session.Client {
		return session.New(session.Config{Remote: remote, PlayerID: id,
			Connector: bots.Connector{Connector: b.connector(id)}})
	}
	fmt.Fprintf(b.stderr, "%s through %s; Ctrl-C ends.\n", counted(b.config.Players, "bot"), at)
	full := make(chan struct{})
	b.config.Full = func() { close(full) }
	var stats bots.Stats
	began := b.now()
	ended := make(chan error, 1)
	go func() { ended <- bots.Run(ctx, b.config, &stats) }()
	err := b.watch(&stats, began, full, ended)
	s := stats.Snapshot()
	if err == nil || b.output == "json" { // else the error is all that there is to show
		if shown := b.summarize(s, b.now().Sub(began)); shown != nil {
			return shown
		}
	}
	if s.Joins > 0 {
		return nil
	}
	switch {
	case err != nil:
		return noneJoined(s, err)
	case len(s.Failures) > 0:
		return noneJoined(s, mostSpecific(s.Failures))
	case b.matchmaking != "":
		return fmt.Errorf("no bot has joined, %s for a match: run longer, or see 'muster get tickets %s': those "+
			"that are SEARCHING need other players, and PLACING a free game server in a location with --latency",
			waiting(s.Waiting), b.matchmaking)
	}
	return fmt.Errorf("no bot has joined, %s: run longer, or see 'muster get overview': are game servers free?",
		waiting(s.Waiting))
}

func noneJoined(s bots.Snapshot, err error) error {
	return fmt.Errorf("no bot has joined, %s: %w%s", waiting(s.Waiting), err, fix(err))
}

func waiting(n int) string {
	if n == 1 {
		return "1 waits"
	}
	return fmt.Sprintf("%d wait", n)
}

// mostSpecific returns the most frequent failure at a game server, which may be the cause of the others: game servers
// with slots of rejected players are not free. Without one it returns the most frequent failure.
func mostSpecific(failures []bots.Failure) error {
	for _, f := range failures {
		if _, connecting := errors.AsType[*bots.ConnectError](f.Last); connecting {
			return f.Last
		}
	}
	return failures[0].Last
}

// watch shows the progress until the bots have ended: a line each second on a terminal, else one every 10 s.
func (b *botsRun) watch(stats *bots.Stats, began time.Time, full <-chan struct{}, ended <-chan error) error {
	every, start, end, width := 10*time.Second, "", "\n", 0
	if isTerminal(b.stderr) {
		every, start, end, width = time.Second, "\r\x1b[?7l", "\x1b[K\x1b[?7h", terminalWidth
		defer fmt.Fprintln(b.stderr)
	}
	ticks := b.time().NewTicker(every)
	defer ticks.Stop()
	for before := 0; ; {
		select {
		case err := <-ended:
			return err
		case <-full:
			fmt.Fprintf(b.stderr, "%sAll have joined, after %s.%s", start, seconds(b.now().Sub(began).Seconds()),
				strings.TrimSuffix(end, "\n")+"\n")
			full = nil
			continue
		case <-ticks.Chan():
		}
		s := stats.Snapshot()
		rate := float64(s.Joins-before) / every.Seconds()
		fmt.Fprint(b.stderr, start, progress(s, b.now().Sub(began), rate, width), end)
		before = s.Joins
	}
}

// progress has the most frequent failures, or only their number if the line would be longer than width; 0: any.
func progress(s bots.Snapshot, elapsed time.Duration, rate float64, width int) string {
	line := fmt.Sprintf("%4.0f s  %d joined  %d waiting  %.1f joins/s  p50 %s  p99 %s", elapsed.Seconds(),
		s.Joined, s.Waiting, rate, seconds(s.Slot.P50), seconds(s.Slot.P99))
	failures, n := "", 0
	for i, f := range s.Failures {
		if n += f.Count; i < 3 {
			failures += fmt.Sprintf("  %s: %d", f.Reason, f.Count)
		}
	}
	if failures != "" && width > 0 && len(line)+len(failures) >= width {
		failures = "  " + counted(n, "failure")
	}
	return line + failures
}

func seconds(s float64) string { return shortDuration(time.Duration(s * float64(time.Second))) }

// A botFailure is a failure with what to do.
type botFailure struct {
	bots.Failure
	Last string `json:"lastError"`
}

// summarize prints the result.
func (b *botsRun) summarize(s bots.Snapshot, elapsed time.Duration) error {
	all := []botFailure{}
	for _, f := range s.Failures {
		all = append(all, botFailure{f, oneLine(f.Last.Error() + fix(f.Last))})
	}
	if b.output == "json" {
		return json.NewEncoder(b.stdout).Encode(struct {
			Players int     `json:"players"`
			Elapsed float64 `json:"elapsedSeconds"`
			bots.Snapshot
			Failures []botFailure `json:"failures"`
		}{b.config.Players, elapsed.Seconds(), s, all})
	}
	t := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
	row(t, "bots", fmt.Sprintf("%d, at most %d in game sessions at the same time", b.config.Players, s.Most))
	row(t, "joins", fmt.Sprintf("%d in %s, %.1f/s", s.Joins, seconds(elapsed.Seconds()),
		float64(s.Joins)/max(elapsed.Seconds(), 0.001)))
	row(t, "at the end", fmt.Sprintf("%d joined, %d waiting", s.Joined, s.Waiting))
	row(t, "time to a slot", fmt.Sprintf("p50 %s, p99 %s, max %s", seconds(s.Slot.P50), seconds(s.Slot.P99),
		seconds(s.Slot.Max)))
	for _, f := range all {
		row(t, fmt.Sprintf("%s: %d", f.Reason, f.Count), f.Last)
	}
	return t.Flush()
}

// remedies are what to do about errors, by their code, or by their kind; the first that fits.
var remedies = []struct {
	code string
	kind error
	text string
}{
	{"no_capacity", nil, noServer},
	{"FleetCapacityExceededException", nil, noServer},
	{"no_fleet", nil, "create a fleet, or set gateway-fleet, gateway-alias or gateway-queue"},
	{"rate_limited", nil, "join more slowly (--every), or raise gateway-address-rate and gateway-player-rate"},
	{"limit_exceeded", nil, "raise gateway-max-unused-sessions, or join more slowly (--every)"},
	{"configuration_not_found", nil, "create the configuration, or choose another with --matchmaking"},
	{"disconnected", nil, "see the log of the game server, and check that --connect is what it expects"},
	{"unauthenticated", nil, "use --api-key or --bearer-token"},
	{"ticket TIMED_OUT", nil, "use more --players, or other --attribute and --latency: see 'muster match explain'"},
	{"", session.ErrNotFound, "check the name: see 'muster get fleets' and 'muster get queues'"},
	{"", session.ErrUnavailable, noServer},
	{"", session.ErrTransport, "start the service or its gateway, or choose another address (--gateway, --endpoint)"},
}

const noServer = "start more game servers, or use fewer --players or more --slots"

// otherVersion matches the text of a game server that has another version of the protocol. Source: package handshake.
var otherVersion = regexp.MustCompile(`speaks version (\d+) of the protocol`)

// fix returns what to do about an error, after a colon; "" if that is not known.
func fix(err error) string {
	if bots.IsVersionMismatch(err) {
		if m := otherVersion.FindStringSubmatch(err.Error()); m != nil {
			return ": use --game-version " + m[1]
		}
	}
	if _, connecting := errors.AsType[*bots.ConnectError](err); connecting {
		return ": check that the game server listens there, and that --connect is what it expects"
	}
	e, _ := errors.AsType[*session.Error](err)
	for _, r := range remedies {
		if e != nil && (r.code != "" && r.code == e.Code || r.kind != nil && errors.Is(err, r.kind)) {
			return ": " + r.text
		}
	}
	return ""
}
