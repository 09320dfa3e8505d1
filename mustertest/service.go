package mustertest

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/testkit"
)

// Patience is how long a test waits for what must happen, on a busy machine.
const Patience = time.Minute

// A Service is Muster in this process, on ports of its own.
type Service struct {
	testing.TB
	muster.Endpoints

	Web    *http.Client     // has a transport of its own, whose idle connections are closed with the test
	AWS    aws.Config       // for clients that a test makes itself: the first access key, over Web
	Client *gamelift.Client // of that, without retries: a refusal arrives as it was given

	config muster.Config
	kit    *testkit.Kit
	stop   func() // ends the service, once
}

// Start runs a service and returns when it is ready. Its data is in a directory of the test, its session gateway is on
// and has no limits, and its log has errors only. Each change may alter the settings, except Ready. If the service ends
// with an error, the test fails.
func Start(t testing.TB, change ...func(*muster.Config)) *Service {
	t.Helper()
	config := muster.DefaultConfig()
	config.Data, config.Listen, config.Gateway.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	config.Gateway.AddressRate, config.Gateway.PlayerRate, config.Gateway.MaxUnused = 0, 0, 0 // tests share one address
	config.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	s := &Service{TB: t, Web: &http.Client{Transport: &http.Transport{}}, kit: testkit.New()}
	config.Test, config.Clock = s.kit, s.kit.Clock
	for _, f := range change {
		f(&config)
	}
	s.config = config
	s.run()
	s.Cleanup(s.checkFaults)
	s.AWS = aws.Config{
		Region: s.Region, BaseEndpoint: &s.HTTP, HTTPClient: s.Web,
		Credentials: StaticKey(s.AccessKey, s.SecretKey),
	}
	s.Client = gamelift.NewFromConfig(s.AWS, func(o *gamelift.Options) { o.Retryer = aws.NopRetryer{} })
	return s
}

// StaticKey is an access key as the SDK asks for it.
func StaticKey(id, secret string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, nil
	})
}

// Stop ends the service. Resume starts it again on the same port.
func (s *Service) Stop() { s.stop() }

// Resume starts a service that was stopped.
func (s *Service) Resume() {
	s.Helper()
	s.config.Listen = strings.TrimPrefix(s.HTTP, "http://")
	s.run()
}

func (s *Service) run() {
	s.Helper()
	config := s.config
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }
	// Not the test's context, which ends before what the test has to clean up.
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- muster.Run(ctx, config) }()
	select {
	case s.Endpoints = <-ready:
	case err := <-ended:
		cancel()
		s.Fatalf("the service did not start: %v", err)
	}
	s.stop = sync.OnceFunc(func() {
		s.Web.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("the service ended with: %v", err)
		}
	})
	s.Cleanup(s.stop)
}

// Call makes a call of the API that must succeed.
func Call[I, O any](
	t testing.TB, operation func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I,
) *O {
	t.Helper()
	out, err := operation(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Eventually waits until a condition holds, for as long as Patience. It says what did not happen otherwise. It checks
// the condition less and less often, down to 40 times a second: the service may wait for the processor that a check
// keeps busy.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	const longest = 25 * time.Millisecond
	pause := 5 * time.Millisecond
	limit, next := time.NewTimer(Patience), time.NewTimer(pause)
	defer limit.Stop()
	defer next.Stop()
	for !condition() {
		select {
		case <-next.C:
			pause = min(pause*9/8, longest)
			next.Reset(pause)
		case <-limit.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}
