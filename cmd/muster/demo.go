package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job: a service, a game server, and players who come and go",
		Long: `Start a service in a temporary directory and a game server as a process of its
own, and play through what they are for: a fleet is made, the server connects,
a game session starts, players get their places, join, are refused when the
game is full, and leave. Every call is a real one over a real socket, made with
the official AWS SDK. The exit status is 0 only if all of it happened.`,
		Example: `  muster demo`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.demo(command.Context())
		},
	}
}

// demoLimit is how long the whole story may take.
const demoLimit = 2 * time.Minute

// demo runs the service around the story.
func (a *app) demo(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoLimit)
	defer cancel()
	config := muster.DefaultConfig()
	config.Listen, config.LogLevel = "127.0.0.1:0", "warn"
	config.Log = config.Logger(a.stderr)
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
		err = a.tell(ctx, e)
	case err = <-served:
		stop()
		return err
	}
	stop()
	return errors.Join(err, <-served)
}

// tell plays the story against a service.
func (a *app) tell(ctx context.Context, e muster.Endpoints) error {
	client, err := newClient(e)
	if err != nil {
		return err
	}
	s := &story{app: a, client: client, endpoints: e}
	s.say("Muster answers at %s, region %s. Everything below is a real call over a real socket.", e.HTTP, e.Region)
	for _, chapter := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"An operator prepares a fleet", s.prepare},
		{"A game server connects", s.startServer},
		{"A backend creates a game session", s.createGameSession},
		{"Players reserve their places", s.reserve},
		{"Players join, and talk", s.play},
		{"Players leave", s.leave},
		{"What happened can be read", s.readBack},
	} {
		s.say("\n== %s ==", chapter.title)
		if err := chapter.tell(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", strings.ToLower(chapter.title), err), s.stopServer())
		}
	}
	s.say("\nAll of it happened.")
	return s.stopServer()
}

const (
	demoLocation = "custom-demo"
	demoCompute  = "DemoCompute"
	demoPlaces   = 2
)

// A story is one telling of the demo.
type story struct {
	*app
	client    *gamelift.Client
	endpoints muster.Endpoints

	fleet, token string
	server       *exec.Cmd
	serverInput  io.Closer
	session      types.GameSession
	tickets      map[string]types.PlayerSession // by player id
	players      map[string]*demoPlayer
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.stdout, format+"\n", args...) }

// asked and answered print a call and what came back.
func (s *story) asked(format string, args ...any)    { s.say("  -> "+format, args...) }
func (s *story) answered(format string, args ...any) { s.say("  <- "+format, args...) }

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
		FleetId: &s.fleet, ComputeName: aws.String(demoCompute), Location: aws.String(demoLocation), IpAddress: aws.String("127.0.0.1"),
	})
	if err != nil {
		return err
	}
	s.answered("%s, game servers connect to %s", compute.Compute.ComputeStatus, aws.ToString(compute.Compute.GameLiftServiceSdkEndpoint))

	s.asked("GetComputeAuthToken")
	token, err := s.client.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &s.fleet, ComputeName: aws.String(demoCompute)})
	if err != nil {
		return err
	}
	s.token = aws.ToString(token.AuthToken)
	s.answered("a token that holds until %s", token.ExpirationTimestamp.Format(time.TimeOnly))
	return nil
}

// startServer starts the game server as a process of its own and waits until
// the service knows that it is ready.
func (s *story) startServer(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	s.server = exec.CommandContext(ctx, program, "sample-server", "-log", untilEOF,
		"-authtoken="+s.token, "-hostid="+demoCompute, "-fleetid="+s.fleet, "-websocketurl="+s.endpoints.WS, "-port=0")
	s.server.Stdout = &prefixWriter{to: s.stdout, prefix: "     [game server] "}
	s.server.Stderr = s.stderr
	if s.serverInput, err = s.server.StdinPipe(); err != nil {
		return err
	}
	s.asked("a process: muster sample-server -hostid=%s -fleetid=%s -websocketurl=%s", demoCompute, s.fleet, s.endpoints.WS)
	if err := s.server.Start(); err != nil {
		return err
	}
	err = until(ctx, func() (bool, error) {
		out, err := s.client.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{s.fleet}})
		return err == nil && len(out.FleetUtilization) == 1 && aws.ToInt32(out.FleetUtilization[0].ActiveServerProcessCount) == 1, err
	})
	if err == nil {
		s.answered("the fleet has 1 server process that waits for a game session")
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
		FleetId: &s.fleet, Location: aws.String(demoLocation), Name: aws.String("DemoGame"), MaximumPlayerSessionCount: aws.Int32(demoPlaces),
		GameProperties: []types.GameProperty{{Key: aws.String("map"), Value: aws.String("harbour")}},
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
	s.tickets = map[string]types.PlayerSession{}
	s.asked("CreatePlayerSessions for player-1 and player-2")
	out, err := s.client.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{
		GameSessionId: s.session.GameSessionId, PlayerIds: []string{"player-1", "player-2"},
	})
	if err != nil {
		return err
	}
	for _, p := range out.PlayerSessions {
		s.tickets[aws.ToString(p.PlayerId)] = p
		s.answered("%s for %s is %s, at %s:%d", aws.ToString(p.PlayerSessionId), aws.ToString(p.PlayerId), p.Status, aws.ToString(p.IpAddress), aws.ToInt32(p.Port))
	}
	return s.refusedWhenFull(ctx)
}

