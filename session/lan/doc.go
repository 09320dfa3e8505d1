// Package lan finds and announces game sessions on the local network, without any service: a searcher queries all hosts
// on its links, and the hosts that can be joined answer.
//
//	network, err := lan.New(lan.Config{})
//	beacon, err := network.Announce(ctx, session.Advert{
//		Name: "Friday", Port: 7777, Connections: 8, OpenConnections: 7, Joinable: true,
//	})
//	defer beacon.Close()
//
// and on another machine, or in another process:
//
//	err := network.Search(ctx, session.FindRequest{Stop: 1}, func(r session.SearchResult) {
//		fmt.Println(r.Name, net.JoinHostPort(r.IPAddress, strconv.Itoa(r.Port)), r.Ping)
//	})
//
// The protocol is Muster's own. Its semantics are those of the Unreal LAN beacon: port 14001, application id 9999,
// packets of at most 1,024 bytes, a nonce that assigns answers to their search, a query every second for five seconds,
// and an instance id that identifies the host of an answer. It differs in three ways: hosts answer by unicast;
// searchers listen on a port of their own, so that any number of hosts and searchers can share a machine; and a search
// may end early.
//
// # Destinations of queries
//
// On each link that is up, loopback included, a searcher sends a query to
//
//	239.255.140.1        IPv4 multicast of local scope (RFC 2365)
//	the link's broadcast address, for each IPv4 network of the link
//	ff12::8000:36b1      IPv6 multicast, link-local and not assigned by IANA (RFC 4291, RFC 3307)
//
// at the port. It sends from a port of its choice, to which hosts answer by unicast. A host can receive several copies
// of a query this way, and answers each.
//
// # Packets
//
// Numbers are big-endian. Texts are one byte with their length, 0 to 255, then so many bytes of UTF-8 without control
// characters. Both packets begin with a header:
//
//	offset  bytes
//	0       4   "MLAN"
//	4       1   version: 1
//	5       1   "Q" for a query, "R" for a reply
//	6       2   size of the packet, header included: at most 1,024, and that of the datagram
//	8       4   application id; others are ignored
//	12      8   nonce: random, one for each search; a reply has that of its query
//	20      4   sequence number: counts the packets of a search; a reply has that of its query
//
// A query continues with
//
//	24      4   build id, signed; 0 asks for all builds
//	28          zeros up to the size; a searcher fills the packet to 1,024 bytes
//
// and a reply with
//
//	24      16  instance id: random, one for each announced session
//	40      4   build id, signed
//	44      2   port where the game listens, not 0
//	46      2   slots
//	48      2   free slots: 1 to the number of slots
//	50      1   number of properties
//	51          the texts session id, owner id, owner name and name of the session,
//	            then a key and a value, two texts, for each property, keys in
//	            strictly ascending order of their bytes, and nothing behind
//
// Packets that deviate from this are ignored. The host's address is the source address of its reply.
//
// # Security
//
// A local network is not trusted, and nothing here is signed: every machine on the link receives queries, can answer
// them, and can pretend to be a host. A result is only a proposal; the game's own handshake decides. An attacker
// cannot:
//
//   - Use a host to flood a third machine. A host answers only queries that are at
//     least as long as the reply, so that it never sends more bytes than it receives:
//     a rate limit alone would still amplify forged traffic. Searchers therefore pad
//     their queries, which costs a search only some kilobytes. Besides, a host
//     answers only addresses of its own links, at a limited rate for each address
//     and in all (Limits).
//   - Exhaust memory. Packets are checked before anything is allocated for them, and
//     the number of results, askers and properties is limited.
//   - Answer a search whose queries it does not receive: it does not know the nonce.
package lan
