package signin

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sso"
	"github.com/aws/aws-sdk-go-v2/service/ssooidc"

	"github.com/muster-gg/muster/e2e/people"
)

const callback = "http://127.0.0.1:41031/oauth/callback"

// An oidc is a program of a world.
type oidc struct {
	*people.Program
	w *world
}

// oidc registers a program for grants.
func (w *world) oidc(grants ...string) *oidc {
	w.Helper()
	return &oidc{w.Register(grants...), w}
}

// authorizeURL returns where the program sends the browser, with changes of the query.
func (o *oidc) authorizeURL(changes ...string) string { return o.AuthorizeURL(callback, changes...) }

// code has a person allow the program, and returns the authorization code.
func (o *oidc) code(b *browser) string {
	o.w.Helper()
	p := b.decide(o.authorizeURL(), "allow")
	code := p.at.Query().Get("code")
	if p.status != http.StatusFound || code == "" || p.at.Query().Get("state") != "state" {
		o.w.Fatalf("no code: %d, %s: %s", p.status, p.at, p.body)
	}
	return code
}

func (o *oidc) byCode(code string) (*ssooidc.CreateTokenOutput, error) {
	return o.ByCode(callback, code)
}

func (o *oidc) refresh(token string) (*ssooidc.CreateTokenOutput, error) {
	return o.Token(people.RefreshGrant, func(in *ssooidc.CreateTokenInput) { in.RefreshToken = &token })
}

// A session is what a program has after a person has signed in.
type session struct {
	*oidc
	access, refreshToken string
}

// signIn signs a person in by an authorization code.
func (w *world) signIn(name string) *session {
	w.Helper()
	o := w.oidc(people.CodeGrant, people.RefreshGrant)
	out, err := o.byCode(o.code(w.signedIn(name)))
	if err != nil {
		w.Fatal(err)
	}
	return &session{o, *out.AccessToken, *out.RefreshToken}
}

// portal returns a client of the SSO portal.
func (w *world) portal() *sso.Client {
	c := w.AWS.Copy()
	c.Credentials, c.Retryer = aws.AnonymousCredentials{}, func() aws.Retryer { return aws.NopRetryer{} }
	return sso.NewFromConfig(c)
}

// keys returns temporary keys of a role.
func (s *session) keys(role string) (aws.Credentials, error) {
	out, err := s.w.portal().GetRoleCredentials(s.w.Context(), &sso.GetRoleCredentialsInput{AccessToken: &s.access,
		AccountId: new(account), RoleName: &role})
	if err != nil {
		return aws.Credentials{}, err
	}
	k := out.RoleCredentials
	return aws.Credentials{AccessKeyID: *k.AccessKeyId, SecretAccessKey: *k.SecretAccessKey,
		SessionToken: *k.SessionToken}, nil
}

// mustKeys returns temporary keys of a role, which must be assigned.
func (s *session) mustKeys(t testing.TB, role string) aws.Credentials {
	t.Helper()
	keys, err := s.keys(role)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
