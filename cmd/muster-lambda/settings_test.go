package main

import (
	"strings"
	"testing"
)

// The settings themselves are tested where they are defined.
func TestSettingsThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct{ environ, want string }{
		{"MUSTER_GATEWAY_LEGACY=on", "gateway-endpoint"},
		{"MUSTER_GATEWAY_FLEETS=fleet-1", "MUSTER_GATEWAY_FLEET"},
		{"MUSTER_GATEWAY_KEYS=my-secret-key-of-16", "entry 1"},
		{"MUSTER_GATEWAY_KEYS=a:0123456789abcdef,a:fedcba9876543210", "entry 2"},
		{"MUSTER_GATEWAY_KEYS=short:key", "short"},
	} {
		_, err := newFunction(t.Context(), []string{"MUSTER_REGION=eu-central-1", c.environ}, t.Output())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want something about %s", c.environ, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "my-secret-key") {
			t.Error("the error shows a key")
		}
	}
}
