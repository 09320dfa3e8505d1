package publish

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/journal"
)

// A delivery is a POST of one event as JSON, signed as the Standard Webhooks specification has it: the headers are
// webhook-id (the id of the event), webhook-timestamp (Unix seconds) and webhook-signature, "v1," and the base64 of the
// HMAC-SHA256 over "id.timestamp.body". A 2xx response accepts it. After anything else, or no response, it is repeated
// with growing pauses: for ten minutes if the endpoint refuses the event (4xx), else for a day. Events may arrive out
// of order.

// Everything is the topic of a target that gets all events.
const Everything = "*"

// A Target is an endpoint.
type Target struct {
	Topic string // the NotificationTarget whose events it gets, or Everything
	URL   string
	Shown string // URL without its secrets, for the log
}

// name is that of the target's position in the feed.
func (t Target) name() string {
	sum := sha256.Sum256([]byte(t.Topic + "\n" + t.URL))
	return "webhook-" + hex.EncodeToString(sum[:12])
}

// An Outcome is how one try of a delivery ended.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"
	Retried   Outcome = "retried" // failed, and will be tried again
	Dropped   Outcome = "dropped" // failed for too long, or the endpoint is gone (status 410)
)

// Webhooks delivers the feed to HTTP endpoints.
type Webhooks struct {
	Feed    journal.Feed
	Targets []Target
	Secret  []byte        // signs deliveries; see ParseSecret. Empty: they are not signed
	HTTP    *http.Client  // nil: a client that follows no redirects
	Observe func(Outcome) // is called after every try
	Clock   clockwork.Clock
	Log     *slog.Logger
}

// The limits of deliveries.
const (
	tryTimeout = 15 * time.Second
	firstPause = time.Second // between two tries; it doubles
	longPause  = 10 * time.Minute
	giveUp     = 24 * time.Hour
	refusal    = 10 * time.Minute // instead of giveUp, while the endpoint refuses the event
	parallel   = 8                // deliveries to one target at a time
	keepPause  = time.Second      // between two writes of a position
	recentIDs  = 4096             // events of a target that are not delivered again
)

// ParseSecret reads a secret as the specification writes it: "whsec_" and base64, of 24 to 64 bytes.
func ParseSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(secret) < 24 || len(secret) > 64 {
		return nil, errors.New("a secret is whsec_ and the base64 of 24 to 64 bytes, " +
			"such as the output of: echo whsec_$(head -c 32 /dev/urandom | base64)")
	}
	return secret, nil
}

// Run delivers until ctx is done, and returns nil.
func (w Webhooks) Run(ctx context.Context) error {
	if w.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = parallel
		defer transport.CloseIdleConnections()
		w.HTTP = &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	var senders sync.WaitGroup
	for _, t := range w.Targets {
		s := &sender{Webhooks: w, target: t, seen: newRecent(recentIDs)}
		senders.Go(func() { s.run(ctx) })
	}
	senders.Wait()
	return nil
}

// A sender delivers to one target.
type sender struct {
	Webhooks
	target Target
	seen   *recent   // ids that were delivered
	kept   time.Time // when the position was last written
}

// run follows the feed, and resumes after a failure of it.
func (s *sender) run(ctx context.Context) {
	for ctx.Err() == nil {
		after, err := s.begin(ctx)
		if err == nil {
			err = s.follow(ctx, after)
		}
		if ctx.Err() == nil {
			s.Log.Warn("webhook: the feed cannot be read; trying again", "url", s.target.Shown, "err", err)
			sleep(ctx, s.Clock, firstPause)
		}
	}
}

// begin returns the position after which to deliver. A new target gets the events from now on.
func (s *sender) begin(ctx context.Context) (after uint64, err error) {
	after, ok, err := s.Feed.Position(ctx, s.target.name())
	if err != nil || ok {
		return after, err
	}
	if after, err = s.Feed.Last(ctx); err != nil {
		return 0, err
	}
	// Else a crash before the first delivery would lose events.
	return after, s.Feed.SavePosition(ctx, s.target.name(), after)
}

