package signin

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/clients"
)

// identity is the answer of GetCallerIdentity.
type identity struct{ Account, Arn, UserId string } //nolint:revive // the name is that of the answer

// TestClients: after a sign-in, all clients call GameLift and STS with only the services section of the
// configuration.
func TestClients(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.AddUser("ada", "developer")
	fleet := w.Fleet("custom-here")
	h := w.home("developer")
	h.keep(w.signIn("ada"), time.Now().Add(time.Hour))
	var all sync.WaitGroup
	for name, open := range h.callers("muster") {
		c := open()
		all.Go(func() {
			h.lists(name, c, fleet)
			if name == "JS" {
				return // its client of STS is a package of its own
			}
			checkIdentity(t, name, c)
		})
	}
	all.Wait()
}

// checkIdentity checks who a client is.
func checkIdentity(t *testing.T, name string, c clients.Caller) {
	t.Helper()
	var who identity
	var err error
	if cli, ok := c.(*clients.CLI); ok {
		var out []byte
		if out, err = cli.Run("sts", "get-caller-identity", "--output", "json"); err == nil {
			err = json.Unmarshal(out, &who)
		}
	} else {
		err = c.Call("sts.GetCallerIdentity", nil, &who)
	}
	if err != nil || who.Account != account || !strings.HasSuffix(who.Arn, "/ada") ||
		!strings.HasPrefix(who.Arn, "arn:aws:sts::"+account+":assumed-role/AWSReservedSSO_developer_") ||
		!strings.HasPrefix(who.UserId, "AROA") || !strings.HasSuffix(who.UserId, ":ada") {
		t.Errorf("%s is %+v, %v", name, who, err)
	}
}

// TestGoChain: with only the services section, the SDK for Go signs in by SSO, assumes a role and exchanges a
// web identity. It looks up no name.
func TestGoChain(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.AddUser("ada", "developer")
	fleet := w.Fleet("custom-here")
	idp := newIssuer(t)
	w.Manage("PUT", "providers/ci", object{"issuer": idp.url(), "audiences": []string{"muster"}})
	w.Manage("PUT", "roles/ci", object{"policies": []string{"GameLiftReadOnly"}, "trust": idp.trust("ada")})
	h := w.home("developer")
	h.keep(w.signIn("ada"), time.Now().Add(time.Hour))
	w.AddUser("caller")
	w.Manage("PATCH", "users/caller", object{"attachPolicies": []string{"GameLiftReadOnly"}})
	w.Manage("PUT", "users/caller/policies/assume", object{"document": allow("*", "sts:AssumeRole")})
	w.Manage("PUT", "roles/assumed", object{"policies": []string{"GameLiftReadOnly"}, "trust": object{
		"Version": "2012-10-17", "Statement": object{"Effect": "Allow", "Action": "sts:AssumeRole",
			"Principal": object{"AWS": "arn:aws:iam::" + account + ":user/caller"}}}})
	keys := keyOf(w.Manage("POST", "keys", object{"user": "caller"}))
	h.configure("\n[profile source]\naws_access_key_id = %s\naws_secret_access_key = %s\nregion = %[3]s\n"+
		"services = muster\n\n[profile assumed]\nrole_arn = arn:aws:iam::%[4]s:role/assumed\nsource_profile = source\n"+
		"region = %[3]s\nservices = muster\n\n[profile web]\nrole_arn = arn:aws:iam::%[4]s:role/ci\n"+
		"web_identity_token_file = %[5]s\nregion = %[3]s\nservices = muster\n", keys.AccessKeyID, keys.SecretAccessKey,
		w.Region, account, write(t, idp.sign(nil), t.TempDir(), "token"))
	for profile, role := range map[string]string{"muster": "AWSReservedSSO_developer_", "assumed": "assumed/",
		"web": "ci/"} {
		h.lists("Go with profile "+profile, goClient{h, profile}, fleet)
		var who identity
		err := goClient{h, profile}.Call("sts.GetCallerIdentity", nil, &who)
		if err != nil || !strings.HasPrefix(who.Arn, "arn:aws:sts::"+account+":assumed-role/"+role) {
			t.Errorf("Go with profile %s is %+v, %v", profile, who, err)
		}
	}
	if a, err := (goClient{h, "web"}).run("lookup"); err != nil || a.Lookups == 0 || a.Error == "" {
		t.Errorf("a lookup is not counted: %+v, %v", a, err)
	}
}