func (s *story) refusedWhenFull(ctx context.Context) error {
	s.asked("CreatePlayerSession for player-3")
	_, err := s.client.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: s.session.GameSessionId, PlayerId: aws.String("player-3")})
	full, ok := errors.AsType[*types.GameSessionFullException](err)
	if !ok {
		return fmt.Errorf("a third player in a game for %d: got %v, want GameSessionFullException", demoPlaces, err)
	}
	s.answered("GameSessionFullException: %s", full.ErrorMessage())
	return nil
}

func (s *story) play(ctx context.Context) error {
	s.players = map[string]*demoPlayer{}
	for _, name := range []string{"player-1", "player-2"} {
		if err := s.join(ctx, name); err != nil {
			return err
		}
	}
	if err := s.refusedWithoutTicket(ctx); err != nil {
		return err
	}
	s.asked("player-1 says hello")
	s.players["player-1"].send("SAY hello")
	for _, name := range []string{"player-1", "player-2"} {
		line, err := s.players[name].receive()
		if err != nil || line != "SAID 1 hello" {
			return fmt.Errorf("%s heard %q: %w", name, line, err)
		}
		s.answered("%s hears: %s", name, line)
	}
	found, err := s.client.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{
		FleetId: &s.fleet, FilterExpression: aws.String("hasAvailablePlayerSessions=false AND gameSessionProperties.map='harbour'"),
	})
	if err != nil || len(found.GameSessions) != 1 {
		return fmt.Errorf("search for the full game on the harbour map: %d found, %w", len(found.GameSessions), err)
	}
	s.asked("SearchGameSessions hasAvailablePlayerSessions=false AND gameSessionProperties.map='harbour'")
	s.answered("1 game session, with %d of %d players", aws.ToInt32(found.GameSessions[0].CurrentPlayerSessionCount), demoPlaces)
	return nil
}

// join connects a player to the game server, which asks the service whether the
// player session is good.
func (s *story) join(ctx context.Context, name string) error {
	ticket := s.tickets[name]
	s.asked("%s connects to the game server with %s", name, aws.ToString(ticket.PlayerSessionId))
	p, err := dialGame(ctx, ticket)
	if err != nil {
		return err
	}
	s.players[name] = p
	p.send("JOIN " + aws.ToString(ticket.PlayerSessionId))
	line, err := p.receive()
	if err != nil || !strings.HasPrefix(line, "WELCOME ") {
		return fmt.Errorf("%s was answered %q: %w", name, line, err)
	}
	s.answered("%s", line)
	return nil
}

func (s *story) refusedWithoutTicket(ctx context.Context) error {
	s.asked("a stranger connects with a player session that nobody gave out")
	p, err := dialGame(ctx, s.tickets["player-1"])
	if err != nil {
		return err
	}
	defer p.close()
	p.send("JOIN psess-00000000-0000-8000-8000-000000000000")
	line, err := p.receive()
	if err != nil || !strings.HasPrefix(line, "REFUSED ") {
		return fmt.Errorf("a stranger was answered %q: %w", line, err)
	}
	s.answered("%s", line)
	return nil
}

func (s *story) leave(ctx context.Context) error {
	s.asked("player-2 leaves")
	s.players["player-2"].send("LEAVE")
	s.players["player-2"].close()
	if err := s.awaitStatus(ctx, "player-2", types.PlayerSessionStatusCompleted); err != nil {
		return err
	}
	s.asked("CreatePlayerSession for player-3, again")
	out, err := s.client.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: s.session.GameSessionId, PlayerId: aws.String("player-3")})
	if err != nil {
		return err
	}
	s.answered("%s is %s: the place was free at once", aws.ToString(out.PlayerSession.PlayerSessionId), out.PlayerSession.Status)
	s.tickets["player-3"] = *out.PlayerSession
	if err := s.join(ctx, "player-3"); err != nil {
		return err
	}
	for _, name := range []string{"player-1", "player-3"} {
		s.asked("%s leaves", name)
		s.players[name].send("LEAVE")
		s.players[name].close()
		if err := s.awaitStatus(ctx, name, types.PlayerSessionStatusCompleted); err != nil {
			return err
		}
	}
	return nil
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

// readBack waits for the game server to end, as it does when its last player
// has left, and reads what the service kept.
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

// until asks until the answer is yes or ctx ends.
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
