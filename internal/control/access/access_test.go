package access

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func eventOf(t testing.TB, line []byte) string {
	t.Helper()
	var r struct{ EventName, ErrorCode string }
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(r.EventName+" "+r.ErrorCode, " ")
}

func TestRootKey(t *testing.T) {
	w := newWorld(t)
	first, created, err := w.RootKey(t.Context())
	w.ok(err)
	again, createdAgain, err := w.other.RootKey(t.Context())
	w.ok(err)
	if !created || createdAgain || first != again {
		t.Fatalf("%v %v, %v %v", first.ID, created, again.ID, createdAgain)
	}
	c, ok := w.Secret(first.ID, "")
	id := w.IdentityOf(callerWith(c.Identity))
	if !ok || c.Secret != first.Secret || !id.Root || id.Arn != "arn:aws:iam::111122223333:root" ||
		id.UserID != account {
		t.Fatalf("%v %+v", ok, id)
	}
	if !w.may(id, "muster:SecretRotate") || !w.may(id, "gamelift:CreateFleet") {
		t.Error("the root key is denied something")
	}
	next, err := w.RotateRootKey(t.Context(), nil)
	w.ok(err)
	if _, ok := w.other.Secret(first.ID, ""); ok {
		t.Error("the old root key works")
	}
	if key(w.other, next) == nil {
		t.Error("the new root key does not work")
	}
	w.kind(w.DeleteKey(t.Context(), next.ID), fault.InvalidRequest)
	inactive := Inactive
	_, err = w.UpdateKey(t.Context(), nil, next.ID, KeyPatch{Status: &inactive})
	w.kind(err, fault.InvalidRequest)
}

func TestRecovery(t *testing.T) {
	w := newWorld(t)
	proof := w.cfg.Secrets.Proof(w.clock.Now())
	w.ok(w.CheckRecovery(proof))
	w.kind(w.CheckRecovery(proof), fault.AccessDenied) // used
	w.kind(w.CheckRecovery(proof[:len(proof)-1]+"0"), fault.AccessDenied)
	w.kind(w.CheckRecovery(""), fault.AccessDenied)
	late := w.cfg.Secrets.Proof(w.clock.Now())
	w.clock.Advance(2 * time.Minute)
	w.kind(w.CheckRecovery(late), fault.AccessDenied)
}

// TestServiceKey limits a key to the game sessions of one fleet.
func TestServiceKey(t *testing.T) {
	w := newWorld(t)
	const fleet = "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-1"
	k, err := w.CreateKey(t.Context(), nil, KeyInput{Service: "backend", Document: json.RawMessage(`{
		"Version": "2012-10-17", "Statement": {"Sid": "Sessions", "Effect": "Allow",
		"Action": ["gamelift:CreateGameSession", "gamelift:DescribeGameSessions"], "Resource": "` + fleet + `"}}`)})
	w.ok(err)
	id := key(w.other, k)
	if id == nil || id.Arn != "arn:aws:iam::111122223333:user/backend" || id.User != "backend" {
		t.Fatalf("%+v", id)
	}
	for _, c := range []struct {
		action, resource string
		want             bool
	}{
		{"gamelift:CreateGameSession", fleet, true},
		{"gamelift:DescribeGameSessions", fleet, true},
		{"gamelift:CreateGameSession", fleet + "2", false},
		{"gamelift:CreateGameSession", "*", false},
		{"gamelift:ListFleets", "*", false},
		{"muster:BackupCreate", "*", false},
	} {
		if got := w.may(id, c.action, c.resource); got != c.want {
			t.Errorf("%s on %s: %v", c.action, c.resource, got)
		}
	}
	if w.Allow(id, w.from, action(t, "gamelift:CreateGameSession"), fleet, fleet+"2") == nil {
		t.Error("allowed on both, of which one is not allowed")
	}
	err = w.Allow(id, w.from, action(t, "gamelift:ListFleets"))
	want := "User: arn:aws:iam::111122223333:user/backend is not authorized to perform: gamelift:ListFleets on " +
		"resource: * because no identity-based policy allows the gamelift:ListFleets action"
	if f := fault.Of(err); f == nil || f.Kind != fault.AccessDenied || f.Message != want {
		t.Errorf("got %v", err)
	}
	if events := w.events(); !slices.Contains(events, "ListFleets AccessDeniedException") {
		t.Errorf("recorded %v", events)
	}
	used, err := w.Key(t.Context(), k.ID)
	w.ok(err)
	if used.LastUsed == nil && len(w.other.uses.stored) == 0 {
		t.Error("no last use")
	}
}

