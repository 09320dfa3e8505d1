package direct_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

// An awaiting provider creates sessions that are active when it returns, as the
// suite wants them.
type awaiting struct {
	provider
	service *service
}

func (a awaiting) CreateSession(ctx context.Context, r session.CreateSessionRequest) (string, error) {
	id, err := a.provider.CreateSession(ctx, r)
	if err == nil {
		a.service.awaitStatus(id, types.GameSessionStatusActive)
	}
	return id, err
}

// TestPromises holds the provider to what every one promises, on Muster.
func TestPromises(t *testing.T) {
	t.Parallel()
	sessiontest.Provider(t, func(t *testing.T) sessiontest.Subject {
		s := startMuster(t)
		for i := range 3 {
			s.launch(7777+i, true)
		}
		return sessiontest.Subject{Provider: awaiting{s.provider(), s}, FleetID: s.fleet, Location: home}
	})
}
