package handshake

import (
	"errors"
	"fmt"
	"strconv"
)

// A Code is why a server does not let a player in, as far as a client can act on it. The numbers are those on the wire;
// a client takes one that it does not know for Other.
type Code uint8

// The codes.
const (
	Other   Code = iota // anything else; the text says what
	Invalid             // what the client sent is no Hello
	// The server speaks another version: one of the two has to be updated. The ticket is still good.
	VersionMismatch
	TicketMissing // a player session is needed
	TicketRefused // the player session is unknown, has ended, or is another player's: get a new one
	TicketInUse   // the player session is that of another connection, which may be ending just now
	Full          // no place is free: another game session, or later
	NoSession     // the server has no game session
	Ending        // the server is ending: another game session
	Unavailable   // the ticket could not be checked just now: later
	Timeout       // Hello did not come in time
	codes         // the number of codes
)

var codeNames = [codes]string{
	"Other", "Invalid", "VersionMismatch", "TicketMissing", "TicketRefused", "TicketInUse", "Full", "NoSession",
	"Ending", "Unavailable", "Timeout",
}

// String is the name of the code.
func (c Code) String() string {
	if !c.known() {
		return "Code(" + strconv.Itoa(int(c)) + ")"
	}
	return codeNames[c]
}

func (c Code) known() bool { return c < codes }

// A RefusedError says that a server has not let a player in. Admit returns one to choose the answer to the player, and
// Dial returns what the player heard.
type RefusedError struct {
	Code Code
	// for people: UTF-8 without control characters, at most MaxText bytes; what is more is left out on the way
	Text string
}

func (e *RefusedError) Error() string { return "handshake: refused: " + e.Text }

func refusedf(code Code, format string, args ...any) *RefusedError {
	return &RefusedError{Code: code, Text: fmt.Sprintf(format, args...)}
}

// refusalFor returns the answer to a player for an error: no more than is meant for players.
func refusalFor(err error) *RefusedError {
	if r, ok := errors.AsType[*RefusedError](err); ok {
		return r
	}
	if errors.Is(err, ErrInvalid) {
		return &RefusedError{Code: Invalid, Text: err.Error()}
	}
	return &RefusedError{Code: Other, Text: "the server could not let you in"}
}
