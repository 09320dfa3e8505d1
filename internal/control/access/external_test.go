package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const issuer = "https://id.example.com/realm"

// dex adds a provider by which people of example.com and of one group become users.
func (w *world) dex(change ...func(*ProviderInput)) *catalog.Provider {
	w.t.Helper()
	w.ok(w.CreateGroup(w.t.Context(), "team", ""))
	w.ok(w.CreateGroup(w.t.Context(), "ops", ""))
	in := ProviderInput{Name: "dex", Issuer: issuer, ClientID: "muster", ClientSecret: "client secret", SignIn: true,
		Create: true, Domains: []string{"example.com"}, AllowedGroups: []string{"/staff"}, GroupClaim: "groups",
		Groups: []GroupInput{{"/devs", "team"}, {"/root", "ops"}, {"/also", "ops"}, {"/lost", "gone"}}}
	for _, c := range change {
		c(&in)
	}
	_, err := w.PutProvider(w.t.Context(), nil, in)
	w.ok(err)
	p, err := w.Provider("dex")
	w.ok(err)
	return p
}

func claims(subject string, change ...func(*idp.Claims)) *idp.Claims {
	c := &idp.Claims{Issuer: issuer, Subject: subject, Email: subject + "@example.com", EmailVerified: true}
	for _, f := range change {
		f(c)
	}
	return c
}

// TestExternalCreates: who becomes a user, and by which name.
func TestExternalCreates(t *testing.T) {
	w := newWorld(t)
	p := w.dex()
	w.person("ada")
	closed := *p
	closed.Create = false
	for i, c := range []struct {
		name   string
		p      *catalog.Provider
		change func(*idp.Claims)
		want   string // user; "": refused
	}{
		{"of the domain", p, func(*idp.Claims) {}, "s0"},
		{"of the domain in capitals", p, func(c *idp.Claims) { c.Email = "eve@EXAMPLE.COM" }, "eve"},
		{"preferred name", p, func(c *idp.Claims) { c.PreferredUsername = "Grace Hopper" }, "GraceHopper"},
		{"the name of another", p, func(c *idp.Claims) { c.Email = "ada@example.com" }, "ada-2"},
		{"its next name", p, func(c *idp.Claims) { c.Email = "ada@example.com" }, "ada-3"},
		{"the mark of groups", p, func(c *idp.Claims) { c.PreferredUsername = "@ops" }, "ops"},
		{"no usable name", p, func(c *idp.Claims) { c.PreferredUsername, c.Email = "葵", "é@example.com" }, "user-s6"},
		{"long name", p, func(c *idp.Claims) { c.PreferredUsername = strings.Repeat("x", 90) },
			strings.Repeat("x", 56)},
		{"another domain", p, func(c *idp.Claims) { c.Email = "x@example.org" }, ""},
		{"two domains", p, func(c *idp.Claims) { c.Email = "x@example.org@example.com" }, ""},
		{"unverified", p, func(c *idp.Claims) { c.EmailVerified = false }, ""},
		{"unverified, of a group", p, func(c *idp.Claims) { c.EmailVerified, c.Groups = false, []string{"/staff"} },
			"s11"},
		{"of another group", p, func(c *idp.Claims) { c.Email, c.Groups = "", []string{"/devs"} }, ""},
		{"nobody is created", &closed, func(*idp.Claims) {}, ""},
	} {
		u, err := w.External(t.Context(), c.p, claims(fmt.Sprint("s", i), c.change), w.from)
		if c.want == "" {
			if !errors.Is(err, ErrStranger) {
				t.Errorf("%s: got %v, %v", c.name, u, err)
			}
			continue
		}
		if err != nil || u.Name != c.want || u.Issuer != issuer || u.Subject != fmt.Sprint("s", i) {
			t.Errorf("%s: got %+v, %v", c.name, u, err)
		}
		if unverified := strings.HasPrefix(c.name, "unverified"); err == nil && unverified != (u.Email == "") {
			t.Errorf("%s: the address is %q", c.name, u.Email)
		}
	}
	if events := w.events(); !slices.Contains(events, "SignIn AccessDeniedException") ||
		!slices.Contains(events, "CreateUser") {
		t.Errorf("recorded %v", events)
	}
}

