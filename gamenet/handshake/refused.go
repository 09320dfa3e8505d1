package handshake

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/muster-gg/muster/gamenet"
)

// A Code is the reason why a server refuses a player, as far as a client can act on it. The numbers are those on the
// wire; a client treats an unknown one as Other.
type Code uint8

// The codes.
const (
	Other   Code = iota // anything else; see the text
	Invalid             // the client sent no valid Hello
	// The server has another version: one side must be updated. The ticket is still valid.
	VersionMismatch
	TicketMissing // a player session is needed
	TicketRefused // the player session is unknown, has ended, or is another player's: get a new one
	TicketInUse   // another connection, which may be ending, holds the player session
	Full          // no slot is free: try another game session, or later
	NoSession     // the server has no game session
	Ending        // the server is ending: try another game session
	Unavailable   // the ticket could not be checked: try later
	Timeout       // Hello did not arrive in time
	codes         // the number of codes
)

var codeNames = [codes]string{
	"Other", "Invalid", "VersionMismatch", "TicketMissing", "TicketRefused", "TicketInUse", "Full", "NoSession",
	"Ending", "Unavailable", "Timeout",
}

// String returns the name of the code.
func (c Code) String() string {
	if !c.known() {
		return "Code(" + strconv.Itoa(int(c)) + ")"
	}
	return codeNames[c]
}

func (c Code) known() bool { return c < codes }

// A RefusedError reports that a server refused a player. Admit returns one to choose the answer to the player, and Dial
// returns the answer that the player received.
type RefusedError struct {
	Code Code
	// for people: UTF-8 without control characters, at most 255 bytes; the rest is removed before sending
	Text string
}

func (e *RefusedError) Error() string { return "handshake: refused: " + e.Text }

// firstCode is the code of Other in a gamenet.Reason. Those of the other codes follow.
const firstCode uint16 = 0xFFE0

// reason returns the reason with which a server ends the session of a refused player.
func (e *RefusedError) reason() gamenet.Reason {
	r := gamenet.Reason{Code: firstCode, Text: clean(e.Text), Reconnect: e.Code == Full || e.Code == Unavailable}
	if e.Code.known() {
		r.Code += uint16(e.Code)
	}
	return r
}

// refusedBy returns the refusal in the reason of a server that has ended the session without an answer.
func refusedBy(r gamenet.Reason) *RefusedError {
	e := &RefusedError{Code: Other, Text: clean(r.Text)}
	switch r.Code {
	case gamenet.CodeFull, gamenet.CodeFullAddress:
		e.Code = Full
	case gamenet.CodeClosing:
		e.Code = Ending
	default:
		if c := Code(r.Code - firstCode); r.Code >= firstCode && c.known() {
			e.Code = c
		}
	}
	return e
}

func refusedf(code Code, format string, args ...any) *RefusedError {
	return &RefusedError{Code: code, Text: fmt.Sprintf(format, args...)}
}

// refusalFor returns the answer to a player for an error. It hides the text of internal errors.
func refusalFor(err error) *RefusedError {
	if r, ok := errors.AsType[*RefusedError](err); ok {
		return r
	}
	if errors.Is(err, ErrInvalid) {
		return &RefusedError{Code: Invalid, Text: err.Error()}
	}
	return &RefusedError{Code: Other, Text: "the server could not let you in"}
}
