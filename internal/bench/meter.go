package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// A meter counts what one worker does. Only the atomic fields may be read while
// it works.
type meter struct {
	operations atomic.Int64 // that succeeded
	units      atomic.Int64 // that these did
	failures   atomic.Int64

	times  histogram // of those that succeeded
	errors map[string]int64
}

// count notes one operation.
func (m *meter) count(took time.Duration, units int, err error) {
	if err != nil {
		m.failures.Add(1)
		if m.errors == nil {
			m.errors = map[string]int64{}
		}
		m.errors[nameOf(err)]++
		return
	}
	m.times.record(took)
	m.units.Add(int64(units))
	m.operations.Add(1)
}

// nameOf is the line of the report that counts an error: an exception, the
// status of a server process's request, or what befell the connection.
func nameOf(err error) string {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e.Exception
	}
	if e, ok := errors.AsType[*refusal](err); ok {
		return fmt.Sprintf("%s %d", e.action, e.status)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	if errors.Is(err, errNoGameSession) {
		return errNoGameSession.Error()
	}
	return "connection lost"
}