// TestExternalGroups: the groups of a person are those of the last sign-in.
func TestExternalGroups(t *testing.T) {
	w := newWorld(t)
	p := w.dex()
	w.ok(w.Assign(t.Context(), nil, "@ops", "developer"))
	in := func(groups ...string) *catalog.User {
		u, err := w.External(t.Context(), p, claims("eve", func(c *idp.Claims) { c.Groups = groups }), w.from)
		w.ok(err)
		return u
	}
	u := in("/also", "/devs", "/root", "/lost", "/unknown")
	if !slices.Equal(u.ExternalGroups, []string{"ops", "team"}) || len(w.RolesOf("eve")) != 1 {
		t.Errorf("groups %v", u.ExternalGroups)
	}
	if again := in("/devs", "/root"); again != u {
		t.Error("the same groups were stored again")
	}
	if u = in("/devs"); !slices.Equal(u.ExternalGroups, []string{"team"}) || len(w.RolesOf("eve")) != 0 {
		t.Errorf("groups %v", u.ExternalGroups)
	}
	view, err := w.User("eve")
	w.ok(err)
	if view.Provider != "dex" || !slices.Equal(view.ExternalGroups, []string{"team"}) {
		t.Errorf("%+v", view)
	}
}

// TestExternalLinks: a user is known by issuer and subject alone.
func TestExternalLinks(t *testing.T) {
	w := newWorld(t)
	p := w.dex(func(in *ProviderInput) { in.Create, in.Domains, in.AllowedGroups = false, nil, nil })
	_, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada", Email: "ada@example.com", Issuer: issuer,
		Subject: "42"})
	w.ok(err)
	u, err := w.External(t.Context(), p, claims("42", func(c *idp.Claims) { c.Email = "other@example.org" }), w.from)
	w.ok(err)
	if u.Name != "ada" || u.Email != "ada@example.com" {
		t.Errorf("%+v", u)
	}
	for name, change := range map[string]func(*idp.Claims){
		"another subject with the address": func(c *idp.Claims) { c.Subject = "43" },
		"another issuer":                   func(c *idp.Claims) { c.Issuer = "https://id.example.org" },
	} {
		if _, err := w.External(t.Context(), p, claims("42", change), w.from); !errors.Is(err, ErrStranger) {
			t.Errorf("%s: %v", name, err)
		}
	}
	disabled := true
	_, err = w.UpdateUser(t.Context(), nil, "ada", UserPatch{Disabled: &disabled})
	w.ok(err)
	_, err = w.External(t.Context(), p, claims("42"), w.from)
	w.is(err, ErrStranger)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "bob", Issuer: issuer, Subject: "42"})
	w.kind(err, fault.Conflict)
}

// TestExternalTwiceAtOnce: a new person who signs in on two nodes at once is one user.
func TestExternalTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	p := w.dex()
	names := make([]string, 8)
	var wait sync.WaitGroup
	for i := range names {
		wait.Go(func() {
			node := []*Access{w.Access, w.other}[i%2]
			if u, err := node.External(t.Context(), p, claims("eve"), w.from); err == nil {
				names[i] = u.Name
			}
		})
	}
	wait.Wait()
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "eve" })
	if users, _ := w.Users("", 0); len(users) != 1 || len(others) > 0 {
		t.Errorf("signed in as %q", names)
	}
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	p := w.dex(func(in *ProviderInput) { in.Audiences = []string{"api"} })
	l, err := w.other.Login(p, "https://muster.example.com/back")
	w.ok(err)
	if l.ClientID != "muster" || l.ClientSecret != "client secret" ||
		l.RedirectURL != "https://muster.example.com/back" ||
		!slices.Equal(l.Scopes, []string{"openid", "email", "profile"}) ||
		!slices.Equal(l.Provider.Audiences, []string{"api", "muster"}) {
		t.Errorf("%+v", l)
	}
	if found := w.SignInProviders(); len(found) != 1 || found[0].Name != "dex" {
		t.Errorf("%v", found)
	}
	scoped := *p
	scoped.Scopes = []string{"openid"}
	if l, err = w.Login(&scoped, ""); err != nil || !slices.Equal(l.Scopes, []string{"openid"}) {
		t.Errorf("%+v, %v", l, err)
	}
	machines := *p
	machines.SignIn = false
	_, err = w.Login(&machines, "")
	w.kind(err, fault.NotFound)
	foreign := *p
	foreign.SealedSecret = []byte("sealed elsewhere")
	if _, err = w.Login(&foreign, ""); err == nil {
		t.Error("a foreign secret is opened")
	}
}
