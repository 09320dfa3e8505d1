package gamenet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// The causes that OnDisconnected receives and the errors that calls return. Compare with errors.Is; some are wrapped
// with details.
var (
	// ErrPeerClosed: the other side closed the connection.
	ErrPeerClosed = errors.New("gamenet: closed by the other side")
	// ErrLost: the connection broke. The error of the operating system is wrapped as well.
	ErrLost = errors.New("gamenet: connection lost")
	// ErrDisconnected: Disconnect was called on this side.
	ErrDisconnected = errors.New("gamenet: disconnected")
	// ErrServiceClosed: the service is closing or has closed.
	ErrServiceClosed = errors.New("gamenet: the service is closed")
	// ErrFrame: the received bytes are not a packet.
	ErrFrame = errors.New("gamenet: invalid packet received")
	// ErrSlowConsumer: the other side did not read, and its send queue was full.
	ErrSlowConsumer = errors.New("gamenet: the other side reads too slowly, its send queue is full")
	// ErrIdle: nothing was received for Config.IdleTimeout.
	ErrIdle = errors.New("gamenet: nothing was received for too long")
	// ErrFirstPacket: no first packet was received within Config.FirstPacketTimeout.
	ErrFirstPacket = errors.New("gamenet: no first packet in time")
	// ErrHandshake: the handshake of the transport failed or took too long. Start of a client returns it too. The error
	// of crypto/tls is wrapped as well.
	ErrHandshake = errors.New("gamenet: handshake failed")
	// ErrWriteTimeout: a write made no progress for Config.WriteTimeout.
	ErrWriteTimeout = errors.New("gamenet: write timed out")

	// ErrClosed: the session is not connected yet, or has ended.
	ErrClosed = errors.New("gamenet: the session is closed")
	// ErrDropped: the packet was not queued, because the queue is full and the policy is FullDropNewest, or
	// FullDropOldest and nothing could be dropped.
	ErrDropped = errors.New("gamenet: the send queue is full, the packet was dropped")
	// ErrPacketTooLarge: the packet has more than Config.MaxPacket bytes, or more than a datagram holds.
	ErrPacketTooLarge = errors.New("gamenet: packet too large")
	// ErrInvalidID: the packet id is reserved for the library, or the codec has no packet ids.
	ErrInvalidID = errors.New("gamenet: invalid packet id")

	// ErrFull and ErrFullAddress: the server has its maximum of sessions, in total or from one address. They are in the
	// server's metrics and log; its client sees a *PeerError, or the connection closed.
	ErrFull        = errors.New("gamenet: the server is full")
	ErrFullAddress = errors.New("gamenet: too many sessions from one address")

	// ErrStarted: Start was called before.
	ErrStarted = errors.New("gamenet: the service was started before")
)

// A PeerError is the cause when the other side has ended the session with a reason. errors.Is finds ErrPeerClosed in
// it.
type PeerError struct{ Reason }

func (e *PeerError) Error() string { return "gamenet: ended by the other side" + e.details() }

// Unwrap makes a PeerError an ErrPeerClosed too.
func (e *PeerError) Unwrap() error { return ErrPeerClosed }

// A PanicError is the cause when a callback panicked.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine, from debug.Stack
}

func (e *PanicError) Error() string { return fmt.Sprintf("gamenet: panic in a callback: %v", e.Value) }

// logPanic logs a recovered panic: to slog's default logger if log drops it.
func logPanic(log *slog.Logger, text string, attributes ...any) {
	if !log.Enabled(context.Background(), slog.LevelError) {
		log = slog.Default()
	}
	log.Error(text, attributes...)
}

// A ConfigError reports an invalid field of a configuration.
type ConfigError struct {
	Field string
	Fix   string // a sentence
}

func (e *ConfigError) Error() string { return "gamenet: " + e.Field + ": " + e.Fix }

func configError(field, format string, args ...any) error {
	return &ConfigError{Field: field, Fix: fmt.Sprintf(format, args...)}
}
