package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
)

// A providersBody is all identity providers.
type providersBody struct{ Providers []access.ProviderView }

func providersPage(v *visit) error {
	var b providersBody
	if err := v.request(http.MethodGet, in("providers"), nil, &b); err != nil {
		return err
	}
	return v.show("providers", page{Title: "Identity providers", Nav: "/console/providers", Live: true, Body: b})
}

func providerPath(name string) string { return "/console/providers/" + url.PathEscape(name) }

// A providerBody is the page of an identity provider, or the form of a new one. The form has lists as lines of text.
type providerBody struct {
	access.ProviderView
	New       bool
	GroupText string // lines GROUP: CLAIM
	KeyText   string
	Redirect  string // the URI that is registered at the provider
	Discovery string // URL of what the provider publishes about itself

	stored []field
}

// fields are the settings of the form but the secret, which is not shown.
func (b *providerBody) fields() []field {
	keys := b.KeyText
	if json.Valid([]byte(keys)) {
		keys = formatted(keys)
	}
	all := []field{{"Issuer", b.Issuer}, {"Client id", b.ClientID}, {"People sign in by it", yesNo(b.SignIn)},
		{"Unknown people become users", yesNo(b.Create)}, {"Claim with the groups of a person", b.GroupClaim},
		{"Groups", b.GroupText}, {"Keys", keys}}
	for _, f := range b.Lists() {
		all = append(all, field{f.Label, f.Text()})
	}
	return all
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Lists are the fields of the form for lists, one value a line.
func (b *providerBody) Lists() []listField {
	return []listField{
		{"scopes", "Scopes", "That are requested at sign-in. None: openid, email and profile.", &b.Scopes},
		{"domains", "Domains", "Of verified e-mail addresses of people who become users.", &b.Domains},
		{"allowed-groups", "Allowed groups of the provider", "Their members become users.", &b.AllowedGroups},
		{"audiences", "Audiences", "That tokens of machines may have besides the client id.", &b.Audiences},
	}
}

// A listField is a field of a form for a list.
type listField struct {
	ID, Label, Hint string
	list            *[]string
}

// Text is the list with a value on each line.
func (f listField) Text() string { return strings.Join(*f.list, "\n") }

// linesOf returns the lines of a text that are not empty.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func newProviderPage(v *visit) error {
	return v.showProvider(&providerBody{New: true,
		ProviderView: access.ProviderView{ProviderInput: access.ProviderInput{SignIn: true}}}, nil)
}

func providerPage(v *visit) error { return v.provider(nil) }

func (v *visit) provider(refused error) error {
	b, err := v.storedProvider()
	if err != nil {
		return err
	}
	return v.showProvider(b, refused)
}

func (v *visit) storedProvider() (*providerBody, error) {
	var b providerBody
	if err := v.request(http.MethodGet, in("providers", v.r.PathValue("name")), nil, &b.ProviderView); err != nil {
		return nil, err
	}
	for _, g := range b.Groups { // names of the region's groups have no colon
		b.GroupText += g.Group + ": " + g.Claim + "\n"
	}
	b.KeyText = formatted(string(b.Keys))
	b.stored = b.fields()
	return &b, nil
}

func (v *visit) showProvider(b *providerBody, refused error) error {
	title := b.Name
	if b.New {
		title = "Add identity provider"
	} else {
		b.Redirect = strings.TrimSuffix(v.h.PublicURL, "/") + "/signin/oidc/" + url.PathEscape(b.Name) + "/callback"
		b.Discovery = strings.TrimSuffix(b.Issuer, "/") + "/.well-known/openid-configuration"
	}
	b.ClientSecret = ""
	return v.refused("provider", page{Title: title, Nav: "/console/providers", Body: b,
		Live: refused == nil && !b.New, Basis: v.basis(b.stored, refused),
		Crumbs: []link{{"Identity providers", "/console/providers"}}}, refused)
}

// putProvider adds an identity provider, or replaces its settings.
func putProvider(v *visit) error {
	b := providerBody{New: v.r.PathValue("name") == "", GroupText: v.form("groups"),
		KeyText: strings.TrimSpace(v.form("keys"))}
	b.ProviderInput = access.ProviderInput{Name: strings.TrimSpace(v.form("provider-name")),
		Issuer: strings.TrimSpace(v.form("issuer")), ClientID: strings.TrimSpace(v.form("client-id")),
		ClientSecret: v.form("client-secret"), GroupClaim: strings.TrimSpace(v.form("group-claim")),
		SignIn: v.form("sign-in") != "", Create: v.form("create") != ""}
	for _, f := range b.Lists() {
		*f.list = linesOf(v.form(f.ID))
	}
	if !b.New {
		stored, err := v.storedProvider()
		if err != nil {
			return err
		}
		b.Name, b.stored = stored.Name, stored.stored
	}
	again := func(err error) error { return v.showProvider(&b, err) }
	if err := v.completeProvider(&b); err != nil {
		return again(err)
	}
	return v.perform(http.MethodPut, in("providers", b.Name), b.ProviderInput,
		providerPath(b.Name)+"?done=provider-stored", again)
}

// completeProvider reads what the form has as text. A new provider does not replace another one.
func (v *visit) completeProvider(b *providerBody) error {
	for _, line := range linesOf(b.GroupText) {
		group, claim, ok := strings.Cut(line, ":")
		if claim = strings.TrimSpace(claim); !ok || claim == "" {
			return invalid("groups: %.100q must be a group, a colon, and a group of the provider.", line)
		}
		b.Groups = append(b.Groups, access.GroupInput{Group: strings.TrimSpace(group), Claim: claim})
	}
	if b.KeyText != "" {
		if b.Keys = json.RawMessage(b.KeyText); !json.Valid(b.Keys) {
			return invalid("keys: type a JSON Web Key Set.")
		}
	}
	if b.New {
		return v.absent("Provider", "providers", b.Name)
	}
	return v.edited("Provider "+b.Name, b.stored, b.fields())
}

func deleteProvider(v *visit) error {
	name := v.r.PathValue("name")
	if v.form("confirm") != name {
		return v.provider(invalid("Type the name of the provider, %s, to delete it.", name))
	}
	return v.perform(http.MethodDelete, in("providers", name), nil, "/console/providers?done=provider-deleted",
		v.provider)
}
