package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/muster-gg/muster/session"
)

// maxBody is the maximum size of an answer, in bytes; a longer one is an error.
const maxBody = 4 << 20

type request struct {
	op     string // for errors
	method string
	uri    string // after the base URL
	body   any    // sent as JSON; nil for none
	key    string // Idempotency-Key; "" for none
}

// do makes a call and returns its answer, as decode reads it. Every failure is a *session.Error.
func do[T any](ctx context.Context, p *provider, r request, decode func([]byte, *T) error) (out T, err error) {
	answer, err := p.send(ctx, p.http, r)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close() //nolint:errcheck // what was read is what counts
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return out, lost(ctx, r.op, err)
	case len(data) > maxBody:
		return out, session.Errorf(r.op, session.ErrTransport, "the gateway's answer has more than %d bytes", maxBody)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return out, refusal(r, answer.StatusCode, data)
	}
	if e, failed := errorObject(data); failed {
		return out, refused(r.op, answer.StatusCode, e)
	}
	if err := decode(data, &out); err != nil {
		return out, &session.Error{Op: r.op, Kind: session.ErrTransport,
			Message: "the gateway's answer cannot be used: " + err.Error(), Err: err}
	}
	return out, nil
}

// send makes a call and returns the answer, whose body the caller closes.
func (p *provider) send(ctx context.Context, client *http.Client, r request) (*http.Response, error) {
	address, err := p.url(r.op, r.uri)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, &session.Error{Op: r.op, Kind: session.ErrInvalid,
				Message: "the request cannot be written: " + err.Error(), Err: err}
		}
		body = bytes.NewReader(data)
	}
	out, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, &session.Error{Op: r.op, Kind: session.ErrInvalid,
			Message: "the gateway's address: " + err.Error(), Err: err}
	}
	p.header(out.Header, r)
	answer, err := client.Do(out)
	if err != nil {
		return nil, lost(ctx, r.op, err)
	}
	return answer, nil
}

func (p *provider) header(h http.Header, r request) {
	h.Set("Content-Type", "application/json") // the original client sends it with every call
	for name, value := range map[string]string{"X-Api-Key": p.cfg.APIKey, "Idempotency-Key": r.key} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if p.cfg.BearerToken != "" {
		h.Set("Authorization", "Bearer "+p.cfg.BearerToken)
	}
}

// lost returns the error of a call without an answer.
func lost(ctx context.Context, op string, err error) error {
	kind, message := session.ErrTransport, "the gateway could not be reached: "+err.Error()
	timeout, network := errors.AsType[net.Error](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		kind, err, message = session.ErrCanceled, ctx.Err(), "gave up waiting for the gateway"
	case ctx.Err() != nil:
		kind, err, message = session.ErrTimeout, ctx.Err(), "the gateway did not answer in time"
	case network && timeout.Timeout():
		kind, message = session.ErrTimeout, "the gateway did not answer in time"
	}
	return &session.Error{Op: op, Kind: kind, Message: message, Err: err}
}

func decodeObject[T any](data []byte, out *T) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return errors.New("it is no JSON object")
	}
	return json.Unmarshal(data, out)
}

func decodeList[T any](data []byte, out *[]T) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return errors.New("it is no JSON array")
	}
	return json.Unmarshal(data, out)
}

// ignore is the decoder for answers whose content is not used.
func ignore([]byte, *struct{}) error { return nil }
