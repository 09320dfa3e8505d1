//go:build unix

package fault

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-gg/muster/e2e/calls"
)

const (
	callLimit = 20 * time.Second      // of one call: a node repeats for 15 s what meets an election
	roundWait = 20 * time.Millisecond // when no node takes a connection
)

// A caller makes calls at one node, and goes to the next when that does not answer. It
// belongs to one goroutine.
type caller struct {
	*trial
	node   int
	random *rand.Rand
}

// call makes a call, which counts for a place. When a node takes no connection the call is
// made at the next one, which repeats nothing: it was not sent. No other failure has it
// repeated.
func (c *caller) call(place string, do func(context.Context, *gamelift.Client) error) (
	outcome calls.Outcome, fault string,
) {
	for tried := 1; ; tried++ {
		ctx, cancel := context.WithTimeout(c.ctx, callLimit)
		err := do(ctx, c.clients[c.node])
		cancel()
		outcome, fault = calls.OutcomeOf(err)
		if outcome != calls.Unanswered {
			c.meter.answer(place)
			return outcome, fault
		}
		refused := errors.Is(err, syscall.ECONNREFUSED)
		if c.ctx.Err() != nil {
			return outcome, ""
		}
		c.node = (c.node + 1) % len(c.clients)
		if !refused {
			c.meter.fail(failureOf(err))
			return outcome, ""
		}
		if tried%len(c.clients) == 0 && !pause(c.ctx, roundWait) {
			return outcome, ""
		}
	}
}

// failureOf names the way in which a call got no answer.
func failureOf(err error) string {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() > 0 {
		return response.Response.Status
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok &&
		timeout.Timeout() {
		return "no answer in " + callLimit.String()
	}
	return "connection cut"
}

// pause waits; false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A meter counts answers and failures, and measures the longest time that a place was
// without an answer.
type meter struct {
	mu       sync.Mutex
	answers  map[string]int // by place
	failures map[string]int // by kind, since begin
	begun    bool
	last     map[string]time.Time // answer of each place, since begin
	longest  time.Duration
}

func newMeter() *meter { return &meter{answers: map[string]int{}, failures: map[string]int{}} }

func (m *meter) answer(place string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[place]++
	if last, measured := m.last[place]; m.begun && measured {
		now := time.Now()
		m.longest = max(m.longest, now.Sub(last))
		m.last[place] = now
	}
}

func (m *meter) fail(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures[kind]++
}

// begin begins to measure, at places that are called all the time.
func (m *meter) begin(places []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun, m.last, m.longest = true, map[string]time.Time{}, 0
	clear(m.failures)
	for _, place := range places {
		m.last[place] = time.Now()
	}
}

// end ends it, and gives the longest time without an answer, and the failures.
func (m *meter) end() (longest time.Duration, failures map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, last := range m.last {
		m.longest = max(m.longest, time.Since(last))
	}
	m.begun = false
	failures = m.failures
	m.failures = map[string]int{}
	return m.longest, failures
}

// counts are the answers of each place so far.
func (m *meter) counts() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[string]int{}
	for place, n := range m.answers {
		counts[place] = n
	}
	return counts
}
