package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/examples/arena/protocol"
)

func (a *app) demoCommand() *cobra.Command {
	var watch, verbose bool
	command := &cobra.Command{
		Use:   "demo",
		Short: "Run a demo with a service, a game server and players",
		Long: `Start a service in a temporary directory and a game server as a separate process,
and play a game: create a fleet, connect the server, start a game session,
reserve player slots, get rejected when the game is full or a ticket is forged,
join, see the other player walk, talk, and leave. Every call is a real one over
a socket, made with the official AWS SDK; the time since the start is before its
answer. The exit status is 0 only if every step succeeded. --verbose also shows the
log of the game server.

With --watch the demo goes on until Ctrl-C: game servers start and end, and players
come and go. Watch them in the console, whose address is printed first.`,
		Example: `  muster demo
  muster demo --verbose
  muster demo --watch`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.demo(command.Context(), watch, verbose)
		},
	}
	command.Flags().BoolVarP(&verbose, "verbose", "v", false, "show the log of the game server")
	command.Flags().BoolVar(&watch, "watch", false, "go on until Ctrl-C, to be watched in the console")
	return command
}

// demoLimit is the time-out of the story.
const demoLimit = 2 * time.Minute

// demo runs the service around the story.
func (a *app) demo(ctx context.Context, watch, verbose bool) (err error) {
	config := muster.DefaultConfig()
	config.Listen, config.Gateway.Listen, config.LogLevel = "127.0.0.1:0", "127.0.0.1:0", "warn"
	if config.Log = config.Logger(a.stderr); watch {
		config.OpenConsole = "on"
	}
	if config.Data, err = os.MkdirTemp("", "muster-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(config.Data)) }()
	ready := make(chan muster.Endpoints, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }

	service, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- a.serve(service, config) }()
	select {
	case e := <-ready:
		if watch {
			fmt.Fprintf(a.stdout, "The console is at %s/console/\n\n", e.HTTP)
		}
		switch err = a.tell(ctx, e, verbose); {
		case err != nil:
		case watch:
			err = a.watch(ctx, config, e)
		default:
			fmt.Fprint(a.stdout, afterDemo)
		}
	case err = <-served:
		stop()
		return err
	}
	stop()
	return errors.Join(err, <-served)
}

// afterDemo has the next steps.
const afterDemo = `
Next: 'muster dev' starts a service with sample game servers, for calls of your own;
'muster demo --watch' goes on until Ctrl-C, to be watched in the console.
`

// tell plays the story against a service.
func (a *app) tell(ctx context.Context, e muster.Endpoints, verbose bool) error {
	ctx, cancel := context.WithTimeout(ctx, demoLimit)
	defer cancel()
	client, err := newClient(e)
	if err != nil {
		return err
	}
	s := &story{
		app: a, client: client, endpoints: e, verbose: verbose, begun: a.now(), colours: a.paletteOf(a.stdout),
		tickets: map[string]types.PlayerSession{}, players: map[string]*demoPlayer{},
	}
	s.say("Muster answers at %s, region %s. Everything below is a real call over a real socket.", e.HTTP, e.Region)
	chapters := []struct {
		title string
		tell  func(context.Context) error
	}{
		{"An operator prepares a fleet", s.prepare},
		{"A game server connects", s.startServer},
		{"A backend creates a game session", s.createGameSession},
		{"Players reserve their slots", s.reserve},
		{"Players join, see each other, and talk", s.play},
		{"Players leave", s.leave},
		{"The history is read", s.readBack},
	}
	for i, chapter := range chapters {
		s.say("\n%s", s.colours.paint(bold, fmt.Sprintf("== %d/%d  %s ==", i+1, len(chapters), chapter.title)))
		if err := chapter.tell(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", strings.ToLower(chapter.title), err), s.dismiss(), s.stopServer())
		}
	}
	s.say("\n%s", s.colours.paint(green, "Demo passed."))
	return s.stopServer()
}

const (
	demoLocation = "custom-demo"
	demoCompute  = "DemoCompute"
	demoPlaces   = 2
)

// A story is a run of the demo.
type story struct {
	*app
	client    *gamelift.Client
	endpoints muster.Endpoints
	verbose   bool
	begun     time.Time
	colours   palette

	fleet, token string
	server       *exec.Cmd
	serverInput  io.Closer
	session      types.GameSession
	tickets      map[string]types.PlayerSession // by player id
	players      map[string]*demoPlayer
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.stdout, format+"\n", args...) }

