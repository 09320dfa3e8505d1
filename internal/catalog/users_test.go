package catalog

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestPutUser(t *testing.T) {
	put := func(change ...func(*User)) PutUser {
		return PutUser{User: userMade("ada", change...).User, Create: true}
	}
	with := func(change func(*User)) PutUser { return put(change) }
	service := func(u *User) { u.Service = true }
	identity := func(u *User) { u.Issuer, u.Subject = "https://i", "1" }
	hash := bytes.Repeat([]byte{1}, 32)
	replace := PutUser{User: User{Name: "ada", ID: "other", Email: "a@b", NotBefore: t0 - 5}}
	was := userMade("ada", func(u *User) { u.Created, u.NotBefore = t0-day, t0-1 })
	invalid := func(name string, change func(*User), text string) scene {
		return scene{name: name, when: with(change), fault: fault.InvalidRequest, text: text}
	}
	play(t, []scene{
		{name: "create", when: put(), then: []Event{userMade("ada")}},
		{name: "with everything", given: []Event{groupMade("team"), groupMade("ops")}, when: with(func(u *User) {
			u.Groups, u.ExternalGroups = []string{"team", "ops", "team"}, []string{"gone", "team"}
			u.Policies = []InlinePolicy{{"b", "{}"}, {"a", "{}"}}
			u.Password, u.Invite, u.InviteEnds = "$argon2id$x", hash, t0+1
			u.Attached = []string{"ReadOnly", "Fleets"}
		}), then: []Event{userMade("ada", func(u *User) {
			u.Groups, u.ExternalGroups = []string{"ops", "team"}, []string{"team"}
			u.Policies = []InlinePolicy{{"a", "{}"}, {"b", "{}"}}
			u.Password, u.Invite, u.InviteEnds = "$argon2id$x", hash, t0+1
			u.Attached = []string{"Fleets", "ReadOnly"}
		})}},
		{name: "created before", when: with(func(u *User) { u.Created = t0 - 9 }),
			then: []Event{userMade("ada", func(u *User) { u.Created = t0 - 9 })}},
		{name: "created now", when: with(func(u *User) { u.Created = 0 }), then: []Event{userMade("ada")}},
		{name: "unknown policy", when: PutUser{User: userMade("ada", func(u *User) {
			u.Attached = []string{"Fleets"}
		}).User, Create: true, Stored: []string{"Fleets"}}, fault: fault.NotFound, text: "Policy Fleets not found"},
		{name: "create again", given: []Event{userMade("ada")}, when: put()},
		{name: "create another of the name", given: []Event{userMade("ada", func(u *User) { u.ID = "x" })}, when: put(),
			fault: fault.Conflict, text: "User ada exists"},
		{name: "replace", given: []Event{was}, when: replace,
			then: []Event{userMade("ada", func(u *User) { u.Created, u.NotBefore, u.Email = t0-day, t0-1, "a@b" })}},
		{name: "replace by the same", given: []Event{was}, when: PutUser{User: was.User}},
		{name: "replace what was read", given: []Event{was}, when: PutUser{User: replace.User, Was: was.User.Sum()},
			then: []Event{userMade("ada", func(u *User) { u.Created, u.NotBefore, u.Email = t0-day, t0-1, "a@b" })}},
		{name: "replace what has changed", given: []Event{was, &UserDisabledSet{Name: "ada", Disabled: true,
			NotBefore: t0 - 1}}, when: PutUser{User: replace.User, Was: was.User.Sum()}, fault: fault.Conflict,
			text: "User ada has changed meanwhile. Try again."},
		{name: "create what was read", when: PutUser{User: replace.User, Create: true, Was: was.User.Sum()},
			fault: fault.Conflict},
		{name: "replace unknown", when: replace, fault: fault.NotFound, text: "User ada not found"},
		{name: "too many", given: []Event{userMade("u1"), userMade("u2"), userMade("u3")}, when: put(),
			fault: fault.LimitExceeded, text: "The limit of 3 users is reached"},
		{name: "unknown group", when: with(func(u *User) { u.Groups = []string{"team"} }), fault: fault.NotFound,
			text: "Group team not found"},
		{name: "a document that is too long", when: with(func(u *User) {
			u.Policies = []InlinePolicy{{"a", strings.Repeat("x ", 21)}}
		}), fault: fault.LimitExceeded, text: "The policy document has 21 characters; the limit is 20"},
		{name: "identity of another", given: []Event{userMade("bob", identity)}, when: with(identity),
			fault: fault.Conflict, text: "User bob has this external identity"},
		{name: "identity of its own", given: []Event{userMade("ada", identity)},
			when: PutUser{User: userMade("ada", identity).User}},
		{name: "another subject", given: []Event{userMade("bob", identity)},
			when: with(func(u *User) { u.Issuer, u.Subject = "https://i", "2" }),
			then: []Event{userMade("ada", func(u *User) { u.Issuer, u.Subject = "https://i", "2" })}},
		{name: "a service", when: with(service), then: []Event{userMade("ada", service)}},
		{name: "no longer a service", given: []Event{userMade("ada", service)}, when: PutUser{User: User{Name: "ada"}},
			fault: fault.InvalidRequest, text: "Service cannot change. Create another user."},
		invalid("name", func(u *User) { u.Name = "@ada" }, ""),
		invalid("no id", func(u *User) { u.ID = "" }, "ID is required"),
		invalid("email", func(u *User) { u.Email = strings.Repeat("x", 1001) },
			"Email has 1001 bytes; the maximum is 1000"),
		invalid("service with a password", func(u *User) { u.Service, u.Password = true, "$argon2id$x" },
			errServiceUser.Message),
		invalid("service with an identity", func(u *User) { service(u); identity(u) }, errServiceUser.Message),
		invalid("password in clear", func(u *User) { u.Password = "secret" },
			"Password must be an argon2id hash in PHC form"),
		invalid("issuer alone", func(u *User) { u.Issuer = "https://i" }, ""),
		invalid("invitation without end", func(u *User) { u.Invite = hash }, ""),
		invalid("invitation that is no hash", func(u *User) { u.Invite, u.InviteEnds = hash[1:], t0 }, ""),
		invalid("inline policies of one name", func(u *User) { u.Policies = []InlinePolicy{{"a", "{}"}, {"a", "{}"}} },
			"There are two inline policies with the name a"),
		invalid("no document", func(u *User) { u.Policies = []InlinePolicy{{"a", ""}} }, "Policy a needs a Document"),
		invalid("too many policies", func(u *User) { u.Policies = tooMany[InlinePolicy]() }, ""),
	})
}

