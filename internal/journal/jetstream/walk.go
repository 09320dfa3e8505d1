package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/journal"
)

const (
	// leaderRequests is the maximum number of concurrent requests to a leader. From leaderBytes of responses on, fewer
	// are sent.
	leaderRequests = 64
	leaderBytes    = 1 << 20
)

// walkLeader visits the messages of a stream after the given one, up to its end. It has no consumer: that may read from
// a replica that is behind or has a hole, and on another node it may never receive the first request.
func (e *Engine) walkLeader(ctx context.Context, s end, subject string, after uint64,
	visit func(journal.Stored) error) error {
	for requests := 1; after < s.last; {
		found, err := e.askLeader(ctx, s, subject, after, requests)
		if err != nil && requests > 1 && passes(err) && ctx.Err() == nil {
			requests = 1 // the responses may have been too large for the timeout
			continue
		}
		if err != nil {
			return fmt.Errorf("get message after %d: %w", after, err)
		}
		size := 0
		for _, r := range found {
			if r.Seq > s.last {
				return nil
			}
			if err := visit(r); err != nil {
				return err
			}
			after, size = r.Seq, size+len(r.Data)
		}
		switch {
		case len(found) == 0:
			return nil
		case size >= leaderBytes || len(found) < requests/4: // large messages, or gaps
			requests = max(requests/2, 1)
		default:
			requests = min(2*requests, leaderRequests)
		}
	}
	return nil
}

// askLeader requests the messages with the next numbers. The last request is for the first message with its number or a
// later one, so no message before the last one returned is missing.
func (e *Engine) askLeader(ctx context.Context, s end, subject string, after uint64,
	requests int) ([]journal.Stored, error) {
	found := make([]journal.Stored, requests)
	group, ctx := errgroup.WithContext(ctx)
	for i := range found {
		q := question{Seq: after + 1 + uint64(i)}
		if i == requests-1 {
			q.Subject = subject
		}
		group.Go(func() (err error) {
			found[i], err = e.fromLeader(ctx, s.name, q)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(found, func(r journal.Stored) bool {
		return r.Seq == 0 || !strings.HasPrefix(r.Subject, strings.TrimSuffix(subject, ">"))
	}), err
}
