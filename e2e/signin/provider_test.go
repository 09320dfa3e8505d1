package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	zitadel "github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/muster-gg/muster/e2e/people"
)

// A providerAccount is a person's account at a provider.
type providerAccount struct {
	subject, email string
	groups         []string
}

// A provider is an identity provider of package op of zitadel/oidc, with a page on which people sign in by name and
// password. It issues no invalid tokens; issuer does.
type provider struct {
	*provided
	*httptest.Server
}

// provided is the storage of a provider. The methods that the authorization code flow does not call are those of the
// nil interface.
type provided struct {
	op.Storage
	client providedClient
	key    providedKey

	mu       sync.Mutex
	accounts map[string]*providerAccount // by name
	requests map[string]*providedRequest // by id
	codes    map[string]string           // ids of requests by code
}

// newProvider starts a provider with the service as its only client, whose sign-ins return to an URL.
func newProvider(t *testing.T, redirect string) *provider {
	t.Helper()
	s := &provided{client: providedClient{redirect: redirect}, key: providedKey{newKey(t)},
		accounts: map[string]*providerAccount{}, requests: map[string]*providedRequest{}, codes: map[string]string{}}
	mux := http.NewServeMux()
	p := &provider{provided: s, Server: httptest.NewServer(mux)}
	t.Cleanup(p.Close)
	config := &op.Config{CodeMethodS256: true, SupportedScopes: []string{"openid", "profile", "email", "groups"}}
	_, _ = rand.Read(config.CryptoKey[:])
	server, err := op.NewProvider(config, s, op.StaticIssuer(p.URL), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", server)
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `<form method="post" action="/login"><input type="hidden" name="id" value="`+
			html.EscapeString(r.FormValue("id"))+`"><input name="name"><input name="password" type="password"></form>`)
	})
	back := op.NewIssuerInterceptor(server.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.signIn(r.PostFormValue("id"), r.PostFormValue("name"), r.PostFormValue("password")) {
			http.Error(w, "wrong name or password", http.StatusForbidden)
			return
		}
		http.Redirect(w, r, op.AuthCallbackURL(server)(r.Context(), r.PostFormValue("id")), http.StatusFound)
	})
	mux.HandleFunc("POST /login", back)
	return p
}

// put adds or replaces an account.
func (s *provided) put(name string, a providerAccount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[name] = &a
}

// signIn completes a request with the account of a person.
func (s *provided) signIn(id, name, with string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.requests[id], s.accounts[name]
	if r == nil || known == nil || with != people.Password {
		return false
	}
	r.account, r.name = known, name
	return true
}

var errNotFound = errors.New("not found")

func (s *provided) CreateAuthRequest(_ context.Context, r *zitadel.AuthRequest, _ string) (op.AuthRequest, error) {
	if r.CodeChallenge == "" || r.CodeChallengeMethod != zitadel.CodeChallengeMethodS256 {
		return nil, zitadel.ErrInvalidRequest().WithDescription("PKCE is required")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &providedRequest{AuthRequest: r, id: uuid.NewString(), begun: time.Now()}
	s.requests[made.id] = made
	return made, nil
}

func (s *provided) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.requests[id]
	if !ok {
		return nil, errNotFound
	}
	done := *r // a sign-in changes the other one
	return &done, nil
}

func (s *provided) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	id := s.codes[code]
	s.mu.Unlock()
	return s.AuthRequestByID(ctx, id)
}

func (s *provided) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = id
	return nil
}

func (s *provided) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return nil
}

func (s *provided) CreateAccessToken(context.Context, op.TokenRequest) (string, time.Time, error) {
	return uuid.NewString(), time.Now().Add(time.Minute), nil
}

func (s *provided) SigningKey(context.Context) (op.SigningKey, error) { return s.key, nil }

func (s *provided) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

func (s *provided) KeySet(context.Context) ([]op.Key, error) { return []op.Key{publicKey{s.key}}, nil }

func (s *provided) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if id != clientID {
		return nil, errNotFound
	}
	return s.client, nil
}

func (s *provided) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	if id != clientID || secret != clientSecret {
		return errNotFound
	}
	return nil
}