func tooMany[T any]() []T { return slicesOf[T](maxListed + 1) }

func slicesOf[T any](n int) []T { return append([]T(nil), make([]T, n)...) }

func TestUserCommands(t *testing.T) {
	hash := bytes.Repeat([]byte{1}, 32)
	invited := userMade("ada", func(u *User) { u.Invite, u.InviteEnds, u.NotBefore = hash, t0+1, t0-2 })
	service := userMade("bot", func(u *User) { u.Service = true })
	set := SetPassword{Name: "ada", Password: "$argon2id$x", NotBefore: t0, Invite: hash}
	was := &PasswordSet{"ada", "$argon2id$x", t0}
	play(t, []scene{
		{name: "disable", given: []Event{invited}, when: SetUserDisabled{"ada", true, t0},
			then: []Event{&UserDisabledSet{"ada", true, t0}}},
		{name: "enable keeps NotBefore", given: []Event{userMade("ada", func(u *User) {
			u.Disabled, u.NotBefore = true,
				t0
		})},
			when: SetUserDisabled{"ada", false, t0 - 1}, then: []Event{&UserDisabledSet{"ada", false, t0}}},
		{name: "enable enabled", given: []Event{invited}, when: SetUserDisabled{Name: "ada"}},
		{name: "disable unknown", when: SetUserDisabled{Name: "ada"}, fault: fault.NotFound,
			text: "User ada not found"},

		{name: "password by invitation", given: []Event{invited}, when: set, then: []Event{was}},
		{name: "used invitation", given: []Event{invited, was}, when: set, fault: fault.AccessDenied,
			text: "The invitation was used. Ask for another one."},
		{name: "no password any more", given: []Event{invited, was}, when: SetPassword{Name: "ada"},
			then: []Event{&PasswordSet{"ada", "", t0}}},
		{name: "password in clear", given: []Event{invited}, when: SetPassword{Name: "ada", Password: "secret"},
			fault: fault.InvalidRequest},
		{name: "password of a service", given: []Event{service}, when: SetPassword{Name: "bot"},
			fault: fault.InvalidRequest, text: errServiceUser.Message},
		{name: "password of nobody", when: set, fault: fault.NotFound},

		{name: "external groups", given: []Event{invited, groupMade("team"), groupMade("ops")},
			when: SetExternalGroups{"ada", []string{"team", "gone", "ops"}},
			then: []Event{&ExternalGroupsSet{"ada", []string{"ops", "team"}}}},
		{name: "the same groups", given: []Event{invited}, when: SetExternalGroups{"ada", []string{"gone"}}},
		{name: "no groups any more", given: []Event{groupMade("team"), userMade("ada", func(u *User) {
			u.ExternalGroups = []string{"team"}
		})}, when: SetExternalGroups{Name: "ada"}, then: []Event{&ExternalGroupsSet{Name: "ada"}}},
		{name: "external groups of nobody", when: SetExternalGroups{Name: "ada"}, fault: fault.NotFound},

		{name: "delete", given: []Event{invited}, when: DeleteUser{"ada"}, then: []Event{&UserDeleted{"ada"}}},
		{name: "delete unknown", when: DeleteUser{"ada"}, fault: fault.NotFound, text: "User ada not found"},
	})
}

