package direct

import (
	"cmp"
	"context"
	"log/slog"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// A provider reaches sessions through the AWS API.
type provider struct {
	cfg   Config
	clock clockwork.Clock
	log   *slog.Logger

	mu  sync.Mutex
	api *api // nil before Configure

	proposals proposals
}

var (
	_ session.Matchmaker = (*provider)(nil)
	_ session.Releaser   = (*provider)(nil)
)

// New makes a provider that reaches sessions through the AWS API, and is not configured. It is a session.Matchmaker and
// a session.Releaser, too. It starts nothing.
func New(cfg Config) session.Provider {
	p := &provider{cfg: cfg, clock: cfg.clock, log: cfg.Log}
	if p.clock == nil {
		p.clock = clockwork.NewRealClock()
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p
}

// Configure implements session.Provider. It reads from the environment what Config leaves open, and fetches
// credentials, but sends nothing to the service. After a failure the provider works as before.
func (p *provider) Configure(ctx context.Context, region string) error {
	const op = "Configure"
	cfg, err := config.LoadDefaultConfig(ctx, p.options(region)...)
	if err != nil {
		return &session.Error{Op: op, Kind: session.ErrInvalid,
			Message: "the AWS configuration cannot be read: " + err.Error(), Err: err}
	}
	if cfg.Region == "" {
		return session.Errorf(op, session.ErrInvalid,
			"no region: give one, such as us-east-1, or set Config.Region or AWS_REGION")
	}
	if cfg.Credentials == nil {
		return session.Errorf(op, session.ErrDenied, "no credentials: set Config.Credentials or the environment's")
	}
	if p.cfg.HTTPClient != nil { // not as an option: the SDK rejects it if the environment has AWS_CA_BUNDLE
		cfg.HTTPClient = p.cfg.HTTPClient
	}
	cfg.Credentials = aws.NewCredentialsCache(namedCredentials{cfg.Credentials})
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return failure(ctx, op, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.api = newAPI(cfg, p.cfg.Endpoint)
	return nil
}

// options returns the SDK's options for the region and the set fields of Config.
func (p *provider) options(region string) (options []func(*config.LoadOptions) error) {
	if r := cmp.Or(region, p.cfg.Region); r != "" {
		options = append(options, config.WithRegion(r))
	}
	if p.cfg.Credentials != nil {
		options = append(options, config.WithCredentialsProvider(p.cfg.Credentials))
	}
	return options
}

func (p *provider) configured(op string) (*api, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.api == nil {
		return nil, &session.Error{Op: op, Kind: session.ErrNotConfigured, Message: session.ErrNotConfigured.Error()}
	}
	return p.api, nil
}

// namedCredentials marks failures to get credentials, which the SDK returns from any call.
type namedCredentials struct{ aws.CredentialsProvider }

func (c namedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	keys, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return keys, &credentialsError{err}
	}
	return keys, nil
}

type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// An api is the AWS API in one region.
type api struct {
	*gamelift.Client
	region string
	// once is for requests that must not be retried when they may have taken effect: with it the SDK retries only
	// throttled ones.
	once func(*gamelift.Options)
}

func newAPI(cfg aws.Config, endpoint string) *api {
	careful := retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: throttles}}
		o.MaxAttempts = cmp.Or(cfg.RetryMaxAttempts, o.MaxAttempts)
	})
	client := gamelift.NewFromConfig(cfg, func(o *gamelift.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})
	return &api{Client: client, region: cfg.Region, once: func(o *gamelift.Options) { o.Retryer = careful }}
}
