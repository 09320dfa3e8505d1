package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

// TestHistory describes game sessions that are over, in memory and when only the
// history has them, also after a restart.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t)
	params := s.newCompute(t, fleet, home, "pc")
	var sessions, players []string
	for i := range 5 {
		p := s.launch(t, params, behaviour{})
		id := s.newActiveSession(t, fleet, home)
		player := s.join(t, id, "ada")
		if err := p.AcceptPlayerSession(t.Context(), player); err != nil {
			t.Fatal(err)
		}
		s.join(t, id, fmt.Sprint("late-", i))
		call(t, s.client().TerminateGameSession, &gamelift.TerminateGameSessionInput{
			GameSessionId: &id, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
		})
		s.awaitStatus(t, id, types.GameSessionStatusTerminated)
		sessions, players = append(sessions, id), append(players, player)
		s.advance(150 * time.Second)
	}
	check := func(when string) {
		t.Helper()
		c := s.client()
		expectSame(t, "game sessions "+when, all(t, 2,
			gamelift.NewDescribeGameSessionsPaginator(c,
				&gamelift.DescribeGameSessionsInput{FleetId: &fleet, Limit: new(int32(2))}),
			func(o *gamelift.DescribeGameSessionsOutput) (found []string) {
				for _, g := range o.GameSessions {
					found = append(found, *g.GameSessionId)
				}
				return found
			}), sessions)
		expectSame(t, "player sessions "+when, all(t, 2,
			gamelift.NewDescribePlayerSessionsPaginator(c,
				&gamelift.DescribePlayerSessionsInput{PlayerId: new("ada"), Limit: new(int32(2))}),
			func(o *gamelift.DescribePlayerSessionsOutput) (found []string) {
				for _, p := range o.PlayerSessions {
					found = append(found, *p.PlayerSessionId)
				}
				return found
			}), players)
		for i, id := range sessions {
			g := s.session(t, id)
			if g.Status != types.GameSessionStatusTerminated ||
				g.StatusReason != types.GameSessionStatusReasonTriggeredOnProcessTerminate || g.TerminationTime == nil {
				t.Errorf("%s, game session %d is %s (%s), ended %v", when, i, g.Status, g.StatusReason,
					g.TerminationTime)
			}
			if got := s.player(t, players[i]).Status; got != types.PlayerSessionStatusCompleted {
				t.Errorf("%s, player session %d is %s", when, i, got)
			}
		}
		refuse[*types.InvalidGameSessionStatusException](t, c.CreatePlayerSession,
			&gamelift.CreatePlayerSessionInput{GameSessionId: &sessions[0], PlayerId: new("bob")})
	}
	moved := func() bool { return s.metric(t, `muster_events_total{event="GameSessionsForgotten"}`) == 1 }
	check("in memory")
	const hold = 5 * time.Minute // for others of their batch, so that the first three leave together
	s.clock.Advance(s.config.SessionRetention + hold + 30*time.Second - 5*150*time.Second)
	eventually(t, "three game sessions have left memory", moved)
	check("in part in the history")
	s.stop()
	s.http.CloseIdleConnections()
	s.clock.Advance(time.Hour)
	s.run()
	eventually(t, "the rest has left memory", moved)
	check("after a restart")
}

