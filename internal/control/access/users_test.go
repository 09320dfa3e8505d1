package access

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func text(s string) *string { return &s }

func TestUsers(t *testing.T) {
	w := newWorld(t)
	w.ok(w.CreateGroup(t.Context(), "team", "the builders"))
	w.ok(w.Assign(t.Context(), nil, "@team", "developer"))
	made, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada", DisplayName: "Ada", Email: "ada@example.com",
		Groups: []string{"team", "team"}, Attached: []string{"GameLiftReadOnly"}, Invite: true})
	w.ok(err)
	if !strings.HasPrefix(made.Invite, "mui_") || made.InviteEnds == nil || made.HasPassword ||
		!slices.Equal(made.Groups, []string{"team"}) || !slices.Equal(made.Roles, []string{"developer"}) {
		t.Errorf("%+v", made)
	}
	changed, err := w.UpdateUser(t.Context(), nil, "ada", UserPatch{DisplayName: text("Countess"), Email: text(""),
		RemoveGroups: []string{"team"}, Detach: []string{"GameLiftReadOnly"}, Attach: []string{"GameLiftAdmin"},
		Issuer: text(issuer), Subject: text("1")})
	w.ok(err)
	if changed.DisplayName != "Countess" || changed.Email != "" || len(changed.Groups)+len(changed.Roles) != 0 ||
		!slices.Equal(changed.Attached, []string{"GameLiftAdmin"}) || changed.ID != made.ID || changed.Invite != "" {
		t.Errorf("%+v", changed)
	}
	w.ok(w.PutUserPolicy(t.Context(), nil, "ada", "b", allowList))
	w.ok(w.PutUserPolicy(t.Context(), nil, "ada", "a", allowList))
	w.ok(w.PutUserPolicy(t.Context(), nil, "ada", "b", allowAssume))
	view, err := w.other.User("ada")
	w.ok(err)
	if len(view.Policies) != 2 || view.Policies[0].Name != "a" || string(view.Policies[1].Document) != allowAssume {
		t.Errorf("%+v", view.Policies)
	}
	w.ok(w.DeleteUserPolicy(t.Context(), nil, "ada", "b"))
	w.kind(w.DeleteUserPolicy(t.Context(), nil, "ada", "b"), fault.NotFound)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "bob"})
	w.ok(err)
	if users, more := w.Users("", 1); len(users) != 1 || users[0].Name != "ada" || !more {
		t.Errorf("%+v %v", users, more)
	}
	w.ok(w.DeleteUser(t.Context(), "ada"))
	w.ok(w.Unassign(t.Context(), nil, "@team", "developer"))
	if groups := w.Groups(); len(groups) != 1 || groups[0].Description != "the builders" || groups[0].Members != nil {
		t.Errorf("%+v", groups)
	}
	w.ok(w.DeleteGroup(t.Context(), "team"))
	w.kind(w.DeleteGroup(t.Context(), "team"), fault.NotFound)
}

