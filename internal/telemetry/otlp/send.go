package otlp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 64 << 10

// Pauses before a retry: each is twice the one before.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// Outcomes of a push.
const (
	sent     = "sent"     // perhaps with a warning of the collector
	partial  = "partial"  // the collector rejected some of it
	rejected = "rejected" // the collector rejected all of it: a retry cannot help
	failed   = "failed"   // retries did not help in time
)

// A failure is a push, or an attempt of one, with something to log.
type failure struct {
	outcome string
	kind    string // for the log, from a closed set
	err     error
	retry   bool
	after   time.Duration // the least pause before a retry
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func client(config *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // with proxies of the environment
	transport.TLSClientConfig = config
	return &http.Client{
		Transport: transport,
		// A redirect would take the headers, which may be credentials, to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// shown returns a URL for the log, without password and query.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// send sends a body, and again after failures that may pass, until ctx is done.
func (p *Pusher) send(ctx context.Context, body []byte) error {
	deadline, _ := ctx.Deadline()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := p.post(ctx, body)
		f, ok := errors.AsType[*failure](err)
		if !ok || !f.retry {
			return err
		}
		wait := max(pause/2+rand.N(pause), f.after) // nodes that failed together do not retry together
		if !p.clock.Now().Add(wait).Before(deadline) {
			return err
		}
		select {
		case <-p.clock.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post makes one request.
func (p *Pusher) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.attempt) // in the time of the network
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = p.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "muster/"+p.version)
	if p.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := p.client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, whose query may be secret
		}
		return &failure{outcome: failed, kind: "connection", err: err, retry: true}
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil && answer.StatusCode/100 == 2 { // the collector has the metrics
		text = nil
	}
	return p.judge(answer, text)
}

// judge returns what an answer means. Source: OTLP specification, OTLP/HTTP Response.
func (p *Pusher) judge(answer *http.Response, text []byte) error {
	if answer.Header.Get("Content-Type") != "application/x-protobuf" {
		text = nil
	}
	if answer.StatusCode/100 == 2 {
		success, _ := find(text, 1)
		reason, _ := find(success, 2)
		if _, n := find(success, 1); n > 0 {
			err := fmt.Errorf("the collector rejected %d data points: %s", n, loglimit.Clip(string(reason)))
			return &failure{outcome: partial, kind: partial, err: err}
		} else if len(reason) > 0 {
			return &failure{outcome: sent, kind: "warning", err: errors.New(loglimit.Clip(string(reason)))}
		}
		return nil
	}
	f := &failure{outcome: rejected, kind: strconv.Itoa(answer.StatusCode)}
	reason, _ := find(text, 2) // google.rpc.Status
	f.err = fmt.Errorf("the collector answered %s %s", answer.Status, loglimit.Clip(string(reason)))
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.outcome, f.retry, f.after = failed, true, retryAfter(answer.Header.Get("Retry-After"), p.clock.Now())
	}
	return f
}

// retryAfter returns the pause that a header Retry-After asks for: a number of seconds or a time; 0 if neither.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return at.Sub(now)
}

// find returns a field of a message in protobuf's wire format, by its kind as bytes or as a number: zeros if it is
// missing or the message is malformed.
func find(message []byte, field protowire.Number) (text []byte, number uint64) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, 0
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return nil, 0
		}
		switch {
		case n != field:
		case kind == protowire.BytesType:
			text, _ = protowire.ConsumeBytes(message)
		case kind == protowire.VarintType:
			number, _ = protowire.ConsumeVarint(message)
		}
		message = message[size:]
	}
	return text, number
}
