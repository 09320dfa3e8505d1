package idp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestClaims(t *testing.T) {
	w := newWorld(t)
	full := claims{"aud": []string{"unknown", "other", "muster"}, "email": "ada@example.com", "email_verified": true,
		"name": "Ada", "preferred_username": "ada1", "groups": []any{"dev", 7, "ops"}, "jti": "j",
		"azp": "cli", "x": "y"}
	got, err := w.Verify(t.Context(), w.provider(), w.sign(full))
	if err != nil {
		t.Fatal(err)
	}
	if got.All["x"] != "y" {
		t.Errorf("All is %v", got.All)
	}
	got.All = nil
	want := &Claims{Issuer: w.server.URL, Subject: "ada", Audience: "other",
		Audiences: []string{"unknown", "other", "muster"}, Email: "ada@example.com", EmailVerified: true, Name: "Ada",
		PreferredUsername: "ada1", Groups: []string{"dev", "ops"}, JTI: "j", AuthorizedParty: "cli",
		Expires: time.Unix(w.clock.Now().Unix()+300, 0).UTC()}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	odd := claims{"email_verified": "true", "groups": "dev", "name": 1, "email": []any{}}
	got, err = w.Verify(t.Context(), w.provider(), w.sign(odd))
	if err != nil || !got.EmailVerified || !reflect.DeepEqual(got.Groups, []string{"dev"}) || got.Name+got.Email != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	none := w.provider()
	none.GroupClaim = ""
	if got, err = w.Verify(t.Context(), none, w.sign(full)); err != nil || got.Groups != nil {
		t.Errorf("groups without a claim for them: %v, %v", got, err)
	}
}

func TestVerify(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now().Unix()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	valid := w.sign(nil)
	parts := strings.Split(valid, ".")
	for name, c := range map[string]struct {
		token string
		want  error
	}{
		"RS256":                   {valid, nil},
		"ES256":                   {w.signed(jose.ES256, ecKey, "e", w.claims(nil)), nil},
		"no key id":               {w.signed(jose.ES256, ecKey, "", w.claims(nil)), nil},
		"no iat":                  {w.sign(claims{"iat": nil}), nil},
		"expired within leeway":   {w.sign(claims{"exp": now - 59}), nil},
		"future within leeway":    {w.sign(claims{"nbf": now + 60, "iat": now + 60}), nil},
		"endless":                 {w.sign(claims{"exp": 1e300}), nil},
		"expired":                 {w.sign(claims{"exp": now - 60}), ErrExpired},
		"negative end":            {w.sign(claims{"exp": -1e300}), ErrExpired},
		"no end":                  {w.sign(claims{"exp": nil}), ErrRejected},
		"end as text":             {w.sign(claims{"exp": "4000000000"}), ErrRejected},
		"not yet valid":           {w.sign(claims{"nbf": now + 61}), ErrRejected},
		"never valid":             {w.sign(claims{"nbf": 1e300}), ErrRejected},
		"issued in the future":    {w.sign(claims{"iat": now + 61}), ErrRejected},
		"nbf as text":             {w.sign(claims{"nbf": "1"}), ErrRejected},
		"wrong issuer":            {w.sign(claims{"iss": w.server.URL + "/"}), ErrRejected},
		"no issuer":               {w.sign(claims{"iss": nil}), ErrRejected},
		"issuer in capitals":      {w.sign(claims{"iss": nil, "ISS": w.server.URL}), ErrRejected},
		"wrong audience":          {w.sign(claims{"aud": "someone"}), ErrRejected},
		"no audience":             {w.sign(claims{"aud": nil}), ErrRejected},
		"no subject":              {w.sign(claims{"sub": nil}), ErrRejected},
		"other key":               {w.signed(jose.RS256, other, "r", w.claims(nil)), ErrInvalid},
		"other key, no id":        {w.signed(jose.RS256, other, "", w.claims(nil)), ErrInvalid},
		"unknown key":             {w.signed(jose.RS256, other, "x", w.claims(nil)), ErrInvalid},
		"RS512":                   {w.signed(jose.RS512, rsaKey, "r", w.claims(nil)), ErrInvalid},
		"PS256":                   {w.signed(jose.PS256, rsaKey, "r", w.claims(nil)), ErrInvalid},
		"HS256 by the public key": {w.signed(jose.HS256, public, "r", w.claims(nil)), ErrInvalid},
		"HS256 by its modulus":    {w.signed(jose.HS256, rsaKey.N.Bytes(), "r", w.claims(nil)), ErrInvalid},
		"alg none":                {none(parts[1]) + ".", ErrInvalid},
		"alg none, signed":        {none(parts[1]) + "." + parts[2], ErrInvalid},
		"other claims":            {parts[0] + "." + changed(parts[1]) + "." + parts[2], ErrInvalid},
		"no signature":            {parts[0] + "." + parts[1] + ".", ErrInvalid},
		"no object":               {w.signed(jose.RS256, rsaKey, "r", "text"), ErrInvalid},
		"null":                    {w.signed(jose.RS256, rsaKey, "r", nil), ErrInvalid},
		"JSON form":               {jsonForm(t, valid), ErrInvalid},
		"too long":                {w.sign(claims{"x": strings.Repeat("x", maxToken)}), ErrInvalid},
		"empty":                   {"", ErrInvalid},
		"dots":                    {"..", ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if err := w.verify(c.token); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// none returns header and payload of an unsigned token.
func none(payload string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + payload
}

// changed changes the subject in an encoded payload.
func changed(payload string) string {
	b, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(b), "ada", "eve", 1)))
}