// asked prints a call.
func (s *story) asked(format string, args ...any) {
	s.say("%9s %s %s", "", s.colours.paint(cyan, "->"), fmt.Sprintf(format, args...))
}

// answered prints a result, after the time since the start.
func (s *story) answered(format string, args ...any) {
	s.say("%s %s %s", s.colours.paint(dim, fmt.Sprintf("%7.3f s", s.now().Sub(s.begun).Seconds())),
		s.colours.paint(green, "<-"), fmt.Sprintf(format, args...))
}

func (s *story) prepare(ctx context.Context) error {
	s.asked("CreateLocation %s", demoLocation)
	location, err := s.client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: aws.String(demoLocation)})
	if err != nil {
		return err
	}
	s.answered("%s", aws.ToString(location.Location.LocationArn))

	s.asked("CreateFleet DemoFleet, compute type ANYWHERE")
	fleet, err := s.client.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("DemoFleet"), ComputeType: types.ComputeTypeAnywhere,
		Locations: []types.LocationConfiguration{{Location: aws.String(demoLocation)}},
	})
	if err != nil {
		return err
	}
	s.fleet = aws.ToString(fleet.FleetAttributes.FleetId)
	s.answered("%s is %s", s.fleet, fleet.FleetAttributes.Status)

	s.asked("RegisterCompute %s at 127.0.0.1", demoCompute)
	compute, err := s.client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{
		FleetId: &s.fleet, ComputeName: aws.String(demoCompute), Location: aws.String(demoLocation),
		IpAddress: aws.String("127.0.0.1"),
	})
	if err != nil {
		return err
	}
	s.answered("%s, game servers connect to %s, or on this machine to %s", compute.Compute.ComputeStatus,
		aws.ToString(compute.Compute.GameLiftServiceSdkEndpoint), s.endpoints.WS)

	s.asked("GetComputeAuthToken")
	token, err := s.client.GetComputeAuthToken(ctx,
		&gamelift.GetComputeAuthTokenInput{FleetId: &s.fleet, ComputeName: aws.String(demoCompute)})
	if err != nil {
		return err
	}
	s.token = aws.ToString(token.AuthToken)
	s.answered("a token valid until %s", token.ExpirationTimestamp.Format(time.TimeOnly))
	return nil
}

// startServer starts the game server as a separate process and waits until it is ready.
func (s *story) startServer(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	s.server = exec.CommandContext(ctx, program, "sample-server", "-log", untilEOF,
		"-authtoken="+s.token, "-hostid="+demoCompute, "-fleetid="+s.fleet, "-websocketurl="+s.endpoints.WS, "-port=0")
	if s.verbose {
		s.server.Stdout = &prefixWriter{to: s.stdout, prefix: s.colours.paint(dim, "             [game server] ")}
	}
	s.server.Stderr = s.stderr
	if s.serverInput, err = s.server.StdinPipe(); err != nil {
		return err
	}
	s.asked("a process: muster sample-server -hostid=%s -fleetid=%s -websocketurl=%s", demoCompute, s.fleet,
		s.endpoints.WS)
	if err := s.server.Start(); err != nil {
		return err
	}
	err = until(ctx, func() (bool, error) {
		out, err := s.client.DescribeFleetUtilization(ctx,
			&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{s.fleet}})
		return err == nil && len(out.FleetUtilization) == 1 &&
			aws.ToInt32(out.FleetUtilization[0].ActiveServerProcessCount) == 1, err
	})
	if err == nil {
		s.answered("the fleet has 1 idle server process")
	}
	return err
}

// stopServer ends the game server if it still runs.
func (s *story) stopServer() error {
	if s.server == nil || s.server.Process == nil || s.server.ProcessState != nil {
		return nil
	}
	return errors.Join(s.serverInput.Close(), s.server.Wait())
}

func (s *story) createGameSession(ctx context.Context) error {
	s.asked("CreateGameSession for %d players", demoPlaces)
	created, err := s.client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		FleetId: &s.fleet, Location: aws.String(demoLocation), Name: aws.String("DemoGame"),
		MaximumPlayerSessionCount: aws.Int32(demoPlaces),
		GameProperties:            []types.GameProperty{{Key: aws.String("map"), Value: aws.String("harbour")}},
	})
	if err != nil {
		return err
	}
	s.answered("%s is %s", aws.ToString(created.GameSession.GameSessionId), created.GameSession.Status)
	err = until(ctx, func() (bool, error) {
		s.session, err = s.describe(ctx, created.GameSession.GameSessionId)
		return s.session.Status == types.GameSessionStatusActive, err
	})
	if err == nil {
		s.answered("the game server has activated it: %s", s.session.Status)
	}
	return err
}

