// Package mustertest tests games: a whole service in the test's own process, on ports of its own, that has its first
// game session within a second. Game servers, game clients and the backend of the game connect to it as to any other.
//
//	func TestReservationExpires(t *testing.T) {
//		s := mustertest.Start(t)
//		fleet := s.ReadyFleet(1)
//		g := mustertest.Call(t, s.Client.CreateGameSession, &gamelift.CreateGameSessionInput{
//			FleetId: &fleet.ID, Location: &fleet.Location, MaximumPlayerSessionCount: aws.Int32(2)})
//		…
//		s.Advance(time.Minute) // the reservation has expired
//	}
//
// A test moves the clock of the service with [Service.Advance], has calls fail with [Service.Inject], kills game
// servers with [Service.Kill], and has the service keep the quotas of GameLift with [GameLiftQuotas]. Programs in other
// languages have the same from "muster dev --test".
//
// The service ends with the test, in order, and leaves no goroutine or connection behind. What goes wrong ends the test
// with Fatal, so that only the test's own goroutine may call these functions, [Service.Report] aside.
package mustertest
