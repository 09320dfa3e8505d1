package access

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A ProviderView describes an identity provider. Its client secret is not shown.
type ProviderView struct {
	ProviderInput
	HasSecret bool      `json:"hasSecret,omitempty"`
	Created   time.Time `json:"created"`
}

// A ProviderInput is an identity provider to be stored.
type ProviderInput struct {
	Name          string          `json:"name"`
	Issuer        string          `json:"issuer"` // URL, exactly as in its tokens
	ClientID      string          `json:"clientId,omitempty"`
	ClientSecret  string          `json:"clientSecret,omitempty"` // never in a view; "" leaves the stored one
	Audiences     []string        `json:"audiences,omitempty"`    // of tokens of machines, besides the client's id
	Scopes        []string        `json:"scopes,omitempty"`       // none: openid email profile
	GroupClaim    string          `json:"groupClaim,omitempty"`
	Groups        []GroupInput    `json:"groups,omitempty"`
	Keys          json.RawMessage `json:"keys,omitempty"`          // a JSON Web Key Set; none: fetched from the issuer
	SignIn        bool            `json:"signIn,omitempty"`        // people sign in by it
	Create        bool            `json:"create,omitempty"`        // unknown people become users,
	Domains       []string        `json:"domains,omitempty"`       // with a verified address in one of these,
	AllowedGroups []string        `json:"allowedGroups,omitempty"` // or in one of these groups of the provider
}

// A GroupInput maps a group of a provider to one of the region.
type GroupInput struct {
	Claim string `json:"claim"`
	Group string `json:"group"`
}

// Providers returns all identity providers by name.
func (a *Access) Providers() (views []ProviderView) {
	for _, p := range a.state().Providers() {
		views = append(views, providerView(p))
	}
	return views
}

// Provider returns an identity provider. NotFound.
func (a *Access) Provider(name string) (*catalog.Provider, error) {
	p, ok := a.state().Provider(name)
	if !ok {
		return nil, fault.New(fault.NotFound, "Provider %s not found", clip(name, 128))
	}
	return p, nil
}

// ProviderView returns the description of an identity provider. NotFound.
func (a *Access) ProviderView(name string) (*ProviderView, error) {
	p, err := a.Provider(name)
	if err != nil {
		return nil, err
	}
	view := providerView(p)
	return &view, nil
}

func providerView(p *catalog.Provider) ProviderView {
	v := ProviderView{HasSecret: len(p.SealedSecret) > 0, Created: p.Created.Time(), ProviderInput: ProviderInput{
		Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID, Audiences: p.Audiences, Scopes: p.Scopes,
		GroupClaim: p.GroupClaim, SignIn: p.SignIn, Create: p.Create, Domains: p.Domains,
		AllowedGroups: p.AllowedGroups,
	}}
	if p.Keys != "" {
		v.Keys = json.RawMessage(p.Keys)
	}
	for _, m := range p.GroupMap {
		v.Groups = append(v.Groups, GroupInput(m))
	}
	return v
}

// providerSeal is what the sealed secret of a provider's client is bound to.
func providerSeal(name string) string { return "provider " + name }

// PutProvider creates or replaces an identity provider.
func (a *Access) PutProvider(ctx context.Context, by *Identity, in ProviderInput) (*ProviderView, error) {
	if err := a.checkProvider(by, &in); err != nil {
		return nil, err
	}
	if !in.SignIn {
		if err := a.mayStopSignIn(in.Name); err != nil {
			return nil, err
		}
	}
	p := catalog.Provider{
		Name: in.Name, Issuer: in.Issuer, ClientID: in.ClientID, Audiences: in.Audiences, Scopes: in.Scopes,
		GroupClaim: in.GroupClaim, Keys: string(in.Keys), SignIn: in.SignIn, Create: in.Create, Domains: in.Domains,
		AllowedGroups: in.AllowedGroups, Created: a.cfg.Catalog.Now(),
	}
	for _, g := range in.Groups {
		p.GroupMap = append(p.GroupMap, catalog.GroupMapping(g))
	}
	if old, ok := a.state().Provider(in.Name); ok {
		p.Created = old.Created
		if old.Issuer == p.Issuer && old.ClientID == p.ClientID { // others must not get it
			p.SealedSecret = old.SealedSecret
		}
	}
	if in.ClientSecret != "" {
		p.SealedSecret = a.current().epoch().SealKey(providerSeal(in.Name), in.ClientSecret)
	}
	if err := a.cfg.Catalog.Change(ctx, catalog.PutProvider{Provider: p}); err != nil {
		return nil, err
	}
	return a.ProviderView(in.Name)
}

