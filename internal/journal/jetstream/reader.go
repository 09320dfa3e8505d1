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
	// readRecords and readBytes are how much one request asks for; the last record may exceed the bytes.
	readRecords = 1000
	readBytes   = maxRecord

	// pendingBytes is how much may wait to be applied: more than a response contains.
	pendingBytes = 4 * maxRecord
)

// A reader reads records without a consumer in the server. It asks the nearest replica, which responds with many
// records at a time, and the stream's leader if that replica has a hole or is behind. So it needs a leader only for
// those.
type reader struct {
	*getter
	j *shardJournal
}

func (j *shardJournal) newReader() (*reader, error) {
	g, err := j.engine.newGetter(j.name)
	if err != nil {
		return nil, err
	}
	return &reader{g, j}, nil
}

// subscribe limits the pending bytes; more messages are dropped.
func (e *Engine) subscribe(subject string) (*nats.Subscription, error) {
	s, err := e.conn.SubscribeSync(subject)
	if err == nil {
		err = s.SetPendingLimits(-1, pendingBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	return s, nil
}

// read applies records after the given one, at most up to the newest, as many as one response has. It returns the last
// one that it applied. A replica without any may be behind, which is no error. The error is errHole if it has later
// ones.
func (r *reader) read(ctx context.Context, after, newest uint64, apply func(uint64, []byte) error) (uint64, error) {
	q := question{Seq: after + 1, Batch: min(readRecords, newest-after), MaxBytes: readBytes}
	err := r.ask(ctx, q, func(seq uint64, msg *nats.Msg) error {
		if seq != after+1 {
			return errHole
		}
		after = seq
		return apply(seq, msg.Data)
	})
	return after, err
}

// errHole reports that a replica has a later record and not the next one.
var errHole = errors.New("a replica of the journal has a hole")

// readMore is read for existing records: it applies at least one.
func (r *reader) readMore(ctx context.Context, after, newest uint64, apply func(uint64, []byte) error) (uint64, error) {
	last, err := r.read(ctx, after, newest, apply)
	if last > after || err != nil && !errors.Is(err, errHole) {
		if errors.Is(err, errHole) {
			err = nil // the next call handles it
		}
		return last, err
	}
	return r.readOne(ctx, after, apply)
}

// readOne applies the next record as the leader has it. The error is ErrMissing if it has none.
func (r *reader) readOne(ctx context.Context, after uint64, apply func(uint64, []byte) error) (uint64, error) {
	data, err := r.j.get(ctx, after+1)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		data, err = r.j.getAgain(ctx, after)
	}
	if err != nil {
		return after, err
	}
	return after + 1, apply(after+1, data)
}

// getAgain gets the record after the given one if the leader had not applied it yet when it said that there is none.
// The error says why there is none.
func (j *shardJournal) getAgain(ctx context.Context, after uint64) ([]byte, error) {
	state, err := j.stateWith(ctx, after+1)
	if err != nil {
		return nil, err
	}
	if err := checkRange(state, after); err != nil {
		return nil, err
	}
	data, err := j.get(ctx, after+1)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = fmt.Errorf("%w: record %d is damaged", journal.ErrMissing, after+1)
	}
	return data, err
}

// get gets a record from the stream's leader. The error is ErrMsgNotFound if there is none.
func (j *shardJournal) get(ctx context.Context, seq uint64) ([]byte, error) {
	r, err := j.engine.fromLeader(ctx, j.name, question{Seq: seq})
	if err != nil {
		return nil, fmt.Errorf("get record %d: %w", seq, err)
	}
	return r.Data, nil
}

// fromLeader gets a message from the leader of a stream.
func (e *Engine) fromLeader(ctx context.Context, stream string, q question) (journal.Stored, error) {
	return patiently(ctx, e, func(ctx context.Context) (journal.Stored, error) { return e.ask(ctx, stream, q) })
}

// ask is one attempt of fromLeader. Source: NATS JetStream API, $JS.API.STREAM.MSG.GET.
func (e *Engine) ask(ctx context.Context, stream string, q question) (journal.Stored, error) {
	request, err := json.Marshal(q)
	if err != nil {
		return journal.Stored{}, err
	}
	msg, err := e.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		return journal.Stored{}, err
	}
	return decodeStored(msg.Data)
}

// decodeStored decodes the message of a response. Source: NATS JetStream API, stream_msg_get_response.
func decodeStored(text []byte) (journal.Stored, error) {
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq     uint64    `json:"seq"`
			Time    time.Time `json:"time"`
			Subject string    `json:"subject"`
			Data    []byte    `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return journal.Stored{}, err
	}
	if answer.Error == nil {
		return journal.Stored(answer.Message), nil
	}
	if answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return journal.Stored{}, jetstream.ErrMsgNotFound
	}
	return journal.Stored{}, answer.Error
}

// A question requests messages of a stream. Source: NATS ADR-31.
type question struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastOf   string `json:"last_by_subj,omitempty"` // the newest one of this subject, without Seq
	Subject  string `json:"next_by_subj,omitempty"` // the first one of this subject from Seq on
	Batch    uint64 `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// A getter requests many messages of a stream at a time from the nearest replica.
type getter struct {
	engine  *Engine
	stream  string
	answers *nats.Subscription // to requests, each on a subject of its own
	asked   int
}

func (e *Engine) newGetter(stream string) (*getter, error) {
	answers, err := e.subscribe(e.conn.NewInbox() + ".*")
	if err != nil {
		return nil, err
	}
	return &getter{engine: e, stream: stream, answers: answers}, nil
}

// close unsubscribes, which fails only if the connection is closed.
func (g *getter) close() { _ = g.answers.Unsubscribe() }

// ask calls visit with the messages of a response, with none if there is no response.
func (g *getter) ask(ctx context.Context, q question, visit func(uint64, *nats.Msg) error) error {
	request, err := json.Marshal(q)
	if err != nil {
		return err
	}
	g.asked++
	reply := g.answers.Subject[:len(g.answers.Subject)-1] + strconv.Itoa(g.asked)
	err = g.engine.conn.PublishRequest("$JS.API.DIRECT.GET."+g.stream, reply, request)
	if errors.Is(err, nats.ErrReconnectBufExceeded) { // the connection is down
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for records: %w", err)
	}
	for {
		msg, err := g.answer(ctx, reply)
		if err != nil || msg == nil {
			return err
		}
		seq, err := sequence(msg)
		if err != nil {
			return err
		}
		if err := visit(seq, msg); err != nil {
			return err
		}
	}
}

// answer returns the next message of a response, nil at its end or after a timeout.
func (g *getter) answer(ctx context.Context, reply string) (*nats.Msg, error) {
	for {
		msg, err := next(ctx, g.answers, answerTime)
		if err != nil || msg == nil {
			return nil, err
		}
		if msg.Subject != reply { // of a request that timed out
			continue
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			return msg, nil
		case "204", "404": // end of the response; no message
			return nil, nil
		default:
			return nil, fmt.Errorf("ask for records: the server responds %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// next waits for a message, and returns nil after a timeout, if messages were dropped, or if there is no responder.
func next(ctx context.Context, s *nats.Subscription, wait time.Duration) (*nats.Msg, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	msg, err := s.NextMsgWithContext(waiting)
	switch {
	case err == nil:
		return msg, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrSlowConsumer),
		errors.Is(err, nats.ErrNoResponders):
		return nil, nil
	}
	return nil, err
}

// sequence returns the number of the record in a message.
func sequence(msg *nats.Msg) (uint64, error) {
	seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("sequence of a record: %w", err)
	}
	return seq, nil
}
