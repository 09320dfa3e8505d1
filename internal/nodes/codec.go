package nodes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// What a node answers to a command that another one has sent: as a uvarint, the newest
// record that the outcome may have seen, a byte that says what became of the command,
// and the answer or the refusal as package region writes it.
const (
	answered = iota // the machine answered, or refused
	notDone         // it was not carried out
	unknown         // it may have been
)

// appendOutcome appends what Replica.Serve gave. What cannot be written counts as
// unknown: the command is done by then.
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
	data, _ = region.AppendAnswer(dst, nil, fault.Internal(failed)) // refusals can be written
	return data
}

var errMalformed = errors.New("another node's answer cannot be read")

// decodeOutcome reads what appendOutcome wrote. The error is as Peer.Send is to give it.
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
	switch kind {
	case notDone:
		refused = because(refused, shard.ErrNotDone)
	case unknown:
		refused = because(refused, shard.ErrOutcomeUnknown)
	}
	return answer, seq, refused
}

// lost is the error of a command of which nobody knows what became.
func lost(cause error) error {
	return fault.Internal(fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, cause))
}

// because puts what callers look for into the chain of another node's error.
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
