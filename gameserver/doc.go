// Package gameserver connects a dedicated game server to a game-session service that speaks the server SDK 5 protocol
// of Amazon GameLift Servers: Muster, or GameLift itself.
//
// A game server connects and reports that it is ready. From then on it is called back: to start its one game session,
// to report its health, and to end.
//
//	server := gameserver.New(gameserver.Config{Log: slog.Default()})
//	defer server.Close()
//	err := server.Connect(ctx, gameserver.ServerParameters{
//		WebSocketURL: url, HostID: "host-1", FleetID: fleet, AuthToken: token,
//	})
//	if err != nil {
//		return err
//	}
//	err = server.ProcessReady(ctx, gameserver.ProcessParameters{
//		Port: 7777,
//		OnStartGameSession: func(gs gameserver.GameSession) {
//			// Load the level, listen for players. Then:
//			activated <- server.ActivateGameSession(ctx)
//		},
//		OnProcessTerminate: func() { ended <- server.ProcessEnding(ctx) },
//	})
//
// The calls and their order are those of the official SDKs; the shape is Go's: a Server is a value of its own, so that
// one program may hold several, every call takes a context, and every failure of a Server or a Host is an *Error.
//
// When the connection drops, the package connects again for as long as the game server runs, and repeats the requests
// that have no reply yet under the same request id. The service continues where it was.
//
// # Two ways to use it
//
// A Server has the calls of the official SDKs and nothing more. A Host uses a Server: it hosts the game session, calls
// the game at each step (SessionCallbacks), keeps a list of the players, whose lost connections they can resume, and
// ends the process in order and once, for any reason. Begin with a Host, unless the game does any of this by itself.
//
// Both can ask a matchmaker for more players: StartMatchBackfill, with the data of ParseMatchmakerData.
//
// Container credentials (the metadata endpoints of Amazon ECS) are not fetched; give the keys in ServerParameters or
// the environment.
package gameserver
