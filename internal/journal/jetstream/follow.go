package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

const (
	// followPause is how long a follower hears nothing before it looks by itself. What
	// the server tells it of can be lost with the server or on the way.
	followPause = 250 * time.Millisecond

	// answerTime is how long a follower waits for an answer before it asks again:
	// whoever was asked may be gone, and another one in his place.
	answerTime = 2 * time.Second

	// readAtATime is how much one question asks for: in records, and in bytes, which
	// the last of them may exceed.
	readAtATime      = 1000
	readBytesAtATime = maxRecord
)

// sizeHeader stands in a message that is told of without its data. Source: NATS
// ADR-28.
const sizeHeader = "Nats-Msg-Size"

// A follower reads a stream without a consumer. The server publishes each message
// that is committed to who is subscribed, and answers questions for messages from
// the replica that is nearest; so a follower depends on no state of the
// server's, and on no leader. What it is told it checks by the number, and asks
// for what lies between.
type follower struct {
	j       *shardJournal
	told    *nats.Subscription // the messages that are committed
	answers *nats.Subscription // to questions, each on a subject of its own
	asked   int
}

// Follow applies what is there and what comes.
func (j *shardJournal) Follow(ctx context.Context, after uint64, apply func(uint64, []byte) error) (err error) {
	f := &follower{j: j}
	defer f.close()
	if f.told, err = f.subscribe(j.told); err != nil {
		return err
	}
	if f.answers, err = f.subscribe(j.engine.conn.NewInbox() + ".*"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(j.engine.broken, func() { cancel(context.Cause(j.engine.broken)) })()
	if err := f.begin(ctx, after); err != nil {
		return err
	}
	for {
		if after, err = f.catchUp(ctx, after, apply); err != nil {
			return err
		}
		if after, err = f.listen(ctx, after, apply); err != nil {
			return err
		}
	}
}

// subscribe keeps at most some of the largest messages: a follower that is slow
// asks for the rest.
func (f *follower) subscribe(subject string) (*nats.Subscription, error) {
	s, err := f.j.engine.conn.SubscribeSync(subject)
	if err == nil {
		err = s.SetPendingLimits(-1, replayBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("follow: subscribe to %s: %w", subject, err)
	}
	return s, nil
}

func (f *follower) close() {
	for _, s := range []*nats.Subscription{f.told, f.answers} {
		if s != nil {
			_ = s.Unsubscribe() // fails when the connection is closed, and then it is done
		}
	}
}

// begin says whether the records after the given one are there, as soon as
// somebody can tell.
func (f *follower) begin(ctx context.Context, after uint64) error {
	for {
		err := f.check(ctx, after)
		if err == nil || final(ctx, err) {
			return err
		}
		if err := pause(ctx, followPause); err != nil {
			return err
		}
	}
}

// final reports whether an error stays when one tries again.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, journal.ErrMissing) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, jetstream.ErrStreamNotFound)
}

// check asks the stream's leader whether the records after the given one are there.
func (f *follower) check(ctx context.Context, after uint64) error {
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	info, err := f.j.stream.Info(asking)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("follow: stream info: %w", err)
	}
	return checkRange(info.State, after)
}

// listen applies the records that it is told of, until one is missing between, or
// none has come for a while.
func (f *follower) listen(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	for {
		msg, err := next(ctx, f.told, followPause)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil || errors.Is(err, nats.ErrSlowConsumer) {
			return after, nil
		}
		if err != nil {
			return after, err
		}
		seq, err := sequence(msg)
		if err != nil {
			return after, err
		}
		if seq <= after {
			continue
		}
		if seq > after+1 || msg.Header.Get(sizeHeader) != "" { // without its data
			return after, nil
		}
		after = seq
		if err := apply(after, msg.Data); err != nil {
			return after, err
		}
	}
}

// catchUp applies the records that are there.
func (f *follower) catchUp(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	for {
		before := after
		err := f.ask(ctx, after, func(seq uint64, data []byte) error {
			if seq <= after {
				return nil
			}
			if seq > after+1 {
				return f.missing(ctx, seq, after)
			}
			after = seq
			return apply(seq, data)
		})
		if err != nil || after == before {
			return after, err
		}
	}
}

// missing is why a record comes too early. A replica that was damaged may have a
// hole that others have not: then it is none.
func (f *follower) missing(ctx context.Context, seq, after uint64) error {
	if err := f.begin(ctx, after); err != nil {
		return err
	}
	return fmt.Errorf("%w: record %d follows record %d", journal.ErrMissing, seq, after)
}

// errNoAnswer ends a question that nobody answers.
var errNoAnswer = errors.New("no replica of the journal answers")

// ask calls visit with some of the records behind the given one, with none when
// there are none or nobody answers.
func (f *follower) ask(ctx context.Context, after uint64, visit func(uint64, []byte) error) error {
	f.asked++
	reply := f.answers.Subject[:len(f.answers.Subject)-1] + strconv.Itoa(f.asked)
	question, err := json.Marshal(question{Seq: after + 1, Batch: readAtATime, MaxBytes: readBytesAtATime})
	if err != nil {
		return err
	}
	if err := f.j.engine.conn.PublishRequest(f.j.questions, reply, question); err != nil {
		return fmt.Errorf("follow: ask for records: %w", err)
	}
	for {
		msg, err := f.answer(ctx, reply)
		if errors.Is(err, errNoAnswer) {
			return nil
		}
		if err != nil || msg == nil {
			return err
		}
		seq, err := sequence(msg)
		if err != nil {
			return err
		}
		if err := visit(seq, msg.Data); err != nil {
			return err
		}
	}
}

// A question asks for messages of a stream directly. Source: NATS ADR-31.
type question struct {
	Seq      uint64 `json:"seq"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// answer is the next message in the answer to a question, nil at its end.
func (f *follower) answer(ctx context.Context, reply string) (*nats.Msg, error) {
	for {
		msg, err := next(ctx, f.answers, answerTime)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil, errors.Is(err, nats.ErrSlowConsumer):
			return nil, errNoAnswer
		case err != nil:
			return nil, err
		case msg.Subject != reply: // to a question given up before
			continue
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			return msg, nil
		case "204", "404": // the end of the answer; there is no message
			return nil, nil
		case "503": // no replica is there
			return nil, errNoAnswer
		default:
			return nil, fmt.Errorf("follow: ask for records: the server answers %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// next waits for a message, at most for a time: then the error is
// context.DeadlineExceeded.
func next(ctx context.Context, s *nats.Subscription, wait time.Duration) (*nats.Msg, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	msg, err := s.NextMsgWithContext(waiting)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	return msg, nil
}

func sequence(msg *nats.Msg) (uint64, error) {
	seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("follow: the number of a record: %w", err)
	}
	return seq, nil
}

// pause waits.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
