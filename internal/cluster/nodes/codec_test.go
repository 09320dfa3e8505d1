package nodes

import (
	"errors"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestOutcomes(t *testing.T) {
	full := &fault.Error{Kind: fault.Throttling, Message: "full", Err: shard.ErrNotDone}
	for name, tt := range map[string]struct {
		answer any
		err    error
		kind   fault.Kind
		reason error
	}{
		"an answer":              {answer: &fleet.GameSession{ID: "g"}},
		"nothing":                {},
		"a refusal":              {err: fault.New(fault.NotFound, "no"), kind: fault.NotFound},
		"not done":               {err: full, kind: fault.Throttling, reason: shard.ErrNotDone},
		"not done, without kind": {err: shard.ErrNotDone, kind: fault.InternalService, reason: shard.ErrNotDone},
		"unknown": {err: fault.Internal(shard.ErrOutcomeUnknown), kind: fault.InternalService,
			reason: shard.ErrOutcomeUnknown},
		"no answer of ours": {answer: struct{ X int }{}, kind: fault.InternalService,
			reason: shard.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			answer, seq, err := decodeOutcome(appendOutcome(nil, tt.answer, 300, tt.err))
			if seq != 300 {
				t.Errorf("record %d", seq)
			}
			if tt.kind == "" {
				if g, ok := answer.(*fleet.GameSession); err != nil || tt.answer != nil && (!ok || g.ID != "g") {
					t.Errorf("got %v, %v", answer, err)
				}
				return
			}
			if !fault.Is(err, tt.kind) || tt.reason != nil && !errors.Is(err, tt.reason) {
				t.Errorf("got %v", err)
			}
			if tt.reason == nil && (errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown)) {
				t.Errorf("the refusal %v says more than the machine did", err)
			}
		})
	}
}

// A command whose answer is malformed may have been executed.
func TestMalformedOutcomes(t *testing.T) {
	whole := appendOutcome(nil, nil, 1, fault.New(fault.NotFound, "no"))
	for n := range whole {
		if _, _, err := decodeOutcome(whole[:n]); !errors.Is(err, shard.ErrOutcomeUnknown) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
	for _, kind := range []byte{notDone, unknown, unknown + 1} {
		answer, _, err := decodeOutcome(answerOfKind(kind))
		if answer != nil || !errors.Is(err, shard.ErrOutcomeUnknown) {
			t.Errorf("an answer and outcome %d: got %v, %v", kind, answer, err)
		}
	}
}

// answerOfKind returns an outcome with an answer and the given byte for the outcome.
func answerOfKind(kind byte) []byte {
	data := appendOutcome(nil, &fleet.GameSession{ID: "g"}, 1, nil)
	data[1] = kind // behind the record's number of one byte
	return data
}

func FuzzOutcome(f *testing.F) {
	f.Add(appendOutcome(nil, nil, 1, nil))
	f.Add(appendOutcome(nil, &fleet.GameSession{ID: "g"}, 1<<40, nil))
	f.Add(appendOutcome(nil, nil, 7, fault.Internal(shard.ErrNotDone)))
	f.Add(answerOfKind(notDone))
	f.Fuzz(func(t *testing.T, data []byte) {
		answer, seq, err := decodeOutcome(data)
		if errors.Is(err, shard.ErrOutcomeUnknown) {
			return
		}
		again, seqAgain, errAgain := decodeOutcome(appendOutcome(nil, answer, seq, err))
		if seqAgain != seq || (err == nil) != (errAgain == nil) || (again == nil) != (answer == nil) {
			t.Errorf("%v, %d, %v became %v, %d, %v", answer, seq, err, again, seqAgain, errAgain)
		}
	})
}
