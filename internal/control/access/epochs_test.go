package access

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestSealAgainLosesNothing: what changes while secrets are sealed again stays as it was changed.
func TestSealAgainLosesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.dex()
	k, _ := w.userKey("ada", allowList)
	gone, _ := w.userKey("bob", allowList)
	ends := w.clock.Now().Add(time.Hour)
	raced := 0
	w.race(func(c catalog.Command) bool {
		again, ok := c.(catalog.SealAgain)
		switch {
		case !ok:
			return false
		case again.AccessKey == k.ID:
			w.ok(errOf(w.other.UpdateKey(t.Context(), nil, k.ID, KeyPatch{Status: text(Inactive), Expires: &ends})))
		case again.AccessKey == gone.ID:
			w.ok(w.other.DeleteUser(t.Context(), "bob"))
		case again.Provider == "dex":
			w.ok(errOf(w.other.PutProvider(t.Context(), nil, ProviderInput{Name: "dex", Issuer: issuer, ClientID: "new",
				ClientSecret: "new secret"})))
		}
		raced++
		return raced == 3
	})
	_, err := w.RotateSecret(t.Context())
	w.ok(err)
	if raced != 3 {
		t.Fatalf("%d records are sealed again", raced)
	}
	view, err := w.Key(t.Context(), k.ID)
	w.ok(err)
	if view.Status != Inactive || view.Expires == nil {
		t.Errorf("the change of the key is undone: %+v", view)
	}
	if _, err := w.Key(t.Context(), gone.ID); !fault.Is(err, fault.NotFound) {
		t.Error("the deleted key is back")
	}
	stored, err := w.Provider("dex")
	w.ok(err)
	secret, err := w.other.current().openKey(providerSeal("dex"), stored.SealedSecret)
	if err != nil || secret != "new secret" || stored.ClientID != "new" ||
		bytes.Equal(stored.SealedSecret, p.SealedSecret) {
		t.Errorf("the change of the provider is undone: %+v, %q, %v", stored, secret, err)
	}
}

// TestRotationThatStops: after a rotation that fails at any step, all secrets open, and the next one completes it.
func TestRotationThatStops(t *testing.T) {
	failed := errors.New("killed")
	for step := range 8 {
		w := newWorld(t)
		root, _, err := w.RootKey(t.Context())
		w.ok(err)
		w.dex()
		_, err = w.RotateSecret(t.Context())
		w.ok(err)
		w.clock.Advance(40 * 24 * time.Hour) // the first epoch has ended
		left := step
		normal := w.Access.cfg.Catalog
		w.Access.cfg.Catalog = &failingCatalog{w.catalog, func(catalog.Command) error {
			if left--; left < 0 {
				return failed
			}
			return nil
		}}
		if _, err = w.RotateSecret(t.Context()); err == nil && step < 4 {
			t.Fatalf("step %d did not fail", step)
		}
		w.Access.cfg.Catalog = normal
		for range 2 {
			if c, ok := w.other.Secret(root.ID, ""); !ok || c.Secret != root.Secret {
				t.Fatalf("step %d: the root key is lost", step)
			}
			p, err := w.Provider("dex")
			w.ok(err)
			if l, err := w.other.Login(p, ""); err != nil || l.ClientSecret != "client secret" {
				t.Fatalf("step %d: the client secret is lost: %v", step, err)
			}
			w.clock.Advance(40 * 24 * time.Hour)
			view, err := w.RotateSecret(t.Context())
			w.ok(err)
			if n := len(view.Epochs); n != 2 {
				t.Errorf("step %d: %d epochs are left", step, n)
			}
		}
	}
}

// TestSealAcrossEpochs: what was sealed opens until its epoch ends, for its purpose and associated data alone.
func TestSealAcrossEpochs(t *testing.T) {
	w := newWorld(t)
	old := w.Seal("cookie", []byte("text"), []byte("ada"))
	p := w.person("ada", "developer")
	tokens, cookie := w.Tokens(p.SignIn), w.Cookie(p.SignIn)
	_, err := w.RotateSecret(t.Context())
	w.ok(err)
	if early := w.Seal("cookie", nil, nil); !bytes.HasPrefix(early, old[:4]) {
		t.Error("the new epoch is used before other nodes have it")
	}
	w.clock.Advance(epochDelay)
	fresh := w.other.Seal("cookie", []byte("text"), []byte("ada"))
	changed := bytes.Clone(fresh)
	changed[len(changed)-1] ^= 1
	for name, c := range map[string]struct {
		purpose, bound string
		sealed         []byte
		ok             bool
	}{
		"of the old epoch":   {"cookie", "ada", old, true},
		"of the new epoch":   {"cookie", "ada", fresh, true},
		"another purpose":    {"grant", "ada", fresh, false},
		"of another one":     {"cookie", "bob", fresh, false},
		"too short":          {"cookie", "ada", fresh[:3], false},
		"of no epoch":        {"cookie", "ada", append([]byte{0, 0, 0, 9}, fresh[4:]...), false},
		"as of the old one":  {"cookie", "ada", append([]byte{0, 0, 0, 0}, fresh[4:]...), false},
		"changed at the end": {"cookie", "ada", changed, false},
	} {
		got, err := w.Open(c.purpose, c.sealed, []byte(c.bound))
		if (err == nil) != c.ok || c.ok && string(got) != "text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := w.other.FromCookie(cookie); err != nil {
		t.Error("a cookie of the old epoch:", err)
	}
	next, s, err := w.other.Refresh(t.Context(), tokens.Refresh, nil, w.from)
	w.ok(err)
	if p, err := w.Bearer(next.Access); err != nil || s.Generation != 2 || p.SignIn.ID != next.SignIn {
		t.Errorf("%+v, %v", next, err)
	}
	w.clock.Advance(37 * time.Hour)
	if _, err = w.Open("cookie", old, []byte("ada")); err == nil {
		t.Error("a seal of an ended epoch opens")
	}
	if _, err = w.Open("cookie", fresh, []byte("ada")); err != nil {
		t.Error(err)
	}
}

