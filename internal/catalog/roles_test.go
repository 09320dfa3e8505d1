package catalog

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestGroupCommands(t *testing.T) {
	member := userMade("ada", func(u *User) { u.Groups = []string{"team"} })
	play(t, []scene{
		{name: "put", when: PutGroup{Group: Group{Name: "team"}}, then: []Event{groupMade("team")}},
		{name: "put over", given: []Event{&GroupPut{Group{"team", "old", t0 - day}}},
			when: PutGroup{Group: Group{Name: "team", Description: "new", Created: t0}},
			then: []Event{&GroupPut{Group{"team", "new", t0 - day}}}},
		{name: "put the same", given: []Event{groupMade("team")}, when: PutGroup{Group: Group{Name: "team"}}},
		{name: "create twice", given: []Event{groupMade("team")}, when: PutGroup{Group{Name: "team"}, true},
			fault: fault.Conflict, text: "Group team exists"},
		{name: "bad name", when: PutGroup{Group: Group{Name: "@team"}}, fault: fault.InvalidRequest,
			text: "The name of a group must have 1 to 64 letters, digits or characters of _+=,.@- and must not begin " +
				"with @"},
		{name: "long text", when: PutGroup{Group: Group{Name: "team", Description: strings.Repeat("x", 1001)}},
			fault: fault.InvalidRequest},
		{name: "too many", given: []Event{groupMade("a"), groupMade("b")}, when: PutGroup{Group: Group{Name: "c"}},
			fault: fault.LimitExceeded, text: "Group c cannot be created: the limit is 2"},

		{name: "delete", given: []Event{groupMade("team")}, when: DeleteGroup{"team"},
			then: []Event{&GroupDeleted{"team"}}},
		{name: "delete an external group", given: []Event{groupMade("team"), userMade("ada", func(u *User) {
			u.ExternalGroups = []string{"team"}
		})}, when: DeleteGroup{"team"}, then: []Event{&GroupDeleted{"team"}}},
		{name: "delete with members", given: []Event{groupMade("team"), member}, when: DeleteGroup{"team"},
			fault: fault.Conflict, text: "User ada is in group team. Remove its users first."},
		{name: "delete with a role", given: []Event{groupMade("team"), roleMade("GameDev"), assigned("GameDev",
			"@team")},
			when: DeleteGroup{"team"}, fault: fault.Conflict,
			text: "Group team is assigned to role GameDev. Delete the assignment first."},
		{name: "delete unknown", when: DeleteGroup{"team"}, fault: fault.NotFound, text: "Group team not found"},
	})
}