func jsonForm(t *testing.T, token string) string {
	jws, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	return jws.FullSerialize()
}

func TestNoAudiences(t *testing.T) {
	w := newWorld(t)
	p := w.provider()
	p.Audiences = nil
	if _, err := w.Verify(t.Context(), p, w.sign(nil)); !errors.Is(err, ErrRejected) {
		t.Errorf("a provider without audiences: %v", err)
	}
}

func TestRegisteredKeys(t *testing.T) {
	w := newWorld(t)
	text, err := json.Marshal(w.keys)
	if err != nil {
		t.Fatal(err)
	}
	w.server.Close() // they need no issuer
	for name, c := range map[string]struct {
		keys, token string
		want        error
	}{
		"right":   {string(text), w.sign(nil), nil},
		"unknown": {string(text), w.signed(jose.ES256, ecKey, "x", w.claims(nil)), ErrInvalid},
		"no JSON": {"{", w.sign(nil), ErrRejected},
		"no keys": {"{}", w.sign(nil), ErrRejected},
	} {
		p := w.provider()
		p.Keys = c.keys
		if _, err := w.Verify(t.Context(), p, c.token); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestParseKeys(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // it must be refused
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]jose.JSONWebKey{
		"small":             {Key: small.Public()},
		"P-384":             {Key: p384.Public()},
		"symmetric":         {Key: []byte("0123456789abcdef0123456789abcdef")},
		"private":           {Key: ecKey},
		"for encryption":    {Key: rsaKey.Public(), Use: "enc"},
		"for RS512":         {Key: rsaKey.Public(), Algorithm: "RS512"},
		"for key agreement": {Key: ecKey.Public(), Algorithm: "ECDH-ES"},
	} {
		set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}}
		if text, err := json.Marshal(set); err != nil {
			t.Error(name, err)
		} else if keys, err := parseKeys(text); err == nil {
			t.Errorf("%s: accepted %v", name, keys)
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: ecKey.Public(), KeyID: "e"})
		if text, err := json.Marshal(set); err != nil {
			t.Error(name, err)
		} else if keys, err := parseKeys(text); err != nil || len(keys) != 1 || keys[0].KeyID != "e" {
			t.Errorf("%s: beside a good key: %v, %v", name, keys, err)
		}
	}
	key := marshal(t, jose.JSONWebKey{Key: ecKey.Public()})
	many := `{"keys":[{"kty":"future"}` + strings.Repeat(","+key, 101) + `]}`
	if _, err := parseKeys([]byte(many)); err == nil {
		t.Error("accepted 101 keys")
	}
}

func marshal(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestIssuerOf(t *testing.T) {
	w := newWorld(t)
	for token, want := range map[string]string{
		w.sign(nil): w.server.URL, w.sign(claims{"iss": nil}): "", w.sign(claims{"iss": nil, "ISS": "x"}): "",
		w.sign(claims{"iss": 7}): "", "": "", "a.!.c": "", "a.e30.c": "", "a.bnVsbA.c": "", "a.b": "",
		strings.Repeat("x", maxToken+1): "",
	} {
		if got, err := IssuerOf(token); got != want || (want == "") != errors.Is(err, ErrInvalid) {
			t.Errorf("%.100s: %q, %v", token, got, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	w := newWorld(&testing.T{})
	defer w.server.Close()
	text, err := json.Marshal(w.keys)
	if err != nil {
		f.Fatal(err)
	}
	p := w.provider()
	p.Keys = string(text)
	valid := w.sign(nil)
	parts := strings.Split(valid, ".")
	signed := map[string]bool{parts[1]: true}
	for _, seed := range []string{valid, none(parts[1]) + ".", "", "..", "{}", `{"payload":"","signatures":[{}]}..`,
		parts[0] + "." + changed(parts[1]) + "." + parts[2], w.signed(jose.ES256, ecKey, "e", "x")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		c, err := w.Verify(context.Background(), p, token)
		if issuer, bad := IssuerOf(token); err == nil && (bad != nil || issuer != c.Issuer) {
			t.Errorf("%q is of %q, %v, not of %q", token, issuer, bad, c.Issuer)
		}
		switch {
		case err == nil:
			if sent := strings.Split(token, "."); len(sent) != 3 || !signed[sent[1]] {
				t.Errorf("accepted %q as %+v", token, c)
			}
		case c != nil, errors.Is(err, ErrUnreachable):
			t.Errorf("%q gives %v, %v", token, c, err)
		case !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrRejected) && !errors.Is(err, ErrExpired):
			t.Errorf("%q gives %v", token, err)
		}
	})
}
