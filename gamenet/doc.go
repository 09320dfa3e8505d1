// Package gamenet connects a dedicated game server with its players: sessions over TCP, TLS or QUIC, packets, send
// queues with limits, groups that receive the same packets, and an orderly end.
//
// This is a whole server. It sends the packets of each player to all:
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
//		room := gamenet.NewGroup()
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
// A client is the same with [NewClient] and an Address to connect to: sessions and handlers do not know which side they
// are on. Only NewHandler must be given; [Config] says what the defaults are.
//
// # Callbacks and goroutines
//
// A session calls its [Handler]. These are the guarantees:
//
//   - NewHandler, then OnConnected, then OnPacket for each packet, then
//     OnDisconnected: exactly once and as the last, if OnConnected was called.
//   - The callbacks of one session never overlap. Those of different sessions do:
//     what they share needs a lock, or an [Executor].
//   - Packets come in the order in which they were sent. Datagrams may overtake
//     them.
//   - No callback runs under a lock, so it may call all of this package for any
//     session, but for the Close of its own service, which would wait for it.
//   - A callback that takes long holds up its own session and no other.
//   - A callback that panics ends its own session, with a *[PanicError] as cause.
//   - The payload of a packet lies in the receive buffer: it is valid until OnPacket
//     returns. Keep a bytes.Clone.
//
// Two more callbacks are optional, by methods that the handler has: OnSent ([SentHandler]) and OnClosing
// ([ClosingHandler]). OnSent may overlap the others except OnDisconnected.
//
// Compare the cause that OnDisconnected gets with errors.Is and errors.As: [ErrPeerClosed] or a *[PeerError] with what
// the other side said, [ErrLost], [ErrDisconnected], [ErrServiceClosed], [ErrIdle], [ErrFrame], [ErrSlowConsumer] and
// the others that this package lists.
//
// A session has one goroutine, which reads and calls. A second one exists only while a write has to wait.
//
// # Sending
//
// [Session.Send] may be called from any goroutine, callbacks included. It copies the payload into the session's queue
// and, if nobody else is writing to that session, writes what is queued without waiting; what the connection does not
// take goes out later, with all that has been queued meanwhile in one write. nil means queued, not received. What
// callbacks send while more received packets wait is gathered, and written after the last of them.
//
// The queue holds at most Config.QueueBytes and Config.QueuePackets. What happens to a packet that finds it full is
// Config.WhenFull:
//
//	Disconnect   the session ends; Send returns ErrSlowConsumer (the default)
//	DropNewest   the packet is dropped; Send returns ErrDropped
//	DropOldest   packets that wait are dropped to make place; Send returns nil
//	Block        Send waits for place
//
// Disconnect suits packets that build on one another, the Drop policies suit states of which only the last counts, and
// Block suits tools; a room that blocks waits for its slowest player. [Session.SendContext] waits whatever the policy.
// [Session.Stats] and [Metrics] count what was dropped.
//
// [Group.Broadcast] encodes a packet once for all members. A [Frame] goes further: it holds several packets, a whole
// tick for example, and is sent to any number of sessions without being copied. Sessions leave their groups when they
// end.
//
// # Life of a session
//
// The place in ServerConfig.MaxSessions (and MaxPerAddress) is taken before anything is made for a connection; one too
// many is told why, with a codec that has ids, and closed. Then come the handshake of the transport (HandshakeTimeout),
// NewHandler, OnConnected, and a first packet within FirstPacketTimeout, if set. IdleTimeout ends a session that receives
// nothing; PingInterval sends pings into the silence, so that only those who have vanished are silent for long, and
// [Session.RTT] knows the time there and back. Clients and servers answer pings by themselves.
//
// [Session.Disconnect] writes what was sent before, tells the reason, half closes, and cuts the connection if the other
// side has not closed within CloseTimeout. [ServerService.Close] stops accepting, calls OnClosing, does the same with
// all sessions, and returns when every goroutine has ended; when its context is done before, it cuts at once. With
// ClientConfig.Reconnect a client makes a new session, with a new handler, when one has ended.
//
// # Codecs
//
// A [Codec] cuts the stream into packets. Sizes are little-endian; MaxPacket limits a packet with its header, and a
// longer one ends the session with [ErrFrame] before it is received.
//
//	codec    header                                ids   for
//	U16      u16 size of all of it, u16 packet id  yes   games: the default
//	U32      u32 size of the payload               no    large packets
//	Varint   varint size of the payload            no    streams of Protocol Buffers
//	Raw      none                                  no    bytes as they come, in any pieces
//
// The ids from [FirstReservedID] on are the library's own: pings and the reason why a session ends. Codecs without ids
// have neither.
//
// # Transports
//
// Config.Transport is [TCP], [TLS], or that of the package gamenet/quic, which also has datagrams:
// [Session.SendDatagram] sends a packet that may be lost or overtake others, and is Send on the other transports.
// TCP.Wrap takes a listener that reads PROXY headers. Your own [Transport] works too: a [Conn] is a net.Conn with a
// CloseWrite.
//
// # Tuning
//
// The defaults are meant for some thousand players who receive some ten packets a second each. Beyond that:
//
//   - FlushDelay, a millisecond or so, gathers what a tick sends one after the
//     other to a player into one write. Broadcast and Frame do so for one packet and
//     for one tick without a delay. [Session.Flush] ends the wait.
//   - QueueBytes times MaxSessions is the memory that players who do not read can
//     take. An idle session has no buffers.
//   - Each connection is an open file: raise the limit (ulimit -n, LimitNOFILE)
//     above MaxSessions and leave room for the rest of the process. A server that
//     runs out goes on accepting when files are closed.
//   - A game loop that must not be held up uses the default policy or one that drops,
//     never Block.
//   - Metrics cost little; package gamenet/netmetrics has them for Prometheus.
//
// # What it is not
//
// It has no remote calls, no serialization beyond the header, no accounts and no matchmaking, and no protocol of its
// own over UDP: where packets must not wait for one another, use QUIC's datagrams. A session that has ended does not
// come back; who a player is belongs into the first packet. Package gameserver speaks to the service that sends the
// players.
package gamenet
