package nodes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The response to a command of another node: as a uvarint, the newest record that the outcome may depend on, a byte for
// the outcome, and the answer or the refusal in the encoding of package region.
const (
	answered = iota // answered or refused by the machine
	notDone         // not executed
	unknown         // possibly executed
)

// appendOutcome appends the result of Replica.Serve. If it cannot be encoded, the outcome is unknown: the command has
// been executed by then.
func appendOutcome(dst []byte, answer any, seq uint64, err error) []byte {
	kind := byte(answered)
	switch {
	case errors.Is(err, shard.ErrNotDone):
		kind = notDone
	case errors.Is(err, shard.ErrOutcomeUnknown):
		kind = unknown
	}
	dst = append(binary.AppendUvarint(dst, seq), kind)
	data, failed := region.AppendAnswer(dst, answer, err)
	if failed == nil {
		return data
	}
	dst[len(dst)-1] = unknown
	data, _ = region.AppendAnswer(dst, nil, fault.Internal(failed)) // refusals can be encoded
	return data
}

var errMalformed = errors.New("malformed answer of another node")

// decodeOutcome decodes the output of appendOutcome. The error is that of Peer.Send.
func decodeOutcome(data []byte) (answer any, seq uint64, err error) {
	seq, n := binary.Uvarint(data)
	if n <= 0 || n == len(data) || data[n] > unknown {
		return nil, 0, lost(errMalformed)
	}
	kind := data[n]
	answer, refused, err := region.DecodeAnswer(data[n+1:])
	if err != nil {
		return nil, 0, lost(err)
	}
	if kind != answered && refused == nil { // an answer and a reason for having none
		return nil, 0, lost(errMalformed)
	}
	switch kind {
	case notDone:
		refused = because(refused, shard.ErrNotDone)
	case unknown:
		refused = because(refused, shard.ErrOutcomeUnknown)
	}
	return answer, seq, refused
}

// lost is the error of a command with unknown outcome.
func lost(cause error) error {
	return fault.Internal(fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, cause))
}

// because adds an error that callers look for to the chain of another node's error.
func because(err, reason error) error {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok && err != nil:
		return fault.Internal(fmt.Errorf("%w: %w", reason, err))
	case !ok:
		return fault.Internal(reason)
	case f.Err != nil:
		return &fault.Error{Kind: f.Kind, Message: f.Message, Err: fmt.Errorf("%w: %w", reason, f.Err)}
	default:
		return &fault.Error{Kind: f.Kind, Message: f.Message, Err: reason}
	}
}
