package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/mustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testRegion  = "ap-northeast-2"
	testAccount = "634747716040"
)

// A service is Muster in this process, on a port of its own. It stops with its test.
type service struct {
	*testing.T
	muster.Endpoints
	config muster.Config
	clock  *clockwork.FakeClock // the service's; nil when it goes by the real one
	http   *http.Client
	stop   func() // as an interrupt does; returns when the run has ended
}

// start runs a service and waits until it answers.
func start(t *testing.T, change ...func(*muster.Config)) *service {
	t.Helper()
	s := newService(t, change...)
	s.run()
	return s
}

// newService configures a service that does not run yet.
func newService(t *testing.T, change ...func(*muster.Config)) *service {
	s := &service{T: t, config: testConfig(t), http: &http.Client{Transport: &http.Transport{}}, stop: func() {}}
	for _, f := range change {
		f(&s.config)
	}
	s.clock, _ = s.config.Clock.(*clockwork.FakeClock)
	t.Cleanup(func() {
		s.http.CloseIdleConnections()
		s.stop()
	})
	return s
}

func testConfig(t *testing.T) muster.Config {
	config := muster.DefaultConfig()
	config.Data = t.TempDir()
	config.Listen, config.Gateway.Listen = "127.0.0.1:0", "127.0.0.1:0"
	config.Gateway.AddressRate, config.Gateway.PlayerRate, config.Gateway.MaxUnused = 0, 0, 0 // tests share one address
	config.Region, config.Account, config.Shards = testRegion, testAccount, 4
	config.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	return config
}

// fakeTime makes the service go by a clock that the test moves. The clients sign
// with the real time, so the service must put up with the distance.
func fakeTime(c *muster.Config) {
	c.Clock = clockwork.NewFakeClockAt(time.Now())
	c.ClockSkew = 24 * time.Hour
}

// run starts the service, also again after a stop: then with the same directory
// on the same port.
func (s *service) run() {
	s.Helper()
	s.begin()()
}

// begin starts the service; await waits until it answers.
func (s *service) begin() (await func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	s.config.Ready = func(e muster.Endpoints) { ready <- e }
	go func() { ended <- muster.Run(ctx, s.config) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("the service ended with: %v", err)
		}
	})
	return func() {
		s.Helper()
		select {
		case s.Endpoints = <-ready:
			s.config.Listen = strings.TrimPrefix(s.HTTP, "http://")
		case err := <-ended:
			cancel()
			s.stop = func() {}
			s.Fatalf("the service did not start: %v", err)
		}
	}
}

// client makes a client of the AWS SDK for Go that does not retry, and signs with the
// service's time.
func (s *service) client(change ...func(*gamelift.Options)) *gamelift.Client {
	options := gamelift.Options{
		Region: s.Region, BaseEndpoint: &s.HTTP, Retryer: aws.NopRetryer{}, HTTPClient: s.http,
		Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
	}
	if s.clock != nil {
		options.HTTPSignerV4 = clockSigner{v4.NewSigner(), s.clock}
	}
	return gamelift.New(options, change...)
}

// A clockSigner signs with the time of a clock.
type clockSigner struct {
	*v4.Signer
	clock clockwork.Clock
}

func (c clockSigner) SignHTTP(
	ctx context.Context, key aws.Credentials, r *http.Request, hash, service, region string, _ time.Time,
	change ...func(*v4.SignerOptions),
) error {
	return c.Signer.SignHTTP(ctx, key, r, hash, service, region, c.clock.Now(), change...)
}

// environ points the clients of package clients at the service.
func (s *service) environ() []string {
	return clients.Environ(s.HTTP, s.Region, s.AccessKey, s.SecretKey)
}

// advance lets time go by for the service: it moves its clock in steps that no shard takes
// for a pause, after which game servers would be given more time.
func (s *service) advance(d time.Duration) {
	s.Helper()
	const step, deadlines = 5 * time.Second, 11 * time.Minute
	if d > deadlines { // what waits for a game server ends in the time that is left
		s.clock.Advance(d - deadlines)
		s.look()
		d = deadlines
	}
	for ; d > step; d -= step {
		s.clock.Advance(step)
		s.look()
	}
	s.clock.Advance(d)
}

// look has every shard look at its clock.
func (s *service) look() {
	s.Helper()
	seen := make([]bool, s.config.Shards)
	for i := 0; slices.Contains(seen, false); i++ {
		id := fmt.Sprint("nobody-", i)
		shard := region.PlacementShardOf(id, s.config.Shards)
		if seen[shard] {
			continue
		}
		seen[shard] = true
		refuse[*types.NotFoundException](s, s.client().DescribeGameSessionPlacement,
			&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
	}
}

// patience is how long a test waits for what must happen, on a busy machine.
const patience = mustertest.Patience

var eventually = mustertest.Eventually

// receive takes the next value of a channel.
func receive[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case value = <-from:
	case <-limit.C:
		t.Fatalf("never happened: %s", what)
	}
	return value
}

// call makes a call that must succeed.
func call[I, O any](
	t testing.TB, operation func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I,
) *O {
	t.Helper()
	out, err := operation(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refuse makes a call that must fail with an exception of type E.
func refuse[E error, I, O any](t testing.TB, operation func(context.Context, *I, ...func(*gamelift.Options)) (
	*O, error), in *I,
) {
	t.Helper()
	_, err := operation(t.Context(), in)
	if want, ok := errors.AsType[E](err); !ok {
		t.Errorf("got %v, want %T", err, want)
	}
}