func (a *Access) checkProvider(by *Identity, in *ProviderInput) error {
	u, err := url.Parse(in.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil ||
		u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return fault.New(fault.InvalidRequest, "issuer must be an https URL without query, as in the provider's tokens")
	}
	if string(in.Keys) == "null" {
		in.Keys = nil
	}
	if len(in.Keys) > 0 {
		var set jose.JSONWebKeySet
		if json.Unmarshal(in.Keys, &set) != nil || len(set.Keys) == 0 {
			return fault.New(fault.InvalidRequest, "keys must be a JSON Web Key Set: {\"keys\":[…]}")
		}
		for _, k := range set.Keys {
			if !k.IsPublic() {
				return fault.New(fault.InvalidRequest, "keys must hold public keys only")
			}
		}
	}
	if in.SignIn && in.ClientID == "" {
		return fault.New(fault.InvalidRequest, "clientId is required for a provider by which people sign in")
	}
	if in.Create && len(in.Domains) == 0 && len(in.AllowedGroups) == 0 {
		return fault.New(fault.InvalidRequest, "create needs domains or allowedGroups: otherwise everybody whom the "+
			"provider knows would have access")
	}
	groups := make([]string, len(in.Groups))
	for i, g := range in.Groups {
		groups[i] = g.Group
	}
	if err := a.covers(by, a.groupSet(groups)); err != nil {
		return err
	}
	return a.mayVouch(by, in.Issuer)
}

// mayVouch returns an error if an identity may not define an issuer: who names its keys can sign in as any of its
// people, and assume the roles that trust it.
func (a *Access) mayVouch(by *Identity, issuer string) error {
	if by == nil || by.Root {
		return nil
	}
	state, d := a.state(), a.current()
	users, _ := state.Users("", 0)
	for _, u := range users {
		if u.Issuer != issuer {
			continue
		}
		if err := a.mayBe(by, u); err != nil {
			return err
		}
	}
	roles, _ := state.Roles("", 0)
	for _, r := range roles {
		trust, err := policy.ParseTrust(r.Trust)
		if err != nil || !slices.Contains(trust.TrustedIssuers(), issuerName(issuer)) {
			continue
		}
		if err := a.covers(by, a.roleSet(d, r)); err != nil {
			return err
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// mayStopSignIn returns an error if nobody could sign in any more without a provider.
func (a *Access) mayStopSignIn(name string) error {
	if !a.state().AccessSettings().LocalPasswordsOff {
		return nil
	}
	for _, p := range a.SignInProviders() {
		if p.Name != name {
			return nil
		}
	}
	return fault.New(fault.Conflict, "Nobody could sign in without provider %s: switch passwords on first", name)
}

// DeleteProvider deletes an identity provider. Its users stay and can no longer sign in by it. NotFound.
func (a *Access) DeleteProvider(ctx context.Context, name string) error {
	if err := a.mayStopSignIn(name); err != nil {
		return err
	}
	return a.cfg.Catalog.Change(ctx, catalog.DeleteProvider{Name: name})
}

// A SettingsView is the settings of signing in.
type SettingsView struct {
	LocalPasswords bool        `json:"localPasswords"` // people may sign in by password
	Epochs         []EpochView `json:"epochs"`         // of the region's keys
}

// An EpochView is one period of the region's keys.
type EpochView struct {
	Number  uint32     `json:"number"`
	Created *time.Time `json:"created,omitempty"`
	Ends    *time.Time `json:"ends,omitempty"` // nil: the present one
}

// Settings returns the settings of signing in.
func (a *Access) Settings() SettingsView {
	s := a.state().AccessSettings()
	v := SettingsView{LocalPasswords: !s.LocalPasswordsOff}
	for _, e := range s.Epochs {
		v.Epochs = append(v.Epochs, EpochView{e.Number, moment(e.Created), moment(e.Ends)})
	}
	if len(v.Epochs) == 0 {
		v.Epochs = []EpochView{{}}
	}
	return v
}

// SetLocalPasswords switches signing in by password on or off. It must not leave nobody who can sign in.
func (a *Access) SetLocalPasswords(ctx context.Context, on bool) error {
	s := a.state().AccessSettings()
	if !on && len(a.SignInProviders()) == 0 {
		return fault.New(fault.InvalidRequest, "Add a provider by which people sign in before you switch passwords off")
	}
	s.LocalPasswordsOff = !on
	return a.cfg.Catalog.Change(ctx, catalog.PutAccessSettings{AccessSettings: s})
}
