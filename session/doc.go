// Package session is the game client's side of a session service: it creates, finds, joins and leaves sessions, over a
// service or on the local network, and connects the player to their game servers.
//
// This is a whole client: it joins a session of the fleet that has a free slot, or creates one, and plays.
//
//	func play(
//		ctx context.Context, cfg session.Config, fleet string, game func(context.Context, session.Connection) error,
//	) (err error) {
//		client := session.New(cfg) // Remote: direct.New(…), Connector: session.Gamenet{…}
//		defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
//		if err := client.Configure(ctx, "us-east-1"); err != nil {
//			return err
//		}
//		page, err := client.SearchSessions(ctx, session.SearchSessionsRequest{
//			FleetID: fleet, FilterExpression: "hasAvailablePlayerSessions=true",
//		})
//		if err != nil {
//			return err
//		}
//		var id string
//		if len(page.SessionConfigs) > 0 {
//			id = page.SessionConfigs[0].SessionID
//		} else {
//			id, err = client.CreateSession(ctx, session.CreateSessionRequest{FleetID: fleet, MaxPlayer: 4})
//		}
//		if err != nil {
//			return err
//		}
//		err = client.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: client.PlayerID()})
//		if err != nil {
//			return err // a session that was just created may take a moment until it can be joined
//		}
//		return game(ctx, client.Connection()) // Close, above, leaves the session
//	}
//
// # Two interfaces
//
// [Client] has the calls of O3DE's session interface, by their names: sessions by their ids, placements, matchmaking.
// [NamedSessions], which Client.Named returns, are in the manner of Unreal's: sessions by names of the game's choice,
// with states and settings, at the service or on the local network alike.
//
// # Providers
//
// A [Provider] reaches the service: package session/direct by the API of Amazon GameLift Servers, which Muster
// implements, and package session/gateway by its HTTP gateway, which needs no AWS credentials. A [LAN] announces and
// finds sessions on the local network: package session/lan. A [Connector] connects the player to the game server:
// [Gamenet], or one for the game's own protocol. Package session/sessiontest has all of them in memory, for tests.
//
// # Asynchronous calls
//
// A call returns when it is complete or its context is done. Client.Async makes it without waiting: it returns an [Op]
// at once, and publishes one [Complete] when the call is complete, also when it is rejected. Client.Subscribe receives
// the events:
//
//	client.Subscribe(func(e session.Event) {
//		switch e := e.(type) {
//		case session.Complete:
//			log.Info("complete", "call", e.Call, "result", e.Result, "error", e.Err)
//		case session.MatchAcceptance:
//			client.Async(ctx, func(ctx context.Context) error {
//				return client.AcceptMatch(ctx, session.AcceptMatchRequest{…})
//			})
//		}
//	})
//
// One goroutine delivers the events in order. It holds no lock, so a subscriber may make any call except Close. A call
// that waits delays the other events; Async does not.
//
// # Errors
//
// Every error is of one kind for errors.Is: [ErrInvalid], [ErrFull], [ErrDenied] and so on. An *[Error] has the
// text of the service, and a *[StateError] the state in which a call was not possible. A call that fails, or whose
// context is done, leaves nothing behind: no reservation, no connection, no named session.
package session
