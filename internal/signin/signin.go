// Package signin is the endpoint where people sign in, with AWS's protocols and in a browser:
//
//	POST /client/register, /device_authorization, /token     SSO-OIDC (oidc.go)
//	GET  /authorize                                          its page: sign in, consent (authorize.go)
//	GET  /assignment/accounts, /assignment/roles             SSO portal, with a bearer token (portal.go)
//	GET  /federation/credentials; POST /logout
//	GET  /v1/authorize, /v1/sessions/confirmation            aws login (awslogin.go)
//	POST /v1/token
//	HEAD /start                                              the start URL of AWS's command line (starturl.go)
//	GET  /start, /device, /signin/…                          pages
//
// JSON requests carry no cookies and pages no tokens. Everything that the first three rows need is sealed into what the
// client keeps, or is in the journal's bucket for minutes, so that any node answers any request; only limits are
// counted per node. Nothing here is durable but the sign-in session, which package access writes.
//
// Sources: service models sso, sso-oidc and signin of botocore; RFC 6749, 7636 (PKCE), 8252 (native apps), 8628 (device
// grant), 9449 (DPoP).
package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// Access decides who may sign in. An *access.Access implements it.
type Access interface {
	CheckPassword(ctx context.Context, name, password string, from access.Origin) (*catalog.User, error)
	Invited(token string) (*catalog.User, error)
	AcceptInvite(ctx context.Context, token, password string, from access.Origin) (*catalog.User, error)
	External(ctx context.Context, p *catalog.Provider, c *idp.Claims, from access.Origin) (*catalog.User, error)

	StartSignIn(ctx context.Context, s access.Start) (*catalog.SignIn, error)
	Consented(event string, p *access.Person, client string, allowed bool, from access.Origin)
	EndSignIn(ctx context.Context, id, reason string, from access.Origin) error
	Tokens(s *catalog.SignIn) access.Tokens
	Refresh(ctx context.Context, token string, thumbprint []byte, from access.Origin) (*access.Tokens,
		*catalog.SignIn, error)
	Bearer(token string) (*access.Person, error)
	Cookie(s *catalog.SignIn) string
	FromCookie(value string) (*access.Person, error)
	Touch(ctx context.Context, s *catalog.SignIn) error

	RolesOf(user string) []*catalog.Role
	RoleKeys(ctx context.Context, p *access.Person, role string, seconds int32, from access.Origin) (
		*access.Temporary, error)

	SealClient(c access.Client) (id, secret string)
	OpenClient(id, secret string) (*access.Client, error)
	ClientOf(id string) (*access.Client, error)
	Seal(purpose string, plain, bound []byte) []byte
	Open(purpose string, sealed, bound []byte) ([]byte, error)

	Users(after string, limit int) (users []access.UserView, more bool)
	Settings() access.SettingsView
	SignInProviders() []*catalog.Provider
	Provider(name string) (*catalog.Provider, error)
	Login(p *catalog.Provider, redirectURL string) (idp.Login, error)
}

// IdP signs people in at external identity providers. An *idp.Verifier implements it.
type IdP interface {
	AuthorizeURL(ctx context.Context, l idp.Login, state, nonce, verifier string) (string, error)
	Exchange(ctx context.Context, l idp.Login, code, nonce, verifier string) (*idp.Claims, error)
}

// Config configures a Handler. All fields are required unless they say otherwise.
type Config struct {
	Access Access
	Grants journal.Bucket // pending device grants
	Codes  journal.Bucket // authorization codes, apart: nobody but signed-in people fills it
	IdP    IdP            // nil: there are no external providers

	// PublicURL is the URL that clients and browsers use; "" is URL, that of the listener. Links and checks use it, and
	// never a request's Host, which its sender chooses.
	PublicURL, URL string

	Region      string
	RegionID    string // 16 hexadecimal digits, the same on all nodes of the region and on no other
	Account     string // 12 digits
	AccountName string
	CA          string // PEM, of a CA that clients must be told to trust; "": none

	// Insecure serves sign-in over unencrypted connections from other machines too.
	Insecure bool

	Ready func(context.Context) bool // waits until requests can be answered
	Clock clockwork.Clock
	Log   *slog.Logger
}

// A Handler serves sign-in. It is an http.Handler.
type Handler struct {
	Config
	base   *url.URL // PublicURL, or URL
	routes *http.ServeMux
	pages  pages
	lines  *loglimit.Limiter // limits the log: callers are not authenticated

	csrf     *http.CrossOriginProtection
	budget   *budget
	requests *tally // device grants of an address that wait
	wrong    *tally // wrong user codes of a sign-in session, and of an address
	polls    *recent[poll]
	proofs   *recent[struct{}] // DPoP proofs that were used
}

// New returns the handler of sign-in. The error is that of a URL that is none.
func New(c Config) (*Handler, error) {
	if c.PublicURL == "" {
		c.PublicURL = c.URL
	}
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	base, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("public URL: %w", err)
	}
	if base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, errors.New("public URL " + c.PublicURL + " must begin with https:// or http:// and name a host")
	}
	h := &Handler{
		Config: c, base: base, routes: http.NewServeMux(), pages: parsePages(), lines: loglimit.New(c.Clock),
		csrf: http.NewCrossOriginProtection(), budget: newBudget(c.Clock),
		requests: newTally(c.Clock, deviceLife), wrong: newTally(c.Clock, wrongLife),
		polls:  newRecent[poll](c.Clock, deviceLife, maxPending),
		proofs: newRecent[struct{}](c.Clock, proofLife, maxProofs),
	}
	for _, t := range table {
		h.routes.HandleFunc(t.method+" "+t.path, h.admit(t))
	}
	unknown := h.admit(route{kind: pageKind, serve: (*Handler).unknownPage})
	h.routes.HandleFunc(pagePrefix, unknown)
	h.routes.HandleFunc("/", unknown)
	return h, nil
}

// ServeHTTP answers a request that Matches.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.routes.ServeHTTP(w, r) }
