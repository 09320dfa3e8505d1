package mustertest

import (
	"cmp"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/testkit"
)

// GameLiftQuotas is an argument of Start: the service has the limits of resources and the rates of calls of a new AWS
// account, and refuses more with LimitExceededException and ThrottlingException.
func GameLiftQuotas(c *muster.Config) {
	c.Test.EmulateQuotas()
}

// Now returns the time of the service: the system's, and what Advance has added.
func (s *Service) Now() time.Time { return s.kit.Clock.Now() }

// Advance moves the clock of the service forward, at most a week, and has everything happen that is due meanwhile:
// reservations and tickets expire, placements time out, fleets scale. Ten minutes take about a second, a day two
// minutes. Connected game servers count as healthy all the time. The clocks of game servers and clients do not change.
// A test whose clock is advancing already fails.
func (s *Service) Advance(d time.Duration) {
	s.Helper()
	s.must(s.kit.Advance(s.Context(), d))
}

// A Fault is what happens to calls. Exactly one of Exception, LoseAnswer and Delay is set.
type Fault struct {
	// Operation is one of the GameLift API (CreateGameSession), or a request of the session gateway by its method and
	// path (POST /create_session); "": all of both.
	Operation string

	Exception  string        // the call is not carried out, and answered with this one: ThrottlingException
	LoseAnswer bool          // it is carried out, and its connection closed without an answer
	Delay      time.Duration // it is carried out after this time of the service's clock, at most ten minutes

	Times int // number of calls; 0: one
}

// Inject has the next calls of an operation go wrong. The test fails at its end if no call has met the fault, unless
// ClearFaults has removed it.
func (s *Service) Inject(f Fault) {
	s.Helper()
	s.must(s.kit.Fail(testkit.Fault{Operation: f.Operation, Exception: f.Exception, LoseAnswer: f.LoseAnswer,
		Delay: testkit.Of(f.Delay), Times: f.Times}))
}

// Faults returns what is left of the faults, each with the number of calls that have not met it yet in Times. It is
// empty when all have been met.
func (s *Service) Faults() []Fault {
	var left []Fault
	for _, f := range s.kit.Faults() {
		left = append(left, Fault{Operation: f.Operation, Exception: f.Exception, LoseAnswer: f.LoseAnswer,
			Delay: f.Delay.Duration(), Times: f.Times})
	}
	return left
}

// ClearFaults forgets the faults that are left.
func (s *Service) ClearFaults() { s.kit.ClearFaults() }

// checkFaults fails a test that has not tested what it injected.
func (s *Service) checkFaults() {
	s.Helper()
	if s.Failed() || s.Skipped() {
		return
	}
	for _, f := range s.kit.UnmetFaults() {
		s.Errorf("no call has met the fault of %s that the test injected; if that is right, end the test with "+
			"ClearFaults", cmp.Or(f.Operation, "any operation"))
	}
}

// A ReadyFleet is an Anywhere fleet with game servers that are ready. They activate each game session at once. When one
// has ended, another game server takes the place of its process. Nothing listens on their ports.
type ReadyFleet struct {
	ID, Location string
	Processes    []string // ids
}

// ReadyFleet creates a fleet with game servers, each for one game session.
func (s *Service) ReadyFleet(servers int) ReadyFleet {
	s.Helper()
	f, err := s.kit.CreateFleet(s.Context(), testkit.FleetRequest{Servers: servers})
	s.must(err)
	ready := ReadyFleet{ID: f.FleetID, Location: f.Location}
	for _, p := range f.Processes {
		ready.Processes = append(ready.Processes, p.ProcessID)
	}
	return ready
}

// Kill closes the connection of a game server of a ReadyFleet as a crash would; id is that of its process or of its
// game session. The service ends the process when it has not reconnected within the setting process-grace, 3 minutes
// and 20 seconds.
func (s *Service) Kill(id string) {
	s.Helper()
	s.must(s.kit.Kill(id))
}

// Connect has the game server of a ReadyFleet accept a player session, as when the player connects.
func (s *Service) Connect(playerSessionID string) {
	s.Helper()
	s.must(s.kit.Connect(s.Context(), playerSessionID))
}

// Disconnect has the game server remove a player session, as when the player disconnects.
func (s *Service) Disconnect(playerSessionID string) {
	s.Helper()
	s.must(s.kit.Disconnect(s.Context(), playerSessionID))
}

// Fill gives all free slots of a game session of a ReadyFleet to connected players, and returns the ids of their player
// sessions.
func (s *Service) Fill(gameSessionID string) []string {
	s.Helper()
	players, err := s.kit.Fill(s.Context(), gameSessionID)
	s.must(err)
	return players
}

func (s *Service) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
