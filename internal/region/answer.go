package region

import (
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Answers lists the types of answers to commands. Their numbers are unrelated to those of events and commands.
var Answers = event.NewSet([]event.Entry{
	{Number: 1, Type: (*refusal)(nil)},
	{Number: 2, Type: (*nothing)(nil)},
	{Number: 3, Type: (*number)(nil)},
	{Number: 4, Type: (*truth)(nil)},
	{Number: 101, Type: (*fleet.Compute)(nil)},
	{Number: 102, Type: (*fleet.TokenGrant)(nil)},
	{Number: 103, Type: (*fleet.Process)(nil)},
	{Number: 104, Type: (*fleet.GameSession)(nil)},
	{Number: 105, Type: (*fleet.Reservation)(nil)},
	{Number: 301, Type: (*placement.Placement)(nil)},
	{Number: 401, Type: (*matchmaking.Ticket)(nil)},
	{Number: 402, Type: (*matchmaking.Match)(nil)},
})

// A refusal is an error of the machine: a fault, or one without a Kind.
type refusal struct {
	Kind    fault.Kind `cbor:"1,keyasint,omitzero"`
	Message string     `cbor:"2,keyasint,omitzero"`
	Cause   string     `cbor:"3,keyasint,omitzero"` // of a fault, for the log
}

// Structs around simple answers, so that a later release may add fields.
type (
	nothing struct{}
	number  struct {
		Number int `cbor:"1,keyasint,omitzero"`
	}
	truth struct {
		Truth bool `cbor:"1,keyasint,omitzero"`
	}
)

// AppendAnswer appends the encoded results of Handle to dst. Of an error it encodes the fault in its chain with the
// text of its cause, or else its text. It fails for a type that is not in Answers.
func AppendAnswer(dst []byte, answer any, refused error) ([]byte, error) {
	if refused != nil {
		return Answers.AppendValue(dst, refusalOf(refused))
	}
	switch a := answer.(type) {
	case nil:
		answer = nothing{}
	case int:
		answer = number{a}
	case bool:
		answer = truth{a}
	}
	return Answers.AppendValue(dst, answer)
}

func refusalOf(err error) refusal {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return refusal{Message: err.Error()}
	case f.Err != nil:
		return refusal{f.Kind, f.Message, f.Err.Error()}
	default:
		return refusal{Kind: f.Kind, Message: f.Message}
	}
}

func (r refusal) err() error {
	switch {
	case r.Kind == "":
		return errors.New(r.Message)
	case r.Cause != "":
		return &fault.Error{Kind: r.Kind, Message: r.Message, Err: errors.New(r.Cause)}
	default:
		return &fault.Error{Kind: r.Kind, Message: r.Message}
	}
}

// DecodeAnswer decodes what AppendAnswer of this release, or of the one before or after it, encoded; unknown fields are
// ignored. It does not retain data. The answer has the type that Handle returned, even if it is nil. An err means that
// the bytes are not an answer of this release (event.ErrUnknown): the outcome of the command is unknown then.
func DecodeAnswer(data []byte) (answer any, refused, err error) {
	v, rest, err := Answers.NextValue(data)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d unexpected bytes at the end", len(rest))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("answer: %w", err)
	}
	switch v.(type) {
	// Handle does not return pointers to these
	case *refusal, *nothing, *number, *truth, *fleet.TokenGrant, *fleet.Reservation:
		value, ok := event.Deref(v)
		if !ok {
			return nil, nil, fmt.Errorf("answer: %T is null", v)
		}
		answer, refused = unwrapped(value)
		return answer, refused, nil
	default:
		return v, nil, nil
	}
}

// unwrapped returns what Handle returned.
func unwrapped(v any) (answer any, refused error) {
	switch v := v.(type) {
	case refusal:
		return nil, v.err()
	case nothing:
		return nil, nil
	case number:
		return v.Number, nil
	case truth:
		return v.Truth, nil
	default:
		return v, nil
	}
}
