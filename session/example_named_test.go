package session_test

import (
	"context"
	"fmt"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

// One player hosts on the local network, another one finds the session and joins.
func ExampleNamedSessions() {
	ctx := context.Background()
	var network sessiontest.LAN
	host := session.New(session.Config{LAN: &network, PlayerID: "ada", ListenIP: "127.0.0.1"})
	guest := session.New(session.Config{LAN: &network, PlayerID: "bob", Connector: new(sessiontest.Connector)})
	defer host.Close(ctx)
	defer guest.Close(ctx)

	settings := session.Settings{
		NumPublicConnections: 4, IsLANMatch: true, ShouldAdvertise: true,
		Properties: map[string]string{session.PropertyName: "Friday"},
	}
	if err := host.Named().Create(ctx, "game", settings); err != nil {
		fmt.Println(err)
		return
	}
	found, err := guest.Named().Find(ctx, session.FindRequest{LAN: true})
	if err != nil || len(found) == 0 {
		fmt.Println("nothing found:", err)
		return
	}
	if err := guest.Named().Join(ctx, "game", found[0]); err != nil {
		fmt.Println(err)
		return
	}
	address, err := guest.Named().ConnectString("game")
	fmt.Println(found[0].Name, address, err)
	// Output: Friday 127.0.0.1:7777 <nil>
}

// A player asks for a match, accepts it, and is taken into its game.
func ExampleClient_StartTracking() {
	ctx := context.Background()
	var service sessiontest.Service
	client := session.New(session.Config{Remote: service.Remote(), Connector: &sessiontest.Connector{Service: &service},
		PlayerID: "ada"})
	defer client.Close(ctx)

	over := make(chan struct{})
	client.Subscribe(func(e session.Event) {
		switch e := e.(type) {
		case session.MatchAcceptance:
			fmt.Println("accept?")
			client.Async(ctx, func(ctx context.Context) error {
				return client.AcceptMatch(ctx, session.AcceptMatchRequest{TicketID: e.Ticket.TicketID,
					PlayerIDs: []string{"ada"}, AcceptMatch: true})
			})
		case session.MatchComplete:
			fmt.Println("playing in", e.Reservation.SessionID)
			close(over)
		case session.MatchFailure:
			fmt.Println("no match:", e.Ticket.StatusReason)
			close(over)
		case session.MatchError:
			fmt.Println(e.Err)
			if e.Final {
				close(over)
			}
		}
	})
	if err := client.Configure(ctx, "us-east-1"); err != nil {
		fmt.Println(err)
		return
	}
	ticket, err := client.StartMatchmaking(ctx, session.StartMatchmakingRequest{
		ConfigurationName: "solo", Players: []session.Player{{PlayerID: "ada"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := client.StartTracking(ticket, "ada"); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := service.Propose(ticket); err != nil { // what the matchmaker does
		fmt.Println(err)
		return
	}
	<-over
	// Output:
	// accept?
	// playing in session-3
}
