package api_test

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestInvokeJSON answers calls of this program as it answers those of clients.
func TestInvokeJSON(t *testing.T) {
	endpoint := newEndpoint(t, api.Config{})
	for _, c := range []struct {
		operation, body, want string
		kind                  fault.Kind
	}{
		{"ListFleets", `{"Limit":3}`, `{"FleetIds":["fleet-1","fleet-limit-3"]}`, ""},
		{"ListFleets", `{"Limit":0}`, "", fault.InvalidRequest},
		{"ListFleets", `{`, "", fault.Serialization},
		{"CreateBuild", `{}`, "", fault.InvalidRequest},
		{"Nothing", `{}`, "", fault.UnknownOperation},
	} {
		answer, err := endpoint.InvokeJSON(t.Context(), nil, access.Origin{}, c.operation, []byte(c.body))
		if !strings.Contains(string(answer), c.want) || (err == nil) != (c.kind == "") ||
			err != nil && fault.Of(err).Kind != c.kind {
			t.Errorf("%s %s: %s, %v", c.operation, c.body, answer, err)
		}
	}
}
