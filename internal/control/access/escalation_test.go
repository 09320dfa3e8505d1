package access

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

const managesPeople = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["muster:*","iam:*",` +
	`"sts:AssumeRole"],"Resource":"*"}}`

// TestDenyHidesNoGrant: a Deny beside what is granted can be removed later, so it does not make the grant smaller.
func TestDenyHidesNoGrant(t *testing.T) {
	w := newWorld(t)
	_, eve := w.userKey("eve", managesPeople)
	_, _, err := w.PutPolicy(t.Context(), nil, "mask", "",
		`{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}`, false)
	w.ok(err)
	_, err = w.CreateUser(t.Context(), eve, UserInput{Name: "puppet", Service: true,
		Attached: []string{"MusterAdministrator", "mask"}})
	w.kind(err, fault.AccessDenied)
	_, err = w.PutRole(t.Context(), eve, RoleInput{Name: "puppet", Policies: []string{"GameLiftAdmin", "mask"}})
	w.kind(err, fault.AccessDenied)
	if _, err := w.User("puppet"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a refused user is left: %v", err)
	}
}

// TestRootKeyIsForThoseWhoMayDoAll: the action to rotate it is not enough, because the new key is shown.
func TestRootKeyIsForThoseWhoMayDoAll(t *testing.T) {
	w := newWorld(t)
	first, _, err := w.RootKey(t.Context())
	w.ok(err)
	_, eve := w.userKey("eve", managesPeople)
	_, err = w.RotateRootKey(t.Context(), eve)
	w.kind(err, fault.AccessDenied)
	if _, ok := w.Secret(first.ID, ""); !ok {
		t.Error("the root key is replaced")
	}
	_, ada := w.userKey("ada", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`)
	_, err = w.RotateRootKey(t.Context(), ada)
	w.ok(err)
}

// TestRoleSessionsEndWithTheirKey: also those that began with another role session.
func TestRoleSessionsEndWithTheirKey(t *testing.T) {
	w := newWorld(t)
	k, ada := w.userKey("ada", managesPeople)
	trust := json.RawMessage(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"AWS":"` + account +
		`"},"Action":"sts:AssumeRole"}}`)
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "chain", Trust: trust, MaxDuration: maxRoleSeconds,
		Inline: []InlineView{{"own", json.RawMessage(managesPeople)}}})
	w.ok(err)
	in := AssumeRole{RoleArn: w.roleArn("chain"), SessionName: "one"}
	first, err := w.AssumeRole(t.Context(), ada, w.from, in)
	w.ok(err)
	second, err := w.AssumeRole(t.Context(), identity(w.other, first), w.from, in)
	w.ok(err)
	if identity(w.other, second) == nil {
		t.Fatal("a session of a session does not work")
	}
	w.ok(w.DeleteKey(t.Context(), k.ID))
	if identity(w.other, first) != nil || identity(w.other, second) != nil {
		t.Error("sessions outlive the key that they began with")
	}
}

// TestSessionsWithoutKeyEnd: a chain that began with a token of an issuer has no key that could be deleted.
func TestSessionsWithoutKeyEnd(t *testing.T) {
	w := newWorld(t)
	start := w.catalog.Now()
	id := &Identity{Role: "ci"}
	ends, until := sessionEnds(id, start, time.Hour)
	if ends != start.Add(time.Hour) || until != int64(start.Add(maxRoleSeconds*time.Second)) {
		t.Errorf("%v, %v", ends, until)
	}
	id.until = time.UnixMilli(until)
	later := start.Add(maxRoleSeconds*time.Second - 10*time.Minute)
	if ends, again := sessionEnds(id, later, time.Hour); ends != later.Add(10*time.Minute) || again != until {
		t.Errorf("a chain goes on: %v, %v", ends, again)
	}
}
