//go:build unix

package fault

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	redirectURI  = "http://127.0.0.1:41031/oauth/callback"
	codeVerifier = "0123456789012345678901234567890123456789012345678901234567890123"
	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	codeGrant    = "authorization_code"
)

// A program signs a person in, as AWS's command line does.
type program struct {
	*signInRegion
	id, secret string
}

// register makes a program known.
func (r *signInRegion) register(n *node) *program {
	r.t.Helper()
	var made struct{ ClientID, ClientSecret string }
	r.mustDo(n, request{method: http.MethodPost, path: "/client/register", json: map[string]any{
		"clientName": "the program", "clientType": "public", "scopes": []string{"sso:account:access"},
		"grantTypes": []string{codeGrant, deviceGrant, "refresh_token"}, "redirectUris": []string{redirectURI},
		"issuerUrl": r.start,
	}}, &made)
	return &program{r, made.ClientID, made.ClientSecret}
}

// A code can be exchanged for tokens, once.
type code struct {
	name  string
	body  map[string]string // of the request for tokens, without the program
	spent string            // the exception for a code that was exchanged
}

// startDevice asks for a device's authorization.
func (p *program) startDevice(n *node) (c *code, userCode string) {
	p.t.Helper()
	var made struct{ DeviceCode, UserCode string }
	p.mustDo(n, request{method: http.MethodPost, path: "/device_authorization", json: map[string]string{
		"clientId": p.id, "clientSecret": p.secret, "startUrl": p.start,
	}}, &made)
	return &code{"device code " + made.UserCode, map[string]string{"grantType": deviceGrant,
		"deviceCode": made.DeviceCode}, "ExpiredTokenException"}, made.UserCode
}

// A browser belongs to a person who has signed in. Its cookie is good at all nodes.
type browser struct {
	*signInRegion
	user   string
	cookie *http.Cookie
}

// signIn signs a person in, in a browser. It also returns the id of the request, which the audit trail has.
func (r *signInRegion) signIn(n *node, user string) (b *browser, requestID string) {
	r.t.Helper()
	header := r.mustDo(n, request{method: http.MethodPost, path: "/signin/in", want: http.StatusSeeOther,
		form: url.Values{"name": {user}, "password": {signInPassword}, "return": {"/start"}}}, nil)
	cookie, err := http.ParseSetCookie(header.Get("Set-Cookie"))
	if err != nil {
		r.t.Fatal(err)
	}
	return &browser{r, user, cookie}, header.Get("X-Amzn-Requestid")
}

// allow allows a device.
func (b *browser) allow(n *node, userCode string) {
	b.t.Helper()
	b.consent(n, "/device?user_code="+userCode, http.StatusOK)
}

// authorize allows a program and returns its code.
func (b *browser) authorize(n *node, p *program) *code {
	b.t.Helper()
	challenge := sha256.Sum256([]byte(codeVerifier))
	header := b.consent(n, "/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {p.id}, "redirect_uri": {redirectURI}, "state": {"a state"},
		"code_challenge_method": {"S256"}, "scopes": {"sso:account:access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode(), http.StatusFound)
	to, err := url.Parse(header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		b.t.Fatalf("no code in %v, %v", to, err)
	}
	text := to.Query().Get("code")
	return &code{"authorization code " + text[:8], map[string]string{"grantType": codeGrant, "code": text,
		"codeVerifier": codeVerifier, "redirectUri": redirectURI}, "InvalidGrantException"}
}

func (b *browser) consent(n *node, path string, want int) http.Header {
	b.t.Helper()
	return b.mustDo(n, request{method: http.MethodPost, path: path, cookie: b.cookie, want: want,
		form: url.Values{"user": {b.user}, "decision": {"allow"}}}, nil)
}

// Tokens are those of a session. The id is that of the request that returned them.
type tokens struct {
	AccessToken, RefreshToken string
	id                        string
}

// ask sends one request for tokens. Any goroutine may call it.
func (p *program) ask(ctx context.Context, n *node, body map[string]string) (*tokens, error) {
	all := map[string]string{"clientId": p.id, "clientSecret": p.secret}
	for name, value := range body {
		all[name] = value
	}
	got := new(tokens)
	header, err := p.do(ctx, n, request{method: http.MethodPost, path: "/token", json: all}, got)
	if err != nil {
		return nil, err
	}
	got.id = header.Get("X-Amzn-Requestid")
	return got, nil
}

// refresh asks for new tokens.
func (p *program) refresh(ctx context.Context, n *node, refreshToken string) (*tokens, error) {
	return p.ask(ctx, n, map[string]string{"grantType": "refresh_token", "refreshToken": refreshToken})
}

// pollInterval is the time between two requests for the tokens of one code.
const pollInterval = 200 * time.Millisecond

// redeem asks one node for the tokens of a code until they are there, or the code is spent: then they are nil. Like any
// client it asks again if the node is not reachable, fails, or wants to be asked later.
func (p *program) redeem(ctx context.Context, n *node, c *code) (*tokens, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		got, err := p.ask(ctx, n, c.body)
		rejected, answered := errors.AsType[*rejection](err)
		switch {
		case err == nil:
			return got, nil
		case !answered || !rejected.final():
		case rejected.code == c.spent:
			return nil, nil
		case rejected.code != "AuthorizationPendingException" && rejected.code != "SlowDownException":
			return nil, fmt.Errorf("%s at %s: %w", c.name, n.name, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%s at %s: no end, the last answer was %w", c.name, n.name, err)
		}
	}
}

// roleKeys returns keys of the role.
func (r *signInRegion) roleKeys(ctx context.Context, n *node, accessToken string) (keys aws.Credentials, err error) {
	var got struct {
		RoleCredentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }
	}
	_, err = r.do(ctx, n, request{path: "/federation/credentials?role_name=" + signInRole + "&account_id=" + r.account,
		bearer: accessToken}, &got)
	c := got.RoleCredentials
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey,
		SessionToken: c.SessionToken}, err
}