func TestPasswordEndsTheInvitation(t *testing.T) {
	s := given(t, smallLimits(), userMade("ada", func(u *User) { u.Invite, u.InviteEnds = []byte{1}, t0 }),
		&PasswordSet{"ada", "$argon2id$x", t0})
	if u, _ := s.User("ada"); u.Invite != nil || u.InviteEnds != 0 || u.Password != "$argon2id$x" || u.NotBefore != t0 {
		t.Errorf("user %+v", u)
	}
}

// TestDeleteUserLeavesNothing deletes a user who has everything, and compares with the catalog before.
func TestDeleteUserLeavesNothing(t *testing.T) {
	others := []Event{groupMade("team"), roleMade("GameDev"), userMade("bob"), assigned("GameDev", "bob"),
		assigned("GameDev", "@team"), &AccessKeyPut{ID: "AKIA1", Owner: "bob"}, &AccessKeyPut{ID: "AKIA0"},
		started("signin-1", "bob", t0)}
	s, want := given(t, smallLimits(), others...), given(t, smallLimits(), others...)
	for _, e := range []Event{
		userMade("ada", func(u *User) { u.Issuer, u.Subject, u.Groups = "https://i", "1", []string{"team"} }),
		assigned("GameDev", "ada"), &AccessKeyPut{ID: "AKIA2", Owner: "ada"}, &AccessKeyPut{ID: "AKIA3", Owner: "ada"},
		started("signin-2", "ada", t0), started("signin-3", "ada", t0),
	} {
		s.Apply(e)
	}
	if len(s.KeysOf("ada")) != 2 || len(s.SignInsOf("ada")) != 2 || s.SignIns() != 3 {
		t.Fatalf("keys %v, sign-ins %v", s.KeysOf("ada"), s.SignInsOf("ada"))
	}
	do(t, s, t0, DeleteUser{"ada"})
	checkEqual(t, "after the deletion", s, want)
	if roles := s.AssignmentsOf("ada"); roles != nil {
		t.Errorf("roles %v", roles)
	}
}