func TestRoleCommands(t *testing.T) {
	put := func(change func(*PutRole)) PutRole {
		c := PutRole{Role: Role{Name: "GameDev", ID: "AROAGameDev"}}
		change(&c)
		return c
	}
	simple := put(func(*PutRole) {})
	create := put(func(c *PutRole) { c.Create = true })
	invalid := func(name string, change func(*PutRole)) scene {
		return scene{name: name, when: put(change), fault: fault.InvalidRequest}
	}
	old := &RolePut{Role{Name: "GameDev", ID: "AROA1", MaxDuration: 3600, Created: t0 - day, Updated: t0 - day}}
	play(t, []scene{
		{name: "put", when: simple, then: []Event{roleMade("GameDev")}},
		{name: "with everything", given: []Event{policyMade("Fleets")}, when: put(func(c *PutRole) {
			c.Policies, c.Stored = []string{"GameLiftReadOnly", "Fleets", "Fleets"}, []string{"Fleets"}
			c.Inline, c.MaxDuration, c.Trust = []InlinePolicy{{"own", "{}"}}, 900, "{}"
		}), then: []Event{&RolePut{Role{Name: "GameDev", ID: "AROAGameDev", Policies: []string{"Fleets",
			"GameLiftReadOnly"},
			Inline: []InlinePolicy{{"own", "{}"}}, MaxDuration: 900, Trust: "{}", Created: t0, Updated: t0}}}},
		{name: "put over", given: []Event{old}, when: put(func(c *PutRole) { c.Description = "new" }),
			then: []Event{&RolePut{Role{Name: "GameDev", ID: "AROA1", Description: "new", MaxDuration: 3600,
				Created: t0 - day, Updated: t0}}}},
		{name: "put the same", given: []Event{old}, when: simple},
		{name: "create again", given: []Event{roleMade("GameDev")}, when: create},
		{name: "create another", given: []Event{old}, when: create, fault: fault.Conflict, text: "Role GameDev exists"},
		{name: "too many", given: []Event{roleMade("a"), roleMade("b")}, when: simple, fault: fault.LimitExceeded},
		{name: "unknown policy", when: put(func(c *PutRole) {
			c.Policies, c.Stored = []string{"Fleets"},
				[]string{"Fleets"}
		}),
			fault: fault.NotFound, text: "Policy Fleets not found"},
		{name: "long trust", when: put(func(c *PutRole) { c.Trust = strings.Repeat("x", 21) }),
			fault: fault.LimitExceeded},
		{name: "policy that is not among them", given: []Event{policyMade("Fleets")},
			when: put(func(c *PutRole) { c.Stored = []string{"Fleets"} }), fault: fault.InvalidRequest,
			text: "Policy Fleets must be among the policies"},
		invalid("bad name", func(c *PutRole) { c.Name = "Game Dev" }),
		invalid("no id", func(c *PutRole) { c.ID = "" }),
		invalid("short", func(c *PutRole) { c.MaxDuration = 899 }),
		invalid("long", func(c *PutRole) { c.MaxDuration = 43_201 }),
		invalid("description", func(c *PutRole) { c.Description = strings.Repeat("x", 1001) }),
		invalid("name of a policy", func(c *PutRole) { c.Policies = []string{""} }),
		invalid("many policies", func(c *PutRole) {
			for i := range maxListed + 1 {
				c.Policies = append(c.Policies, strings.Repeat("x", i+1))
			}
		}),
		invalid("inline policy", func(c *PutRole) { c.Inline = []InlinePolicy{{"own", ""}} }),

		{name: "delete", given: []Event{old}, when: DeleteRole{"GameDev"}, then: []Event{&RoleDeleted{"GameDev"}}},
		{name: "delete unknown", when: DeleteRole{"GameDev"}, fault: fault.NotFound, text: "Role GameDev not found"},
	})
}

func TestAssignmentCommands(t *testing.T) {
	base := []Event{roleMade("A"), roleMade("B"), groupMade("team"), userMade("ada"), userMade("bob"), userMade("eve")}
	full := append(base, assigned("A", "ada"), assigned("A", "bob"), assigned("A", "@team"), assigned("B", "ada"))
	play(t, []scene{
		{name: "to a user", given: base, when: PutAssignment{Role: "A", Subject: "ada"}, then: []Event{assigned("A",
			"ada")}},
		{name: "to a group", given: base, when: PutAssignment{Role: "A", Subject: "@team"}, then: []Event{assigned("A",
			"@team")}},
		{name: "of a built-in role", given: base, when: PutAssignment{"ReadOnly", "ada", t0 - 9, true},
			then: []Event{&AssignmentPut{Assignment{"ReadOnly", "ada", t0 - 9, true}}}},
		{name: "no role", given: base, when: PutAssignment{Subject: "ada", Builtin: true}, fault: fault.InvalidRequest},
		{name: "again", given: full, when: PutAssignment{Role: "A", Subject: "ada"}},
		{name: "too many", given: full, when: PutAssignment{Role: "A", Subject: "eve"}, fault: fault.LimitExceeded,
			text: "The limit of 4 assignments is reached"},
		{name: "unknown role", given: base, when: PutAssignment{Role: "C", Subject: "ada"}, fault: fault.NotFound,
			text: "Role C not found"},
		{name: "unknown user", given: base, when: PutAssignment{Role: "A", Subject: "team"}, fault: fault.NotFound,
			text: "User team not found"},
		{name: "unknown group", given: base, when: PutAssignment{Role: "A", Subject: "@ada"}, fault: fault.NotFound,
			text: "Group ada not found"},
		{name: "delete", given: full, when: DeleteAssignment{"A", "@team"},
			then: []Event{&AssignmentDeleted{"A", "@team"}}},
		{name: "delete unknown", given: full, when: DeleteAssignment{"B", "bob"}, fault: fault.NotFound,
			text: "Role B is not assigned to bob"},
	})
}

