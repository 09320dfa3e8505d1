// Package webhook delivers the event feed to HTTP endpoints, in the place of the
// SNS topics that queues and matchmaking configurations name as their
// NotificationTarget.
//
// A delivery is a POST of one event as JSON. It is signed as the Standard Webhooks
// specification has it: the headers are webhook-id (the id of the event),
// webhook-timestamp (Unix seconds) and webhook-signature, "v1," and the base64 of
// the HMAC-SHA256 over "id.timestamp.body". A 2xx answer takes it; anything else,
// and no answer, is tried again, with growing pauses, for a day; for ten minutes
// when the endpoint says that it is the event that it does not want (4xx). How far an
// endpoint has come outlives restarts. Events may come twice, with the same id, and in another order.
//
// Source: https://github.com/standard-webhooks/standard-webhooks, 1.0.0.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/journal"
)

// Everything is the topic of a target that gets all events.
const Everything = "*"

// A Target is an endpoint.
type Target struct {
	Topic string // the NotificationTarget whose events it gets, or Everything
	URL   string
}

// name is that of the target's position in the feed.
func (t Target) name() string {
	sum := sha256.Sum256([]byte(t.Topic + "\n" + t.URL))
	return "webhook-" + hex.EncodeToString(sum[:12])
}

// Outcome is how one try of a delivery ended.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"
	Retried   Outcome = "retried" // failed, and will be tried again
	Dropped   Outcome = "dropped" // failed for too long, or the endpoint is gone (status 410)
)

// Config says where events go. Feed and Targets are required.
type Config struct {
	Feed    journal.Feed
	Targets []Target
	Secret  []byte                      // signs deliveries; see ParseSecret. Empty: they are not signed
	HTTP    *http.Client                // nil: one of its own, which follows no redirects
	Observe func(t Target, how Outcome) // is told of every try; nil: nobody is
	Clock   clockwork.Clock
	Log     *slog.Logger
}

// The limits of deliveries.
const (
	tryTime    = 15 * time.Second // of one try
	firstPause = time.Second
	longPause  = 10 * time.Minute
	giveUp     = 24 * time.Hour
	refusal    = 10 * time.Minute // after which an event is given up that the endpoint refuses
	parallel   = 8                // deliveries to one target at a time
	keepEvery  = time.Second      // of a position
	remembered = 4096             // ids of a target that are not delivered again
)

// ParseSecret reads a secret as the specification writes it: "whsec_" and base64, of
// 24 to 64 bytes.
func ParseSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(secret) < 24 || len(secret) > 64 {
		return nil, fmt.Errorf("a secret is whsec_ and the base64 of 24 to 64 bytes, such as the output of: echo whsec_$(head -c 32 /dev/urandom | base64)")
	}
	return secret, nil
}