// TestBoundRefreshToken: the refresh token of a session with a key is worth nothing without it.
func TestBoundRefreshToken(t *testing.T) {
	w := newWorld(t)
	w.person("ada")
	s, err := w.StartSignIn(t.Context(), Start{User: "ada", Kind: KindLogin, Thumbprint: []byte("key"), Origin: w.from})
	w.ok(err)
	token := w.Tokens(s).Refresh
	for _, wrong := range [][]byte{nil, []byte("kex"), []byte("key2")} {
		_, _, err := w.Refresh(t.Context(), token, wrong, w.from)
		w.is(err, ErrInvalidGrant)
	}
	_, _, err = w.Refresh(t.Context(), token, []byte("key"), w.from)
	w.ok(err)
}

// TestAllowedEarlier: what a person allowed is void after it was replaced, or signed out of everything.
func TestAllowedEarlier(t *testing.T) {
	w := newWorld(t)
	u := w.person("ada").User
	since := w.clock.Now()
	start := func(change func(*Start)) error {
		s := Start{User: "ada", UserID: u.ID, Since: since, Kind: KindSSO, Origin: w.from}
		change(&s)
		return errOf(w.StartSignIn(t.Context(), s))
	}
	w.ok(start(func(*Start) {}))
	w.is(start(func(s *Start) { s.User = "nobody" }), ErrDisabled)
	w.is(start(func(s *Start) { s.UserID = "AIDAOTHER" }), ErrDisabled)
	w.clock.Advance(time.Minute)
	_, err := w.EndSignIns(t.Context(), "ada", w.from)
	w.ok(err)
	w.clock.Advance(time.Minute)
	w.is(start(func(*Start) {}), ErrDisabled)
	w.ok(start(func(s *Start) { s.Since = w.clock.Now() }))
}

// TestAnotherSecret: with the secret of another region nothing opens, and nothing breaks.
func TestAnotherSecret(t *testing.T) {
	w := newWorld(t)
	root, _, err := w.RootKey(t.Context())
	w.ok(err)
	p := w.person("ada", "developer")
	keys, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
	w.ok(err)
	for range 2 { // the first epoch, then one of the catalog
		other, err := credentials.New(bytes.Repeat([]byte{1}, credentials.SecretSize))
		w.ok(err)
		config := w.cfg
		config.Secrets = other
		stranger := New(config)
		if _, ok := stranger.Secret(root.ID, ""); ok {
			t.Error("the root key opens")
		}
		if _, _, err := stranger.RootKey(t.Context()); err == nil {
			t.Error("the root key is shown")
		}
		if identity(stranger, keys) != nil {
			t.Error("a temporary key opens")
		}
		if _, err := stranger.Bearer(w.Tokens(p.SignIn).Access); !errors.Is(err, ErrInvalidToken) {
			t.Error("a token is accepted")
		}
		_, err = w.RotateSecret(t.Context())
		w.ok(err)
		w.clock.Advance(60 * 24 * time.Hour)
		_, err = w.RotateSecret(t.Context())
		w.ok(err)
	}
}

// TestTokenCacheIsBounded also opens what is not in it any more.
func TestTokenCacheIsBounded(t *testing.T) {
	var c tokenCache
	c.entries = map[string]*tokenEntry{}
	for i := range maxTokens + 10 {
		c.put(strconv.Itoa(i), &tokenEntry{})
	}
	if len(c.entries) != maxTokens {
		t.Errorf("%d entries", len(c.entries))
	}
	w := newWorld(t)
	long := base64.StdEncoding.EncodeToString(make([]byte, maxToken))
	if _, ok := w.Secret("ASIA", long); ok || len(w.Access.tokens.entries) != 0 {
		t.Error("a long token is read")
	}
}
