package access

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ErrStranger reports a person whom an identity provider knows and the region does not.
var ErrStranger = fault.New(fault.AccessDenied, "Your account has no access here. Ask who runs this service to add it.")

// Login returns what a sign-in by a provider needs.
func (a *Access) Login(p *catalog.Provider, redirectURL string) (idp.Login, error) {
	if !p.SignIn {
		return idp.Login{}, fault.New(fault.NotFound, "Provider %s is not for signing in", p.Name)
	}
	secret := ""
	if len(p.SealedSecret) > 0 {
		var err error
		if secret, err = a.current().openKey(providerSeal(p.Name), p.SealedSecret); err != nil {
			return idp.Login{}, err
		}
	}
	scopes := p.Scopes
	if len(scopes) == 0 {
		scopes = []string{"openid", "email", "profile"}
	}
	return idp.Login{Provider: providerOf(p), ClientID: p.ClientID, ClientSecret: secret, RedirectURL: redirectURL,
		Scopes: scopes}, nil
}

// SignInProviders returns the providers by which people sign in.
func (a *Access) SignInProviders() (found []*catalog.Provider) {
	for _, p := range a.state().Providers() {
		if p.SignIn {
			found = append(found, p)
		}
	}
	return found
}

// External returns the user with an identity of a provider, with the groups that the provider names. It is found by
// issuer and subject, never by email. An unknown one is created if the provider allows that.
func (a *Access) External(ctx context.Context, p *catalog.Provider, c *idp.Claims, from Origin) (
	user *catalog.User, err error,
) {
	defer func() {
		if err != nil {
			a.recordSignIn("SignIn", p.Name+": "+clip(c.Subject, 200), from, err)
		}
	}()
	groups := mappedGroups(a.state(), p, c)
	user, known := a.state().UserByExternal(c.Issuer, c.Subject)
	if !known {
		if !mayCreate(p, c) {
			return nil, ErrStranger
		}
		user, err = a.createExternal(ctx, p, c, groups)
		if !fault.Is(err, fault.Conflict) {
			return user, err
		}
		// The person signs in twice at once, or the name was taken meanwhile.
		if user, known = a.state().UserByExternal(c.Issuer, c.Subject); !known {
			return nil, err
		}
	}
	if user.Disabled || user.Service {
		return nil, ErrStranger
	}
	if slices.Equal(user.ExternalGroups, groups) {
		return user, nil
	}
	err = a.cfg.Catalog.Change(ctx, catalog.SetExternalGroups{Name: user.Name, Groups: groups})
	if err != nil {
		return nil, err
	}
	user, ok := a.state().User(user.Name)
	if !ok {
		return nil, errDeletedAgain
	}
	return user, nil
}

var errDeletedAgain = fault.New(fault.Conflict, "The user was deleted meanwhile. Sign in again.")

// mappedGroups returns the groups of this region that a token's groups stand for.
func mappedGroups(state *catalog.State, p *catalog.Provider, c *idp.Claims) (groups []string) {
	for _, m := range p.GroupMap {
		if _, ok := state.Group(m.Group); ok && slices.Contains(c.Groups, m.Claim) {
			groups = append(groups, m.Group)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// mayCreate reports whether a provider's person becomes a user: by a verified address in an allowed domain, or by a
// group.
func mayCreate(p *catalog.Provider, c *idp.Claims) bool {
	if !p.Create {
		return false
	}
	_, domain, _ := strings.Cut(c.Email, "@")
	byDomain := c.EmailVerified && slices.ContainsFunc(p.Domains, func(d string) bool {
		return strings.EqualFold(d, domain)
	})
	byGroup := slices.ContainsFunc(p.AllowedGroups, func(g string) bool { return slices.Contains(c.Groups, g) })
	return byDomain || byGroup
}

func (a *Access) createExternal(ctx context.Context, p *catalog.Provider, c *idp.Claims, groups []string) (
	*catalog.User, error,
) {
	name := a.freeName(c)
	u := catalog.User{
		Name: name, ID: "AIDA" + randomID(), DisplayName: clip(c.Name, 100), Issuer: c.Issuer, Subject: c.Subject,
		ExternalGroups: groups, Created: a.cfg.Catalog.Now(),
	}
	if c.EmailVerified {
		u.Email = clip(c.Email, 200)
	}
	if err := a.cfg.Catalog.Change(ctx, catalog.PutUser{User: u, Create: true}); err != nil {
		return nil, err
	}
	a.recordChange("CreateUser", "provider "+p.Name, a.userArn(name))
	user, ok := a.state().User(name)
	if !ok {
		return nil, errDeletedAgain
	}
	return user, nil
}

// freeName returns an unused name for a new user: from the preferred name or the address, with a number if it is taken.
func (a *Access) freeName(c *idp.Claims) string {
	local, _, _ := strings.Cut(c.Email, "@")
	base := ""
	for _, candidate := range []string{c.PreferredUsername, local, "user-" + c.Subject} {
		if base = userName(candidate); base != "" {
			break
		}
	}
	name := base
	for n := 2; ; n++ {
		if _, taken := a.state().User(name); !taken && len(a.trusting(name)) == 0 {
			return name
		}
		name = base + "-" + itoa(n)
	}
}

// userName returns a text as a user's name: at most 56 of the allowed characters; "" if fewer than 2 are left.
func userName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_+=,.@-", r)) {
			return r
		}
		return -1
	}, text)
	if name = clip(strings.TrimLeft(name, "@"), 56); len(name) < 2 { // "@" is for groups
		return ""
	}
	return name
}
