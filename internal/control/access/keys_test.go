package access

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestCreateKeyRefused(t *testing.T) {
	w := newWorld(t)
	_, ada := w.userKey("ada", allowAssume)
	past, later := w.clock.Now(), w.clock.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		by   *Identity
		in   KeyInput
		want fault.Kind
	}{
		"two owners":            {nil, KeyInput{User: "ada", Service: "robot"}, fault.InvalidRequest},
		"no owner":              {nil, KeyInput{}, fault.InvalidRequest},
		"unknown user":          {nil, KeyInput{User: "nobody"}, fault.NotFound},
		"a person as a service": {nil, KeyInput{Service: "ada"}, fault.Conflict},
		"expired":               {nil, KeyInput{Service: "robot", Expires: &past}, fault.InvalidRequest},
		"unknown policy":        {nil, KeyInput{Service: "robot", Policies: []string{"none"}}, fault.NotFound},
		"bad document": {nil, KeyInput{Service: "robot", Document: json.RawMessage("{}")},
			fault.MalformedPolicyDocument},
		"more than its own": {ada, KeyInput{Service: "robot", Policies: []string{"GameLiftAdmin"}},
			fault.AccessDenied},
		"a document with more than its own": {ada, KeyInput{Service: "robot", Document: json.RawMessage(
			`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"muster:*","Resource":"*"}}`)},
			fault.AccessDenied},
		"bad name": {nil, KeyInput{Service: "@robot"}, fault.InvalidRequest},
	} {
		if _, err := w.CreateKey(t.Context(), c.by, c.in); !fault.Is(err, c.want) {
			t.Errorf("%s: got %v instead of %s", name, err, c.want)
		}
		if _, ok := w.state().User("robot"); ok {
			t.Fatalf("%s: the service user was created", name)
		}
	}
	k, err := w.CreateKey(t.Context(), ada, KeyInput{Name: "mine", Document: json.RawMessage("null"), Expires: &later})
	w.ok(err)
	if id := key(w.other, k); id == nil || id.User != "ada" || k.Document != nil || !k.Expires.Equal(later) {
		t.Errorf("%+v of %+v", id, k)
	}
	_, err = w.CreateKey(t.Context(), nil, KeyInput{Service: "robot", Document: json.RawMessage("null")})
	w.ok(err)
	_, err = w.CreateKey(t.Context(), nil, KeyInput{Service: "robot", Document: json.RawMessage(allowList)})
	w.ok(err) // of a service user that exists, its document narrows the key
	all, own, root := w.Keys(t.Context(), ""), w.Keys(t.Context(), "robot"), w.RootKeys(t.Context())
	if len(all) != 4 || len(own) != 2 || len(root) != 0 || own[0].Document == nil && own[1].Document == nil {
		t.Errorf("%d keys, %+v, %+v", len(all), own, root)
	}
}

func TestUpdateKey(t *testing.T) {
	w := newWorld(t)
	k, ada := w.userKey("ada", allowAssume)
	ends := w.clock.Now().Add(time.Hour)
	view, err := w.UpdateKey(t.Context(), nil, k.ID, KeyPatch{Expires: &ends})
	w.ok(err)
	if view.Status != Active || !view.Expires.Equal(ends) {
		t.Errorf("%+v", view)
	}
	session, err := w.SessionToken(t.Context(), key(w.Access, k), w.from, 0)
	w.ok(err)
	if !session.Expires.Equal(ends) {
		t.Errorf("a session token ends at %v, its key at %v", session.Expires, ends)
	}
	early, err := w.SessionToken(t.Context(), ada, w.from, 0) // before the key had an end
	w.ok(err)
	if id := identity(w.other, early); id == nil || !id.Expires.Equal(ends) {
		t.Errorf("%+v", id)
	}
	view, err = w.UpdateKey(t.Context(), nil, k.ID, KeyPatch{Status: text(Inactive)})
	w.ok(err)
	if view.Status != Inactive || view.Expires == nil || identity(w.other, session) != nil {
		t.Errorf("%+v", view)
	}
	w.race(func(catalog.Command) bool { // the other node switches it on while this one sets no end
		w.ok(errOf(w.other.UpdateKey(t.Context(), nil, k.ID, KeyPatch{Status: text(Active)})))
		return true
	})
	view, err = w.UpdateKey(t.Context(), nil, k.ID, KeyPatch{Expires: new(time.Time)})
	w.ok(err)
	if view.Status != Active || view.Expires != nil {
		t.Errorf("%+v", view)
	}
	_, err = w.UpdateKey(t.Context(), nil, k.ID, KeyPatch{Status: text("Off")})
	w.kind(err, fault.InvalidRequest)
	_, err = w.UpdateKey(t.Context(), nil, "AKIANONE", KeyPatch{})
	w.kind(err, fault.NotFound)
	w.kind(w.DeleteKey(t.Context(), "AKIANONE"), fault.NotFound)
	_, err = w.Key(t.Context(), "AKIANONE")
	w.kind(err, fault.NotFound)
	_, err = w.RotateKey(t.Context(), nil, "AKIANONE")
	w.kind(err, fault.NotFound)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	_, err = w.UpdateKey(t.Context(), nil, root.ID, KeyPatch{Expires: &ends})
	w.kind(err, fault.InvalidRequest)
	if keys := w.RootKeys(t.Context()); len(keys) != 1 || keys[0].ID != root.ID || !w.IsRootKey(root.ID) ||
		w.IsRootKey(k.ID) {
		t.Errorf("%+v", keys)
	}
}