func TestRoles(t *testing.T) {
	s := given(t, DefaultLimits(), roleMade("A"), roleMade("B"), groupMade("g"), groupMade("h"), policyMade("p"),
		policyMade("q"), userMade("ada"), assigned("A", "ada"), assigned("B", "ada"))
	if r, ok := s.RoleByID("AROAB"); !ok || r.Name != "B" {
		t.Errorf("role %+v", r)
	}
	if _, ok := s.RoleByID("AROA"); ok {
		t.Error("a part of an id is found")
	}
	if list, more := s.Roles("", 1); len(list) != 1 || !more || list[0].Name != "A" {
		t.Errorf("roles %v", list)
	}
	if list, more := s.Groups("g", 1); len(list) != 1 || more || list[0].Name != "h" {
		t.Errorf("groups %v", list)
	}
	if list, more := s.Policies("p", 1); len(list) != 1 || more || list[0].Name != "q" {
		t.Errorf("policies %v", list)
	}
	if p, ok := s.Policy("p"); !ok || p.Version != 1 {
		t.Errorf("policy %+v", p)
	}
	do(t, s, t0, DeleteRole{"A"})
	if _, ok := s.RoleByID("AROAA"); ok || len(s.AssignmentsOf("ada")) != 1 {
		t.Error("the role or its assignments are still there")
	}
}

func TestPolicyCommands(t *testing.T) {
	put := PutPolicy{Name: "Fleets", Document: "{}"}
	next := &PolicyPut{Policy{"Fleets", "", "{ }", 2, t0, t0}}
	play(t, []scene{
		{name: "put", when: put, then: []Event{policyMade("Fleets")}},
		{name: "put a version", given: []Event{policyMade("Fleets")}, when: PutPolicy{Name: "Fleets", Document: "{ }"},
			then: []Event{next}},
		{name: "put the same", given: []Event{policyMade("Fleets")}, when: put},
		{name: "at a time", when: PutPolicy{Name: "Fleets", Document: "{}", At: t0 - 9},
			then: []Event{&PolicyPut{Policy{"Fleets", "", "{}", 1, t0 - 9, t0 - 9}}}},
		{name: "create twice", given: []Event{policyMade("Fleets")},
			when: PutPolicy{Name: "Fleets", Document: "{}", Create: true}, fault: fault.Conflict,
			text: "Policy Fleets exists"},
		{name: "as long as can be", when: PutPolicy{Name: "Fleets", Document: strings.Repeat("x\n", 20)},
			then: []Event{&PolicyPut{Policy{"Fleets", "", strings.Repeat("x\n", 20), 1, t0, t0}}}},
		{name: "too long", when: PutPolicy{Name: "Fleets", Document: strings.Repeat("x", 21)},
			fault: fault.LimitExceeded},
		{name: "no document", when: PutPolicy{Name: "Fleets"}, fault: fault.InvalidRequest,
			text: "Policy Fleets needs a Document"},
		{name: "bad name", when: PutPolicy{Name: "", Document: "{}"}, fault: fault.InvalidRequest},
		{name: "long text", when: PutPolicy{Name: "a", Document: "{}", Description: strings.Repeat("x", 1001)},
			fault: fault.InvalidRequest},
		{name: "too many", given: []Event{policyMade("a"), policyMade("b")}, when: put, fault: fault.LimitExceeded},

		{name: "delete", given: []Event{next}, when: DeletePolicy{"Fleets"}, then: []Event{&PolicyDeleted{"Fleets"}}},
		{name: "delete of a role", given: []Event{next, roleMade("GameDev", "Fleets")}, when: DeletePolicy{"Fleets"},
			fault: fault.Conflict, text: "Policy Fleets is used by role/GameDev. Remove it there first."},
		{name: "delete of a user", given: []Event{next, userMade("ada",
			func(u *User) { u.Attached = []string{"Fleets"} })},
			when: DeletePolicy{"Fleets"}, fault: fault.Conflict,
			text: "Policy Fleets is used by user/ada. Remove it there first."},
		{name: "delete of a key", given: []Event{next, &AccessKeyPut{ID: "AKIA1", Policies: []string{"Fleets"}}},
			when: DeletePolicy{"Fleets"}, fault: fault.Conflict,
			text: "Policy Fleets is used by key/AKIA1. Remove it there first."},
		{name: "delete unknown", when: DeletePolicy{"Fleets"}, fault: fault.NotFound, text: "Policy Fleets not found"},
	})
}

