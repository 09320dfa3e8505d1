package channel

import "time"

// Config is what a process knows about its channels.
type Config struct {
	Process  string                 // this one
	Patience time.Duration          // how long a request waits for an owner, and an End for an acknowledgement
	MaxPiece func() int             // the maximum size of a packet's piece
	Carry    func(end *End) Carrier // begins to send the packets of an End
}

// A Carrier sends the packets of an End: when Next has some, and reports an End that has given up to its owner, a
// Forwarder or Server. The owner calls its methods within its own, so they must not call it.
type Carrier interface {
	Signal() // Next may have a packet
	Close()  // Next has none any more
}

// An End is one end of a channel: a stream, and the fields that its packets have in common.
type End struct {
	*Stream
	Process string // at the other end
	head    Packet
	carrier Carrier
}

func (c *Config) open(process string, kind byte, generation uint64) *End {
	e := &End{
		Stream: NewStream(c.MaxPiece(), c.Patience), Process: process,
		head: Packet{Kind: kind, From: c.Process, Generation: generation},
	}
	e.carrier = c.Carry(e)
	return e
}

// Next returns a packet to send now; ok is false if there is none. The piece is valid until the next call of a method.
func (e *End) Next(now time.Duration) (p Packet, ok bool) {
	p, ok = e.Stream.Next(now)
	p.Kind, p.From, p.Generation = e.head.Kind, e.head.From, e.head.Generation
	return p, ok
}

// close prevents further packets: the caller relies on what was sent until then.
func (e *End) close() {
	e.Stream.Close()
	e.carrier.Close()
}
