package catalog

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Events that many scenes begin with.

func userMade(name string, change ...func(*User)) *UserPut {
	u := User{Name: name, ID: "AIDA" + name, Created: t0}
	for _, c := range change {
		c(&u)
	}
	return &UserPut{u}
}

func groupMade(name string) Event { return &GroupPut{Group{Name: name, Created: t0}} }

func roleMade(name string, policies ...string) *RolePut {
	return &RolePut{Role{Name: name, ID: "AROA" + name, Policies: policies, MaxDuration: 3600, Created: t0,
		Updated: t0}}
}

func assigned(role, subject string) Event {
	return &AssignmentPut{Assignment{Role: role, Subject: subject, Created: t0}}
}

func policyMade(name string) *PolicyPut {
	return &PolicyPut{Policy{Name: name, Document: "{}", Version: 1, Created: t0, Updated: t0}}
}

// indexesOf is what the indexes of s hold.
func indexesOf(s *State) map[string]any {
	all := map[string]any{}
	collect(all, "identity ", &s.usersByIdentity)
	collect(all, "role ", &s.rolesByID)
	collect(all, "subject ", &s.assignmentsBySubject)
	collect(all, "owner ", &s.keysByOwner)
	collect(all, "user ", &s.signInsByUser)
	collect(all, "at ", &s.instancesAt)
	collect(all, "on ", &s.instancesOn)
	return all
}

func collect[V any](all map[string]any, index string, m *btree.Map[string, V]) {
	m.Scan(func(key string, v V) bool { all[index+key] = v; return true })
}

// index makes the indexes anew, from the records alone.
func index(s *State) map[string]any {
	all := map[string]any{}
	for _, u := range s.users.Values() {
		if u.Issuer != "" {
			all["identity "+join(join(u.Issuer, u.Subject), u.Name)] = u
		}
	}
	for _, r := range s.roles.Values() {
		all["role "+join(r.ID, r.Name)] = r
	}
	for _, a := range s.assignments.Values() {
		all["subject "+join(a.Subject, a.Role)] = a
	}
	for _, k := range s.accessKeys.Values() {
		all["owner "+join(k.Owner, k.ID)] = k
	}
	for _, si := range s.signIns.Values() {
		all["user "+join(si.User, si.ID)] = si
	}
	for _, i := range s.instances.Values() {
		all["at "+join(i.Fleet, join(i.Location, i.ID))] = i
		all["on "+join(i.Machine, i.ID)] = i
	}
	return all
}

// checkAccess holds what is true of every reachable catalog.
func checkAccess(t *testing.T, s *State) {
	t.Helper()
	l := s.limits
	for _, n := range [][2]int{{s.users.Len(), l.Users}, {s.groups.Len(), l.Groups}, {s.roles.Len(), l.Roles},
		{s.assignments.Len(), l.Assignments}, {s.policies.Len(), l.Policies}, {s.providers.Len(), l.Providers},
		{s.SignIns(), l.SignIns}} {
		if n[0] > n[1] {
			t.Errorf("%d records, the limit is %d", n[0], n[1])
		}
	}
	for _, u := range s.users.Values() {
		if err := u.check(s, u, stored(u.Attached)); err != nil {
			t.Errorf("user %s: %v", u.Name, err)
		}
		if len(s.SignInsOf(u.Name)) > l.SignInsPerUser || len(s.KeysOf(u.Name)) > l.KeysPerUser ||
			len(s.ViewsOf(u.Name)) > l.ViewsPerUser {
			t.Errorf("user %s has too many sign-ins, keys or views", u.Name)
		}
		for _, g := range u.ExternalGroups {
			if _, ok := s.Group(g); !ok {
				t.Errorf("user %s is in the unknown group %s", u.Name, g)
			}
		}
	}
	for _, r := range s.roles.Values() {
		if err := r.check(s, stored(r.Policies)); err != nil {
			t.Errorf("role %s: %v", r.Name, err)
		}
	}
	for _, p := range s.providers.Values() {
		if err := p.check(s); err != nil {
			t.Errorf("provider %s: %v", p.Name, err)
		}
	}
	checkLoose(t, s)
}

// checkLoose holds that everything that belongs to something refers to what exists.
func checkLoose(t *testing.T, s *State) {
	t.Helper()
	for _, a := range s.assignments.Values() {
		if !s.hasRole(*a) || !s.hasSubject(a.Subject) {
			t.Errorf("assignment %+v is loose", a)
		}
	}
	for _, k := range s.accessKeys.Values() {
		if k.Owner != "" && s.user(k.Owner) == nil || s.checkStored(k.Policies, stored(k.Policies)) != nil {
			t.Errorf("access key %+v is loose", k)
		}
	}
	for _, si := range s.signIns.Values() {
		if u := s.user(si.User); u == nil || u.Service || si.Created < u.NotBefore || si.Generation == 0 {
			t.Errorf("sign-in %+v of %+v is loose", si, u)
		}
	}
	for _, v := range s.views.Values() {
		if v.User != "" && s.user(v.User) == nil || v.check() != nil {
			t.Errorf("view %+v is loose", v)
		}
	}
	if err := s.AccessSettings().check(); err != nil {
		t.Error(err)
	}
}

