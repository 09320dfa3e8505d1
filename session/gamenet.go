package session

import (
	"context"
	"errors"
	"net"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
)

// Gamenet is a Connector for game servers that accept players with package gamenet/handshake. Its connections are of
// type *handshake.Conn.
//
// A refusal has its code in Error.Code. It is ErrFull, ErrUnavailable if another game session or a later attempt may
// succeed, ErrTimeout, or otherwise ErrDenied.
type Gamenet struct {
	// Config is for all connections: the transport, the version of the game's protocol, the data to send, and
	// NewHandler or Welcomed, which make the game's handler. Connect sets Address and Ticket from the reservation.
	Config handshake.Config
}

// Connect implements Connector.
func (g Gamenet) Connect(ctx context.Context, r Reservation) (Connection, error) {
	cfg := g.Config
	cfg.Address, cfg.Ticket = r.Address(), r.PlayerSessionID
	conn, err := handshake.Dial(ctx, cfg)
	if err != nil {
		return nil, refused(err)
	}
	return conn, nil
}

// refused converts an error of the handshake to one of this package's.
func refused(err error) error {
	e := &Error{Op: "Connect", Kind: ErrTransport, Message: err.Error(), Err: err}
	timeout, isNet := errors.AsType[net.Error](err)
	if _, ok := errors.AsType[*gamenet.ConfigError](err); ok {
		e.Kind = ErrInvalid
	} else if refusal, ok := errors.AsType[*handshake.RefusedError](err); ok {
		e.Kind, e.Code, e.Message = refusalKind(refusal.Code), refusal.Code.String(), refusal.Text
	} else if errors.Is(err, context.DeadlineExceeded) || isNet && timeout.Timeout() {
		e.Kind = ErrTimeout
	} else if errors.Is(err, context.Canceled) {
		e.Kind = ErrCanceled
	}
	return e
}

func refusalKind(code handshake.Code) error {
	switch code {
	case handshake.Full:
		return ErrFull
	case handshake.NoSession, handshake.Ending, handshake.Unavailable:
		return ErrUnavailable
	case handshake.Timeout:
		return ErrTimeout
	}
	return ErrDenied
}
