package signin

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/mustertest"
)

// TestTrustedProxies holds that X-Forwarded-For changes the address of a client for policies, the audit trail and the
// limits of sign-in, if a trusted proxy sends it, and never otherwise.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, trusted, forwarded, want string
	}{
		{"untrusted peer", "10.0.0.0/8", "203.0.113.9", "127.0.0.1"},
		{"trusted peer", "127.0.0.0/8", "198.51.100.1, 203.0.113.9", "203.0.113.9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(c *muster.Config) {
				c.TrustedProxies, c.InsecureSignIn = []string{tt.trusted}, "on"
			})
			w.AddUser("ada")
			by := header("X-Forwarded-For", tt.forwarded)
			policy := allow("*", "gamelift:ListFleets")
			policy["Statement"].(object)["Condition"] = object{"IpAddress": object{"aws:SourceIp": tt.want}}
			keys := w.addKey("build", object{"document": policy})
			list := func(forwarded string) int {
				return w.send("POST", "/", object{}, header("Content-Type", "application/x-amz-json-1.1"),
					header("X-Amz-Target", "GameLift.ListFleets"), header("X-Forwarded-For", forwarded),
					w.Signed(keys, "gamelift")).status
			}
			if status := list(tt.forwarded); status != http.StatusOK {
				t.Errorf("with the address %s: status %d", tt.want, status)
			}
			if spoofed := list("192.0.2.1"); (spoofed == http.StatusOK) != (tt.want == "127.0.0.1") {
				t.Errorf("with another header: status %d", spoofed)
			}

			wrong := url.Values{"name": {"ada"}, "password": {"wrong"}, "return": {"/start"}}.Encode()
			w.send("POST", "/signin/in", wrong, header("Content-Type", "application/x-www-form-urlencoded"),
				header("Sec-Fetch-Site", "same-origin"), by)
			mustertest.Eventually(t, "the failure is in the audit trail", func() bool {
				records := w.audit("SignIn")
				return len(records) > 0 && records[0]["sourceIPAddress"] == tt.want
			})
			// The budget of an address has a burst of 50: many addresses do not exhaust it, one does.
			refused := 0
			for n := range 150 {
				if w.send("GET", "/signin/in", nil, header("X-Forwarded-For",
					fmt.Sprintf("192.0.2.%d", n))).status == http.StatusTooManyRequests {
					refused++
				}
			}
			if (refused == 0) != (tt.want != "127.0.0.1") {
				t.Errorf("%d of 150 requests with different headers were refused", refused)
			}
		})
	}
}