func (s *provided) SetUserinfoFromScopes(context.Context, *zitadel.UserInfo, string, string, []string) error {
	return nil
}

// SetUserinfoFromRequest sets the claims of the ID token that a request is for.
func (s *provided) SetUserinfoFromRequest(
	_ context.Context, info *zitadel.UserInfo, request op.IDTokenRequest, scopes []string,
) error {
	r, ok := request.(*providedRequest)
	if !ok {
		return errNotFound
	}
	info.Subject = r.account.subject
	if slices.Contains(scopes, zitadel.ScopeEmail) {
		info.Email, info.EmailVerified = r.account.email, true
	}
	if slices.Contains(scopes, zitadel.ScopeProfile) {
		info.PreferredUsername = r.name
	}
	if slices.Contains(scopes, "groups") {
		info.AppendClaims("groups", r.account.groups)
	}
	return nil
}

func (s *provided) Health(context.Context) error { return nil }

// A providedRequest is the request of a sign-in. It is done when it has an account.
type providedRequest struct {
	*zitadel.AuthRequest
	id, name string
	account  *providerAccount
	begun    time.Time
}

func (r *providedRequest) GetID() string          { return r.id }
func (r *providedRequest) GetACR() string         { return "" }
func (r *providedRequest) GetAMR() []string       { return []string{"pwd"} }
func (r *providedRequest) GetAudience() []string  { return []string{r.ClientID} }
func (r *providedRequest) GetAuthTime() time.Time { return r.begun }
func (r *providedRequest) GetClientID() string    { return r.ClientID }
func (r *providedRequest) GetNonce() string       { return r.Nonce }
func (r *providedRequest) GetScopes() []string    { return r.Scopes }
func (r *providedRequest) Done() bool             { return r.account != nil }
func (r *providedRequest) GetCodeChallenge() *zitadel.CodeChallenge {
	return &zitadel.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

func (r *providedRequest) GetSubject() string {
	if r.account == nil {
		return ""
	}
	return r.account.subject
}

// A providedClient is the service as a client of the provider.
type providedClient struct{ redirect string }

func (c providedClient) GetID() string                       { return clientID }
func (c providedClient) RedirectURIs() []string              { return []string{c.redirect} }
func (c providedClient) PostLogoutRedirectURIs() []string    { return nil }
func (c providedClient) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }
func (c providedClient) AuthMethod() zitadel.AuthMethod      { return zitadel.AuthMethodBasic }
func (c providedClient) GrantTypes() []zitadel.GrantType {
	return []zitadel.GrantType{zitadel.GrantTypeCode}
}
func (c providedClient) LoginURL(id string) string           { return "/login?id=" + url.QueryEscape(id) }
func (c providedClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }
func (c providedClient) IDTokenLifetime() time.Duration      { return time.Minute }
func (c providedClient) DevMode() bool                       { return true } // the service has no TLS
func (c providedClient) IsScopeAllowed(scope string) bool    { return scope == "groups" }
func (c providedClient) ClockSkew() time.Duration            { return 0 }

// IDTokenUserinfoClaimsAssertion puts the claims of a person into the ID token, as Keycloak and Dex do.
func (c providedClient) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c providedClient) ResponseTypes() []zitadel.ResponseType {
	return []zitadel.ResponseType{zitadel.ResponseTypeCode}
}

func (c providedClient) RestrictAdditionalIdTokenScopes() func([]string) []string { return sameScopes }

func (c providedClient) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return sameScopes
}

func sameScopes(scopes []string) []string { return scopes }

type providedKey struct{ private any }

func (providedKey) ID() string                                  { return "k" }
func (providedKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k providedKey) Key() any                                  { return k.private }

type publicKey struct{ providedKey }

func (publicKey) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                         { return (&jose.JSONWebKey{Key: k.private}).Public().Key }

var providerLink = regexp.MustCompile(`href="(/signin/oidc/[^"]*)"`)

// atProvider opens the sign-in page of the service and goes to the provider's.
func (b *browser) atProvider(p *provider) page {
	b.w.Helper()
	b.leaves = true
	link := providerLink.FindStringSubmatch(string(b.get("/signin/in").has(200, "/signin/oidc/corp").body))
	if link == nil {
		b.w.Fatal("the sign-in page has no link to the provider")
	}
	login := b.get(html.UnescapeString(link[1])).has(200, "password")
	if login.at.Host != strings.TrimPrefix(p.URL, "http://") || login.at.Path != "/login" {
		b.w.Fatalf("not at the provider: %s", login.at)
	}
	return login
}

