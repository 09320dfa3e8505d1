package signin

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sso"
	"github.com/aws/aws-sdk-go-v2/service/ssooidc"
)

// The grants of SSO-OIDC.
const (
	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	codeGrant    = "authorization_code"
	refreshGrant = "refresh_token"
)

const (
	verifier = "a-verifier-of-a-test-with-more-than-43-characters-in-it"
	callback = "http://127.0.0.1:41031/oauth/callback"
)

// An oidc is a program that signs a person in with the client of the SDK for Go.
type oidc struct {
	*ssooidc.Client
	w          *world
	id, secret string
}

// oidc registers a program for grants.
func (w *world) oidc(grants ...string) *oidc {
	w.Helper()
	c := w.AWS.Copy()
	c.Credentials, c.Retryer = aws.AnonymousCredentials{}, func() aws.Retryer { return aws.NopRetryer{} }
	o := &oidc{Client: ssooidc.NewFromConfig(c), w: w}
	in := &ssooidc.RegisterClientInput{ClientName: new("test"), ClientType: new("public"),
		Scopes: []string{"sso:account:access"}, GrantTypes: grants}
	if len(grants) > 0 {
		in.RedirectUris = []string{"http://127.0.0.1/oauth/callback"}
	}
	out, err := o.RegisterClient(w.Context(), in)
	if err != nil {
		w.Fatal(err)
	}
	o.id, o.secret = *out.ClientId, *out.ClientSecret
	return o
}

// authorizeURL returns where the program sends the browser, with changes of the query.
func (o *oidc) authorizeURL(changes ...string) string {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{"response_type": {"code"}, "client_id": {o.id}, "redirect_uri": {callback}, "state": {"state"},
		"code_challenge_method": {"S256"}, "scopes": {"sso:account:access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
	}
	return "/authorize?" + q.Encode()
}

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

// token asks for a token; the grant's members follow as changes.
func (o *oidc) token(grant string, change func(*ssooidc.CreateTokenInput)) (*ssooidc.CreateTokenOutput, error) {
	in := &ssooidc.CreateTokenInput{ClientId: &o.id, ClientSecret: &o.secret, GrantType: &grant}
	change(in)
	return o.CreateToken(o.w.Context(), in)
}

func (o *oidc) byCode(code string) (*ssooidc.CreateTokenOutput, error) {
	return o.token(codeGrant, func(in *ssooidc.CreateTokenInput) {
		in.Code, in.CodeVerifier, in.RedirectUri = &code, new(verifier), new(callback)
	})
}

func (o *oidc) refresh(token string) (*ssooidc.CreateTokenOutput, error) {
	return o.token(refreshGrant, func(in *ssooidc.CreateTokenInput) { in.RefreshToken = &token })
}

func (o *oidc) poll(device string) (*ssooidc.CreateTokenOutput, error) {
	return o.token(deviceGrant, func(in *ssooidc.CreateTokenInput) { in.DeviceCode = &device })
}

// device starts a device authorization.
func (o *oidc) device() *ssooidc.StartDeviceAuthorizationOutput {
	o.w.Helper()
	out, err := o.StartDeviceAuthorization(o.w.Context(), &ssooidc.StartDeviceAuthorizationInput{
		ClientId: &o.id, ClientSecret: &o.secret, StartUrl: new(o.w.HTTP + "/start")})
	if err != nil {
		o.w.Fatal(err)
	}
	return out
}

// A session is what a program has after a person has signed in.
type session struct {
	*oidc
	access, refreshToken string
}

// signIn signs a person in by an authorization code.
func (w *world) signIn(name string) *session {
	w.Helper()
	o := w.oidc(codeGrant, refreshGrant)
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