func TestUserRefused(t *testing.T) {
	w := newWorld(t)
	_, err := w.CreateUser(t.Context(), nil, UserInput{Name: "robot", Service: true})
	w.ok(err)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "ada"})
	w.ok(err)
	create := func(in UserInput) func() error {
		return func() error { return errOf(w.CreateUser(t.Context(), nil, in)) }
	}
	update := func(name string, patch UserPatch) func() error {
		return func() error { return errOf(w.UpdateUser(t.Context(), nil, name, patch)) }
	}
	put := func(user, document string) func() error {
		return func() error { return w.PutUserPolicy(t.Context(), nil, user, "a", document) }
	}
	for name, c := range map[string]struct {
		do   func() error
		want fault.Kind
	}{
		"exists": {create(UserInput{Name: "ada"}), fault.Conflict},
		"service, password": {create(UserInput{Name: "x1", Service: true, Password: goodPassword}),
			fault.InvalidRequest},
		"service, invited": {create(UserInput{Name: "x1", Service: true, Invite: true}), fault.InvalidRequest},
		"weak password":    {create(UserInput{Name: "x1", Password: "password1234"}), fault.InvalidRequest},
		"long password": {create(UserInput{Name: "x1", Password: strings.Repeat("Ab3!x", 60)}),
			fault.InvalidRequest},
		"unknown policy":    {create(UserInput{Name: "x1", Attached: []string{"none"}}), fault.NotFound},
		"unknown group":     {create(UserInput{Name: "x1", Groups: []string{"none"}}), fault.NotFound},
		"nobody":            {update("nobody", UserPatch{}), fault.NotFound},
		"invited robot":     {update("robot", UserPatch{Invite: true}), fault.InvalidRequest},
		"robot's password":  {update("robot", UserPatch{Password: text(goodPassword)}), fault.InvalidRequest},
		"weak new password": {update("ada", UserPatch{Password: text("short")}), fault.InvalidRequest},
		"attach nothing":    {update("ada", UserPatch{Attach: []string{"none"}}), fault.NotFound},
		"half an identity":  {update("ada", UserPatch{Issuer: text(issuer)}), fault.InvalidRequest},
		"policy of nobody":  {put("nobody", allowList), fault.NotFound},
		"no policy":         {put("ada", "{}"), fault.MalformedPolicyDocument},
		"delete of nobody's": {func() error { return w.DeleteUserPolicy(t.Context(), nil, "nobody", "a") },
			fault.NotFound},
		"sign out nobody": {func() error { return errOf(w.EndSignIns(t.Context(), "nobody", w.from)) },
			fault.NotFound},
		"view of nobody": {func() error { return errOf(w.User("nobody")) }, fault.NotFound},
	} {
		if err := c.do(); !fault.Is(err, c.want) {
			t.Errorf("%s: got %v instead of %s", name, err, c.want)
		}
	}
	if _, ok := w.state().User("x1"); ok {
		t.Error("a refused user was created")
	}
}

// A racingCatalog lets another change happen just before a command of a type is stored.
type racingCatalog struct {
	*memoryCatalog
	first func(catalog.Command) bool // reports whether it did
	raced bool
}

func (c *racingCatalog) Change(ctx context.Context, command catalog.Command) error {
	if !c.raced {
		c.raced = true // before first, whose own changes come here, too
		c.raced = c.first(command)
	}
	return c.memoryCatalog.Change(ctx, command)
}

// race makes a change of this node be stored after one of another node, of which this one has not heard.
func (w *world) race(first func(catalog.Command) bool) {
	w.Access.cfg.Catalog = &racingCatalog{memoryCatalog: w.catalog, first: first}
}

