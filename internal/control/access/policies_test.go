package access

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	allowList = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"gamelift:List*","Resource":"*"}}`
	// unknownKey is of a document that was written for a later release.
	unknownKey = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["gamelift:ListFleets",
		"gamelift:InventTime"],"Resource":"*"}]}`
)

func TestPutPolicy(t *testing.T) {
	w := newWorld(t)
	put := func(document string, allowUnknown bool) (*PolicyView, []string, error) {
		return w.PutPolicy(t.Context(), nil, "fleets", "reads", document, allowUnknown)
	}
	view, ignored, err := put(allowList, false)
	w.ok(err)
	if view.Version != 1 || len(ignored) != 0 || view.Description != "reads" || view.Builtin {
		t.Errorf("%+v, ignored %v", view, ignored)
	}
	_, _, err = put(unknownKey, false)
	w.kind(err, fault.MalformedPolicyDocument)
	_, _, err = put("{}", true)
	w.kind(err, fault.MalformedPolicyDocument)
	view, ignored, err = put(unknownKey, true)
	w.ok(err)
	if view.Version != 2 || len(ignored) != 1 || !strings.Contains(ignored[0], "InventTime") {
		t.Errorf("%+v, ignored %v", view, ignored)
	}
	_, _, err = w.PutPolicy(t.Context(), nil, "GameLiftAdmin", "", allowList, false)
	w.kind(err, fault.InvalidRequest)
	w.kind(w.DeletePolicy(t.Context(), "GameLiftAdmin"), fault.InvalidRequest)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "ada", Attached: []string{"fleets"}})
	w.ok(err)
	k, err := w.CreateKey(t.Context(), nil, KeyInput{User: "ada", Policies: []string{"fleets"}})
	w.ok(err)
	if id := key(w.other, k); !w.may(id, "gamelift:ListFleets") || w.may(id, "gamelift:ListAliases") {
		t.Error("the lenient policy allows something else")
	}
	view, err = w.Policy("fleets")
	w.ok(err)
	if want := []string{"user/ada", "key/" + k.ID}; !slices.Equal(view.UsedBy, want) {
		t.Errorf("used by %v, want %v", view.UsedBy, want)
	}
	w.kind(w.DeletePolicy(t.Context(), "fleets"), fault.Conflict)
	w.ok(w.DeleteUser(t.Context(), "ada"))
	w.ok(w.DeletePolicy(t.Context(), "fleets"))
	_, err = w.Policy("fleets")
	w.kind(err, fault.NotFound)
	w.kind(w.DeletePolicy(t.Context(), "fleets"), fault.NotFound)
	builtin := 0
	for _, p := range w.Policies() {
		if p.Builtin {
			builtin++
		}
	}
	if builtin != len(policy.Builtins()) {
		t.Errorf("%d built-in policies", builtin)
	}
}

// TestDocumentThatCannotBeRead: it denies everything, also with another policy that allows it.
func TestDocumentThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	d := w.current()
	set := policy.Set{d.source("good", allowList), d.source("bad", "{")}
	r := policy.Request{Action: action(t, "gamelift:ListFleets"), Resource: "*"}
	if got := set.Evaluate(&r); got.Allowed || !got.Explicit || got.Policy != "bad" {
		t.Errorf("%+v", got)
	}
}

// TestCheckPolicyExplains: the statement that decided, for all who can be named.
func TestCheckPolicyExplains(t *testing.T) {
	w := newWorld(t)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "ada"})
	w.ok(err)
	w.ok(w.PutUserPolicy(t.Context(), nil, "ada", "own", `{"Version":"2012-10-17","Statement":[
		{"Sid":"Office","Effect":"Allow","Action":"gamelift:*","Resource":"*","Condition":
			{"IpAddress":{"aws:SourceIp":"192.0.2.0/24"}}},
		{"Effect":"Deny","Action":"gamelift:DeleteFleet","Resource":"*"}]}`))
	k, err := w.CreateKey(t.Context(), nil, KeyInput{User: "ada", Document: json.RawMessage(allowList)})
	w.ok(err)
	office := map[string]string{"aws:SourceIp": "192.0.2.9"}
	for _, c := range []struct {
		check             Check
		allowed, explicit bool
		reason            string
	}{
		{Check{Who: "ada", Action: "gamelift:ListFleets", Context: office}, true, false,
			"statement Office of policy own allows it"},
		{Check{Who: "ada", Action: "gamelift:ListFleets"}, false, false, "no statement of its policies allows it"},
		{Check{Who: "ada", Action: "gamelift:DeleteFleet", Resource: fleetArn, Context: office}, false, true,
			"statement 2 of policy own denies it"},
		{Check{Who: k.ID, Action: "gamelift:CreateFleet", Context: office}, false, false,
			"no statement of its policies that narrow the key allows it"},
		{Check{Who: root.ID, Action: "muster:SecretRotate"}, true, false, "the root key may do everything"},
	} {
		got, err := w.CheckPolicy(c.check)
		w.ok(err)
		if got.Allowed != c.allowed || got.Explicit != c.explicit || got.Reason != c.reason {
			t.Errorf("%+v: %+v", c.check, got)
		}
	}
	disabled := true
	_, err = w.UpdateUser(t.Context(), nil, "ada", UserPatch{Disabled: &disabled})
	w.ok(err)
	_, err = w.CheckPolicy(Check{Who: k.ID, Action: "gamelift:ListFleets"})
	w.kind(err, fault.InvalidRequest)
	_, err = w.CheckPolicy(Check{Who: "role/none", Action: "gamelift:ListFleets"})
	w.kind(err, fault.NotFound)
}
