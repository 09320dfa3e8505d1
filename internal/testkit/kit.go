package testkit

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// Caller is the name of a Kit in the log, as the caller of operations.
const Caller = "a request of the test"

// A Service is what a Kit sees of its service.
type Service struct {
	URL string      // WebSocket URL for game servers
	TLS *tls.Config // for that URL

	// Invoke makes a call of the API with the body of a request in JSON. The call is not authenticated, and no fault
	// and no quota concerns it.
	Invoke func(ctx context.Context, operation string, body []byte) (answer []byte, err error)

	// Settle returns when everything has happened that is due by the clock.
	Settle func(ctx context.Context) error

	// ReportHealth reports all connected game servers as healthy.
	ReportHealth func(ctx context.Context) error
}

// A Kit is the test equipment of one service.
type Kit struct {
	Clock *Clock

	faults faults
	quotas *quotas // nil: GameLift's are not emulated

	advancing sync.Mutex
	left      atomic.Int64  // what the clock still advances, as a time.Duration
	beat      time.Duration // advanced since the last health reports

	mu      sync.Mutex
	service *Service // nil until it is ready
	servers servers
}

// New returns equipment for a service that is not started yet.
func New() *Kit {
	return &Kit{Clock: NewClock(), servers: servers{running: map[string]*server{}}}
}

// EmulateQuotas has the service keep GameLift's limits of resources and rates of calls. Call it before the service
// starts.
func (k *Kit) EmulateQuotas() { k.quotas = &quotas{clock: k.Clock, used: map[string]*rate.Limiter{}} }

// EmulatesQuotas reports whether the limits of resources are GameLift's.
func (k *Kit) EmulatesQuotas() bool { return k.quotas != nil }

// Attach passes the ready service to the kit.
func (k *Kit) Attach(s Service) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.service = &s
}

func (k *Kit) attached() (*Service, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.service == nil {
		return nil, fault.New(fault.ServiceUnavailable, "The service is starting. Try again.")
	}
	return k.service, nil
}

// Close closes the game servers. The service calls it before it stops.
func (k *Kit) Close() { k.servers.close() }

// Call is called before an operation of the API, or a request of the session gateway by its method and path, is carried
// out. An error is its answer. With lose it is carried out, and the connection closed without an answer.
func (k *Kit) Call(ctx context.Context, operation string) (lose bool, err error) {
	if f, ok := k.faults.take(operation); ok {
		return f.apply(ctx, k.Clock)
	}
	return false, nil
}

// Allow reports whether the rates of calls allow one of an operation.
func (k *Kit) Allow(operation string) bool { return k.quotas == nil || k.quotas.allow(operation) }

// Fail has calls go wrong. InvalidRequest, LimitExceeded.
func (k *Kit) Fail(f Fault) error { return k.faults.add(f) }

// ClearFaults forgets the faults that are left.
func (k *Kit) ClearFaults() { k.faults.clear() }

// Faults returns the faults that are left, each with the number of calls that it still waits for.
func (k *Kit) Faults() []Fault { return k.faults.list() }

// UnmetFaults returns those that no call has met.
func (k *Kit) UnmetFaults() []Fault { return k.faults.unmet() }

const (
	maxAdvance = 7 * 24 * time.Hour

	// advanceStep is less than what a shard takes for a pause of its process, after which it would extend deadlines.
	advanceStep = time.Second

	// advanceRest is what the drivers of placements and matchmaking have of real time in each step.
	advanceRest = time.Millisecond

	// beatEvery is less than the interval of health reports.
	beatEvery = 30 * time.Second
)

// Advance moves the clock of the service forward, in steps of a second, and has everything happen that is due
// meanwhile. Connected game servers count as healthy. InvalidRequest for a time that is not positive, or longer than a
// week; Conflict while the clock advances.
func (k *Kit) Advance(ctx context.Context, d time.Duration) error {
	if d <= 0 || d > maxAdvance {
		return fault.New(fault.InvalidRequest, "The clock cannot advance by %s: use more than 0 and at most %s.", d,
			maxAdvance)
	}
	s, err := k.attached()
	if err != nil {
		return err
	}
	if !k.advancing.TryLock() {
		left := k.Left()
		return fault.New(fault.Conflict, "The clock is already advancing, until %s, which is %s more. Wait until GET "+
			"%s has \"advancing\":0.", k.Clock.Now().Add(left).UTC().Format(time.RFC3339), left, prefix)
	}
	defer k.advancing.Unlock()
	defer k.left.Store(0)
	for d > 0 && err == nil {
		k.left.Store(int64(d))
		step := min(d, advanceStep)
		if k.beat += step; k.beat >= beatEvery {
			k.beat = 0
			if err = s.ReportHealth(ctx); err != nil {
				return err
			}
		}
		k.Clock.Advance(step)
		d -= step
		if err = s.Settle(ctx); err == nil {
			err = rest(ctx)
		}
	}
	return err
}

// Left returns how far the clock still advances; 0: it does not.
func (k *Kit) Left() time.Duration { return time.Duration(k.left.Load()) }

func rest(ctx context.Context) error {
	select {
	case <-time.After(advanceRest):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
