// Package protocol is what the players of an arena and its server say to each other: the messages, and their bytes in
// packets of gamenet.U16. It is this protocol's reference.
//
// # Numbers and texts
//
// Integers are little-endian. A text is its number of bytes as a u8, then so many bytes of UTF-8 without control
// characters. A message ends where its packet does: bytes after it, like bytes that lack, make the packet invalid.
// Whoever receives an invalid packet ends the connection.
//
// # Joining
//
// A player joins as package gamenet/handshake does it, with this package's Version and the player session as the
// ticket, which the server lets the service accept. Hello and Welcome carry data of this protocol:
//
//	packet   data
//	Hello    Join: text name (0–32)
//	Welcome  Welcome: u32 number, u16 ticks per second
//
// The packets that follow are these:
//
//	player → server
//	 id  message  bytes
//	  2  Input    u32 sequence, i8 x, i8 y
//	  3  Say      text (1–200)
//	  4  Leave    –
//	  5  Probe    u64 value
//
//	server → player
//	 18  Joined   u32 number, text name (0–32)
//	 19  Left     u32 number
//	 20  Said     u32 number, text (1–200)
//	 21  State    u32 tick, then for each player: u32 number, i16 x, i16 y
//	 22  Notice   text (1–200)
//	 23  Echo     u64 value
//
// # Playing
//
// Players have numbers from 1, which are never given again. Welcome is followed by Joined for each player who is there.
// From then on the server tells everybody who Joined, who Left and what was Said, and where all are: with each tick all
// players are in one State, or in several of at most MaxPlaces players with the same tick.
//
// State and Input may travel as datagrams, where the transport has them: they may then be lost, come twice, or overtake
// one another. The receiver keeps to the newest: an older tick or sequence is ignored. Both fit into a datagram of
// 1,024 bytes, header included. They may arrive before Welcome, and are not looked at then.
//
// A player walks at the server's pace: Input is the direction, and a full turn of the stick is MaxInput. It holds until
// the next one, for a second at most. A player who sends too much receives a Notice, and the others receive no more.
// Probe is answered with Echo at once, so that a player can tell how far away the server is. Leave asks the server to
// end the connection; hanging up does as well.
package protocol
