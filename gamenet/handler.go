package gamenet

// A Handler is what a game does with one session. The session factory makes one for each (Config.NewHandler).
//
// The callbacks of one session never run at the same time and come in this order: OnConnected, then OnPacket for each
// packet in the order of sending (datagrams may come in another), then OnDisconnected. They run in the session's own
// goroutine and under no lock, so they may call everything in this package. A callback that takes long delays its own
// session and nobody else. A callback that panics ends its own session, with a *PanicError as the cause.
type Handler interface {
	// OnConnected is called once, before anything is received. Sending works, unless the session is ending already.
	OnConnected(s *Session)
	// OnPacket is called for each packet. Its payload is valid during the call only: it lies in the receive buffer.
	// Keep a copy (bytes.Clone) if needed.
	OnPacket(s *Session, p Packet)
	// OnDisconnected is called exactly once, as the last callback, if OnConnected was. cause says why: see the errors
	// of this package. Nothing of the session's is running any more, and sending answers ErrClosed.
	OnDisconnected(s *Session, cause error)
}

// A SentHandler is a Handler that wants to know what has been handed to the operating system. Sending costs more with
// it: a goroutine of the session's writes and calls, because a callback must not run in whoever sends.
type SentHandler interface {
	Handler
	// OnSent is called after each write with the number of bytes written, headers included. Calls do not overlap one
	// another and end before OnDisconnected; they may overlap OnPacket. OnSent must not wait for place in the queue
	// (Block, SendContext): nothing is written before it returns.
	OnSent(s *Session, bytes int)
}

// A ClosingHandler is a Handler that wants to say something before its service closes.
type ClosingHandler interface {
	Handler
	// OnClosing is called when the service begins to close. What it sends is written before the session ends. It is one
	// of the callbacks that do not overlap.
	OnClosing(s *Session)
}

// A Packet is one message of the game.
type Packet struct {
	ID      uint16 // what kind of message; 0 with codecs that have no ids
	Payload []byte // without the header; may be empty
}
