package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// followRetry is the time before a stream that has ended is opened again.
const followRetry = time.Second

// errStreamEnded is why a stream is opened again that the service has ended in order.
var errStreamEnded = errors.New("the service has ended the stream")

// A refusedError is an answer other than 200 OK.
type refusedError struct {
	status int
	error
}

func (e *refusedError) Unwrap() error { return e.error }

// lasting reports whether the same call would be refused again: not while a node or an agent connects, or under load.
func (e *refusedError) lasting() bool {
	return e.status < http.StatusInternalServerError && e.status != http.StatusConflict &&
		e.status != http.StatusTooManyRequests && !hasKind(e, fault.Throttling)
}

// follow opens a stream again and again until ctx ends, which is no failure. open reads one stream; done is true if
// there is no more to read. An error of the first stream, a refusal and an error that is no loss of the connection are
// returned.
func (o *operatorCall) follow(ctx context.Context, open func(started func()) (done bool, err error)) error {
	opened, waiting := false, false
	for {
		done, err := open(func() {
			if waiting {
				fmt.Fprintln(o.stderr, "muster: connected again")
			}
			opened, waiting = true, false
		})
		if ctx.Err() != nil {
			return nil
		}
		if refused, ok := errors.AsType[*refusedError](err); !opened || ok && refused.lasting() || isLocal(err) {
			return err
		}
		if done && err == nil {
			return nil
		}
		if !waiting { // one line for each loss
			waiting = true
			fmt.Fprintf(o.stderr, "muster: connection lost: %s: connecting again\n", oneLine(orEnded(err).Error()))
		}
		if o.pause(ctx, followRetry) != nil {
			return nil
		}
	}
}

func orEnded(err error) error {
	if err == nil {
		return errStreamEnded
	}
	return err
}

// A localError is one of this side: a line that cannot be decoded or written.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

func isLocal(err error) bool {
	_, ok := errors.AsType[*localError](err)
	return ok
}

// followLines passes the lines of a stream to write, in which each has its position. It continues after the last line
// in the next stream, which may be that of the next run of the service, or of another node. It calls heading, which may
// be nil, when the first stream has begun.
func (o *operatorCall) followLines(
	ctx context.Context, path string, values url.Values, heading func() error, write func(line []byte) error,
) error {
	left, _ := strconv.Atoi(values.Get("limit")) // 0: no limit
	return o.follow(ctx, func(started func()) (done bool, err error) {
		err = o.get(ctx, path+"?"+values.Encode(), func(from io.Reader) error {
			started()
			if heading != nil {
				if err := heading(); err != nil {
					return &localError{err}
				}
				heading = nil
			}
			return eachLine(from, func(line []byte) error {
				var at struct{ Position string }
				if err := json.Unmarshal(line, &at); err != nil {
					return &localError{fmt.Errorf("decode the answer: %w", err)}
				}
				if err := write(line); err != nil {
					return &localError{err}
				}
				if at.Position != "" {
					values.Set("after", at.Position)
					values.Del("last")
				}
				if left > 0 {
					left--
					values.Set("limit", strconv.Itoa(left))
					done = left == 0
				}
				return nil
			})
		})
		return done, err
	})
}
