package session_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

// play joins a session of the fleet that has a free place, or makes one, and plays.
func play(ctx context.Context, cfg session.Config, fleet string, game func(context.Context, session.Connection) error) (
	err error,
) {
	client := session.New(cfg)
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	if err := client.Configure(ctx, "us-east-1"); err != nil {
		return err
	}
	page, err := client.SearchSessions(ctx, session.SearchSessionsRequest{
		FleetID: fleet, FilterExpression: "hasAvailablePlayerSessions=true",
	})
	if err != nil {
		return err
	}
	var id string
	if len(page.SessionConfigs) > 0 {
		id = page.SessionConfigs[0].SessionID
	} else if id, err = client.CreateSession(ctx, session.CreateSessionRequest{
		FleetID: fleet, MaxPlayer: 4,
	}); err != nil {
		return err
	}
	err = client.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: client.PlayerID()})
	if err != nil {
		return err
	}
	return game(ctx, client.Connection()) // Close, above, leaves the session
}

func Example() {
	var service sessiontest.Service
	connector := sessiontest.Connector{Service: &service}
	cfg := session.Config{Remote: service.Remote(), Connector: &connector}
	for range 2 { // the second time, the session of the first is found
		err := play(context.Background(), cfg, "fleet-1", func(context.Context, session.Connection) error {
			fmt.Println("playing in", connector.Open()[0].SessionID)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("places taken afterwards:", len(service.Places()))
	// Output:
	// playing in session-1
	// playing in session-1
	// places taken afterwards: 0
}
