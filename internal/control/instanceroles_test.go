package control

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	gameRole     = "arn:aws:iam::111122223333:role/game"
	trustsFleets = `{"Version":"2012-10-17","Statement":{"Effect":"Allow",` +
		`"Principal":{"Service":"gamelift.amazonaws.com"},"Action":"sts:AssumeRole"}}`
)

// role stores a role with the rights of GameLiftReadOnly.
func (w *world) role(name, trust string) {
	w.t.Helper()
	_, err := w.PutRole(w.ctx, nil, access.RoleInput{Name: name, Policies: []string{"GameLiftReadOnly"},
		Trust: json.RawMessage(trust)})
	if err != nil {
		w.t.Fatal(err)
	}
}

// identity returns the identity that keys authenticate; nil: none.
func (w *world) identity(id, secret, token string) *access.Identity {
	c, ok := w.Secret(id, token)
	if !ok || c.Secret != secret {
		return nil
	}
	return c.Identity.(*access.Identity)
}

func (w *world) permits(i *access.Identity, name string) bool {
	action, ok := policy.ActionOf(name)
	return ok && w.Permits(i, access.Origin{}, action)
}

// TestInstanceRole: the machine of an instance, and no other one, gets keys with the rights of the fleet's role, until
// they expire or the instance has ended.
func TestInstanceRole(t *testing.T) {
	w := newWorld(t, withObjects(t))
	w.role("game", trustsFleets)
	b, other := w.box("box", 1), w.box("other", 2)
	build, _ := w.readyBuild(t)
	id := w.managedFleet(build, object{"InstanceRoleArn": gameRole,
		"InstanceRoleCredentialsProvider": "SHARED_CREDENTIAL_FILE"})
	w.await("an instance", func() bool { return len(b.newest().Instances)+len(other.newest().Instances) == 1 })
	if len(b.newest().Instances) == 0 {
		b, other = other, b
	}
	in := b.instance()
	if in.Role != gameRole || !in.RoleFile {
		t.Errorf("the instance has the role %q, file %t", in.Role, in.RoleFile)
	}
	request := &protocol.TokenRequest{Instance: in.ID, RoleKeys: true}
	if got := other.Token(w.ctx, request); got.RoleKeys != nil || got.Error == "" {
		t.Errorf("another machine got %+v", got)
	}
	if got := b.Token(w.ctx, &protocol.TokenRequest{Instance: in.ID}); got.RoleKeys != nil || got.Token == "" {
		t.Errorf("without a request for keys: %+v", got)
	}
	got := b.Token(w.ctx, request)
	k := got.RoleKeys
	if k == nil || got.Token == "" {
		t.Fatalf("the answer is %+v", got)
	}
	if left := time.UnixMilli(k.Expires).Sub(w.clock.Now()); left != time.Hour {
		t.Errorf("the keys expire in %s", left)
	}
	who := func() *access.Identity { return w.identity(k.AccessKeyID, k.SecretAccessKey, k.SessionToken) }
	if i := who(); i == nil || i.Arn != "arn:aws:sts::111122223333:assumed-role/game/"+in.ID ||
		!w.permits(i, "gamelift:ListFleets") || w.permits(i, "gamelift:CreateFleet") {
		t.Errorf("the keys are of %+v", i)
	}
	w.sdkKeys(id, in.ID)
	w.must("DeleteFleet", object{"FleetId": id})
	w.await("the instance ends", func() bool { return b.instance().Ends })
	if who() == nil {
		t.Error("the keys of an instance whose game servers still end do not work")
	}
	b.stage(in.ID, protocol.Ended)
	w.await("the instance has ended", func() bool { return who() == nil })
}

