package console

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func corp() access.ProviderView {
	return access.ProviderView{HasSecret: true, Created: time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC),
		ProviderInput: access.ProviderInput{Name: "corp", Issuer: "https://id.example.com/realms/corp/",
			ClientID: "muster", Audiences: []string{"sts.amazonaws.com"}, Scopes: []string{"openid", "groups"},
			GroupClaim: "groups", Groups: []access.GroupInput{{Claim: "cn=devs, dc=x: all", Group: "a=b"}},
			Keys: json.RawMessage(`{"keys":[{"kty":"OKP"}]}`), SignIn: true, Create: true,
			Domains: []string{"example.com"}, AllowedGroups: []string{"Game devs"}}}
}

// typed returns the fields of a form as a browser sends them.
func typed(p *access.ProviderInput, groups string) url.Values {
	form := url.Values{"issuer": {p.Issuer}, "client-id": {p.ClientID}, "group-claim": {p.GroupClaim},
		"audiences": {strings.Join(p.Audiences, "\r\n")}, "scopes": {strings.Join(p.Scopes, "\r\n")},
		"domains":        {strings.Join(p.Domains, "\r\n") + "\r\n"},
		"allowed-groups": {strings.Join(p.AllowedGroups, "\r\n")},
		"groups":         {groups}, "keys": {string(p.Keys)}}
	for field, on := range map[string]bool{"sign-in": p.SignIn, "create": p.Create} {
		if on {
			form.Set(field, "yes")
		}
	}
	return form
}

// TestProviders: the form stores what it shows, and nothing else.
func TestProviders(t *testing.T) {
	w := newWorld(t)
	p := corp()
	w.answers["GET /v1/providers"] = map[string]any{"providers": []access.ProviderView{p}}
	w.answers["GET /v1/providers/corp"] = p
	w.answers["PUT /v1/providers/corp"] = p
	w.shows("GET", "/console/providers", nil, 200, `<a href="/console/providers/corp">corp</a>`,
		"https://id.example.com/realms/corp/", "people who sign in", "become users")
	const groups = "a=b: cn=devs, dc=x: all"
	w.shows("GET", "/console/providers/corp", nil, 200, "https://muster.example.com/signin/oidc/corp/callback",
		`href="https://id.example.com/realms/corp/.well-known/openid-configuration"`, ">"+groups+"\n</textarea>",
		">openid\ngroups</textarea>", "can no longer sign in by it")
	form := typed(&p.ProviderInput, groups)
	form.Set("basis", w.basis("/console/providers/corp"))
	w.leads("/console/providers/corp/put", form,
		"/console/providers/corp?done=provider-stored")
	var sent access.ProviderInput
	if err := json.Unmarshal([]byte(w.inputs["PUT /v1/providers/corp"].(string)), &sent); err != nil ||
		!reflect.DeepEqual(sent, p.ProviderInput) {
		t.Errorf("stored %+v, want %+v, %v", sent, p.ProviderInput, err)
	}
	w.answers["DELETE /v1/providers/corp"] = map[string]any{}
	w.shows("POST", "/console/providers/corp/delete", url.Values{"confirm": {"Corp"}}, 400, "Type the name")
	if w.inputs["DELETE /v1/providers/corp"] != nil {
		t.Error("it was deleted without the name")
	}
	w.leads("/console/providers/corp/delete", url.Values{"confirm": {"corp"}},
		"/console/providers?done=provider-deleted")
	w.fails["DELETE /v1/providers/corp"] = fault.New(fault.Conflict, "Nobody could sign in without provider corp.")
	w.shows("POST", "/console/providers/corp/delete", url.Values{"confirm": {"corp"}}, 409, "Nobody could sign in")
}

// TestNewProvider: a new provider replaces no other one, and what was typed stays when it is refused, but the secret.
func TestNewProvider(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/providers/corp"] = corp()
	form := url.Values{"provider-name": {"corp"}, "issuer": {"https://id.example.com"}, "client-secret": {"hush"},
		"groups": {"developers"}, "domains": {hostile + strings.Repeat("é", 2048)}}
	refused := func(status int, want string) {
		t.Helper()
		body := w.shows("POST", "/console/providers/create", form, status, want, `value="https://id.example.com"`)
		if strings.Contains(body, "hush") || strings.Contains(body, "<script>alert") {
			t.Errorf("the page has the secret, or markup: %s", body)
		}
	}
	refused(400, "must be a group, a colon")
	form.Set("groups", "")
	form.Set("keys", "{")
	refused(400, "type a JSON Web Key Set")
	form.Del("keys")
	refused(409, "Provider corp exists")
	form.Set("provider-name", "")
	refused(400, "name: type a name")
	form.Set("provider-name", "new")
	w.fails["PUT /v1/providers/new"] = fault.New(fault.InvalidRequest, "clientId is required")
	refused(400, "clientId is required")
	delete(w.fails, "PUT /v1/providers/new")
	w.answers["PUT /v1/providers/new"] = corp()
	w.leads("/console/providers/create", form, "/console/providers/new?done=provider-stored")
	if sent := w.inputs["PUT /v1/providers/new"].(string); !strings.Contains(sent, `"clientSecret":"hush"`) {
		t.Errorf("stored %s", sent)
	}
}

// TestProviderReaders: a reader sees no form, and without the permission there is no page of providers.
func TestProviderReaders(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/providers"] = map[string]any{}
	w.answers["GET /v1/providers/corp"] = corp()
	w.shows("GET", "/console/providers", nil, 200, "No identity provider", "Add identity provider")
	w.fails["muster:ProviderPut"], w.fails["muster:ProviderDelete"] = denied, denied
	for _, path := range []string{"/console/providers", "/console/providers/corp"} {
		body := w.shows("GET", path, nil, 200, `href="/console/providers"`)
		if strings.Contains(body, `action="/console/providers`) || strings.Contains(body, "Add identity provider") {
			t.Errorf("%s has a form: %s", path, body)
		}
	}
	w.fails["muster:ProviderRead"], w.fails["GET /v1/providers"] = denied, denied
	if body := w.shows("GET", "/console/providers", nil, 403); strings.Contains(body, `href="/console/providers"`) {
		t.Error("the navigation has a page that is refused")
	}
}
