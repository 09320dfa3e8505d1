package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/gateway"
)

// LegacyFleet is the default fleet id for a legacy endpoint. Source: the AWS-SAMUEL gateway, which sends it in every
// call.
const LegacyFleet = "fleet-123"

// legacyFleetID is the form of a fleet id in GameLift Local.
var legacyFleetID = regexp.MustCompile(`^fleet-\S+$`)

// Config configures the service.
type Config struct {
	// AWS has the region, the credentials and, optionally, BaseEndpoint and HTTPClient. A legacy endpoint requires
	// BaseEndpoint alone.
	AWS aws.Config
	// Legacy means that the endpoint is GameLift Local: without locations, search, queues and matchmaking, and with
	// JSON instead of CBOR.
	Legacy bool
	// LegacyFleet is the fleet id for a legacy endpoint; "" is LegacyFleet.
	LegacyFleet string
	// Clock is for the pauses; nil is the system's.
	Clock clockwork.Clock
	// Log may be nil.
	Log *slog.Logger
}

// New returns the service for a gateway and makes no calls: a *Service, which has queues and matchmaking too, or with
// Config.Legacy a *Legacy. The error names the missing setting.
func New(cfg Config) (gateway.Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Legacy {
		return newLegacy(cfg)
	}
	switch {
	case cfg.AWS.Region == "":
		return nil, errors.New("AWS.Region is missing: name the region of the service")
	case cfg.AWS.Credentials == nil:
		return nil, errors.New("AWS.Credentials is missing: calls must be signed")
	}
	return newService(gamelift.NewFromConfig(cfg.AWS), cfg), nil
}

func newLegacy(cfg Config) (*Legacy, error) {
	endpoint := aws.ToString(cfg.AWS.BaseEndpoint)
	fleet := cmp.Or(cfg.LegacyFleet, LegacyFleet)
	switch {
	case endpoint == "":
		return nil, errors.New("AWS.BaseEndpoint is missing: give the URL of GameLift Local")
	case !legacyFleetID.MatchString(fleet):
		return nil, fmt.Errorf("LegacyFleet %q is no fleet id: it must begin with fleet-", fleet)
	}
	var doer aws.HTTPClient = http.DefaultClient
	if cfg.AWS.HTTPClient != nil {
		doer = cfg.AWS.HTTPClient
	}
	return newLegacyService(&jsonClient{endpoint: endpoint, http: doer}, fleet, cfg), nil
}

// LoadAWS returns the AWS SDK's settings for a region and an endpoint; "" leaves each to the SDK's usual sources, which
// also give the credentials.
func LoadAWS(ctx context.Context, region, endpoint string) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(keepConnections)),
	}
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	if endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return loaded, fmt.Errorf("AWS settings: %w", err)
	}
	return loaded, nil
}

// keepConnections keeps enough connections to the service for all requests in progress.
func keepConnections(t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 512 }
