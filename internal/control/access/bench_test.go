package access

import (
	"encoding/json"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
)

// A frozenCatalog is read as that of a router: without a copy for each call.
type frozenCatalog struct {
	*memoryCatalog
	frozen *catalog.State
}

func (c *frozenCatalog) Catalog() *catalog.State { return c.frozen }

// freeze ends all changes of a world.
func (w *world) freeze() {
	w.Access.cfg.Catalog = &frozenCatalog{w.catalog, w.catalog.Catalog()}
}

const fleetArn = "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-1"

// limitedKey returns a key for the game sessions of one fleet, from one network.
func (w *world) limitedKey() *KeyCreated {
	w.t.Helper()
	k, err := w.CreateKey(w.t.Context(), nil, KeyInput{Service: "backend", Document: json.RawMessage(`{
		"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "gamelift:CreateGameSession",
		"Resource": "` + fleetArn + `", "Condition": {"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}}}}`)})
	w.ok(err)
	return k
}

// BenchmarkAllow asks for what a policy allows in all cases, as nearly every call does.
func BenchmarkAllow(b *testing.B) {
	w := newWorld(b)
	keys, err := w.RoleKeys(b.Context(), w.person("ada", "developer"), "developer", 0, w.from)
	w.ok(err)
	id, list := identity(w.Access, keys), action(b, "gamelift:ListFleets")
	w.freeze()
	b.ReportAllocs()
	for b.Loop() {
		if w.Allow(id, w.from, list) != nil {
			b.Fatal("denied")
		}
	}
}

func BenchmarkDecideWithResource(b *testing.B) {
	w := newWorld(b)
	id, create := key(w.Access, w.limitedKey()), action(b, "gamelift:CreateGameSession")
	w.freeze()
	resources := []string{fleetArn}
	b.ReportAllocs()
	for b.Loop() {
		if w.Decide(id, w.from, Call{Action: create, Resources: resources}) != nil {
			b.Fatal("denied")
		}
	}
}

// BenchmarkTemporaryKeyCold opens a session token that the node has not seen.
func BenchmarkTemporaryKeyCold(b *testing.B) {
	benchmarkTemporaryKey(b, func(w *world) { clear(w.Access.tokens.entries) })
}

func BenchmarkTemporaryKeyCached(b *testing.B) { benchmarkTemporaryKey(b, func(*world) {}) }

func benchmarkTemporaryKey(b *testing.B, before func(*world)) {
	w := newWorld(b)
	keys, err := w.RoleKeys(b.Context(), w.person("ada", "developer"), "developer", 0, w.from)
	w.ok(err)
	w.freeze()
	b.ReportAllocs()
	for b.Loop() {
		before(w)
		if _, ok := w.Secret(keys.AccessKeyID, keys.SessionToken); !ok {
			b.Fatal("refused")
		}
	}
}
