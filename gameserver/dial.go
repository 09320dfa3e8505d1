package gameserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"
)

// sdkVersion is the version of the server SDK whose protocol this package speaks.
const sdkVersion = "5.6.0"

const (
	sdkLanguage = "Go"

	connectAction  = "Connect"        // stands for the connection in errors
	handshakeLimit = 20 * time.Second // for TCP, TLS and the upgrade
	connectLimit   = 3 * time.Minute  // for all attempts of Connect; the official Go SDK tries for 184 s
	refusalLimit   = 2 * time.Minute  // how long a service may refuse a process that comes back: it may be starting
	maxMessage     = 32 << 20         // bytes of a message from the service; that of the C++ SDK
	socketBuffer   = 2048             // bytes, for reading and writing
)

// A target is what to connect to, and as whom.
type target struct {
	endpoint    *url.URL
	params      ServerParameters
	idempotency string // the same for every connection that is to be taken for the same client
	dialer      *websocket.Dialer
}

func newTarget(cfg *Config, p ServerParameters) (target, error) {
	if missing := p.missing(); missing != "" {
		return target{}, invalid(connectAction, "%s must be given", missing)
	}
	endpoint, err := parseEndpoint(p.WebSocketURL)
	if err != nil {
		return target{}, err
	}
	trust, err := cfg.trust()
	if err != nil {
		return target{}, failed(connectAction, err)
	}
	dialer := &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshakeLimit, TLSClientConfig: trust,
		ReadBufferSize: socketBuffer, WriteBufferSize: socketBuffer,
	}
	return target{endpoint, p, uuid.NewString(), dialer}, nil
}

// parseEndpoint reads the service's URL. The errors do not repeat it.
func parseEndpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, invalid(connectAction, "WebSocketURL must be a ws:// or wss:// URL")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// refreshed is the target that the service asks to connect to instead.
func (t target) refreshed(endpoint, token string) (target, error) {
	if endpoint != "" {
		u, err := parseEndpoint(endpoint)
		if err != nil {
			return target{}, err
		}
		t.endpoint = u
	}
	if token != "" {
		t.params.AuthToken = token
	}
	t.idempotency = uuid.NewString()
	return t, nil
}

// url is the whole address, secrets and all: never to be logged. A signature is made anew each time, so that its date
// is that of the attempt.
func (t target) url(now time.Time) string {
	p := t.params
	q := url.Values{
		"pID": {p.ProcessID}, "sdkVersion": {sdkVersion}, "sdkLanguage": {sdkLanguage}, "ComputeId": {p.HostID},
		"FleetId": {p.FleetID}, "IdempotencyToken": {t.idempotency},
	}
	if p.AuthToken != "" {
		q.Set("Authorization", p.AuthToken)
	} else {
		sign(q, p, now)
	}
	u := *t.endpoint
	u.RawQuery = q.Encode()
	return u.String()
}

// dial makes one attempt. The error is an *Error, with the service's status if it refused.
func (t target) dial(ctx context.Context, now time.Time) (*socket, error) {
	ws, resp, err := t.dialer.DialContext(ctx, t.url(now), nil)
	if err == nil {
		ws.SetReadLimit(maxMessage)
		return newSocket(ws), nil
	}
	if resp != nil && errors.Is(err, websocket.ErrBadHandshake) {
		return nil, refusal(resp)
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err // the URL holds the token
	}
	return nil, failed(connectAction, err)
}

// refusal is the error that an answer other than 101 means.
func refusal(resp *http.Response) *Error {
	var body struct{ ErrorMessage string }
	data, err := io.ReadAll(resp.Body) // a short copy, already in memory
	if err != nil || json.Unmarshal(data, &body) != nil || body.ErrorMessage == "" {
		body.ErrorMessage = resp.Status
	}
	return &Error{Code: resp.StatusCode, Action: connectAction, Message: body.ErrorMessage}
}

// refused reports whether the service has looked at this process and said no, so that another attempt will most likely
// end the same way.
func refused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code >= 400 && e.Code < 500 && e.Code != http.StatusTooManyRequests
}

// within limits ctx by a clock. Its end has the cause ErrTimeout.
func within(ctx context.Context, clock clockwork.Clock,
	limit time.Duration) (context.Context, context.CancelCauseFunc) {
	limited, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(limit, func() { cancel(ErrTimeout) })
	return limited, func(cause error) {
		timer.Stop()
		cancel(cause)
	}
}

// A backoff is the time between attempts: 1 s, doubling to 30 s. Up to half of each is left away at random, so that the
// processes of a host that was cut off do not come back in lock-step.
type backoff struct{ next time.Duration }

const (
	firstWait = time.Second
	maxWait   = 30 * time.Second
)

// after returns the time until the next attempt.
func (b *backoff) after() time.Duration {
	b.next = min(max(2*b.next, firstWait), maxWait)
	return b.next - rand.N(b.next/2)
}

// pause waits for d; false if ctx ended first.
func pause(ctx context.Context, clock clockwork.Clock, d time.Duration) bool {
	timer := clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return true
	case <-ctx.Done():
		return false
	}
}
