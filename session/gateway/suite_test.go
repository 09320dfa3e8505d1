package gateway_test

import (
	"testing"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/session/sessiontest"
)

// TestPromises holds the provider to what every one promises, on Muster's gateway.
func TestPromises(t *testing.T) {
	t.Parallel()
	sessiontest.Provider(t, func(t *testing.T) sessiontest.Subject {
		s := startMuster(t, func(c *muster.Config) { c.Gateway.AllowTarget = "on" })
		for i := range 3 {
			s.launch(7777 + i)
		}
		return sessiontest.Subject{Provider: s.provider(), FleetID: s.fleet, Location: "custom-home"}
	})
}
