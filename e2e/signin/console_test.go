package signin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/mustertest"
)

// TestConsoleTrail: what people do in the console, and what they may not do, is in the audit
// trail with their names.
func TestConsoleTrail(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.AddUser("ana", "operator")
	w.AddUser("vera", "read-only")
	location := func(name string) url.Values { return url.Values{"location-name": {name}} }
	w.signedIn("ana").post("/console/locations", location("attic")).has(200, "custom-attic")
	reader := w.signedIn("vera")
	reader.get("/console/locations").has(200, "custom-attic")
	reader.post("/console/locations", location("cellar")).has(403, "AccessDeniedException")
	reader.post("/console/locations/custom-attic/delete", nil).has(403, "AccessDeniedException")
	for _, want := range []struct{ event, user, failure, location string }{
		{"CreateLocation", "ana", "", "custom-attic"},
		{"CreateLocation", "vera", "AccessDeniedException", "custom-cellar"},
		{"DeleteLocation", "vera", "AccessDeniedException", "custom-attic"},
	} {
		mustertest.Eventually(t, fmt.Sprintf("the audit trail has %v", want), func() bool {
			return slices.ContainsFunc(w.audit(want.event), func(r object) bool {
				who, _ := r["userIdentity"].(object)
				failure, _ := r["errorCode"].(string)
				return who["userName"] == want.user && failure == want.failure &&
					strings.HasSuffix(fmt.Sprint(r["resources"]), "location/"+want.location+"]]")
			})
		})
	}
}