// TestChangesOfAUserAtOnce: none is undone by one that was read before it.
func TestChangesOfAUserAtOnce(t *testing.T) {
	disabled := true
	for name, c := range map[string]struct {
		other func(w *world) error // first,
		this  func(w *world) error
		want  func(w *world, u *catalog.User) bool
	}{
		"renamed while disabled": {
			func(w *world) error {
				return errOf(w.other.UpdateUser(t.Context(), nil, "ada", UserPatch{Disabled: &disabled}))
			},
			func(w *world) error {
				return errOf(w.UpdateUser(t.Context(), nil, "ada", UserPatch{DisplayName: text("Ada")}))
			},
			func(_ *world, u *catalog.User) bool { return u.Disabled && u.DisplayName == "Ada" },
		},
		"signed out while disabled": {
			func(w *world) error {
				return errOf(w.other.UpdateUser(t.Context(), nil, "ada", UserPatch{Disabled: &disabled}))
			},
			func(w *world) error { return errOf(w.EndSignIns(t.Context(), "ada", w.from)) },
			func(_ *world, u *catalog.User) bool { return u.Disabled },
		},
		"joined while a policy is taken away": {
			func(w *world) error { return w.other.DeleteUserPolicy(t.Context(), nil, "ada", "all") },
			func(w *world) error {
				return errOf(w.UpdateUser(t.Context(), nil, "ada", UserPatch{AddGroups: []string{"team"}}))
			},
			func(_ *world, u *catalog.User) bool { return len(u.Policies) == 0 && len(u.Groups) == 1 },
		},
		"renamed while the invitation is accepted": {
			func(w *world) error {
				return errOf(w.other.AcceptInvite(t.Context(), w.invite, "another good one", w.from))
			},
			func(w *world) error {
				return errOf(w.UpdateUser(t.Context(), nil, "ada", UserPatch{Email: text("a@example.com")}))
			},
			func(w *world, u *catalog.User) bool {
				_, err := w.Invited(w.invite)
				return u.Password != "" && err != nil && u.Email == "a@example.com"
			},
		},
		"renamed while deleted": {
			func(w *world) error { return w.other.DeleteUser(t.Context(), "ada") },
			func(w *world) error {
				_, err := w.UpdateUser(t.Context(), nil, "ada", UserPatch{Email: text("a@example.com")})
				if fault.Is(err, fault.NotFound) {
					return nil
				}
				return err
			},
			func(_ *world, u *catalog.User) bool { return u == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ok(w.CreateGroup(t.Context(), "team", ""))
			made, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada", Invite: true})
			w.ok(err)
			w.invite = made.Invite
			w.ok(w.PutUserPolicy(t.Context(), nil, "ada", "all", allowList))
			w.race(func(catalog.Command) bool {
				w.ok(c.other(w))
				return true
			})
			w.ok(c.this(w))
			u, _ := w.state().User("ada")
			if !c.want(w, u) {
				t.Errorf("%+v", u)
			}
		})
	}
}

// TestChangesThatNeverEnd: somebody who changes a user all the time makes a change fail, not hang.
func TestChangesThatNeverEnd(t *testing.T) {
	w := newWorld(t)
	_, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada"})
	w.ok(err)
	n := 0
	w.race(func(catalog.Command) bool {
		n++
		w.ok(errOf(w.other.UpdateUser(t.Context(), nil, "ada", UserPatch{Email: text(itoa(n))})))
		return false
	})
	_, err = w.UpdateUser(t.Context(), nil, "ada", UserPatch{DisplayName: text("Ada")})
	w.kind(err, fault.Conflict)
	if n != maxChanges {
		t.Errorf("tried %d times", n)
	}
}

func TestSignIns(t *testing.T) {
	w := newWorld(t)
	first, second := w.person("ada", "developer"), w.signIn("ada")
	console, err := w.StartSignIn(t.Context(), Start{User: "ada", Client: strings.Repeat("x", 300), Kind: KindConsole,
		Origin: w.from})
	w.ok(err)
	views := w.other.SignIns("ada")
	if len(views) != 3 || len(console.Client) != 200 {
		t.Fatalf("%+v", views)
	}
	i := slices.IndexFunc(views, func(v SignInView) bool { return v.ID == console.ID })
	if v := views[i]; v.Kind != KindConsole || v.Address != "192.0.2.7" || v.Ends.Sub(v.Created) != time.Hour {
		t.Errorf("%+v", v)
	}
	// A console session lives while it is used.
	cookie := w.Cookie(console)
	for range 5 {
		w.clock.Advance(50 * time.Minute)
		p, err := w.FromCookie(cookie)
		w.ok(err)
		w.ok(w.Touch(t.Context(), p.SignIn))
		w.ok(w.Touch(t.Context(), p.SignIn)) // too early to be stored
	}
	w.clock.Advance(time.Hour)
	_, err = w.FromCookie(cookie)
	w.is(err, ErrInvalidToken)
	w.ok(w.EndSignIn(t.Context(), "unknown", "", w.from))
	w.ok(w.EndSignIn(t.Context(), console.ID, "", w.from))
	n, err := w.EndSignIns(t.Context(), "ada", w.from)
	w.ok(err)
	if n != 2 || len(w.other.SignIns("ada")) != 0 {
		t.Errorf("ended %d, left %v", n, w.SignIns("ada"))
	}
	for _, p := range []*Person{first, second} {
		if _, err := w.Bearer(w.Tokens(p.SignIn).Access); err == nil {
			t.Error("a token of an ended session is accepted")
		}
	}
	ended := 0
	for _, e := range w.events() {
		if e == "SignOut" {
			ended++
		}
	}
	if ended != 3 {
		t.Errorf("%d sign-outs are recorded", ended)
	}
}