func (s *story) describe(ctx context.Context, id *string) (types.GameSession, error) {
	out, err := s.client.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: id})
	if err != nil {
		return types.GameSession{}, err
	}
	if len(out.GameSessions) != 1 {
		return types.GameSession{}, fmt.Errorf("%d game sessions with one id", len(out.GameSessions))
	}
	return out.GameSessions[0], nil
}

func (s *story) reserve(ctx context.Context) error {
	s.asked("CreatePlayerSessions for player-1 and player-2")
	out, err := s.client.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{
		GameSessionId: s.session.GameSessionId, PlayerIds: []string{"player-1", "player-2"},
	})
	if err != nil {
		return err
	}
	for _, p := range out.PlayerSessions {
		s.tickets[aws.ToString(p.PlayerId)] = p
		s.answered("%s for %s is %s, at %s:%d", aws.ToString(p.PlayerSessionId), aws.ToString(p.PlayerId), p.Status,
			aws.ToString(p.IpAddress), aws.ToInt32(p.Port))
	}
	return s.refusedWhenFull(ctx)
}

func (s *story) refusedWhenFull(ctx context.Context) error {
	s.asked("CreatePlayerSession for player-3")
	_, err := s.client.CreatePlayerSession(ctx,
		&gamelift.CreatePlayerSessionInput{GameSessionId: s.session.GameSessionId, PlayerId: aws.String("player-3")})
	full, ok := errors.AsType[*types.GameSessionFullException](err)
	if !ok {
		return fmt.Errorf("a third player in a game for %d: got %v, want GameSessionFullException", demoPlaces, err)
	}
	s.answered("GameSessionFullException: %s", full.ErrorMessage())
	return nil
}

func (s *story) play(ctx context.Context) error {
	for _, name := range []string{"player-1", "player-2"} {
		if err := s.join(ctx, name); err != nil {
			return err
		}
	}
	if err := s.see(ctx, "player-1", "player-2"); err != nil {
		return err
	}
	if err := s.see(ctx, "player-2", "player-1"); err != nil {
		return err
	}
	if err := s.refusedWithoutTicket(ctx); err != nil {
		return err
	}
	if err := s.talk(ctx); err != nil {
		return err
	}
	found, err := s.client.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{
		FleetId: &s.fleet, FilterExpression: aws.String("hasAvailablePlayerSessions=false AND " +
			"gameSessionProperties.map='harbour'"),
	})
	if err != nil || len(found.GameSessions) != 1 {
		return fmt.Errorf("search for the full game on the harbour map: %d found, %w", len(found.GameSessions), err)
	}
	s.asked("SearchGameSessions hasAvailablePlayerSessions=false AND gameSessionProperties.map='harbour'")
	s.answered("1 game session, with %d of %d players",
		aws.ToInt32(found.GameSessions[0].CurrentPlayerSessionCount), demoPlaces)
	return nil
}

// join connects a player to the game server, which validates the player session.
func (s *story) join(ctx context.Context, name string) error {
	ticket := s.tickets[name]
	s.asked("%s connects to the game server with %s", name, aws.ToString(ticket.PlayerSessionId))
	p, err := joinGame(ctx, ticket, aws.ToString(ticket.PlayerSessionId))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.players[name] = p
	s.answered("joined as player %d", p.Number())
	return nil
}

// see waits until one player sees another walk.
func (s *story) see(ctx context.Context, name, other string) error {
	x, y, err := s.players[name].seesWalking(ctx, s.players[other].Number())
	if err != nil {
		return fmt.Errorf("%s does not see %s walk: %w", name, other, err)
	}
	s.answered("%s sees %s at %.2f,%.2f", name, other, x, y)
	return nil
}

