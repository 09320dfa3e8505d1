package access

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func callerWith(identity any) sigv4.Caller { return sigv4.Caller{Identity: identity} }

// userKey adds a user with a policy of its own and a key.
func (w *world) userKey(name, document string) (*KeyCreated, *Identity) {
	w.t.Helper()
	_, err := w.CreateUser(w.t.Context(), nil, UserInput{Name: name})
	w.ok(err)
	w.ok(w.PutUserPolicy(w.t.Context(), nil, name, "own", document))
	k, err := w.CreateKey(w.t.Context(), nil, KeyInput{User: name})
	w.ok(err)
	return k, key(w.Access, k)
}

const allowAssume = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["sts:AssumeRole",` +
	`"gamelift:List*"],"Resource":"*"}}`

func TestAssumeRole(t *testing.T) {
	w := newWorld(t)
	_, ada := w.userKey("ada", allowAssume)
	_, bob := w.userKey("bob", allowAssume)
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "deploy", Policies: []string{"GameLiftAdmin"},
		MaxDuration: 7200, Trust: json.RawMessage(`{"Version":"2012-10-17","Statement":{"Effect":"Allow",` +
			`"Principal":{"AWS":"` + ada.Arn + `"},"Action":"sts:AssumeRole",` +
			`"Condition":{"StringEquals":{"sts:ExternalId":"x-1"}}}}`)})
	w.ok(err)
	in := AssumeRole{RoleArn: "arn:aws:iam::111122223333:role/deploy", SessionName: "ci", ExternalID: "x-1"}
	keys, err := w.AssumeRole(t.Context(), ada, w.from, in)
	w.ok(err)
	id := identity(w.other, keys)
	if id == nil || id.Arn != "arn:aws:sts::111122223333:assumed-role/deploy/ci" || !w.may(id, "gamelift:CreateFleet") {
		t.Fatalf("%+v", id)
	}
	_, err = w.AssumeRole(t.Context(), bob, w.from, in)
	w.kind(err, fault.AccessDenied)
	without := in
	without.ExternalID = ""
	_, err = w.AssumeRole(t.Context(), ada, w.from, without)
	w.kind(err, fault.AccessDenied)
	missing := in
	missing.RoleArn = "arn:aws:iam::111122223333:role/none"
	_, err = w.AssumeRole(t.Context(), ada, w.from, missing)
	w.kind(err, fault.AccessDenied)
	long := in
	long.Duration = 7201
	_, err = w.AssumeRole(t.Context(), ada, w.from, long)
	w.kind(err, fault.InvalidRequest)
	narrow := in
	narrow.PolicyArns = []string{"arn:aws:iam::aws:policy/GameLiftReadOnly"}
	narrow.Policy = ""
	keys, err = w.AssumeRole(t.Context(), ada, w.from, narrow)
	w.ok(err)
	if id := identity(w.other, keys); !w.may(id, "gamelift:ListFleets") || w.may(id, "gamelift:CreateFleet") {
		t.Error("the session policy does not narrow")
	}
	narrow.PolicyArns, narrow.Policy = nil, strings.Repeat(" ", maxSessionPolicy+1)
	_, err = w.AssumeRole(t.Context(), ada, w.from, narrow)
	w.kind(err, fault.PackedPolicyTooLarge)
	narrow.Policy = `{"Statement":{}}`
	_, err = w.AssumeRole(t.Context(), ada, w.from, narrow)
	w.kind(err, fault.MalformedPolicyDocument)
	w.ok(w.DeleteRole(t.Context(), nil, "deploy"))
	if identity(w.other, keys) != nil {
		t.Error("keys of a deleted role work")
	}
}

func TestSessionToken(t *testing.T) {
	w := newWorld(t)
	k, ada := w.userKey("ada", allowAssume)
	keys, err := w.SessionToken(t.Context(), ada, w.from, 900)
	w.ok(err)
	id := identity(w.other, keys)
	if id == nil || id.Arn != ada.Arn || !w.may(id, "gamelift:ListFleets") || w.may(id, "gamelift:CreateFleet") {
		t.Fatalf("%+v", id)
	}
	_, err = w.SessionToken(t.Context(), id, w.from, 900)
	w.kind(err, fault.AccessDenied)
	_, err = w.SessionToken(t.Context(), ada, w.from, 899)
	w.kind(err, fault.InvalidRequest)
	w.ok(w.DeleteKey(t.Context(), k.ID))
	if identity(w.other, keys) != nil {
		t.Error("a session token outlives its key")
	}
	if _, err := w.KeyAccount(k.ID); err == nil {
		t.Error("a deleted key has an account")
	}
}

func TestGrantNoMoreThanOwn(t *testing.T) {
	w := newWorld(t)
	const manages = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["muster:*","iam:*",` +
		`"gamelift:List*","gamelift:Describe*"],"Resource":"*"}}`
	_, eve := w.userKey("eve", manages)
	w.person("ada", "administrator")
	_, err := w.PutRole(t.Context(), eve, RoleInput{Name: "more", Policies: []string{"GameLiftAdmin"}})
	w.kind(err, fault.AccessDenied)
	w.kind(w.Assign(t.Context(), eve, "eve", "administrator"), fault.AccessDenied)
	_, err = w.CreateKey(t.Context(), eve, KeyInput{User: "ada"})
	w.kind(err, fault.AccessDenied)
	password := "a new long password"
	_, err = w.UpdateUser(t.Context(), eve, "ada", UserPatch{Password: &password})
	w.kind(err, fault.AccessDenied)
	_, err = w.UpdateUser(t.Context(), eve, "ada", UserPatch{Invite: true})
	w.kind(err, fault.AccessDenied)
	w.kind(w.PutUserPolicy(t.Context(), eve, "eve", "more", `{"Version":"2012-10-17","Statement":{"Effect":"Allow",
		"Action":"gamelift:DeleteFleet","Resource":"*"}}`), fault.AccessDenied)
	_, _, err = w.PutPolicy(t.Context(), eve, "more", "", `{"Version":"2012-10-17","Statement":{"Effect":"Allow",
		"Action":"*","Resource":"*"}}`, false)
	w.kind(err, fault.AccessDenied)
	w.ok(w.CreateGroup(t.Context(), "admins", ""))
	w.ok(w.Assign(t.Context(), nil, "@admins", "administrator"))
	_, err = w.UpdateUser(t.Context(), eve, "eve", UserPatch{AddGroups: []string{"admins"}})
	w.kind(err, fault.AccessDenied)
	_, err = w.PutRole(t.Context(), eve, RoleInput{Name: "less", Inline: []InlineView{{"r", json.RawMessage(
		`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"gamelift:ListFleets","Resource":"*"}}`)}}})
	w.ok(err)
}

