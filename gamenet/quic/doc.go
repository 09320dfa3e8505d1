// Package quic carries gamenet's sessions over QUIC: encrypted UDP, with a reliable stream for most of what a game says
// and datagrams for what is old before it could be sent again.
//
//	server, client, err := quic.SelfSigned() // for a first try; a real certificate for players
//	…
//	gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Transport: quic.Transport{TLS: server}, …}})
//	gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{Transport: quic.Transport{TLS: client}, …}})
//
// # What is reliable
//
// A session is one QUIC connection with one stream, which the client opens. What Session.Send and broadcasts send goes
// over the stream: every packet arrives, once and in order, or the session ends. A lost UDP packet holds up the packets
// behind it, as with TCP.
//
// Session.SendDatagram sends a datagram: it arrives once or never, may overtake others, and waits for none. It is not
// sent again when it is lost. When the network takes no more, the oldest that wait are dropped, so that the newest
// state gets through. On the way in, those that a slow callback leaves waiting are dropped from the 129th on.
//
// A datagram holds about 1,200 bytes, the codec's header included: 1,163 on every path that QUIC works on, 1,243 from
// the start on most, and up to 1,415 once the connection has found out what the path carries. A larger packet is
// refused with gamenet.ErrPacketTooLarge; it can go over the stream.
//
// # Ending
//
// Closing a connection takes with it what has not arrived: unlike TCP, nobody goes on sending it. What CloseWrite has
// ended arrives, if Close comes after the end of the other side's stream: Close then waits for the last
// acknowledgements, up to a second. Session.Disconnect works this way; an end by an error does not.
//
// # Limits
//
// There is no 0-RTT: what comes in the first flight can be recorded and sent again by an observer, and a game's packets
// ("buy", "fire") must not run twice. Clients resume TLS sessions all the same, if their tls.Config has a cache.
//
// Stateless resets are off, as quic-go has it without a key: a restarted server does not tell the clients of its
// predecessor, who notice after MaxIdleTimeout. A client's address counts as proven when its handshake is done; until
// then the server sends at most three times what it got. See Transport.ValidateAddress.
//
// A handshake that fails never becomes a session, so that spoofed addresses and slow clients take no places; and
// gamenet does not notice it.
//
// # UDP buffers
//
// All players of a server share one socket. Linux gives it a buffer of some 200 KiB, which a burst overruns. quic-go
// asks for 7 MiB, for sending too, and logs once when it does not get them:
//
//	sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000
//
// On FreeBSD and macOS it is kern.ipc.maxsockbuf, with 8441037. A process that may administrate the network on Linux
// (CAP_NET_ADMIN) needs neither.
package quic