// follow delivers the records after a position.
func (s *sender) follow(ctx context.Context, after uint64) error {
	done := after // the number of the newest record that is delivered
	defer func() {
		if done > after { // also when ctx is done, else they would be delivered again
			_ = s.Feed.SavePosition(context.WithoutCancel(ctx), s.target.name(), done)
		}
	}()
	return s.Feed.Follow(ctx, after, func(seq uint64, data []byte) bool {
		if s.deliver(ctx, data) != nil {
			return false
		}
		done = seq
		if now := s.Clock.Now(); now.Sub(s.kept) >= keepPause {
			if err := s.Feed.SavePosition(ctx, s.target.name(), seq); err != nil {
				s.Log.Warn("webhook: position not kept; events may be repeated after a restart",
					"url", s.target.Shown, "err", err)
			}
			s.kept = now
		}
		return true
	})
}

// deliver delivers the events of a record that are for the target, some at a time. It fails only when ctx is done.
func (s *sender) deliver(ctx context.Context, record []byte) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	for line := range bytes.Lines(record) {
		var p Publication
		var head struct{ ID string }
		if json.Unmarshal(line, &p) != nil || json.Unmarshal(p.Event, &head) != nil {
			continue // a newer release wrote it
		}
		if s.target.Topic != Everything && s.target.Topic != p.Target || !s.seen.add(head.ID) {
			continue
		}
		group.Go(func() error { return s.send(ctx, head.ID, p.Event) })
	}
	return group.Wait()
}

// send tries until the event is delivered or dropped. It fails only when ctx is done.
func (s *sender) send(ctx context.Context, id string, body []byte) error {
	began, pause := s.Clock.Now(), firstPause
	var refused time.Time // since when all responses refuse the event
	for {
		wait, patience, err := s.try(ctx, id, body)
		if patience != refusal {
			refused = time.Time{}
		} else if refused.IsZero() {
			refused = s.Clock.Now()
		}
		switch {
		case err == nil:
			s.Observe(Delivered)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case patience == 0 || s.Clock.Since(began) >= giveUp ||
			!refused.IsZero() && s.Clock.Since(refused) >= refusal:
			s.Observe(Dropped)
			s.Log.Error("webhook: event dropped", "url", s.target.Shown, "event", id, "err", err)
			return nil
		}
		s.Observe(Retried)
		s.Log.Debug("webhook: event not accepted; trying again", "url", s.target.Shown, "event", id, "err", err)
		sleep(ctx, s.Clock, max(pause, wait))
		pause = min(2*pause, longPause)
	}
}

// try posts the event once. After an error, wait is what the endpoint asked for, and patience is for how long to repeat
// the event, from its first try on.
func (s *sender) try(ctx context.Context, id string, body []byte) (wait, patience time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
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
	defer answer.Body.Close()                        //nolint:errcheck // only the status counts
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be reused
	if answer.StatusCode/100 == 2 {
		return 0, 0, nil
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	wait = time.Duration(min(max(seconds, 0), int(longPause.Seconds()))) * time.Second
	return wait, patienceWith(answer.StatusCode), fmt.Errorf("the endpoint answered %s", answer.Status)
}

// patienceWith returns for how long to repeat an event after a response.
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

// withoutURL returns an error of an HTTP client without the URL, which may hold secrets.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// recent holds the newest ids that were added.
type recent struct {
	ids  map[string]bool
	ring []string
	next int
}

func newRecent(n int) *recent { return &recent{ids: make(map[string]bool, n), ring: make([]string, n)} }

// add reports whether an id is new.
func (r *recent) add(id string) bool {
	if r.ids[id] {
		return false
	}
	delete(r.ids, r.ring[r.next])
	r.ids[id], r.ring[r.next] = true, id
	r.next = (r.next + 1) % len(r.ring)
	return true
}
