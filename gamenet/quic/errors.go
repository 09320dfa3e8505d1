package quic

import (
	"errors"
	"io"
	"net"

	quicgo "github.com/quic-go/quic-go"
)

// The application error codes that end a connection.
const (
	codeClosed   quicgo.ApplicationErrorCode = 0 // Close was called
	codeProtocol quicgo.ApplicationErrorCode = 1 // the other side speaks something else
)

// A brokenError is the end of a connection that nobody on this side has closed. All such errors of quic-go are
// net.ErrClosed too, which everywhere else in Go means one's own Close: this one is not.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "quic: " + e.cause.Error() }

// Is finds everything but net.ErrClosed in the cause.
func (e *brokenError) Is(target error) bool {
	return target != net.ErrClosed && errors.Is(e.cause, target)
}

// As finds the errors of quic-go and crypto/tls in the cause.
func (e *brokenError) As(target any) bool { return errors.As(e.cause, target) }

// broken names the end of a connection as the rest of Go does: io.EOF when the other side has closed it.
func broken(err error) error {
	if e, ok := errors.AsType[*quicgo.ApplicationError](err); ok && e.Remote && e.ErrorCode == codeClosed {
		return io.EOF
	}
	return &brokenError{err}
}
