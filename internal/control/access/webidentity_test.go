package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A signer issues the tokens of an identity provider.
type signer struct {
	t   testing.TB
	key *ecdsa.PrivateKey
}

func newSigner(t testing.TB) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{t, key}
}

// keys returns the signer's JSON Web Key Set.
func (s *signer) keys() json.RawMessage {
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: "k", Use: "sig",
		Algorithm: "ES256"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

func (s *signer) sign(all map[string]any) string {
	s.t.Helper()
	j, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k"}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := jwt.Signed(j).Claims(all).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

const trustsBranch = `{"Version":"2012-10-17","Statement":{"Effect":"Allow",
	"Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/id.example.com/realm"},
	"Action":"sts:AssumeRoleWithWebIdentity","Condition":{
	"StringLike":{"id.example.com/realm:sub":"repo:muster-gg/muster:ref:*"},
	"StringEquals":{"id.example.com/realm:aud":"sts.amazonaws.com"},
	"IpAddress":{"aws:SourceIp":"192.0.2.0/24"},"DateLessThan":{"aws:CurrentTime":"2027-01-01T00:00:00Z"}}}}`

func TestAssumeRoleWithWebIdentity(t *testing.T) {
	w := newWorld(t)
	issued, stranger := newSigner(t), newSigner(t)
	_, err := w.PutProvider(t.Context(), nil, ProviderInput{Name: "ci", Issuer: issuer, Keys: issued.keys(),
		Audiences: []string{"sts.amazonaws.com", "other"}})
	w.ok(err)
	_, err = w.PutProvider(t.Context(), nil, ProviderInput{Name: "far", Issuer: "http://localhost:1", ClientID: "x"})
	w.ok(err)
	_, err = w.PutRole(t.Context(), nil, RoleInput{Name: "deploy", Policies: []string{"GameLiftAdmin"},
		Trust: json.RawMessage(trustsBranch)})
	w.ok(err)
	_, err = w.PutRole(t.Context(), nil, RoleInput{Name: "people", Policies: []string{"GameLiftAdmin"}})
	w.ok(err)
	now := w.clock.Now().Unix()
	token := func(s *signer, change map[string]any) string {
		all := map[string]any{"iss": issuer, "sub": "repo:muster-gg/muster:ref:refs/heads/main", "jti": "j-1",
			"aud": "sts.amazonaws.com", "exp": now + 300, "iat": now}
		maps.Copy(all, change)
		return s.sign(all)
	}
	right := token(issued, nil)
	role := WebIdentity{RoleArn: w.roleArn("deploy"), SessionName: "ci", Token: right}
	elsewhere := w.from
	elsewhere.Address = netip.MustParseAddr("198.51.100.1")
	for _, c := range []struct {
		name   string
		change func(in *WebIdentity)
		want   fault.Kind // "": right
	}{
		{"right", func(*WebIdentity) {}, ""},
		{"wrong audience", func(in *WebIdentity) { in.Token = token(issued, map[string]any{"aud": "someone"}) },
			fault.InvalidIdentityToken},
		{"audience of another role", func(in *WebIdentity) { in.Token = token(issued, map[string]any{"aud": "other"}) },
			fault.AccessDenied},
		{"wrong signature", func(in *WebIdentity) { in.Token = token(stranger, nil) }, fault.InvalidIdentityToken},
		{"expired", func(in *WebIdentity) { in.Token = token(issued, map[string]any{"exp": now - 61}) },
			fault.ExpiredToken},
		{"sub not matching", func(in *WebIdentity) {
			in.Token = token(issued, map[string]any{"sub": "repo:eve/fork:ref:refs/heads/main"})
		}, fault.AccessDenied},
		{"unknown issuer", func(in *WebIdentity) {
			in.Token = token(issued, map[string]any{"iss": "https://id.example.org"})
		}, fault.InvalidIdentityToken},
		{"unreachable", func(in *WebIdentity) {
			in.Token = token(issued, map[string]any{"iss": "http://localhost:1", "aud": "x"})
		}, fault.IDPCommunicationError},
		{"no token", func(in *WebIdentity) { in.Token = "x" }, fault.InvalidIdentityToken},
		{"unknown role", func(in *WebIdentity) { in.RoleArn = w.roleArn("none") }, fault.AccessDenied},
		{"no role", func(in *WebIdentity) { in.RoleArn = "deploy" }, fault.InvalidRequest},
		{"a role for people", func(in *WebIdentity) { in.RoleArn = w.roleArn("people") }, fault.AccessDenied},
		{"too long", func(in *WebIdentity) { in.Duration = 3601 }, fault.InvalidRequest},
		{"bad policy", func(in *WebIdentity) { in.Policy = "{}" }, fault.MalformedPolicyDocument},
		{"large policies", func(in *WebIdentity) {
			in.PolicyArns = slices.Repeat([]string{"arn:aws:iam::aws:policy/GameLiftReadOnly"}, 200)
		}, fault.PackedPolicyTooLarge},
		{"unknown policy", func(in *WebIdentity) { in.PolicyArns = []string{"arn:aws:iam::aws:policy/None"} },
			fault.InvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := role
			c.change(&in)
			keys, claims, err := w.AssumeRoleWithWebIdentity(t.Context(), w.from, in)
			if c.want != "" {
				if !fault.Is(err, c.want) || keys != nil {
					t.Fatalf("got %v instead of %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			id := identity(w.other, keys)
			if id == nil || id.User != "" || id.Arn != "arn:aws:sts::111122223333:assumed-role/deploy/ci" ||
				!strings.HasSuffix(id.UserID, ":ci") || id.SourceIdentity != claims.Subject {
				t.Fatalf("%+v", id)
			}
			if claims.Audience != "sts.amazonaws.com" || claims.Issuer != issuer {
				t.Errorf("%+v", claims)
			}
			if !w.may(id, "gamelift:CreateFleet") || w.may(id, "muster:UserPut") {
				t.Error("wrong rights")
			}
		})
	}
	_, _, err = w.AssumeRoleWithWebIdentity(t.Context(), elsewhere, role)
	w.kind(err, fault.AccessDenied)
	w.clock.Advance(37 * 24 * time.Hour) // into the next year, with a token of then
	now = w.clock.Now().Unix()
	role.Token = token(issued, nil)
	_, _, err = w.AssumeRoleWithWebIdentity(t.Context(), w.from, role)
	w.kind(err, fault.AccessDenied)
	narrow := role
	narrow.Policy = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"gamelift:List*","Resource":"*"}}`
	w.clock.Advance(-37 * 24 * time.Hour)
	narrow.Token = right
	keys, _, err := w.AssumeRoleWithWebIdentity(t.Context(), w.from, narrow)
	w.ok(err)
	id := identity(w.other, keys)
	if !w.may(id, "gamelift:ListFleets") || w.may(id, "gamelift:CreateFleet") || keys.PackedPolicySize == 0 {
		t.Errorf("the policy does not narrow: %+v", keys)
	}
	events := w.events()
	for _, want := range []string{"AssumeRoleWithWebIdentity", "AssumeRoleWithWebIdentity ExpiredTokenException",
		"AssumeRoleWithWebIdentity AccessDeniedException"} {
		if !slices.Contains(events, want) {
			t.Errorf("%s is not among %v", want, events)
		}
	}
}
