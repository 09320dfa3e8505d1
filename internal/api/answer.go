package api

import (
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire"
)

// answer fills in the head of the answer, and in the place of its body the fault,
// if there is one.
func (d *Door) answer(a *listen.Answer, c *call, f *fault.Error, now time.Time) {
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
	// The clock that judges signatures tells the time: clients correct theirs by it.
	a.Add("Date", d.date(now))
	if c.protocol == wire.CBOR {
		a.Add("Smithy-Protocol", cborProtocol) // without it, clients do not even read an error
		if len(a.Body()) > 0 {
			a.Add("Content-Type", cborType)
		}
	} else {
		a.Add("Content-Type", jsonType)
	}
}

// date is now as the Date of an answer. It is written down once a second.
func (d *Door) date(now time.Time) string {
	second := now.Unix()
	if last := d.lastDate.Load(); last != nil && last.second == second {
		return last.text
	}
	next := &writtenDate{second, now.UTC().Format(http.TimeFormat)}
	d.lastDate.Store(next)
	return next.text
}

// writtenDate is a second in words.
type writtenDate struct {
	second int64
	text   string
}