// Run delivers until ctx is done.
func Run(ctx context.Context, c Config) error {
	if c.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = parallel
		defer transport.CloseIdleConnections()
		c.HTTP = &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if c.Observe == nil {
		c.Observe = func(Target, Outcome) {}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range c.Targets {
		group.Go(func() error {
			(&sender{Config: c, target: t, seen: newRecent(remembered)}).run(ctx)
			return nil
		})
	}
	return group.Wait()
}

// A sender delivers to one target.
type sender struct {
	Config
	target Target
	seen   *recent // ids that were delivered
	kept   time.Time
}

// run follows the feed, and begins anew where it was after a failure of the feed.
func (s *sender) run(ctx context.Context) {
	for ctx.Err() == nil {
		after, err := s.begin(ctx)
		if err == nil {
			err = s.follow(ctx, after)
		}
		if ctx.Err() == nil {
			s.Log.Warn("webhook: the feed cannot be read; trying again", "url", ShownURL(s.target.URL), "err", err)
			s.pause(ctx, firstPause)
		}
	}
}

// begin is where to go on. A target that is new gets what comes from now on.
func (s *sender) begin(ctx context.Context) (after uint64, err error) {
	after, ok, err := s.Feed.Position(ctx, s.target.name())
	if err != nil || ok {
		return after, err
	}
	if after, err = s.Feed.Last(ctx); err != nil {
		return 0, err
	}
	return after, s.Feed.SavePosition(ctx, s.target.name(), after) // or a crash before the first delivery would lose it
}

// follow delivers what comes behind a position.
func (s *sender) follow(ctx context.Context, after uint64) error {
	done := after // the records up to here are delivered
	defer func() {
		if done > after { // also when ctx is done: or they would come again
			_ = s.Feed.SavePosition(context.WithoutCancel(ctx), s.target.name(), done)
		}
	}()
	return s.Feed.Follow(ctx, after, func(seq uint64, data []byte) bool {
		if s.deliver(ctx, data) != nil {
			return false
		}
		done = seq
		if now := s.Clock.Now(); now.Sub(s.kept) >= keepEvery {
			if err := s.Feed.SavePosition(ctx, s.target.name(), seq); err != nil {
				s.Log.Warn("webhook: position not kept; events may come again after a restart", "url", ShownURL(s.target.URL), "err", err)
			}
			s.kept = now
		}
		return true
	})
}

// A publication is one line of a record: see control.Publication.
type publication struct {
	Target string          `json:"target"`
	Event  json.RawMessage `json:"event"`
}

// deliver delivers the events of a record that are for the target, some at a time.
// The error is ctx's, which ended before.
func (s *sender) deliver(ctx context.Context, record []byte) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	for line := range bytes.Lines(record) {
		var p publication
		var head struct{ ID string }
		if json.Unmarshal(line, &p) != nil || json.Unmarshal(p.Event, &head) != nil {
			continue // what a newer release wrote
		}
		if s.target.Topic != Everything && s.target.Topic != p.Target || !s.seen.add(head.ID) {
			continue
		}
		group.Go(func() error { return s.insist(ctx, head.ID, p.Event) })
	}
	return group.Wait()
}

// insist tries until the event is delivered, or there is no hope, or ctx is done,
// which is its error.
func (s *sender) insist(ctx context.Context, id string, body []byte) error {
	began, pause := s.Clock.Now(), firstPause
	var refused time.Time // since when all answers refuse the event
	for {
		wait, patience, err := s.try(ctx, id, body)
		if patience != refusal {
			refused = time.Time{}
		} else if refused.IsZero() {
			refused = s.Clock.Now()
		}
		switch {
		case err == nil:
			s.Observe(s.target, Delivered)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case patience == 0 || s.Clock.Since(began) >= giveUp || !refused.IsZero() && s.Clock.Since(refused) >= refusal:
			s.Observe(s.target, Dropped)
			s.Log.Error("webhook: event dropped", "url", ShownURL(s.target.URL), "event", id, "err", err)
			return nil
		}
		s.Observe(s.target, Retried)
		s.Log.Debug("webhook: event not taken; trying again", "url", ShownURL(s.target.URL), "event", id, "err", err)
		s.pause(ctx, max(pause, wait))
		pause = min(2*pause, longPause)
	}
}

// try posts the event once. After an error wait is what the endpoint asked for, and
// patience how long it makes sense to try again in all.
func (s *sender) try(ctx context.Context, id string, body []byte) (wait, patience time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, withoutURL(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "muster-webhook")
	s.sign(r.Header, id, body)
	answer, err := s.HTTP.Do(r)
	if err != nil {
		return 0, giveUp, withoutURL(err)
	}
	defer answer.Body.Close()                        //nolint:errcheck // what the status says is what counts
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be used again
	if answer.StatusCode/100 == 2 {
		return 0, 0, nil
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	wait = time.Duration(min(max(seconds, 0), int(longPause.Seconds()))) * time.Second
	return wait, patienceWith(answer.StatusCode), fmt.Errorf("the endpoint answered %s", answer.Status)
}

// patienceWith is how long to try again after an answer.
func patienceWith(status int) time.Duration {
	switch status {
	case http.StatusGone:
		return 0
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return giveUp
	}
	if status/100 == 4 {
		return refusal
	}
	return giveUp
}

// sign sets the headers of the specification.
func (s *sender) sign(h http.Header, id string, body []byte) {
	at := strconv.FormatInt(s.Clock.Now().Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	if len(s.Secret) == 0 {
		return
	}
	mac := hmac.New(sha256.New, s.Secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func (s *sender) pause(ctx context.Context, d time.Duration) {
	timer := s.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
	case <-ctx.Done():
	}
}
