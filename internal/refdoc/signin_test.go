package refdoc

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/signin"
	"github.com/muster-gg/muster/internal/signin/query"
)

// A signInRow is an operation with which clients sign in.
type signInRow struct {
	signin.Request
	Operation, Note string
}

// signInNotes has the operation of each request of a client, as the service models name it, and what is to be known.
var signInNotes = map[string][2]string{
	"POST /client/register":         {"RegisterClient", "anybody may; nothing is stored; valid for 90 days"},
	"POST /device_authorization":    {"StartDeviceAuthorization", "10 minutes, interval 1 s; 20 for each address"},
	"POST /token":                   {"CreateToken", "device code, authorization code with PKCE, refresh token"},
	"GET /authorize":                {"", "its page; redirects to loopback addresses only"},
	"GET /assignment/accounts":      {"ListAccounts", ""},
	"GET /assignment/roles":         {"ListAccountRoles", ""},
	"GET /federation/credentials":   {"GetRoleCredentials", "keys of one hour, less if the role's maximum is less"},
	"POST /logout":                  {"Logout", "keys that were issued in the session stop working, too"},
	"POST /v1/token":                {"CreateOAuth2Token", "for `aws login`: keys of 15 minutes; DPoP"},
	"GET /v1/authorize":             {"", "the page of `aws login`"},
	"GET /v1/sessions/confirmation": {"", "the page of `aws login --remote`, which shows the code to copy"},
	"HEAD /start":                   {"", "the check of the start URL by AWS CLI 2.35.13 and later"},
	"GET /signin/configuration":     {"", "region, account, start URL and CA, for `muster configure`"},
}

// pageProtocols are of pages that belong to a protocol.
var pageProtocols = map[string]string{
	"/authorize": "SSO-OIDC", "/v1/authorize": "Sign-in", "/v1/sessions/confirmation": "Sign-in", "/start": "SSO",
	"/signin/configuration": "Muster",
}

func signInRows() (rows []signInRow) {
	for _, r := range signin.Requests() {
		note, ok := signInNotes[r.Method+" "+r.Path]
		if !ok {
			continue
		}
		if protocol, ok := pageProtocols[r.Path]; ok {
			r.Protocol = protocol
		}
		rows = append(rows, signInRow{r, note[0], note[1]})
	}
	return rows
}

// queryNotes says what is to be known of the operations of STS and IAM.
var queryNotes = map[string]string{
	"GetCallerIdentity":         "also with a presigned URL; never denied",
	"GetSessionToken":           "15 minutes to 36 hours, by default 12 hours; of a long-lived key only",
	"AssumeRole":                "15 minutes to 12 hours, by default one hour, at most the maximum of the role",
	"AssumeRoleWithWebIdentity": "a JWT of a [provider](../how-to/connect-your-identity-provider.md)",
	"CreateAccessKey":           "two keys for each user",
	"CreateUser":                "a person without password, until `muster user passwd`",
	"DeleteUser":                "refused with `DeleteConflict` while it has keys or own policies",
	"GetAccessKeyLastUsed":      "to the hour",
}

func TestSignInNotesAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, r := range signin.Requests() {
		name := r.Method + " " + r.Path
		known[name] = true
		pages := strings.HasPrefix(r.Path, "/signin/") && r.Path != "/signin/configuration"
		if _, ok := signInNotes[name]; !ok && r.Protocol != "" && !pages {
			t.Errorf("%s has no note", name)
		}
	}
	for name := range signInNotes {
		if !known[name] {
			t.Errorf("there is no request %s", name)
		}
	}
	operations := map[string]bool{}
	for _, o := range query.Operations() {
		operations[o.Name] = true
	}
	for name := range queryNotes {
		if !operations[name] {
			t.Errorf("there is no operation %s", name)
		}
	}
}