func TestKeyLife(t *testing.T) {
	w := newWorld(t)
	_, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada"})
	w.ok(err)
	w.ok(w.Assign(t.Context(), nil, "ada", "administrator"))
	expires := w.clock.Now().Add(24 * time.Hour)
	k, err := w.CreateKey(t.Context(), nil, KeyInput{User: "ada", Policies: []string{"GameLiftReadOnly"},
		Expires: &expires})
	w.ok(err)
	id := key(w.Access, k)
	if !w.may(id, "gamelift:ListFleets") || w.may(id, "gamelift:CreateFleet") {
		t.Error("the key is not narrowed to reading")
	}
	second, err := w.CreateKey(t.Context(), nil, KeyInput{User: "ada"})
	w.ok(err)
	_, err = w.CreateKey(t.Context(), nil, KeyInput{User: "ada"})
	w.kind(err, fault.LimitExceeded)
	inactive := Inactive
	_, err = w.UpdateKey(t.Context(), nil, second.ID, KeyPatch{Status: &inactive})
	w.ok(err)
	if key(w.other, second) != nil {
		t.Error("an inactive key works")
	}
	rotated, err := w.RotateKey(t.Context(), nil, k.ID)
	w.ok(err)
	if key(w.other, k) != nil || key(w.other, rotated) == nil || rotated.Policies[0] != "GameLiftReadOnly" {
		t.Errorf("rotated %+v", rotated)
	}
	w.clock.Advance(25 * time.Hour)
	if key(w.Access, rotated) != nil {
		t.Error("an expired key works")
	}
	w.ok(w.DeleteUser(t.Context(), "ada"))
	if len(w.Keys(t.Context(), "")) != 0 {
		t.Error("keys outlive their user")
	}
}

// TestRoleKeys follows the keys of a signed-in person until each of the ends that they can have.
func TestRoleKeys(t *testing.T) {
	disabled := true
	for name, end := range map[string]func(w *world, p *Person){
		"session ended": func(w *world, p *Person) { w.ok(w.EndSignIn(t.Context(), p.SignIn.ID, "test", w.from)) },
		"user disabled": func(w *world, p *Person) {
			_, err := w.UpdateUser(t.Context(), nil, p.User.Name, UserPatch{Disabled: &disabled})
			w.ok(err)
		},
		"user deleted": func(w *world, p *Person) { w.ok(w.DeleteUser(t.Context(), p.User.Name)) },
		"user replaced": func(w *world, p *Person) {
			w.ok(w.DeleteUser(t.Context(), p.User.Name))
			w.person(p.User.Name, "developer")
		},
		"signed out": func(w *world, p *Person) {
			_, err := w.EndSignIns(t.Context(), p.User.Name, w.from)
			w.ok(err)
		},
		"unassigned":  func(w *world, p *Person) { w.ok(w.Unassign(t.Context(), nil, p.User.Name, "developer")) },
		"time passed": func(w *world, _ *Person) { w.clock.Advance(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.person("ada", "developer")
			keys, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
			w.ok(err)
			id := identity(w.other, keys)
			if id == nil ||
				!strings.HasPrefix(id.Arn, "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_developer_") ||
				!strings.HasSuffix(id.Arn, "/ada") || !strings.HasSuffix(id.UserID, ":ada") {
				t.Fatalf("%+v", id)
			}
			if !w.may(id, "gamelift:ListFleets") || w.may(id, "muster:UserPut") {
				t.Error("wrong rights")
			}
			if again := identity(w.other, keys); again != id {
				t.Error("the identity is not remembered")
			}
			end(w, p)
			c, ok := w.other.Secret(keys.AccessKeyID, keys.SessionToken)
			if ok && w.clock.Now().Before(c.Expires) {
				t.Error("the keys still work")
			}
		})
	}
}