// TestSnapshots restarts a service whose state is in snapshots and a short tail.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *muster.Config) { c.SnapshotEvery = 100 })
	fleet := s.newFleet(t)
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	for i := range 150 {
		if err := p.RemovePlayerSession(t.Context(), s.join(t, session, fmt.Sprint("player-", i))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a snapshot", func() bool { return s.metric(t, `muster_shard_snapshots_total{outcome="done"}`) > 0 })
	before := s.everything(t, fleet)
	players := func() int {
		return len(all(t, 100, gamelift.NewDescribePlayerSessionsPaginator(s.client(),
			&gamelift.DescribePlayerSessionsInput{GameSessionId: &session, Limit: new(int32(100))}),
			func(o *gamelift.DescribePlayerSessionsOutput) []types.PlayerSession { return o.PlayerSessions }))
	}
	for range 2 {
		s.stop()
		s.http.CloseIdleConnections()
		s.run()
		if after := s.everything(t, fleet); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
		if n := players(); n != 150 {
			t.Errorf("%d player sessions, want 150", n)
		}
	}
	if err := p.AcceptPlayerSession(t.Context(), s.join(t, session, "last")); err != nil {
		t.Error(err)
	}
}

// TestPlacesAreTakenOnce lets a crowd ask for the last places at once.
func TestPlacesAreTakenOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	const crowd = 40
	results := make(chan error, crowd)
	for i := range crowd {
		go func() {
			_, err := s.client().CreatePlayerSession(t.Context(),
				&gamelift.CreatePlayerSessionInput{GameSessionId: &session, PlayerId: new(fmt.Sprint("player-", i))})
			results <- err
		}()
	}
	in := 0
	for range crowd {
		switch err := receive(t, "an answer", results); {
		case err == nil:
			in++
		case !isA[*types.GameSessionFullException](err):
			t.Error(err)
		}
	}
	if n := *s.session(t, session).CurrentPlayerSessionCount; in != 4 || n != 4 {
		t.Errorf("%d players got in and %d are counted; there are 4 places", in, n)
	}
}

// TestProcessesAreTakenOnce asks for more game sessions at once than there are
// processes.
func TestProcessesAreTakenOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	params := s.newCompute(t, fleet, home, "pc")
	const processes, crowd = 3, 12
	for i := range processes {
		s.launch(t, params, behaviour{port: 7000 + i})
	}
	ports := make(chan int32, crowd)
	for range crowd {
		go func() {
			out, err := s.client().CreateGameSession(t.Context(),
				&gamelift.CreateGameSessionInput{FleetId: &fleet, Location: new(home),
					MaximumPlayerSessionCount: new(int32(2))})
			if err == nil {
				ports <- *out.GameSession.Port
				return
			}
			if !isA[*types.FleetCapacityExceededException](err) {
				t.Error(err)
			}
			ports <- 0
		}()
	}
	hosting := map[int32]int{}
	for range crowd {
		hosting[receive(t, "an answer", ports)]++
	}
	for i := range int32(processes) {
		if hosting[7000+i] != 1 {
			t.Errorf("process %d was given %d game sessions", i, hosting[7000+i])
		}
	}
}

// TestDeleteFleet takes a fleet away under its game servers.
func TestDeleteFleet(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client()
	fleet := s.newFleet(t)
	params := s.newCompute(t, fleet, home, "pc")
	host := s.launch(t, params, behaviour{})
	session := s.newActiveSession(t, fleet, home)
	free := s.launch(t, params, behaviour{})
	in := &gamelift.DeleteFleetInput{FleetId: &fleet}
	refuse[*types.InvalidRequestException](t, c.DeleteFleet, in) // it hosts a game session

	call(t, c.TerminateGameSession, &gamelift.TerminateGameSessionInput{
		GameSessionId: &session, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	receive(t, "the order to end", host.terminate)
	s.awaitStatus(t, session, types.GameSessionStatusTerminated)
	call(t, c.DeleteFleet, in)
	receive(t, "the order to end", free.terminate)
	refuse[*types.NotFoundException](t, c.DescribeCompute,
		&gamelift.DescribeComputeInput{FleetId: &fleet, ComputeName: &params.HostID})
	if n := len(call(t, c.ListFleets, &gamelift.ListFleetsInput{}).FleetIds); n != 0 {
		t.Errorf("%d fleets are left", n)
	}
	stranger := gameserver.New(gameserver.Config{})
	defer stranger.Close()
	if err := stranger.Connect(t.Context(), params); gameserverCode(err) != 403 {
		t.Errorf("a game server of a deleted fleet: %v", err)
	}
	if got := s.session(t, session).Status; got != types.GameSessionStatusTerminated {
		t.Errorf("the game session is %s", got)
	}
}
