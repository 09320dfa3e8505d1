package direct

import (
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// Config configures a provider. The zero value is AWS as the environment configures it: the region and credentials of
// AWS_REGION, AWS_PROFILE, ~/.aws and so on.
type Config struct {
	// Endpoint is the base URL of the API, for example http://127.0.0.1:9080; "" for that of the environment, else that
	// of AWS for the region.
	Endpoint string
	// Region is used when Configure is called without a region; "" for that of the environment.
	Region string
	// Credentials sign the calls; nil for the environment's.
	Credentials aws.CredentialsProvider
	// HTTPClient makes the calls of sessions; nil for the AWS SDK's, which also fetches the environment's credentials.
	HTTPClient *http.Client
	// Target is where Host creates sessions and Find searches for them. Other calls do not use it.
	Target Target
	// Log receives what no call can return, such as a session that could not be cleaned up; nil logs nothing.
	Log *slog.Logger

	// clock drives waits and timeouts; nil for the real one.
	clock clockwork.Clock
}

// A Target is exactly one of a fleet, an alias and a queue.
type Target struct {
	FleetID, AliasID string // id or ARN
	QueueName        string // name or ARN
	// Location restricts a fleet or alias to one of its locations. "" searches all of them, and creates sessions in the
	// fleet's only location or in the region.
	Location string
}

// check validates a target for Host and Find.
func (t Target) check(op string) error {
	named := 0
	for _, name := range []string{t.FleetID, t.AliasID, t.QueueName} {
		if name != "" {
			named++
		}
	}
	switch {
	case named == 0:
		return session.Errorf(op, session.ErrUnsupported,
			"no target: name a fleet, an alias or a queue in Config.Target")
	case named > 1:
		return session.Errorf(op, session.ErrInvalid,
			"Config.Target: name one of FleetID, AliasID and QueueName, not several")
	case t.QueueName != "" && t.Location != "":
		return session.Errorf(op, session.ErrInvalid,
			"Config.Target: a queue chooses the location: leave Location empty")
	}
	return nil
}