// sdkKeys checks the keys that a game server, or GameLift's agent, gets by its socket.
func (w *world) sdkKeys(fleetID, instance string) {
	w.t.Helper()
	room := fleet.RoomID{Fleet: fleet.ID(fleetID), Location: testRegion}
	k, err := w.computeRole(room, instance, gameRole, "session")
	if err != nil || k == nil || w.identity(k.AccessKeyID, k.SecretAccessKey, k.SessionToken) == nil ||
		k.AssumedRoleUserArn != "arn:aws:sts::111122223333:assumed-role/game/session" {
		w.t.Errorf("a game server gets %+v, %v", k, err)
	}
	if k, err := w.computeRole(room, instance, gameRole+"2", ""); !fault.Is(err, fault.AccessDenied) {
		w.t.Errorf("with another role: %+v, %v", k, err)
	}
	elsewhere := fleet.RoomID{Fleet: "fleet-x", Location: testRegion}
	if k, err := w.computeRole(elsewhere, instance, gameRole, ""); k != nil || err != nil {
		w.t.Errorf("a compute of another fleet with the name of an instance gets %+v, %v", k, err)
	}
	if k, err := w.computeRole(room, "box", "", ""); k != nil || err != nil {
		w.t.Errorf("a compute that is no instance gets %+v, %v", k, err)
	}
}

// TestInstanceRoleExpiry: keys expire, and end with their role.
func TestInstanceRoleExpiry(t *testing.T) {
	w := newWorld(t, withObjects(t))
	w.role("game", trustsFleets)
	b := w.box("box", 1)
	build, _ := w.readyBuild(t)
	id := w.managedFleet(build, object{"InstanceRoleArn": gameRole})
	in := b.instance()
	if in.RoleFile {
		t.Error("the instance has a file")
	}
	request := &protocol.TokenRequest{Instance: in.ID, RoleKeys: true}
	k := b.Token(w.ctx, request).RoleKeys
	i := w.identity(k.AccessKeyID, k.SecretAccessKey, k.SessionToken)
	if i == nil || !i.Expires.Equal(time.UnixMilli(k.Expires)) {
		t.Fatalf("the keys are of %+v, and expire at %d", i, k.Expires)
	}
	if err := w.DeleteRole(w.ctx, nil, "game"); err != nil {
		t.Fatal(err)
	}
	if w.identity(k.AccessKeyID, k.SecretAccessKey, k.SessionToken) != nil {
		t.Error("keys of a deleted role work")
	}
	if got := b.Token(w.ctx, request); got.RoleKeys != nil || !strings.Contains(got.Error, "names no role") {
		t.Errorf("after the deletion of the role: %+v", got)
	}
	f, _ := w.Catalog().Fleet(id)
	if role := w.wantedRole(f); role != "" {
		t.Errorf("machines still get the role %s", role)
	}
}

// TestInstanceRoleRefused: a fleet has a role only if the region has it and it trusts GameLift.
func TestInstanceRoleRefused(t *testing.T) {
	w := newWorld(t, withObjects(t))
	w.role("closed", "")
	w.role("people", strings.Replace(trustsFleets, `{"Service":"gamelift.amazonaws.com"}`, `"*"`, 1))
	build, _ := w.readyBuild(t)
	b := w.box("box", 1)
	for want, members := range map[string]object{
		"InstanceRoleArn names no role":   {"InstanceRoleArn": gameRole},
		"role closed does not trust":      {"InstanceRoleArn": "arn:aws:iam::111122223333:role/closed"},
		"role people does not trust":      {"InstanceRoleArn": "arn:aws:iam::111122223333:role/people"},
		"must have the form arn:aws:iam:": {"InstanceRoleArn": "arn:aws:iam::999999999999:role/game"},
		"InstanceRoleCredentialsProvider": {"InstanceRoleCredentialsProvider": "SHARED_CREDENTIAL_FILE"},
	} {
		in := object{"Name": "f", "BuildId": build, "EC2InstanceType": "c5.large",
			"RuntimeConfiguration": object{"ServerProcesses": []object{{"LaunchPath": "/local/game/server",
				"ConcurrentExecutions": 1}}}}
		for name, value := range members {
			in[name] = value
		}
		_, err := w.call("CreateFleet", in)
		if !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", members, err, want)
		}
	}
	w.managedFleet(build, nil)
	in := b.instance()
	got := b.Token(w.ctx, &protocol.TokenRequest{Instance: in.ID, RoleKeys: true})
	if in.Role != "" || got.RoleKeys != nil || !strings.Contains(got.Error, "has no role") {
		t.Errorf("an instance without a role is %+v, and gets %+v", in, got)
	}
}
