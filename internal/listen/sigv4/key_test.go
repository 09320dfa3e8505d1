package sigv4

import (
	"fmt"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestKeyCacheIsBounded(t *testing.T) {
	var c keyCache
	for i := range maxSigningKeys + 100 {
		s := scope{"20260304", fmt.Sprint("region-", i), "gamelift", terminator}
		key, cached := c.get("AKID", "secret", &s)
		if cached {
			t.Fatal("an unknown key was remembered")
		}
		c.put("AKID", &s, key)
		if again, cached := c.get("AKID", "secret", &s); !cached || again != key {
			t.Fatal("a key was not remembered")
		}
	}
	if n := len(c.keys); n != maxSigningKeys {
		t.Errorf("%d keys are remembered, want %d", n, maxSigningKeys)
	}
}

func TestOnlyGoodSignaturesAreRemembered(t *testing.T) {
	v := newVerifier()
	r := newRequest("http://h/", nil)
	sign(t, r, "AKIDLONG", "x", nil, now)
	if _, err := verify(t, v, r, []byte("other body"), now); err == nil || len(v.signingKeys.keys) != 0 {
		t.Fatal("a refused signature filled the cache:", err)
	}
	if _, err := verify(t, v, r, nil, now); err != nil || len(v.signingKeys.keys) != 1 {
		t.Fatal("a good signature was not remembered:", err)
	}
}

func TestChangedSecret(t *testing.T) {
	ring := keyring{"AKIDLONG": keys["AKIDLONG"]}
	v := New(Config{Keys: ring})
	r := newRequest("http://h/", nil)
	sign(t, r, "AKIDLONG", "x", nil, now)
	if _, err := verify(t, v, r, nil, now); err != nil {
		t.Fatal(err)
	}
	ring["AKIDLONG"] = Credential{Secret: "rotated"}
	_, err := verify(t, v, r, nil, now)
	wantKind(t, err, fault.InvalidSignature, "does not match")
}

func TestVerifyConcurrently(t *testing.T) {
	v := newVerifier()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				body := fmt.Appendf(nil, "%d-%d", i, j)
				r := newRequest("http://h/", body)
				sign(t, r, "ASIATEMP", fmt.Sprint("r", j), body, now)
				if _, err := verify(t, v, r, body, now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
