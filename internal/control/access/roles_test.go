package access

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestRoles(t *testing.T) {
	w := newWorld(t)
	in := RoleInput{Name: "dev", Description: "builds", Policies: []string{"GameLiftReadOnly"}, MaxDuration: 7200,
		Inline: []InlineView{{"b", json.RawMessage(allowList)}, {"a", json.RawMessage(allowList)}},
		Trust: json.RawMessage(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sts:AssumeRole",
			"Principal":{"AWS":"111122223333"}}}`)}
	made, err := w.PutRole(t.Context(), nil, in)
	w.ok(err)
	if made.Arn != "arn:aws:iam::111122223333:role/dev" || made.MaxDuration != 7200 || made.Inline[0].Name != "a" ||
		string(made.Trust) != string(in.Trust) || !strings.HasPrefix(made.ID, "AROA") {
		t.Errorf("%+v", made)
	}
	w.clock.Advance(1e9)
	again, err := w.PutRole(t.Context(), nil, RoleInput{Name: "dev", Trust: json.RawMessage("null")})
	w.ok(err)
	if again.ID != made.ID || !again.Created.Equal(*made.Created) || again.MaxDuration != standardRoleSeconds ||
		again.Trust != nil || len(again.Policies)+len(again.Inline) != 0 {
		t.Errorf("%+v", again)
	}
	w.person("ada", "dev", "read-only")
	w.ok(w.CreateGroup(t.Context(), "team", ""))
	w.ok(w.Assign(t.Context(), nil, "@team", "dev"))
	view, err := w.Role("dev")
	w.ok(err)
	if !slices.Equal(view.Subjects, []string{"@team", "ada"}) || len(w.Assignments()) != 3 {
		t.Errorf("assigned to %v, %+v", view.Subjects, w.Assignments())
	}
	names := []string{}
	for _, r := range w.Roles() {
		names = append(names, r.Name)
		if r.Builtin == (r.Name == "dev") {
			t.Errorf("%+v", r)
		}
	}
	if len(names) != len(policy.BuiltinRoles())+1 || !slices.IsSorted(names) {
		t.Errorf("roles %v", names)
	}
	w.ok(w.DeleteRole(t.Context(), nil, "dev"))
	_, err = w.Role("dev")
	w.kind(err, fault.NotFound)
	if len(w.Assignments()) != 1 {
		t.Errorf("%+v", w.Assignments())
	}
	w.kind(w.Assign(t.Context(), nil, "ada", "dev"), fault.NotFound)
	w.kind(w.Unassign(t.Context(), nil, "ada", "dev"), fault.NotFound)
}

func TestRoleRefused(t *testing.T) {
	w := newWorld(t)
	w.kind(w.DeleteRole(t.Context(), nil, "administrator"), fault.InvalidRequest)
	for name, c := range map[string]struct {
		in   RoleInput
		want fault.Kind
	}{
		"built in":       {RoleInput{Name: "administrator"}, fault.InvalidRequest},
		"too short":      {RoleInput{Name: "dev", MaxDuration: 899}, fault.InvalidRequest},
		"too long":       {RoleInput{Name: "dev", MaxDuration: 43201}, fault.InvalidRequest},
		"unknown policy": {RoleInput{Name: "dev", Policies: []string{"none"}}, fault.NotFound},
		"bad policy": {RoleInput{Name: "dev", Inline: []InlineView{{"a", json.RawMessage("{}")}}},
			fault.MalformedPolicyDocument},
		"bad trust": {RoleInput{Name: "dev", Trust: json.RawMessage(allowList)}, fault.MalformedPolicyDocument},
	} {
		_, err := w.PutRole(t.Context(), nil, c.in)
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAssumeAssignedRole: a role without trust can be assumed by its people, while it is theirs.
func TestAssumeAssignedRole(t *testing.T) {
	w := newWorld(t)
	_, ada := w.userKey("ada", allowAssume)
	_, bob := w.userKey("bob", allowAssume)
	w.ok(w.Assign(t.Context(), nil, "ada", "developer"))
	in := AssumeRole{RoleArn: w.roleArn("developer"), SessionName: "ci", SourceIdentity: "ada"}
	keys, err := w.AssumeRole(t.Context(), ada, w.from, in)
	w.ok(err)
	_, err = w.AssumeRole(t.Context(), bob, w.from, in)
	w.kind(err, fault.AccessDenied)
	id := identity(w.other, keys)
	_, err = w.AssumeRole(t.Context(), id, w.from, in) // from a role: only by its trust
	w.kind(err, fault.AccessDenied)
	w.ok(w.Unassign(t.Context(), nil, "ada", "developer"))
	if identity(w.other, keys) != nil {
		t.Error("the keys work without the assignment")
	}
	root, err := w.AssumeRole(t.Context(), &Identity{Root: true, Arn: w.rootArn()}, w.from, in)
	w.ok(err)
	if id := identity(w.other, root); id == nil || id.Root || w.may(id, "muster:UserPut") {
		t.Errorf("%+v", id)
	}
}

// TestAssumeChained: a session of a role is at most an hour in another one, and keeps who is behind it.
func TestAssumeChained(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada", "developer")
	keys, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
	w.ok(err)
	id := identity(w.Access, keys)
	_, err = w.PutRole(t.Context(), nil, RoleInput{Name: "deploy", Policies: []string{"GameLiftAdmin"},
		MaxDuration: 43200, Trust: json.RawMessage(`{"Version":"2012-10-17","Statement":{"Effect":"Allow",
			"Principal":{"AWS":"arn:aws:iam::111122223333:role/developer"},"Action":["sts:AssumeRole","sts:TagSession",
			"sts:SetSourceIdentity"],"Condition":{"StringLike":
			{"sts:RoleSessionName":"ci-*"},"StringEqualsIfExists":{"sts:SourceIdentity":"ada",
			"aws:RequestTag/stage":"beta"}}}}`)})
	w.ok(err)
	in := AssumeRole{RoleArn: w.roleArn("deploy"), SessionName: "ci-1", SourceIdentity: "ada",
		Tags: map[string]string{"stage": "beta"}}
	first, err := w.AssumeRole(t.Context(), id, w.from, in)
	w.ok(err)
	deploy := identity(w.other, first)
	if deploy == nil || deploy.User != "ada" || deploy.SignIn != p.SignIn.ID || deploy.SourceIdentity != "ada" ||
		first.PackedPolicySize != 1 {
		t.Fatalf("%+v of %+v", deploy, first)
	}
	for name, change := range map[string]func(*AssumeRole){
		"session name":    func(in *AssumeRole) { in.SessionName = "me" },
		"source identity": func(in *AssumeRole) { in.SourceIdentity = "eve" },
		"tag":             func(in *AssumeRole) { in.Tags = map[string]string{"stage": "live"} },
	} {
		other := in
		change(&other)
		if _, err := w.AssumeRole(t.Context(), id, w.from, other); !fault.Is(err, fault.AccessDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := in
	long.Duration = 3601
	_, err = w.AssumeRole(t.Context(), id, w.from, long)
	w.kind(err, fault.InvalidRequest)
	many := in
	many.Tags = map[string]string{"stage": "beta", "more": strings.Repeat("x", maxSessionPolicy)}
	_, err = w.AssumeRole(t.Context(), id, w.from, many)
	w.kind(err, fault.PackedPolicyTooLarge)
	later := in
	later.RoleArn = w.roleArn("none")
	_, err = w.AssumeRole(t.Context(), id, w.from, later)
	w.kind(err, fault.AccessDenied)
	later.RoleArn = "deploy"
	_, err = w.AssumeRole(t.Context(), id, w.from, later)
	w.kind(err, fault.InvalidRequest)
	w.ok(w.EndSignIn(t.Context(), p.SignIn.ID, "test", w.from))
	if identity(w.other, first) != nil {
		t.Error("the keys outlive the session behind them")
	}
}

// TestRoleNames: a role is known by its ARN, also as AWS has it for the name of its SSO sessions.
func TestRoleNames(t *testing.T) {
	w := newWorld(t)
	r := builtinRoles["developer"]
	for arn, want := range map[string]bool{
		w.roleArn("developer"): true, w.roleArn("a/b/developer"): false,
		w.roleArn("aws-reserved/sso.amazonaws.com/" + ssoRole(r)): true,
		w.roleArn("AWSReservedSSO_developer_0123456789abcdef"):    false,
		w.roleArn("AWSReservedSSO_none_0123456789abcdef"):         false,
		"arn:aws:iam::999999999999:role/developer":                false,
	} {
		got, err := w.roleByArn(arn)
		if (err == nil) != want || want && got != r {
			t.Errorf("%s: %v", arn, err)
		}
		if plain := w.RoleARN(arn); (plain == w.roleArn("developer")) != want || !want && plain != arn {
			t.Errorf("%s is %s", arn, plain)
		}
	}
}

func TestKeyAccount(t *testing.T) {
	w := newWorld(t)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	for id, ok := range map[string]bool{root.ID: true, "ASIAABCDEFGHIJKLMNOP": true, "AKIAABCDEFGHIJKLMNOP": false,
		"ASIA": false, "ASIAabcdefghijklmnop": false} {
		if got, err := w.KeyAccount(id); (err == nil) != ok || ok && got != account {
			t.Errorf("%s: %q, %v", id, got, err)
		}
	}
}
