// Package gameserver connects a dedicated game server to a game-session service that speaks the server SDK 5 protocol
// of Amazon GameLift Servers: Muster, or GameLift itself.
//
// A game server connects, says that it is ready, and from then on is called back: to start the one game session of its
// life, to report its health, and to end.
//
//	server := gameserver.New(gameserver.Config{Log: slog.Default()})
//	defer server.Close()
//	err := server.Connect(ctx, gameserver.ServerParameters{
//		WebSocketURL: url, HostID: "host-1", FleetID: fleet, AuthToken: token,
//	})
//	if err != nil {
//		return err
//	}
//	err := server.ProcessReady(ctx, gameserver.ProcessParameters{
//		Port:               7777,
//		OnStartGameSession: func(gs gameserver.GameSession) { … server.ActivateGameSession(ctx) },
//		OnProcessTerminate: func() { … server.ProcessEnding(ctx) },
//	})
//
// The calls and their order are those of the official SDKs; the shape is Go's: a Server is a value of its own, so that
// one program may hold several, every call takes a context, and every failure is an *Error.
//
// The connection heals by itself. When it drops, the package connects again for as long as the game server runs,
// repeats the requests that have no reply yet under the same request id, and the service carries on where it was.
//
// # Two ways to use it
//
// A Server is the calls of the official SDKs and nothing more. A Host is on top of it: it hosts the game session, asks
// the game at each step (SessionCallbacks), keeps account of the players who are in, and ends the process in order,
// once, for whatever reason. Begin with a Host, unless the game has its own idea of any of this.
//
// Both can ask a matchmaker for more players: StartMatchBackfill, with the data of ParseMatchmakerData.
//
// Container credentials (the metadata endpoints of Amazon ECS) are not fetched; give the keys in ServerParameters or
// the environment.
package gameserver