// fillLogin signs in on the page of a provider, and returns the page of the service after it.
func (b *browser) fillLogin(login page, name, with string) page {
	b.w.Helper()
	form := url.Values{"name": {name}, "password": {with}}
	for _, m := range hiddenPattern.FindAllStringSubmatch(string(login.body), -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	response, err := b.PostForm(login.at.ResolveReference(&url.URL{Path: "/login"}).String(), form)
	if err != nil {
		b.w.Fatal(err)
	}
	defer response.Body.Close()
	b.leaves = false
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.w.Fatal(err)
	}
	return page{t: b.w, answer: answer{response.StatusCode, response.Header, body}, at: response.Request.URL}
}

// TestExternalSignIn: people sign in at a provider of other people's code, from the service's page by the
// provider's and back, with PKCE. A group there gives a role here, until the next sign-in without the group. A person
// is its subject: an account with the same address and another subject is refused.
func TestExternalSignIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	idp := newProvider(t, w.HTTP+"/signin/oidc/corp/callback")
	w.Manage("POST", "groups", object{"name": "developers"})
	w.Manage("PUT", "assignments/developer/@developers", nil)
	w.Manage("PUT", "providers/corp", object{"issuer": idp.URL, "clientId": clientID, "clientSecret": clientSecret,
		"signIn": true, "scopes": []string{"openid", "email", "profile", "groups"}, "groupClaim": "groups",
		"groups": []object{{"claim": "game-devs", "group": "developers"}},
		"create": true, "allowedGroups": []string{"game-devs"}})
	signIn := func(name string) (*browser, page) {
		t.Helper()
		b := w.browser()
		return b, b.fillLogin(b.atProvider(idp), name, people.Password)
	}
	session := func(b *browser) *session {
		t.Helper()
		o := w.oidc(people.CodeGrant)
		out, err := o.byCode(o.code(b))
		if err != nil {
			t.Fatal(err)
		}
		return &session{o, *out.AccessToken, ""}
	}

	ada := providerAccount{subject: "subject-1", email: "ada@example.com", groups: []string{"staff", "game-devs"}}
	idp.put("ada", ada)
	wrong := w.browser()
	wrong.fillLogin(wrong.atProvider(idp), "ada", "not the password").has(403, "wrong name or password")
	wrong.get("/start").has(200, "Continue with corp")

	b, p := signIn("ada")
	if p.has(200, "Signed in as ada").has(200, "developer"); p.at.Path != "/start" {
		t.Errorf("the sign-in ends at %s", p.at)
	}
	keys := session(b).mustKeys(t, "developer")
	if _, err := w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Error(err)
	}

	ada.groups = []string{"staff"}
	idp.put("ada", ada)
	b, p = signIn("ada")
	p.has(200, "Signed in as ada")
	if strings.Contains(string(p.body), "developer") {
		t.Error("the role outlives the group")
	}
	_, err := session(b).keys("developer")
	refused(t, "keys of the role", err, "ForbiddenException")
	_, err = w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	refused(t, "keys from before", err, "UnrecognizedClientException")

	// Another account took over ada's address at the provider.
	idp.put("eve", providerAccount{subject: "subject-2", email: "ada@example.com"})
	b, p = signIn("eve")
	p.has(403, "Your account has no access here")
	b.get("/start").has(200, "Continue with corp")
	if n := w.signIns("ada", "console"); n != 2 {
		t.Errorf("ada has %d sessions, want 2", n)
	}
	// Even if its groups let it in, it is another user.
	idp.put("eve", providerAccount{subject: "subject-2", email: "ada@example.com", groups: []string{"game-devs"}})
	_, p = signIn("eve")
	p.has(200, "Signed in as eve")
	if user := w.v1(w.Root, "GET", "users/ada", nil); strings.Contains(string(user.body), "developers") {
		t.Errorf("ada has the groups of another account: %s", user.body)
	}
}