// refusedWithoutTicket tries to join with a forged player session. The other players are not affected.
func (s *story) refusedWithoutTicket(ctx context.Context) error {
	s.asked("a client connects with a forged player session")
	p, err := joinGame(ctx, s.tickets["player-1"], "psess-00000000-0000-8000-8000-000000000000")
	if err == nil {
		return errors.Join(fmt.Errorf("the client with a forged player session joined as player %d", p.Number()),
			p.leave())
	}
	refused, ok := errors.AsType[*bot.RefusedError](err)
	if !ok {
		return fmt.Errorf("a forged player session was not refused: %w", err)
	}
	s.answered("%v", refused)
	for _, name := range []string{"player-1", "player-2"} {
		now := s.players[name].World().Ticks
		if err := s.players[name].expect(ctx, func(w bot.World) bool { return w.Ticks > now }); err != nil {
			return fmt.Errorf("%s is affected: %w", name, err)
		}
	}
	s.answered("player-1 and player-2 are not affected")
	return nil
}

// talk sends a chat message that every player receives.
func (s *story) talk(ctx context.Context) error {
	const text = "hello"
	s.asked("player-1 says %s", text)
	if err := s.players["player-1"].Say(text); err != nil {
		return err
	}
	said := protocol.Said{Number: s.players["player-1"].Number(), Text: text}
	for _, name := range []string{"player-1", "player-2"} {
		err := s.players[name].expect(ctx, func(w bot.World) bool { return slices.Contains(w.Said, said) })
		if err != nil {
			return fmt.Errorf("%s did not receive it: %w", name, err)
		}
		s.answered("%s receives: player-1 says %s", name, said.Text)
	}
	return nil
}

func (s *story) leave(ctx context.Context) error {
	if err := s.hangUp(ctx, "player-2"); err != nil {
		return err
	}
	gone := s.players["player-2"].Number()
	if err := s.players["player-1"].expect(ctx, func(w bot.World) bool {
		_, there := w.Players[gone]
		return !there
	}); err != nil {
		return fmt.Errorf("player-1 does not see that player-2 has left: %w", err)
	}
	s.answered("player-1 sees that player-2 has left")
	s.asked("CreatePlayerSession for player-3, again")
	out, err := s.client.CreatePlayerSession(ctx,
		&gamelift.CreatePlayerSessionInput{GameSessionId: s.session.GameSessionId, PlayerId: aws.String("player-3")})
	if err != nil {
		return err
	}
	s.answered("%s is %s: the slot was free at once", aws.ToString(out.PlayerSession.PlayerSessionId),
		out.PlayerSession.Status)
	s.tickets["player-3"] = *out.PlayerSession
	if err := s.join(ctx, "player-3"); err != nil {
		return err
	}
	for _, name := range []string{"player-1", "player-3"} {
		if err := s.hangUp(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// hangUp disconnects a player, whose slot becomes free.
func (s *story) hangUp(ctx context.Context, name string) error {
	s.asked("%s leaves", name)
	if err := s.players[name].leave(); err != nil {
		return err
	}
	return s.awaitStatus(ctx, name, types.PlayerSessionStatusCompleted)
}

// dismiss disconnects all players.
func (s *story) dismiss() (err error) {
	for _, p := range s.players {
		err = errors.Join(err, p.leave())
	}
	return err
}

func (s *story) awaitStatus(ctx context.Context, player string, status types.PlayerSessionStatus) error {
	id := s.tickets[player].PlayerSessionId
	err := until(ctx, func() (bool, error) {
		out, err := s.client.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: id})
		return err == nil && len(out.PlayerSessions) == 1 && out.PlayerSessions[0].Status == status, err
	})
	if err == nil {
		s.answered("the player session of %s is %s", player, status)
	}
	return err
}

// readBack waits for the game server to end, which it does after its last player has left, and reads the history.
func (s *story) readBack(ctx context.Context) error {
	if err := s.server.Wait(); err != nil {
		return fmt.Errorf("the game server: %w", err)
	}
	s.answered("the game server process has ended with exit status 0")
	session, err := s.describe(ctx, s.session.GameSessionId)
	if err != nil {
		return err
	}
	if session.Status != types.GameSessionStatusTerminated {
		return fmt.Errorf("the game session is %s", session.Status)
	}
	s.asked("DescribeGameSessions")
	s.answered("the game session is %s since %s", session.Status, session.TerminationTime.Format(time.TimeOnly))
	events, err := s.client.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &s.fleet})
	if err != nil {
		return err
	}
	s.asked("DescribeFleetEvents")
	for _, e := range events.Events {
		s.answered("%s %s", e.EventTime.Format(time.TimeOnly), e.EventCode)
	}
	return nil
}

// until polls until ask returns true or ctx ends.
func until(ctx context.Context, ask func() (bool, error)) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		yes, err := ask()
		if yes || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
