package catalog

import (
	"cmp"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Provider is an issuer of identities: people sign in by it, or programs assume roles with its tokens. The catalog
// stores its client secret as sealed by the caller.
type Provider struct {
	Name          string         `cbor:"1,keyasint,omitempty"`
	Issuer        string         `cbor:"2,keyasint,omitempty"` // URL, exactly as in its tokens
	ClientID      string         `cbor:"3,keyasint,omitempty"`
	SealedSecret  []byte         `cbor:"4,keyasint,omitempty"` // read-only
	Audiences     []string       `cbor:"5,keyasint,omitempty"` // sorted, as the other lists
	Scopes        []string       `cbor:"6,keyasint,omitempty"`
	GroupClaim    string         `cbor:"7,keyasint,omitempty"` // the claim that has a person's groups
	GroupMap      []GroupMapping `cbor:"8,keyasint,omitempty"`
	Keys          string         `cbor:"9,keyasint,omitempty"`  // a JWKS; "": fetched from the issuer
	SignIn        bool           `cbor:"10,keyasint,omitempty"` // people may sign in by it
	Create        bool           `cbor:"11,keyasint,omitempty"` // unknown people are created
	Domains       []string       `cbor:"12,keyasint,omitempty"` // of verified email addresses of people to create
	AllowedGroups []string       `cbor:"13,keyasint,omitempty"` // values of GroupClaim of people to create
	Created       event.Time     `cbor:"14,keyasint,omitempty"`
}

// A GroupMapping says which group a value of GroupClaim is. The group need not exist.
type GroupMapping struct {
	Claim string `cbor:"1,keyasint,omitempty"`
	Group string `cbor:"2,keyasint,omitempty"`
}

func (m GroupMapping) compare(n GroupMapping) int {
	return cmp.Or(cmp.Compare(m.Claim, n.Claim), cmp.Compare(m.Group, n.Group))
}

// PutProvider stores a provider; a replaced one keeps Created. InvalidRequest, LimitExceeded; Conflict if another one
// has its issuer, and with CreateOnly if it exists.
type PutProvider struct {
	Provider
	CreateOnly bool `cbor:"101,keyasint,omitzero"`
}

// DeleteProvider deletes a provider. Its users remain, and cannot sign in by it. NotFound.
type DeleteProvider struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// ProviderPut follows PutProvider; it holds the whole provider.
type ProviderPut struct{ Provider }

// ProviderDeleted follows DeleteProvider.
type ProviderDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c PutProvider) decide(s *State, now event.Time) ([]Event, error) {
	p := c.Provider.normal()
	old, exists := s.providers.Get(p.Name)
	if err := checkPut(c.CreateOnly, exists, "Provider", p.Name, s.providers.Len(), s.limits.Providers); err != nil {
		return nil, err
	}
	p.Created = cmp.Or(p.Created, now)
	if exists {
		p.Created = old.Created
	}
	if err := p.check(s); err != nil || same(old, p) {
		return nil, err
	}
	return []Event{&ProviderPut{p}}, nil
}

// normal returns a copy that shares nothing with p.
func (p Provider) normal() Provider {
	p.SealedSecret = listOf(p.SealedSecret)
	for _, list := range p.lists() {
		*list = sortedSet(*list)
	}
	p.GroupMap = sorted(p.GroupMap, GroupMapping.compare)
	return p
}

func (p *Provider) lists() []*[]string {
	return []*[]string{&p.Audiences, &p.Scopes, &p.Domains, &p.AllowedGroups}
}

func (p Provider) check(s *State) error {
	if err := checkName("provider", p.Name, 1, 64); err != nil {
		return err
	}
	switch {
	case p.Issuer == "":
		return fault.New(fault.InvalidRequest, "Issuer is required")
	case p.SignIn && p.ClientID == "":
		return fault.New(fault.InvalidRequest, "ClientID is required for a provider by which people sign in")
	case len(p.Keys) > maxKeySet:
		return fault.New(fault.InvalidRequest, "Keys has %d bytes; the maximum is %d", len(p.Keys), maxKeySet)
	}
	if err := checkTexts("Issuer", p.Issuer, "ClientID", p.ClientID, "GroupClaim", p.GroupClaim); err != nil {
		return err
	}
	for _, list := range p.lists() {
		if err := checkListed("A list of the provider", len(*list)); err != nil {
			return err
		}
	}
	if err := checkListed("GroupMap", len(p.GroupMap)); err != nil {
		return err
	}
	if other, ok := s.ProviderByIssuer(p.Issuer); ok && other.Name != p.Name {
		return fault.New(fault.Conflict, "Provider %s has the issuer %s", other.Name, p.Issuer)
	}
	return nil
}

func (c DeleteProvider) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.providers.Get(c.Name); !ok {
		return nil, fault.New(fault.NotFound, "Provider %s not found", c.Name)
	}
	return []Event{&ProviderDeleted{Name: c.Name}}, nil
}

func (e *ProviderPut) apply(s *State) {
	s.providers.Set(e.Name, &e.Provider)
	s.changeVersion(e)
}

func (e *ProviderDeleted) apply(s *State) {
	s.providers.Delete(e.Name)
	s.changeVersion(e)
}

// Provider finds a provider.
func (s *State) Provider(name string) (*Provider, bool) { return s.providers.Get(name) }

// ProviderByIssuer finds the provider of an issuer.
func (s *State) ProviderByIssuer(issuer string) (*Provider, bool) {
	found, _ := page(&s.providers, "", "", 1, func(p *Provider) bool { return p.Issuer == issuer })
	if len(found) == 0 {
		return nil, false
	}
	return found[0], true
}

// Providers returns all providers by name.
func (s *State) Providers() []*Provider { return s.providers.Values() }
