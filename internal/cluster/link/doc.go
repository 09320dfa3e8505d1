// Package link carries frames from one process to another over a network that may
// lose, delay, double and reorder packets: every frame arrives once and in order, or
// the link is broken. It is pure: it has no clock and no network. It gives packets to
// send, and is told which ones came, and when.
//
// # Packets
//
// A packet is the byte 2 (the version of this format), a byte for its kind, the
// sender's process (a byte with its length, and the bytes), and three uvarints: the generation of the
// link, the packet's number, and the number up to which the sender has received
// everything. The rest is a piece of the sender's stream of bytes. Packets that carry a piece are
// numbered from 1; one that only acknowledges has the number 0. What is not acknowledged
// is sent again.
//
// A packet with the number 1 opens a link, once: its receiver remembers the newest generation of
// each process (Generations), because the sender repeats the packet until it hears of it, and
// may do so when the receiver has given the link up. A process has a new name with each start.
//
// # Frames
//
// The stream is frames, each a uvarint with the length of what follows, a byte with its kind,
// and fields as uvarints in the order of Frame; the body is the rest. A frame may
// begin in one packet and end in another, and a packet may hold many.
package link

import "time"

const (
	// Retransmit is after how long a packet that was not acknowledged is sent again.
	Retransmit = 250 * time.Millisecond

	// ackDelay is how long an acknowledgement waits for something to travel with.
	ackDelay = 20 * time.Millisecond

	// again is how many packets are sent again at a time: what was lost is mostly
	// one piece, and the rest is acknowledged when it has come.
	again = 16

	// window is how many bytes may be unacknowledged before further ones wait.
	window = 8 << 20

	// MaxFrame is the length of the longest frame. A longer one means that the stream is not one of frames.
	MaxFrame = 64 << 20
)