// TestNotBefore: what was issued earlier is void, sign-ins too.
func TestNotBefore(t *testing.T) {
	for _, e := range []Event{&UserDisabledSet{"ada", false, t0}, &PasswordSet{"ada", "", t0},
		userMade("ada", func(u *User) { u.NotBefore = t0 })} {
		s := given(t, smallLimits(), userMade("ada"), started("signin-1", "ada", t0-1), started("signin-2", "ada", t0),
			e)
		if left := s.SignInsOf("ada"); len(left) != 1 || left[0].ID != "signin-2" {
			t.Errorf("%T leaves %+v", e, left)
		}
	}
}

func TestUsers(t *testing.T) {
	identity := func(u *User) { u.Issuer, u.Subject = "https://i", "1" }
	s := given(t, DefaultLimits(), userMade("ada", identity), userMade("bob"), userMade("eve"))
	if users, more := s.Users("ada", 1); len(users) != 1 || users[0].Name != "bob" || !more {
		t.Errorf("users %v, %v", users, more)
	}
	if u, ok := s.UserByExternal("https://i", "1"); !ok || u.Name != "ada" {
		t.Errorf("user %+v", u)
	}
	for _, other := range [][2]string{{"https://i", "2"}, {"https://j", "1"}, {"", ""}, {"https://i1", ""}} {
		if u, ok := s.UserByExternal(other[0], other[1]); ok {
			t.Errorf("%v is %+v", other, u)
		}
	}
	invite := bytes.Repeat([]byte{1}, 32)
	s.Apply(userMade("eve", func(u *User) { u.Invite = invite }))
	if u, ok := s.UserByInvite(invite); !ok || u.Name != "eve" {
		t.Errorf("invited %+v", u)
	}
	for _, other := range [][]byte{nil, {}, invite[1:]} {
		if u, ok := s.UserByInvite(other); ok {
			t.Errorf("%x invites %+v", other, u)
		}
	}
	s.Apply(userMade("ada"))
	if _, ok := s.UserByExternal("https://i", "1"); ok {
		t.Error("the old identity is still known")
	}
}

func TestAssignmentsOf(t *testing.T) {
	s := given(t, DefaultLimits(), groupMade("team"), groupMade("ops"), groupMade("staff"), roleMade("A"),
		roleMade("B"),
		roleMade("C"), roleMade("D"), userMade("ada", func(u *User) {
			u.Groups, u.ExternalGroups = []string{"team"}, []string{"staff"}
		}), userMade("bob"), assigned("C", "ada"), assigned("A", "@team"), assigned("C", "@team"), assigned("B",
			"@staff"),
		assigned("D", "@ops"), assigned("D", "nobody"), assigned("unknown", "ada"))
	for user, want := range map[string][]string{"ada": {"A", "B", "C"}, "bob": nil, "nobody": nil} {
		if got := s.AssignmentsOf(user); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %v, want %v", user, got, want)
		}
	}
	var all []string
	for _, a := range s.Assignments() {
		all = append(all, a.Role+" "+a.Subject)
	}
	if got := fmt.Sprint(all); got != "[A @team B @staff C @team C ada D @ops]" {
		t.Errorf("assignments %s", got)
	}
	if got := fmt.Sprint(s.SubjectsOf("C"), s.RolesOfSubject("@team"), s.Members("staff"), s.Members("ops")); got !=
		"[@team ada] [A C] [ada] []" {
		t.Errorf("subjects, roles and members %s", got)
	}
	s.Apply(&GroupDeleted{"staff"})
	if u, _ := s.User("ada"); u.ExternalGroups != nil || len(s.AssignmentsOf("ada")) != 2 {
		t.Errorf("the deleted group is still there: %+v", u)
	}
}