// stored are the policies that are not built in.
func stored(policies []string) []string {
	return slices.DeleteFunc(slices.Clone(policies), func(name string) bool { return name == "BuiltIn" })
}

func (w *world) user() string   { return w.some("user-", 4) }
func (w *world) group() string  { return w.some("team-", 3) }
func (w *world) role() string   { return w.some("role-", 3) }
func (w *world) signIn() string { return w.some("signin-", 6) }

func (w *world) chance(n int) bool { return w.r.IntN(n) == 0 }

// pick returns some names.
func (w *world) pick(prefix string, n int) (names []string) {
	for range w.r.IntN(3) {
		names = append(names, w.some(prefix, n))
	}
	return names
}

func (w *world) subject() string {
	if w.chance(2) {
		return "@" + w.group()
	}
	return w.user()
}

func (w *world) policies() []string { return append(w.pick("policy-", 3), "BuiltIn") }

// accessCommand is about people, keys and roles.
func (w *world) accessCommand() Command {
	switch w.r.IntN(26) {
	case 0, 1, 2:
		return w.putUser()
	case 3:
		return SetUserDisabled{w.user(), w.chance(3), w.now * event.Time(w.r.IntN(2))}
	case 4:
		return SetPassword{Name: w.user(), Password: "$argon2id$x", NotBefore: w.now * event.Time(w.r.IntN(2))}
	case 5:
		return SetExternalGroups{w.user(), w.pick("team-", 3)}
	case 6:
		return DeleteUser{w.user()}
	case 7, 8:
		return PutGroup{Group{Name: w.group(), Description: w.some("", 2)}, w.chance(3)}
	case 9:
		return DeleteGroup{w.group()}
	case 10, 11:
		policies := w.policies()
		return PutRole{Role{Name: w.role(), ID: w.id(), Policies: policies}, stored(policies), w.chance(3)}
	case 12:
		return DeleteRole{w.role()}
	case 13, 14:
		if w.chance(4) {
			return PutAssignment{Role: "BuiltIn", Subject: w.subject(), Builtin: true}
		}
		return PutAssignment{Role: w.role(), Subject: w.subject()}
	case 15:
		return DeleteAssignment{w.role(), w.subject()}
	case 16:
		return PutPolicy{Name: w.some("policy-", 3), Document: w.some("{}", 3), Create: w.chance(3)}
	case 17:
		return DeletePolicy{w.some("policy-", 3)}
	case 24, 25:
		return w.viewCommand()
	default:
		return w.signInCommand()
	}
}

func (w *world) putUser() Command {
	c := PutUser{User: User{Name: w.user(), ID: w.id(), Groups: w.pick("team-", 3), ExternalGroups: w.pick("team-", 3),
		Attached: w.policies()}, Create: w.chance(2)}
	c.Stored = stored(c.Attached)
	switch {
	case w.chance(4):
		c.Service = true
	case w.chance(2):
		c.Issuer, c.Subject = "https://id.example.com", w.some("", 3)
	}
	return c
}

func (w *world) signInCommand() Command {
	switch w.r.IntN(10) {
	case 0, 1, 2:
		return StartSignIn{SignIn{ID: w.signIn(), User: w.user(), Kind: SignInSSO, Created: w.now, Ends: w.now + day,
			IdleEnds: w.now + 20*minute}}
	case 3, 4:
		if w.chance(2) {
			return TouchSignIn{ID: w.signIn(), IdleEnds: w.now + 20*minute}
		}
		return RotateSignIn{w.signIn(), 1 + w.r.Uint32N(3), w.now, w.now + 20*minute}
	case 9:
		return TouchSignIn{ID: w.signIn(), IdleEnds: w.now + 20*minute}
	case 5:
		return EndSignIn{w.signIn(), "left"}
	case 6:
		return PutProvider{Provider: Provider{Name: w.some("provider-", 3), Issuer: w.some("https://", 3),
			SealedSecret: []byte{1}}}
	case 7:
		return DeleteProvider{w.some("provider-", 3)}
	default:
		return w.keyCommand()
	}
}

func (w *world) keyCommand() Command {
	policies := w.policies()
	switch w.r.IntN(5) {
	case 4:
		c := SealAgain{From: []byte{1}, To: []byte{byte(w.r.IntN(2)) + 1}}
		if c.AccessKey = w.some("AKIA", 6); w.chance(3) {
			c.AccessKey, c.Provider = "", w.some("provider-", 3)
		}
		return c
	case 0:
		return UpdateAccessKey{ID: w.some("AKIA", 6), Inactive: w.chance(2)}
	case 1:
		epochs := []Epoch{{1, t0, t0 + day, []byte{1}}, {2, t0, 0, []byte{byte(w.r.IntN(2)) + 1}}}
		return PutAccessSettings{AccessSettings{Epochs: epochs[:w.r.IntN(3)]}}
	default:
		c := PutAccessKey{ID: w.some("AKIA", 6), SealedSecret: []byte{1}, Name: w.id(), Owner: w.user(),
			Policies: policies, Stored: stored(policies)}
		if w.chance(3) {
			c.Replaces = w.some("AKIA", 6)
		}
		return c
	}
}