func TestRoleTrustOfPublicIssuer(t *testing.T) {
	w := newWorld(t)
	const open = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Federated":
		"token.actions.githubusercontent.com"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":
		{"token.actions.githubusercontent.com:aud":"sts.amazonaws.com"}}}}`
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "ci", Trust: json.RawMessage(open)})
	w.kind(err, fault.MalformedPolicyDocument)
	bound := strings.Replace(open, `"token.actions.githubusercontent.com:aud":"sts.amazonaws.com"`,
		`"token.actions.githubusercontent.com:sub":"repo:muster-gg/muster:ref:refs/heads/main"`, 1)
	_, err = w.PutRole(t.Context(), nil, RoleInput{Name: "ci", Trust: json.RawMessage(bound)})
	w.ok(err)
}

func TestCheckPolicy(t *testing.T) {
	w := newWorld(t)
	k, _ := w.userKey("ada", allowAssume)
	for _, c := range []struct {
		check  Check
		want   bool
		reason string
	}{
		{Check{Who: "ada", Action: "gamelift:ListFleets"}, true, "statement 1 of policy own allows it"},
		{Check{Who: k.ID, Action: "gamelift:CreateFleet"}, false, "no statement of its policies allows it"},
		{Check{Who: "role/administrator", Action: "muster:UserPut"}, true, ""},
		{Check{Who: "role/read-only", Action: "gamelift:CreateFleet"}, false, ""},
	} {
		got, err := w.CheckPolicy(c.check)
		w.ok(err)
		if got.Allowed != c.want || c.reason != "" && got.Reason != c.reason {
			t.Errorf("%+v: %+v", c.check, got)
		}
	}
	_, err := w.CheckPolicy(Check{Who: "nobody", Action: "gamelift:ListFleets"})
	w.kind(err, fault.NotFound)
	_, err = w.CheckPolicy(Check{Who: "ada", Action: "gamelift:Nothing"})
	w.kind(err, fault.InvalidRequest)
}
