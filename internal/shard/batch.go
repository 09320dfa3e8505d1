package shard

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/muster-gg/muster/internal/event"
)

// A batch is what becomes durable together: the facts of some commands, encoded as records, and the answers that wait
// for them. There are two, which alternate.
type batch[M any] struct {
	buf       bytes.Buffer // the records, concatenated
	ends      []int        // where each but the last record ends in buf
	facts     []event.Fact
	answers   []answer
	recovered bool // the first batch after a recovery
	refresh   bool // the observer gets the state after it

	view       M    // frozen when the batch was closed, for one of these two
	showView   bool // to the observer
	isSnapshot bool // to be saved when the batch is durable
}

// An answer waits in a batch for everything that it may have seen to be durable.
type answer struct {
	done   func(answer any, err error)
	call   *call
	answer any
	err    error
}

// send answers. A panic of the callback is logged, and the others are still answered.
func (a *answer) send(log *slog.Logger, answer any, err error) {
	if a.call != nil {
		a.call.reply <- reply{answer, err}
		return
	}
	defer func() {
		if p := recover(); p != nil {
			log.Error("command callback panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	a.done(answer, err)
}

// keptBuffer is the capacity up to which a batch reuses its buffer, to free the memory of one large command.
const keptBuffer = 4 << 20

func (b *batch[M]) reset() {
	if b.buf.Cap() > keptBuffer {
		b.buf = bytes.Buffer{}
	}
	b.buf.Reset()
	b.ends = b.ends[:0]
	b.facts = emptied(b.facts)
	b.answers = emptied(b.answers)
	var none M
	b.recovered, b.refresh, b.view, b.showView, b.isSnapshot = false, false, none, false, false
}

func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}

func (b *batch[M]) empty() bool { return len(b.answers) == 0 && b.buf.Len() == 0 && !b.refresh }

func (b *batch[M]) records() int {
	if b.buf.Len() == 0 {
		return 0
	}
	return len(b.ends) + 1
}

func (b *batch[M]) record(i int) []byte {
	begin, end := 0, b.buf.Len()
	if i > 0 {
		begin = b.ends[i-1]
	}
	if i < len(b.ends) {
		end = b.ends[i]
	}
	return b.buf.Bytes()[begin:end]
}

// add encodes the facts of one command in one record of at most limit bytes: the last one if they fit, else a new one.
// After an error the batch is unchanged.
func (b *batch[M]) add(events *event.Set, owner uint64, limit int, facts []event.Fact) (err error) {
	if len(facts) == 0 {
		return nil
	}
	before := b.buf.Len()
	defer func() {
		if err != nil {
			b.buf.Truncate(before)
		}
	}()
	b.open(owner)
	mark := b.buf.Len()
	for _, f := range facts {
		if err := events.Append(&b.buf, f); err != nil {
			return err
		}
	}
	if err := b.split(owner, limit, mark); err != nil {
		return err
	}
	b.facts = append(b.facts, facts...)
	return nil
}

func (b *batch[M]) open(owner uint64) {
	if b.buf.Len() == 0 {
		b.begin(owner)
	}
}

func (b *batch[M]) begin(owner uint64) {
	version := byte(ordinaryRecord)
	if b.recovered {
		version = openingRecord
	}
	appendRecordHeader(&b.buf, version, owner)
}

// split moves what follows mark to a new record if the last one is too large.
func (b *batch[M]) split(owner uint64, limit, mark int) error {
	begin := 0
	if n := len(b.ends); n > 0 {
		begin = b.ends[n-1]
	}
	if b.buf.Len()-begin <= limit {
		return nil
	}
	if size := recordHeader + b.buf.Len() - mark; size > limit {
		return fmt.Errorf("%w: %d bytes of at most %d", errTooLarge, size, limit)
	}
	tail := slices.Clone(b.buf.Bytes()[mark:])
	b.buf.Truncate(mark)
	b.ends = append(b.ends, mark)
	b.begin(owner)
	b.buf.Write(tail)
	return nil
}

// answerAll sends the machine's answers.
func (b *batch[M]) answerAll(log *slog.Logger) {
	for i := range b.answers {
		b.answers[i].send(log, b.answers[i].answer, b.answers[i].err)
	}
	b.answers = emptied(b.answers)
}

// fail sends an error to all callers that are not answered yet.
func (b *batch[M]) fail(log *slog.Logger, err error) {
	for i := range b.answers {
		b.answers[i].send(log, nil, err)
	}
	b.answers = emptied(b.answers)
}