func TestRoleKeysRefused(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	_, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
	w.is(err, ErrNotAssigned)
	_, err = w.RoleKeys(t.Context(), p, "nothing", 0, w.from)
	w.is(err, ErrNotAssigned)
	w.ok(w.CreateGroup(t.Context(), "team", ""))
	w.ok(w.Assign(t.Context(), nil, "@team", "developer"))
	_, err = w.UpdateUser(t.Context(), nil, "ada", UserPatch{AddGroups: []string{"team"}})
	w.ok(err)
	keys, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
	w.ok(err)
	for name, forged := range map[string]Temporary{
		"other id": {AccessKeyID: "ASIA" + randomID(), SessionToken: keys.SessionToken},
		"broken": {AccessKeyID: keys.AccessKeyID,
			SessionToken: keys.SessionToken[:40] + "AAAA" + keys.SessionToken[44:]},
		"no base64":     {AccessKeyID: keys.AccessKeyID, SessionToken: "%"},
		"empty":         {AccessKeyID: keys.AccessKeyID, SessionToken: "AAAA"},
		"without token": {AccessKeyID: keys.AccessKeyID},
	} {
		if _, ok := w.other.Secret(forged.AccessKeyID, forged.SessionToken); ok {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestRefresh refreshes in parallel on two nodes, and replays.
func TestRefresh(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada", "developer")
	first := w.Tokens(p.SignIn)
	if who, err := w.other.Bearer(first.Access); err != nil || who.User.Name != "ada" {
		t.Fatal(err)
	}
	w.clock.Advance(50 * time.Minute)
	var wait sync.WaitGroup
	results := make([]*Tokens, 20)
	for i := range results {
		wait.Go(func() {
			node := []*Access{w.Access, w.other}[i%2]
			if tokens, _, err := node.Refresh(t.Context(), first.Refresh, nil, w.from); err == nil {
				results[i] = tokens
			}
		})
	}
	wait.Wait()
	for _, r := range results {
		if r == nil || *r != *results[0] {
			t.Fatalf("parallel refreshes differ: %v", r)
		}
	}
	if *results[0] == first {
		t.Fatal("the refresh token stays the same")
	}
	if _, err := w.Bearer(first.Access); err != nil {
		t.Error("the old access token ended early:", err)
	}
	w.clock.Advance(61 * time.Second)
	_, _, err := w.Refresh(t.Context(), first.Refresh, nil, w.from)
	w.is(err, ErrInvalidGrant)
	_, err = w.other.Bearer(results[0].Access)
	w.is(err, ErrInvalidToken) // the replay ended the session
	if events := w.events(); !slices.Contains(events, "RefreshTokenReplayed AccessDeniedException") {
		t.Errorf("recorded %v", events)
	}
}

func TestTokensEnd(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada", "developer")
	tokens, cookie := w.Tokens(p.SignIn), w.Cookie(p.SignIn)
	if who, err := w.other.FromCookie(cookie); err != nil || who.SignIn.ID != p.SignIn.ID {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"cookie": cookie, "refresh": tokens.Refresh, "cut": tokens.Access[:50], "empty": "",
		"changed": tokens.Access[:20] + "A" + tokens.Access[21:],
	} {
		if _, err := w.Bearer(token); err == nil && token != tokens.Access {
			t.Errorf("%s is accepted as an access token", name)
		}
	}
	w.clock.Advance(time.Hour)
	_, err := w.Bearer(tokens.Access)
	w.is(err, ErrInvalidToken)
	_, _, err = w.Refresh(t.Context(), tokens.Refresh, []byte("key"), w.from)
	w.is(err, ErrInvalidGrant) // bound to no key
	w.clock.Advance(8 * time.Hour)
	_, _, err = w.Refresh(t.Context(), tokens.Refresh, nil, w.from)
	w.is(err, ErrInvalidGrant)
	disabled := true
	other := w.signIn("ada")
	refresh := w.Tokens(other.SignIn).Refresh
	_, err = w.UpdateUser(t.Context(), nil, "ada", UserPatch{Disabled: &disabled})
	w.ok(err)
	if _, _, err = w.Refresh(t.Context(), refresh, nil, w.from); err == nil {
		t.Error("a disabled user refreshes")
	}
}

func TestRotateSecret(t *testing.T) {
	w := newWorld(t)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	p := w.person("ada", "developer")
	tokens := w.Tokens(p.SignIn)
	keys, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
	w.ok(err)
	id, secret := w.SealClient(Client{Name: "cli", Expires: w.clock.Now().Add(90 * 24 * time.Hour)})
	before := w.catalog.Catalog()
	view, err := w.RotateSecret(t.Context())
	w.ok(err)
	if len(view.Epochs) != 2 || view.Epochs[0].Ends == nil || view.Epochs[1].Ends != nil {
		t.Fatalf("%+v", view)
	}
	if c, ok := w.other.Secret(root.ID, ""); !ok || c.Secret != root.Secret {
		t.Error("the root key stopped")
	}
	after, _ := w.catalog.Catalog().AccessKey(root.ID)
	old, _ := before.AccessKey(root.ID)
	if string(after.SealedSecret) == string(old.SealedSecret) {
		t.Error("the root key is not sealed again")
	}
	if identity(w.other, keys) == nil {
		t.Error("keys of the old epoch stopped")
	}
	if _, err := w.OpenClient(id, secret); err != nil {
		t.Error("a client of the old epoch:", err)
	}
	if _, err := w.Bearer(tokens.Access); err != nil {
		t.Error("a token of the old epoch:", err)
	}
	w.clock.Advance(37 * time.Hour)
	if _, err := w.OpenClient(id, secret); err == nil {
		t.Error("a client of an ended epoch is accepted")
	}
	if c, ok := w.Secret(root.ID, ""); !ok || c.Secret != root.Secret {
		t.Error("the root key stopped with the epoch")
	}
	if _, err = w.RotateSecret(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, ok := w.other.Secret(root.ID, ""); !ok || c.Secret != root.Secret {
		t.Error("the root key stopped at the second rotation")
	}
}

func TestClients(t *testing.T) {
	w := newWorld(t)
	c := Client{Name: "cli", Grants: []string{"refresh_token"}, Expires: w.clock.Now().Add(time.Hour).UTC()}
	id, secret := w.SealClient(c)
	got, err := w.other.OpenClient(id, secret)
	w.ok(err)
	if got.Name != c.Name || !got.Expires.Equal(c.Expires) {
		t.Errorf("%+v", got)
	}
	for _, wrong := range [][2]string{{id, secret[:10]}, {id, ""}, {"x", secret}, {id[:30], secret},
		{id, secret + "A"}} {
		if _, err := w.OpenClient(wrong[0], wrong[1]); err == nil {
			t.Errorf("accepted %v", wrong)
		}
	}
	w.clock.Advance(time.Hour)
	_, err = w.OpenClient(id, secret)
	w.is(err, ErrUnknownClient)
}