// TestKeysOfAnIdleSession: keys that were issued in a session end with it, also before the catalog has ended it.
func TestKeysOfAnIdleSession(t *testing.T) {
	w := newWorld(t)
	w.person("ada", "developer")
	u, _ := w.state().User("ada")
	console, err := w.StartSignIn(t.Context(), Start{User: "ada", Kind: KindConsole, Origin: w.from})
	w.ok(err)
	w.clock.Advance(30 * time.Minute)
	keys, err := w.RoleKeys(t.Context(), &Person{u, console}, "developer", 3600, w.from)
	w.ok(err)
	if identity(w.other, keys) == nil {
		t.Fatal("the keys do not work")
	}
	w.clock.Advance(30 * time.Minute)
	if identity(w.other, keys) != nil {
		t.Error("the keys of an idle session work")
	}
	_, err = w.RoleKeys(t.Context(), &Person{u, console}, "developer", 899, w.from)
	w.kind(err, fault.InvalidRequest)
}

// TestParallelPolicies: of policies that are put at once, none is lost.
func TestParallelPolicies(t *testing.T) {
	w := newWorld(t)
	_, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada"})
	w.ok(err)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			node := []*Access{w.Access, w.other}[i%2]
			if err := node.PutUserPolicy(t.Context(), nil, "ada", "p"+itoa(i), allowList); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	view, err := w.User("ada")
	w.ok(err)
	if len(view.Policies) != 4 {
		t.Errorf("%d policies", len(view.Policies))
	}
}

// TestSelf: a narrowed key of a user, and a session of one of its roles, are not the user.
func TestSelf(t *testing.T) {
	w := newWorld(t)
	const manages = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["muster:*","iam:*"],
		"Resource":"*"}}`
	p := w.person("ada")
	w.ok(w.PutUserPolicy(t.Context(), nil, "ada", "own", `{"Version":"2012-10-17","Statement":{"Effect":"Allow",
		"Action":["muster:*","iam:*","gamelift:DeleteFleet"],"Resource":"*"}}`))
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "keeper",
		Inline: []InlineView{{"m", json.RawMessage(manages)}}})
	w.ok(err)
	w.ok(w.Assign(t.Context(), nil, "ada", "keeper"))
	full, err := w.CreateKey(t.Context(), nil, KeyInput{User: "ada"})
	w.ok(err)
	narrow, err := w.CreateKey(t.Context(), key(w.Access, full), KeyInput{Document: json.RawMessage(manages)})
	w.ok(err) // its own, without a name
	session, err := w.RoleKeys(t.Context(), p, "keeper", 0, w.from)
	w.ok(err)
	w.ok(w.DeleteKey(t.Context(), full.ID)) // there are at most two
	for name, by := range map[string]*Identity{"narrowed key": key(w.Access, narrow),
		"role": identity(w.Access, session)} {
		_, err := w.CreateKey(t.Context(), by, KeyInput{User: "ada"})
		if !fault.Is(err, fault.AccessDenied) {
			t.Errorf("%s: created a key: %v", name, err)
		}
		_, err = w.UpdateUser(t.Context(), by, "ada", UserPatch{Password: text("another good one")})
		if !fault.Is(err, fault.AccessDenied) {
			t.Errorf("%s: set the password: %v", name, err)
		}
		_, err = w.RotateKey(t.Context(), by, narrow.ID)
		if !fault.Is(err, fault.AccessDenied) {
			t.Errorf("%s: rotated a key: %v", name, err)
		}
	}
}