// TestBelowAccessLevel: replicas of earlier releases cannot read what the commands of this level would write.
func TestBelowAccessLevel(t *testing.T) {
	s := given(t, smallLimits())
	s.Raise(AccessLevel - 1)
	tried := 0
	for _, entry := range Commands {
		v, _ := event.Deref(reflect.New(reflect.TypeOf(entry.Type).Elem()).Interface())
		if entry.Level == AccessLevel {
			_, err := s.Decide(t0, v.(Command))
			wantFault(t, err, fault.ServiceUnavailable, "The nodes of this region must all be upgraded first")
			tried++
		}
	}
	if tried != 22 {
		t.Errorf("%d commands are of the level", tried)
	}
	for _, c := range []PutAccessKey{{Owner: "ada"}, {Inactive: true}, {Expires: t0}, {Policies: []string{"p"}},
		{Document: "{}"}, {Replaces: "AKIA1"}} {
		_, err := s.Decide(t0, c)
		wantFault(t, err, fault.ServiceUnavailable, "")
	}
	do(t, s, t0, PutAccessKey{ID: "AKIA1", Name: "root"})
	do(t, s, t0, DeleteAccessKey{ID: "AKIA1"})
	s.Raise(AccessLevel)
	do(t, s, t0, PutGroup{Group: Group{Name: "team"}})
}

func TestAccessVersion(t *testing.T) {
	s := New(DefaultLimits())
	if s.AccessVersion() != 0 {
		t.Error("an empty catalog has a version")
	}
	changes := func(name string, e Event) bool {
		before := s.AccessVersion()
		s.Apply(e)
		return s.AccessVersion() != before
	}
	never := map[string]bool{"SignInStarted": true, "SignInRotated": true, "SignInEnded": true,
		"SignInTouched": true}
	for _, body := range examples() {
		e, ok := body.(Event)
		if !ok {
			continue
		}
		name := types.Name(e)
		want := types.Level(e) == AccessLevel && !never[name] || name == "AccessKeyPut" || name == "AccessKeyDeleted"
		if got := changes(name, e); got != want {
			t.Errorf("%s changes the version: %v, want %v", name, got, want)
		}
	}
}

// Two catalogs that are equal by accident of how many changes they saw must differ: a node may restore a snapshot.
func TestAccessVersionIsNotACount(t *testing.T) {
	s := given(t, DefaultLimits(), userMade("ada"), userMade("bob"))
	restored := decode(t, DefaultLimits(), encode(t, s))
	if restored.AccessVersion() == 0 {
		t.Error("a restored catalog has no version")
	}
	s.Apply(&UserDisabledSet{Name: "ada", Disabled: true})
	restored.Apply(&UserDisabledSet{Name: "bob", Disabled: true})
	if s.AccessVersion() == restored.AccessVersion() {
		t.Error("different catalogs have the same version")
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"ad": true, "a": false, "": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"a@b.c_d+e=f,g-h": true, "@ada": false, "a b": false, "ad/a": false, "adä": false, "ad\x00": false,
	} {
		if err := checkName("user", name, 2, 64); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestAccessSnapshot: a snapshot has everything, and a copy is apart.
func TestAccessSnapshot(t *testing.T) {
	s := given(t, DefaultLimits(), groupMade("team"), policyMade("Fleets"), roleMade("GameDev", "Fleets"),
		userMade("ada", func(u *User) { u.Groups, u.Issuer, u.Subject = []string{"team"}, "https://i", "1" }),
		assigned("GameDev", "@team"), assigned("GameDev", "ada"), &ProviderPut{Provider{Name: "p",
			Issuer: "https://i"}},
		&AccessKeyPut{ID: "AKIA1", Owner: "ada"}, started("signin-1", "ada", t0),
		&AccessSettingsPut{AccessSettings{LocalPasswordsOff: true}})
	before := encode(t, s)
	restored := decode(t, DefaultLimits(), before)
	checkEqual(t, "snapshot", restored, s)
	frozen, version := s.Copy(), s.AccessVersion()
	for _, c := range []Command{DeleteUser{"ada"}, DeleteRole{"GameDev"}, DeletePolicy{"Fleets"}, DeleteGroup{"team"},
		DeleteProvider{"p"}, PutAccessSettings{}} {
		do(t, s, t0, c)
		checkDerived(t, s)
	}
	if !bytes.Equal(before, encode(t, frozen)) || frozen.AccessVersion() != version {
		t.Error("the copy changed with the original")
	}
	checkDerived(t, frozen)
	if _, ok := frozen.UserByExternal("https://i", "1"); !ok || fmt.Sprint(frozen.AssignmentsOf("ada")) != "[GameDev]" {
		t.Error("the copy's indexes changed with the original")
	}
}
