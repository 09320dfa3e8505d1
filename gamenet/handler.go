package gamenet

// A Handler handles one session of a game. The session factory (Config.NewHandler) returns one for each session.
//
// The callbacks of one session never overlap and run in this order: OnConnected, then OnPacket for each packet in the
// order of sending (datagrams may be reordered), then OnDisconnected. They run in goroutines of the session and under
// no lock, so they may call everything in this package. Close does not wait when it is called within a callback: the
// service ends after the callback has returned. A slow callback delays its own session and no other. A callback that
// panics ends its own session, with a *PanicError as the cause.
type Handler interface {
	// OnConnected is called once, before anything is received. It may send, unless the session is already ending.
	OnConnected(s *Session)
	// OnPacket is called for each packet. The payload is in the receive buffer and valid only during the call: keep a
	// copy (bytes.Clone) if needed.
	OnPacket(s *Session, p Packet)
	// OnDisconnected is called exactly once, as the last callback, if OnConnected was called. cause is why the session
	// ended: see the errors of this package. Nothing else of the session runs any more, and sending returns ErrClosed.
	OnDisconnected(s *Session, cause error)
}

// A SentHandler is a Handler that is notified when packets were written to the operating system. Sending costs more
// with it: a goroutine of the session writes and calls OnSent, because a callback must not run in the sending
// goroutine.
type SentHandler interface {
	Handler
	// OnSent is called after each write with the number of bytes written, headers included. Calls do not overlap one
	// another and end before OnDisconnected; they may overlap OnPacket. OnSent must not wait for space in the queue
	// (FullBlock, SendContext): nothing is written before it returns.
	OnSent(s *Session, bytes int)
}

// A ClosingHandler is a Handler that is notified before its service closes.
type ClosingHandler interface {
	Handler
	// OnClosing is called when the service begins to close. The packets that it sends are written before the session
	// ends. It does not overlap the other callbacks except OnSent.
	OnClosing(s *Session)
}

// A Packet is one message of the game.
type Packet struct {
	ID      uint16 // what kind of message; 0 with codecs that have no ids
	Payload []byte // without the header; may be empty
}
