package idp

import (
	"errors"
	"fmt"
)

// The reasons why a token or a sign-in is rejected; errors of this package wrap one of them. Their texts may reach
// clients: of the answers of an identity provider they contain claims of verified tokens and OAuth's error codes alone.
var (
	// ErrExpired is the error of a token after its end.
	ErrExpired = errors.New("the token is expired")

	// ErrInvalid is the error of a token that is malformed, or not signed by the issuer with RS256 or ES256.
	ErrInvalid = errors.New("the token is invalid")

	// ErrRejected is the error of a signed token with the wrong issuer, audience or other claims, and of a sign-in that
	// the provider has refused.
	ErrRejected = errors.New("the token is not accepted")

	// ErrUnreachable is the error when the provider does not answer as it must. Clients repeat the request.
	ErrUnreachable = errors.New("the identity provider cannot be reached")
)

func invalid(format string, args ...any) error { return wrap(ErrInvalid, format, args) }

func rejected(format string, args ...any) error { return wrap(ErrRejected, format, args) }

func wrap(reason error, format string, args []any) error {
	return fmt.Errorf("%w: %s", reason, fmt.Sprintf(format, args...))
}