func TestProviderCommands(t *testing.T) {
	put := func(change func(*Provider)) PutProvider {
		c := PutProvider{Provider: Provider{Name: "p", Issuer: "https://i"}}
		change(&c.Provider)
		return c
	}
	made := &ProviderPut{Provider{Name: "p", Issuer: "https://i", Created: t0}}
	other := &ProviderPut{Provider{Name: "q", Issuer: "https://i"}}
	invalid := func(name string, change func(*Provider)) scene {
		return scene{name: name, when: put(change), fault: fault.InvalidRequest}
	}
	same := func(*Provider) {}
	play(t, []scene{
		{name: "put", when: put(same), then: []Event{made}},
		{name: "lists", when: put(func(p *Provider) {
			p.Audiences, p.Scopes, p.SealedSecret = []string{"b", "a", "b"}, []string{}, []byte{}
			p.GroupMap = []GroupMapping{{"b", "y"}, {"b", "x"}, {"a", "z"}}
		}), then: []Event{&ProviderPut{Provider{Name: "p", Issuer: "https://i", Created: t0, Audiences: []string{"a",
			"b"},
			GroupMap: []GroupMapping{{"a", "z"}, {"b", "x"}, {"b", "y"}}}}}},
		{name: "put over", given: []Event{&ProviderPut{Provider{Name: "p", Issuer: "https://j", Created: t0 - day}}},
			when: put(same), then: []Event{&ProviderPut{Provider{Name: "p", Issuer: "https://i", Created: t0 - day}}}},
		{name: "put the same", given: []Event{made}, when: put(same)},
		{name: "create twice", given: []Event{made}, when: PutProvider{Provider{Name: "p"}, true},
			fault: fault.Conflict,
			text:  "Provider p exists"},
		{name: "the issuer of another", given: []Event{other}, when: put(same), fault: fault.Conflict,
			text: "Provider q has the issuer https://i"},
		{name: "too many", given: []Event{&ProviderPut{Provider{Name: "a"}}, &ProviderPut{Provider{Name: "b"}}},
			when: put(same), fault: fault.LimitExceeded},
		invalid("bad name", func(p *Provider) { p.Name = "a/b" }),
		invalid("no issuer", func(p *Provider) { p.Issuer = "" }),
		invalid("no client", func(p *Provider) { p.SignIn = true }),
		invalid("many keys", func(p *Provider) { p.Keys = strings.Repeat("x", maxKeySet+1) }),
		invalid("long claim", func(p *Provider) { p.GroupClaim = strings.Repeat("x", 1001) }),
		invalid("long map", func(p *Provider) { p.GroupMap = tooMany[GroupMapping]() }),
		invalid("many domains", func(p *Provider) {
			for i := range maxListed + 1 {
				p.Domains = append(p.Domains, strings.Repeat("x", i+1))
			}
		}),
		{name: "delete", given: []Event{made}, when: DeleteProvider{"p"}, then: []Event{&ProviderDeleted{"p"}}},
		{name: "delete unknown", when: DeleteProvider{"p"}, fault: fault.NotFound, text: "Provider p not found"},
	})
	s := given(t, DefaultLimits(), made)
	if p, ok := s.ProviderByIssuer("https://i"); !ok || p.Name != "p" {
		t.Errorf("provider %+v", p)
	}
	if _, ok := s.ProviderByIssuer("https://j"); ok {
		t.Error("an unknown issuer has a provider")
	}
	if list := s.Providers(); len(list) != 1 {
		t.Errorf("providers %v", list)
	}
	if _, ok := s.Provider("p"); !ok {
		t.Error("the provider is not found")
	}
}
