// Package handshake authenticates a player on a new connection of package gamenet: the player sends a ticket, the
// server checks it and answers. The game's handler then receives the session's callbacks.
//
// # A server
//
// Admit accepts or rejects each player and returns the player's handler. With package gameserver it makes the service
// accept the player session:
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
// The player's handler is an ordinary handler, and Session.Handler returns it. Its OnConnected runs when Welcome is
// queued, so its packets follow Welcome. The player may have read Welcome by then, and misses broadcasts to a group
// that only OnConnected adds it to. Its OnDisconnected releases what Admit acquired:
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
// # Guarantees
//
//   - The version is checked first: a client of another version has not used up its ticket.
//   - Only one session of a Server can hold a ticket: from before the call of Admit until OnDisconnected has returned,
//     or Admit has failed. With ServerConfig.Resume, a player who connects again replaces the session of a lost
//     connection: its OnDisconnected returns before Admit is called.
//   - Hello must arrive within five seconds (ServerConfig.Limit) after OnConnected. Neither half a packet nor datagrams
//     extend that.
//   - A player's failure affects no other: Admit runs in the session's goroutine, and a panic in it ends that session.
//   - If a player disconnects while Admit runs and Admit succeeds, OnConnected and OnDisconnected of the player's
//     handler are still called, so that it releases what Admit acquired.
//   - Players see the text of a *RefusedError, and never the text of another error of Admit, unless it wraps
//     ErrInvalid.
//
// ServerService.Sessions and Broadcast include sessions that are not admitted yet. Send packets for players only to a
// gamenet.Group, to which OnConnected adds them.
//
// # On the wire
//
// The handshake has three packets with reserved ids, so the codec must have ids. The numbers are little-endian. Data is
// the rest of the packet.
//
//	id      packet   from    payload
//	0xFFE0  Hello    player  u8 format, 1; u32 version; u64 nonce; u8 length of the ticket, ticket; data (0–512)
//	0xFFE1  Welcome  server  u64 nonce of the Hello; data (0–512)
//	0xFFE2  Refusal  server  u8 code; text (0–255)
//
// Hello is the first packet of a session. The positions of format and version, and the layout of Refusal, are the same
// in all formats, so that every server can send a Refusal to every client. After a Refusal the server ends the session
// with a gamenet.Reason of the same text, whose code is 0xFFE0 plus that of the Refusal. Ticket and text are UTF-8
// without control characters. The ids from FirstID on are reserved.
package handshake