// TestRotateKeyOfTheRoot: who may rotate keys is not root.
func TestRotateKeyOfTheRoot(t *testing.T) {
	w := newWorld(t)
	_, eve := w.userKey("eve", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	_, err = w.RotateKey(t.Context(), eve, root.ID)
	w.kind(err, fault.AccessDenied)
	next, err := w.RotateKey(t.Context(), nil, root.ID)
	w.ok(err)
	if id := key(w.other, next); id == nil || !id.Root || !w.IsRootKey(next.ID) {
		t.Errorf("%+v", id)
	}
}

func TestRotateExpiredKey(t *testing.T) {
	w := newWorld(t)
	ends := w.clock.Now().Add(time.Hour)
	k, err := w.CreateKey(t.Context(), nil, KeyInput{Service: "robot", Expires: &ends})
	w.ok(err)
	w.clock.Advance(time.Hour)
	_, err = w.RotateKey(t.Context(), nil, k.ID)
	w.kind(err, fault.InvalidRequest)
	if _, err := w.Key(t.Context(), k.ID); err != nil {
		t.Error("the key was lost:", err)
	}
}

// TestRotateAtOnce rotates a key many times on two nodes: one key is left after each round.
func TestRotateAtOnce(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.RootKey(t.Context())
	w.ok(err)
	robot, err := w.CreateKey(t.Context(), nil, KeyInput{Service: "robot", Name: "server"})
	w.ok(err)
	for range 20 {
		var wait sync.WaitGroup
		var mu sync.Mutex
		var made []*KeyCreated
		for i := range 4 {
			node := []*Access{w.Access, w.other}[i%2]
			rotate := func(ctx context.Context) (*KeyCreated, error) { return node.RotateRootKey(ctx, nil) }
			if i > 1 {
				rotate = func(ctx context.Context) (*KeyCreated, error) { return node.RotateKey(ctx, nil, robot.ID) }
			}
			wait.Go(func() {
				k, err := rotate(t.Context())
				if err != nil {
					if !fault.Is(err, fault.NotFound) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				made = append(made, k)
			})
		}
		wait.Wait()
		root, own := w.RootKeys(t.Context()), w.Keys(t.Context(), "robot")
		if len(root) != 1 || len(own) != 1 || own[0].Name != "server" {
			t.Fatalf("%d root keys, %+v", len(root), own)
		}
		i := slices.IndexFunc(made, func(k *KeyCreated) bool { return k.ID == own[0].ID })
		if i < 0 || key(w.other, made[i]) == nil {
			t.Fatal("the key that is left was shown to nobody")
		}
		robot = made[i]
	}
}

// TestRotationThatFails leaves the old key.
func TestRotationThatFails(t *testing.T) {
	w := newWorld(t)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	failed := fault.New(fault.ServiceUnavailable, "The shard has no owner")
	w.Access.cfg.Catalog = &failingCatalog{w.catalog, func(catalog.Command) error { return failed }}
	_, err = w.RotateRootKey(t.Context(), nil)
	w.is(err, failed)
	if _, ok := w.other.Secret(root.ID, ""); !ok {
		t.Error("the old key stopped")
	}
	empty := newWorld(t)
	_, err = empty.RotateRootKey(t.Context(), nil)
	empty.kind(err, fault.NotFound)
	empty.Access.cfg.Catalog = &failingCatalog{empty.catalog, func(catalog.Command) error { return failed }}
	_, _, err = empty.RootKey(t.Context())
	empty.is(err, failed)
}

// A failingCatalog fails for some commands.
type failingCatalog struct {
	*memoryCatalog
	fail func(catalog.Command) error
}

func (c *failingCatalog) Change(ctx context.Context, command catalog.Command) error {
	if err := c.fail(command); err != nil {
		return err
	}
	return c.memoryCatalog.Change(ctx, command)
}

// TestRootKeyOnTwoNodes: a region that starts on several nodes has one root key.
func TestRootKeyOnTwoNodes(t *testing.T) {
	w := newWorld(t)
	var first KeyPair
	w.race(func(catalog.Command) bool {
		var err error
		first, _, err = w.other.RootKey(t.Context())
		w.ok(err)
		return true
	})
	k, created, err := w.RootKey(t.Context())
	w.ok(err)
	if created || k != first || first.Secret == "" {
		t.Errorf("%v and %v, created %v", k.ID, first.ID, created)
	}
}
