// Package quic is a transport of gamenet's sessions over QUIC: encrypted UDP, with a reliable stream for most packets
// of a game and datagrams for data that is outdated before it could be sent again.
//
//	server, client, err := quic.SelfSigned() // for a first try; a real certificate for players
//	…
//	overServer, overClient := quic.New(quic.Config{TLS: server}), quic.New(quic.Config{TLS: client})
//	gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Transport: overServer, …}})
//	gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{Transport: overClient, …}})
//
// # Reliability
//
// A session is one QUIC connection with one stream, which the client opens. Session.Send and broadcasts use the stream:
// every packet arrives, once and in order, or the session ends. A lost UDP packet delays the packets behind it, as with
// TCP.
//
// Session.SendDatagram sends a datagram: it arrives once or never, may overtake others, and waits for none. It is not
// sent again when it is lost. While the network is congested, the oldest waiting datagrams are dropped, so that the
// newest state is sent. The receiver keeps 128 datagrams for a slow callback and drops further ones.
//
// A datagram holds about 1,200 bytes, the codec's header included: 1,163 on every path that supports QUIC, 1,243 from
// the start on most, and up to 1,415 after path MTU discovery. A larger packet is rejected with
// gamenet.ErrPacketTooLarge; send it over the stream.
//
// # Ending
//
// Closing a connection discards undelivered data: unlike with TCP, it is no longer retransmitted. Data before
// CloseWrite arrives if Close is called after the end of the other side's stream: Close then waits for the last
// acknowledgements, up to a second. Session.Disconnect works this way; an end by an error does not.
//
// # Limits
//
// There is no 0-RTT: an observer can record and replay 0-RTT data, and a game's packets ("buy", "fire") must not run
// twice. Clients still resume TLS sessions, if their tls.Config has a cache.
//
// Stateless resets are off, quic-go's default without a key: a restarted server does not notify the clients of the
// previous run, which detect it after MaxIdleTimeout. A client's address is validated by its handshake; until then the
// server sends at most three times the bytes it received. See Config.ValidateAddress.
//
// A failed handshake never becomes a session, so that spoofed addresses and slow clients use no session slots; gamenet
// does not report it.
//
// # UDP buffers
//
// All players of a server share one socket. Linux gives it a buffer of about 200 KiB, which a burst overflows. quic-go
// requests 7 MiB, for sending too, and logs once when it does not get them:
//
//	sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000
//
// On FreeBSD and macOS set kern.ipc.maxsockbuf to 8441037. On Linux a process with CAP_NET_ADMIN needs no setting.
package quic
