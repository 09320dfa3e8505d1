package access

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestGrantsByTrust: who makes a user, or has a key of it, has the roles that trust a user of that name.
func TestGrantsByTrust(t *testing.T) {
	w := newWorld(t)
	_, eve := w.userKey("eve", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["muster:*","iam:*"],
		"Resource":"*"}}`)
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "deploy", Policies: []string{"GameLiftAdmin"},
		Trust: json.RawMessage(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sts:AssumeRole",
			"Principal":{"AWS":"arn:aws:iam::111122223333:user/zoe"}}}`)})
	w.ok(err)
	_, err = w.CreateUser(t.Context(), eve, UserInput{Name: "zoe"})
	w.kind(err, fault.AccessDenied)
	_, err = w.CreateKey(t.Context(), eve, KeyInput{Service: "zoe"})
	w.kind(err, fault.AccessDenied)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "zoe"})
	w.ok(err)
	_, err = w.CreateKey(t.Context(), eve, KeyInput{User: "zoe"})
	w.kind(err, fault.AccessDenied)
	_, err = w.CreateUser(t.Context(), eve, UserInput{Name: "yan"})
	w.ok(err)
	k, err := w.CreateKey(t.Context(), eve, KeyInput{User: "yan"})
	w.ok(err)
	_, err = w.RotateRootKey(t.Context(), eve)
	w.kind(err, fault.AccessDenied)
	w.ok(w.Assign(t.Context(), nil, "yan", "administrator"))
	_, err = w.UpdateKey(t.Context(), eve, k.ID, KeyPatch{Status: text(Active)})
	w.kind(err, fault.AccessDenied)
	_, err = w.UpdateKey(t.Context(), eve, k.ID, KeyPatch{Status: text(Inactive)})
	w.ok(err)
	disabled, enabled := true, false
	_, err = w.UpdateUser(t.Context(), eve, "yan", UserPatch{Disabled: &disabled})
	w.ok(err)
	_, err = w.UpdateUser(t.Context(), eve, "yan", UserPatch{Disabled: &enabled})
	w.kind(err, fault.AccessDenied)
}

// TestDenialsStay: who may not do something cannot take away what denies it.
func TestDenialsStay(t *testing.T) {
	w := newWorld(t)
	const deny = `{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"gamelift:DeleteFleet","Resource":"*"}}`
	const harmless = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"muster:UserRead","Resource":"*"}}`
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "careful",
		Inline: []InlineView{{"no", json.RawMessage(deny)}}})
	w.ok(err)
	_, eve := w.userKey("eve", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["muster:*","iam:*"],
		"Resource":"*"}}`)
	w.ok(w.Assign(t.Context(), nil, "eve", "careful"))
	w.ok(w.PutUserPolicy(t.Context(), nil, "eve", "no", deny))
	for name, err := range map[string]error{
		"unassign":        w.Unassign(t.Context(), eve, "eve", "careful"),
		"delete the role": w.DeleteRole(t.Context(), eve, "careful"),
		"empty the role":  errOf(w.PutRole(t.Context(), eve, RoleInput{Name: "careful"})),
		"delete":          w.DeleteUserPolicy(t.Context(), eve, "eve", "no"),
		"replace":         w.PutUserPolicy(t.Context(), eve, "eve", "no", harmless),
	} {
		if !fault.Is(err, fault.AccessDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTrailOfSignIns: consent, and calls with wrong signatures.
func TestTrailOfSignIns(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	k, _ := w.userKey("bob", allowList)
	w.Consented("ApproveDevice", p, "aws-cli", true, w.from)
	w.Consented("RefuseDevice", p, "aws-cli", false, w.from)
	wrong := fault.New(fault.InvalidSignature, "wrong")
	w.Refused(k.ID, w.from, "gamelift:ListFleets", wrong)
	w.Refused("AKIAUNKNOWN", w.from, "gamelift:CreateFleet", wrong)
	w.Refused(k.ID, w.from, "gamelift:DeleteFleet", fault.New(fault.Throttling, "later"))
	events := w.events()
	for event, want := range map[string]bool{"ApproveDevice": true, "RefuseDevice AccessDeniedException": true,
		"ListFleets " + string(fault.InvalidSignature): true, "CreateFleet " + string(fault.InvalidSignature): false,
		"DeleteFleet " + string(fault.Throttling): false} {
		if slices.Contains(events, event) != want {
			t.Errorf("%s in %v", event, events)
		}
	}
}

// TestGuessingFromOneSubnet: an IPv6 network counts as one address.
func TestGuessingFromOneSubnet(t *testing.T) {
	w := newWorld(t)
	w.person("ada")
	from := w.from
	for i := range addressFailures {
		from.Address = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)})
		w.delays.failed("user"+itoa(i), from.Address, w.clock.Now())
	}
	from.Address = netip.MustParseAddr("2001:db8::ffff")
	if _, ok := errors.AsType[*WaitError](errOf(w.CheckPassword(t.Context(), "ada", goodPassword, from))); !ok {
		t.Error("another address of the network does not wait")
	}
	from.Address = netip.MustParseAddr("2001:db8:0:1::1")
	w.ok(errOf(w.CheckPassword(t.Context(), "ada", goodPassword, from)))
}
