// Package gamenet connects a dedicated game server with its players: sessions over TCP, TLS or QUIC, packets, send
// queues with limits, groups that receive the same packets, and graceful shutdown.
//
// This is a complete server. It broadcasts the packets of each player to all players:
//
//	type player struct{ room *gamenet.Group }
//
//	func (p player) OnConnected(s *gamenet.Session) { p.room.Add(s) }
//
//	func (p player) OnPacket(_ *gamenet.Session, packet gamenet.Packet) { _ = p.room.Broadcast(packet) }
//
//	func (p player) OnDisconnected(s *gamenet.Session, cause error) {
//		slog.Info("player left", "session", s.ID(), "cause", cause)
//	}
//
//	func run(ctx context.Context) error {
//		room := new(gamenet.Group)
//		server, err := gamenet.NewServer(gamenet.ServerConfig{
//			Config: gamenet.Config{
//				Address:    ":7777",
//				NewHandler: func(*gamenet.Session) gamenet.Handler { return player{room} },
//			},
//			MaxSessions: 100,
//		})
//		if err != nil {
//			return err
//		}
//		if err := server.Start(ctx); err != nil {
//			return err
//		}
//		<-ctx.Done() // a signal, say: signal.NotifyContext
//		return server.Close(context.WithoutCancel(ctx))
//	}
//
// A client is the same with [NewClient] and an Address to connect to: sessions and handlers work the same on both
// sides. Only NewHandler is required; [Config] documents the defaults.
//
// # Callbacks
//
// A session calls its [Handler] with these guarantees:
//
//   - NewHandler, then OnConnected, then OnPacket for each packet, then OnDisconnected as the last, exactly once if
//     OnConnected was called.
//   - The callbacks of one session never overlap. Callbacks of different sessions do: state that they share needs a
//     lock, or an [Executor].
//   - Packets arrive in the order in which they were sent. Datagrams may overtake them.
//   - No callback runs under a lock, so it may call everything in this package for any session. The Close of a service
//     does not wait within a callback: a client may close in OnPacket when the server has sent that the game has ended.
//   - A slow callback delays its own session and no other.
//   - A callback that panics ends its own session, with a *[PanicError] as the cause.
//   - The payload of a packet is in the receive buffer: it is valid until OnPacket returns. Keep a bytes.Clone.
//
// Two more callbacks are optional methods of the handler: OnSent ([SentHandler]) and OnClosing ([ClosingHandler]).
// OnSent may overlap the others except OnDisconnected.
//
// Compare the cause that OnDisconnected receives with errors.Is and errors.As: [ErrPeerClosed] or a *[PeerError] with
// the reason of the other side, [ErrLost], [ErrDisconnected], [ErrServiceClosed], [ErrIdle], [ErrFrame],
// [ErrSlowConsumer] and the others that this package lists.
//
// # Sessions and players
//
// A handler is the game's class of a player: if NewHandler returns a new one for each session, its fields are the state
// of one player, and the callbacks use them without a lock. [Session.Handler] leads from a session to its handler, for
// example in a loop over a room (other goroutines need a lock for fields that change):
//
//	for _, s := range room.Members() {
//		fmt.Println(s.Handler().(*player).name)
//	}
//
// [Session.SetValue] attaches a value for code that does not know the handler. [Session.Context] is done when the
// session has ended: pass it to calls that a callback waits for.
//
// # Goroutines
//
// A session has one goroutine, which reads and calls the handler. A second one exists only while a write has to wait.
//
// # Sending
//
// [Session.Send] may be called from any goroutine, callbacks included. It copies the payload into the session's queue
// and, if no other goroutine is writing to that session, writes the queue without waiting. Bytes that the connection
// does not accept at once are written later, together with the packets queued meanwhile. nil means queued, not
// received. Packets that callbacks send while more received packets wait are gathered, and written after the last of
// them.
//
// The queue holds at most Config.QueueBytes and Config.QueuePackets. Config.WhenFull is the policy for a full queue:
//
//	FullDisconnect   the session ends; Send returns ErrSlowConsumer (the default)
//	FullDropNewest   the packet is dropped; Send returns ErrDropped
//	FullDropOldest   the oldest packets in the queue are dropped; Send returns nil
//	FullBlock        Send waits for space
//
// FullDisconnect suits packets that depend on one another, the Drop policies suit states of which only the latest
// matters, and FullBlock suits tools; a room that blocks waits for its slowest player. [Session.SendContext] waits
// whatever the policy. [Session.Stats] and [Metrics] count the dropped packets.
//
// [Group.Broadcast] encodes a packet once for all members. A [Frame] holds several encoded packets, a whole tick for
// example, and is sent to any number of sessions without being copied. Sessions leave their groups when they end.
//
// # Lifecycle of a session
//
// The server reserves a slot of ServerConfig.MaxSessions (and MaxPerAddress) before it allocates anything for a
// connection. It closes a connection beyond the limit, after sending the reason if the codec has ids. An accepted
// connection continues with the handshake of the transport (HandshakeTimeout), NewHandler, OnConnected, and a first
// packet within FirstPacketTimeout, if set. A session that receives nothing for 30 seconds (IdleTimeout) ends, on both
// sides. After five seconds of silence a ping is sent (PingInterval), which the other side answers automatically, so
// that only a lost peer reaches IdleTimeout; [Session.RTT] returns the measured round-trip time. Codecs without ids
// have no pings, and by default no IdleTimeout.
//
// [Session.Disconnect] writes the queued packets, sends a [Reason] with a code and a text, half closes, and closes the
// connection if the other side has not closed it within CloseTimeout. [ServerService.Close] stops accepting, calls
// OnClosing, disconnects all sessions in this way, and returns when every goroutine has ended; when its context is done
// first, it closes all connections at once and returns. With ClientConfig.Reconnect a client opens a new session, with
// a new handler, when one has ended, unless the other side has ended it with a Reason that does not invite to
// reconnect.
//
// # Codecs
//
// A [Codec] splits the stream into packets. Sizes are little-endian; MaxPacket limits a packet with its header, and a
// longer one ends the session with [ErrFrame] before it is received.
//
//	codec    header                                ids   for
//	U16      u16 total size, u16 packet id         yes   games: the default
//	U32      u32 payload size                      no    large packets
//	Varint   varint payload size                   no    streams of Protocol Buffers
//	Raw      none                                  no    bytes as received, without boundaries
//
// The ids from [FirstReservedID] on are reserved for the library: for pings and for the reason why a session ends.
// Codecs without ids have neither.
//
// # Transports
//
// Config.Transport is [TCP], [TLS], or the one of package gamenet/quic, which also has datagrams:
// [Session.SendDatagram] sends a packet that may be lost or overtake others, and is Send on the other transports.
// ServerConfig.WrapListener can read PROXY headers. You can implement [Transport]: a [Conn] is a net.Conn with a
// CloseWrite.
//
// # Tuning
//
// The defaults suit about a thousand players who receive about ten packets a second each. Beyond that:
//
//   - FlushDelay, a millisecond or so, gathers the packets that a tick sends to one player into one write. A Frame does
//     so for a whole tick without a delay. [Session.Flush] ends the delay.
//   - QueueBytes times MaxSessions bounds the memory held for players who do not read. An idle session has no buffers.
//   - Each connection is an open file: raise the limit (ulimit -n, LimitNOFILE) above MaxSessions, with a margin for
//     the rest of the process. A server that reaches the limit accepts again when files are closed.
//   - A game loop that must not block uses the default policy or one that drops, never FullBlock.
//   - Metrics cost little; package gamenet/netmetrics exports them to Prometheus.
//
// # Out of scope
//
// The package has no remote calls, no serialization beyond the header, no accounts and no matchmaking, and no protocol
// of its own over UDP: where packets must not wait for one another, use QUIC's datagrams. An ended session cannot be
// resumed; put the player's identity into the first packet. Package gameserver connects to the service that places the
// players.
package gamenet
