// Package channel carries frames from one process to another over a network that may lose, delay, duplicate and reorder
// packets: every frame arrives once and in order, or the channel breaks. It is pure: it has no clock, lock, goroutine
// or network. The caller sends its packets, and passes it the received ones with their times.
//
// A Forwarder sends requests over channels to the owners of shards, and a Server takes those of other processes. What
// they guarantee is documented in package cluster, which runs them. A Stream is one end of a channel.
//
// # Packets
//
// A packet is the byte 2 (the version of this format), a byte for its kind, the sender's process (a byte with its
// length, and the bytes), and three uvarints: the generation of the channel, the packet's number, and the number up to
// which the sender has received everything. The rest is a piece of the sender's byte stream. Packets with a piece are
// numbered from 1; one that only acknowledges has the number 0. Unacknowledged packets are sent again.
//
// A packet with the number 1 opens a channel, once: its receiver remembers the newest generation of each process
// (Generations), because the sender repeats the packet until it is acknowledged, possibly after the receiver has closed
// the channel. A process has a new name after each start.
//
// # Frames
//
// The stream consists of frames, each a uvarint with the length of the rest, a byte with its kind, and fields as
// uvarints in the order of Frame; the body is the rest. A frame may begin in one packet and end in another, and a
// packet may contain many.
package channel

import "time"

const (
	// Retransmit is the time after which an unacknowledged packet is sent again.
	Retransmit = 250 * time.Millisecond

	// ackDelay is how long an acknowledgement waits for a packet in its direction.
	ackDelay = 20 * time.Millisecond

	// again is the maximum number of packets that are sent again at a time: mostly one is lost, and then the rest is
	// acknowledged.
	again = 16

	// window is the maximum number of unacknowledged bytes; more must wait.
	window = 8 << 20

	// MaxFrame is the maximum size of a frame. A longer one means that the stream is corrupt.
	MaxFrame = 64 << 20
)
