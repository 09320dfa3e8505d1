// Package handshake is how a player comes from a fresh connection of package gamenet into a game: the player says who
// is there, the server asks whoever it has to ask, and answers. The session's callbacks then go to the game.
//
// # A server
//
// Admit decides about each player and makes the player's handler. With package gameserver it lets the service accept
// the player session:
//
//	var players gamenet.Group
//
//	func admit(ctx context.Context, _ *gamenet.Session, hello handshake.Hello) (handshake.Admission, error) {
//		if err := service.AcceptPlayerSession(ctx, hello.Ticket); err != nil {
//			return handshake.Admission{}, &handshake.RefusedError{
//				Code: handshake.TicketRefused, Text: "this player session is not valid",
//			}
//		}
//		return handshake.Admission{Handler: player{hello.Ticket}, Data: []byte("map=harbour")}, nil
//	}
//
//	func run(ctx context.Context) error {
//		players, err := handshake.NewServer(handshake.ServerConfig{Version: 3, Admit: admit})
//		if err != nil {
//			return err
//		}
//		server, err := gamenet.NewServer(gamenet.ServerConfig{
//			Config: gamenet.Config{Address: ":7777", NewHandler: players.NewHandler},
//		})
//		if err != nil {
//			return err
//		}
//		if err := server.Start(ctx); err != nil {
//			return err
//		}
//		<-ctx.Done()
//		players.StopAdmitting()
//		return server.Close(context.WithoutCancel(ctx))
//	}
//
// The player's handler is one like any other. Its OnConnected runs when Welcome is queued, so what it sends comes
// after; the player may have read Welcome by then, and what others are told meanwhile is not told to who joins a group
// only there. Its OnDisconnected gives back what Admit has taken:
//
//	func (p player) OnConnected(s *gamenet.Session)                   { players.Add(s) }
//	func (p player) OnPacket(_ *gamenet.Session, said gamenet.Packet) { _ = players.Broadcast(said) }
//	func (p player) OnDisconnected(*gamenet.Session, error) {
//		_ = service.RemovePlayerSession(context.Background(), p.ticket)
//	}
//
// # A client
//
//	conn, err := handshake.Dial(ctx, handshake.Config{
//		Config: gamenet.Config{
//			Address: address, NewHandler: func(*gamenet.Session) gamenet.Handler { return screen{} },
//		},
//		Version: 3,
//		Ticket:  playerSessionID,
//		Data:    []byte("ada"),
//	})
//	if refused, ok := errors.AsType[*handshake.RefusedError](err); ok && refused.Code == handshake.Full {
//		return tryAnother()
//	}
//	if err != nil {
//		return err
//	}
//	defer conn.Close(ctx)
//	fmt.Printf("welcome: %s\n", conn.Data())
//	_ = conn.Session().Send(gamenet.Packet{ID: 1, Payload: []byte("hello")})
//	<-conn.Done()
//
// # What holds
//
//   - The version is looked at first: who speaks another one has not used up the
//     ticket.
//   - A ticket is good for one session of a Server at a time: from before Admit is
//     asked until OnDisconnected has returned, or Admit has failed.
//   - Hello has five seconds to come (ServerConfig.Limit), counted from when the
//     session is connected. Neither silence, nor half a packet, nor datagrams make
//     that longer.
//   - One player's trouble is that player's: Admit runs in the session's goroutine,
//     and a panic in it ends that session.
//   - Who hangs up while Admit runs is let in and then out: OnConnected and
//     OnDisconnected of the player's handler follow, so that it gives back what
//     Admit took.
//   - Players see the text of a *RefusedError, and never that of another error.
//
// ServerService.Sessions and Broadcast know those too who have not come in yet. What is for players alone goes to a
// gamenet.Group, which OnConnected adds them to.
//
// # On the wire
//
// Three packets with ids of their own, which need a codec that has ids. The numbers are little-endian. Data is the rest
// of the packet.
//
//	id      packet   from    payload
//	0xFFE0  Hello    player  u8 format, 1; u32 version; u64 nonce; u8 length of the ticket, ticket; data (0–512)
//	0xFFE1  Welcome  server  u64 nonce, that of the Hello; data (0–512)
//	0xFFE2  Refusal  server  u8 code; text (0–255)
//
// Hello is the first packet of a session. Format and version stay where they are in all formats, and so does all of
// Refusal: so every server can tell every client that they do not understand one another. After a Refusal the server
// ends the session with the same text as the reason. Ticket and text are UTF-8 without control characters. The ids from
// FirstID to LastID are the handshake's.
package handshake
