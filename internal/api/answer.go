package api

import (
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// answer sets the head of the answer and, for a fault, its body.
func (e *Endpoint) answer(a *listen.Answer, c *call, f *fault.Error, now time.Time) {
	if f != nil {
		a.Status = f.Kind.HTTPStatus()
		a.Truncate()
		body := a.Buffer()
		*body = wire.AppendError(*body, c.protocol, f, c.models(f.Kind))
		if f.Kind == fault.ServiceUnavailable {
			a.Add("Retry-After", "1")
		}
	}
	a.Add("X-Amzn-Requestid", c.requestID)
	// By the clock that checks signatures: clients correct theirs by it.
	a.Add("Date", e.date(now))
	if c.protocol == wire.CBOR {
		a.Add("Smithy-Protocol", cborProtocol) // clients require it even for errors
		if len(a.Body()) > 0 {
			a.Add("Content-Type", cborType)
		}
	} else {
		a.Add("Content-Type", jsonType)
	}
}

// date returns the Date header, formatted once per second.
func (e *Endpoint) date(now time.Time) string {
	second := now.Unix()
	if last := e.lastDate.Load(); last != nil && last.second == second {
		return last.text
	}
	next := &writtenDate{second, now.UTC().Format(http.TimeFormat)}
	e.lastDate.Store(next)
	return next.text
}

// writtenDate is a formatted second.
type writtenDate struct {
	second int64
	text   string
}
