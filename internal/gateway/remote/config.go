package remote

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/gateway"
)

// LegacyFleet is the fleet that a legacy endpoint is asked about when none is
// configured. Source: the AWS-SAMUEL gateway, which names it in every call.
const LegacyFleet = "fleet-123"

// legacyFleetID is what GameLift Local takes for a fleet id.
var legacyFleetID = regexp.MustCompile(`^fleet-\S+$`)

// Config says which service to use.
type Config struct {
	// AWS holds the region, the credentials and, optionally, BaseEndpoint and
	// HTTPClient. Required, but for a legacy endpoint only BaseEndpoint is.
	AWS aws.Config
	// Legacy says that the endpoint is a GameLift Local: it has no locations, no
	// search, and neither queues nor matchmaking. It is spoken to in JSON.
	Legacy bool
	// LegacyFleet is the fleet id for a legacy endpoint; "" is LegacyFleet.
	LegacyFleet string
	// Clock drives the pauses; nil for the real one.
	Clock clockwork.Clock
	// Log takes what the package copes with; nil logs nothing.
	Log *slog.Logger
}

// New makes the service for a gateway, without a call to it: a *Service, which has
// queues and matchmaking as well, or with Config.Legacy a *Legacy. The error names
// the setting that is missing.
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
