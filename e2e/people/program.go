package people

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssooidc"
)

// The grants of SSO-OIDC.
const (
	DeviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	CodeGrant    = "authorization_code"
	RefreshGrant = "refresh_token"
)

// Verifier is the PKCE verifier of all programs.
const Verifier = "a-verifier-of-a-test-with-more-than-43-characters-in-it"

// A Program signs a person in with the client of the SDK for Go, without retries.
type Program struct {
	*ssooidc.Client
	ID, Secret string // of its registration

	s *Service
}

// Register registers a program for grants; none: for devices.
func (s *Service) Register(grants ...string) *Program {
	s.Helper()
	c := s.AWS.Copy()
	c.Credentials, c.Retryer = aws.AnonymousCredentials{}, func() aws.Retryer { return aws.NopRetryer{} }
	p := &Program{Client: ssooidc.NewFromConfig(c), s: s}
	in := &ssooidc.RegisterClientInput{ClientName: &s.ProgramName, ClientType: new("public"),
		Scopes: []string{"sso:account:access"}, GrantTypes: grants}
	if len(grants) > 0 {
		in.RedirectUris = []string{"http://127.0.0.1/oauth/callback"}
	}
	out, err := p.RegisterClient(s.Context(), in)
	if err != nil {
		s.Fatal(err)
	}
	p.ID, p.Secret = *out.ClientId, *out.ClientSecret
	return p
}

// Device starts a device authorization.
func (p *Program) Device() *ssooidc.StartDeviceAuthorizationOutput {
	p.s.Helper()
	out, err := p.StartDeviceAuthorization(p.s.Context(), &ssooidc.StartDeviceAuthorizationInput{
		ClientId: &p.ID, ClientSecret: &p.Secret, StartUrl: new(p.s.HTTP + "/start")})
	if err != nil {
		p.s.Fatal(err)
	}
	return out
}

// AuthorizeURL returns the path and query to which the program sends the browser. Its redirect URI is a callback on
// 127.0.0.1, with the path /oauth/callback. The changes are pairs of a name and a value in the query.
func (p *Program) AuthorizeURL(callback string, changes ...string) string {
	sum := sha256.Sum256([]byte(Verifier))
	q := url.Values{"response_type": {"code"}, "client_id": {p.ID}, "redirect_uri": {callback}, "state": {"state"},
		"code_challenge_method": {"S256"}, "scopes": {"sso:account:access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
	}
	return "/authorize?" + q.Encode()
}

// Token asks for a token. The function sets the members that its grant needs.
func (p *Program) Token(grant string, set func(*ssooidc.CreateTokenInput)) (*ssooidc.CreateTokenOutput, error) {
	in := &ssooidc.CreateTokenInput{ClientId: &p.ID, ClientSecret: &p.Secret, GrantType: &grant}
	set(in)
	return p.CreateToken(p.s.Context(), in)
}

// Poll asks for the token of a device.
func (p *Program) Poll(device string) (*ssooidc.CreateTokenOutput, error) {
	return p.Token(DeviceGrant, func(in *ssooidc.CreateTokenInput) { in.DeviceCode = &device })
}

// ByCode exchanges an authorization code, which came to the callback, for a token.
func (p *Program) ByCode(callback, code string) (*ssooidc.CreateTokenOutput, error) {
	return p.Token(CodeGrant, func(in *ssooidc.CreateTokenInput) {
		in.Code, in.CodeVerifier, in.RedirectUri = &code, new(Verifier), &callback
	})
}
