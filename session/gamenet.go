package session

import (
	"context"
	"errors"
	"net"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
)

// Gamenet is a Connector for game servers that let players in with package gamenet/handshake. The Connection that it
// makes is a GamenetConnection. What closes it, such as LeaveSession, must not be called from a callback of the game's
// handler.
//
// Refusals keep their code in Error.Code, and are ErrFull, ErrUnavailable when another game session or another time may
// do, ErrTimeout, and otherwise ErrDenied.
type Gamenet struct {
	// Config is for all connections: the transport, the version of the game's protocol, the data to send, and
	// NewHandler or Welcomed, which make the game's handler. Address and Ticket come from the place in the game.
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
	return GamenetConnection{conn}, nil
}

// GamenetConnection is a player's line to a game server that speaks gamenet.
type GamenetConnection struct{ *handshake.Conn }

// Err implements Connection.
func (c GamenetConnection) Err() error {
	if err := c.Conn.Err(); !errors.Is(err, gamenet.ErrServiceClosed) {
		return err
	}
	return nil
}

// refused is an error of the handshake as one of this package's.
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
