package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// A meter counts the work of one worker. Only the atomic fields may be read meanwhile.
type meter struct {
	operations atomic.Int64 // successful
	units      atomic.Int64 // of successful operations
	failures   atomic.Int64

	times  Histogram // of successful operations
	errors map[string]int64
}

// count adds one operation.
func (m *meter) count(took time.Duration, units int, err error) {
	if err != nil {
		m.failures.Add(1)
		if m.errors == nil {
			m.errors = map[string]int64{}
		}
		m.errors[nameOf(err)]++
		return
	}
	m.times.Record(took)
	m.units.Add(int64(units))
	m.operations.Add(1)
}

// nameOf returns the key of an error in the report: an exception, the status of a server process's request, or a
// failure of the connection.
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
