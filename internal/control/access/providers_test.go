package access

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestPutProvider(t *testing.T) {
	w := newWorld(t)
	p := w.dex(func(in *ProviderInput) { in.Keys = newSigner(t).keys() })
	w.clock.Advance(1000)
	in := ProviderInput{Name: "dex", Issuer: issuer, ClientID: "muster", Keys: json.RawMessage("null"), SignIn: true}
	view, err := w.PutProvider(t.Context(), nil, in)
	w.ok(err)
	if !view.HasSecret || view.ClientSecret != "" || view.ClientID != "muster" || view.Create || view.Keys != nil ||
		!view.Created.Equal(p.Created.Time()) {
		t.Errorf("%+v", view)
	}
	stored, err := w.Provider("dex")
	w.ok(err)
	if l, err := w.other.Login(stored, ""); err != nil || l.ClientSecret != "client secret" {
		t.Errorf("the secret is %q, %v", l.ClientSecret, err)
	}
	if all := w.Providers(); len(all) != 1 || all[0].Name != "dex" {
		t.Errorf("%+v", all)
	}
	in.ClientID = "other" // whose secret it is not
	view, err = w.PutProvider(t.Context(), nil, in)
	w.ok(err)
	if view.HasSecret {
		t.Error("another client has the secret")
	}
	w.ok(w.DeleteProvider(t.Context(), "dex"))
	_, err = w.ProviderView("dex")
	w.kind(err, fault.NotFound)
	w.kind(w.DeleteProvider(t.Context(), "dex"), fault.NotFound)
}

func TestProviderRefused(t *testing.T) {
	w := newWorld(t)
	private := json.RawMessage(`{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"k"}]}`)
	for name, c := range map[string]struct {
		change func(*ProviderInput)
		field  string
	}{
		"no URL":               {func(in *ProviderInput) { in.Issuer = "dex" }, "issuer"},
		"broken URL":           {func(in *ProviderInput) { in.Issuer = "https://%" }, "issuer"},
		"http":                 {func(in *ProviderInput) { in.Issuer = "http://id.example.com" }, "issuer"},
		"query":                {func(in *ProviderInput) { in.Issuer += "?x=1" }, "issuer"},
		"user":                 {func(in *ProviderInput) { in.Issuer = "https://a:b@id.example.com" }, "issuer"},
		"keys of another form": {func(in *ProviderInput) { in.Keys = json.RawMessage(`{"keys":[]}`) }, "keys"},
		"secret keys":          {func(in *ProviderInput) { in.Keys = private }, "keys"},
		"no client":            {func(in *ProviderInput) { in.SignIn, in.ClientID = true, "" }, "clientId"},
		"everybody":            {func(in *ProviderInput) { in.Create = true }, "create"},
	} {
		in := ProviderInput{Name: "dex", Issuer: issuer, ClientID: "muster"}
		c.change(&in)
		_, err := w.PutProvider(t.Context(), nil, in)
		if !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, local := range []string{"http://localhost:5556", "http://127.0.0.1:5556", "http://[::1]:5556"} {
		_, err := w.PutProvider(t.Context(), nil, ProviderInput{Name: "dex", Issuer: local})
		w.ok(err)
	}
}

// TestWhoMayDefineAnIssuer: its keys are worth what its people and the roles that trust it may do.
func TestWhoMayDefineAnIssuer(t *testing.T) {
	w := newWorld(t)
	_, eve := w.userKey("eve", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["muster:*",
		"gamelift:List*"],"Resource":"*"}}`)
	in := ProviderInput{Name: "dex", Issuer: issuer, Keys: newSigner(t).keys()}
	put := func() error { return errOf(w.PutProvider(t.Context(), eve, in)) }
	w.ok(put())
	_, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada", Issuer: issuer, Subject: "1"})
	w.ok(err)
	w.ok(put()) // ada may do nothing
	w.ok(w.Assign(t.Context(), nil, "ada", "administrator"))
	w.kind(put(), fault.AccessDenied)
	w.ok(w.DeleteUser(t.Context(), "ada"))
	w.ok(put())
	_, err = w.PutRole(t.Context(), nil, RoleInput{Name: "deploy", Policies: []string{"GameLiftAdmin"},
		Trust: json.RawMessage(trustsBranch)})
	w.ok(err)
	w.kind(put(), fault.AccessDenied)
	in.Issuer = "https://id.example.org"
	w.ok(put()) // nobody trusts it
	w.ok(w.CreateGroup(t.Context(), "ops", ""))
	w.ok(w.Assign(t.Context(), nil, "@ops", "administrator"))
	in.Groups = []GroupInput{{"/everybody", "ops"}}
	w.kind(put(), fault.AccessDenied)
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	if s := w.Settings(); !s.LocalPasswords || len(s.Epochs) != 1 || s.Epochs[0].Number != 0 {
		t.Errorf("%+v", s)
	}
	_, err := w.RotateSecret(t.Context())
	w.ok(err)
	numbers := []uint32{}
	for _, e := range w.other.Settings().Epochs {
		numbers = append(numbers, e.Number)
	}
	if !slices.Equal(numbers, []uint32{0, 1}) {
		t.Errorf("epochs %v", numbers)
	}
}
