package signin

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The grant types.
const (
	codeGrant    = "authorization_code"
	refreshGrant = "refresh_token"
	deviceType   = "urn:ietf:params:oauth:grant-type:device_code"
)

// accessScope is the only scope: to use the roles of the person.
const accessScope = "sso:account:access"

// clientLife is how long a registration is valid. Source: AWS, RegisterClient.
const clientLife = 90 * 24 * time.Hour

// leeway is for differences between the clocks of nodes.
const leeway = 5 * time.Second

// Limits of what a client registers: all of it is in its id.
const (
	maxName         = 256
	maxRedirects    = 8
	maxRedirectSize = 512
	maxList         = 16
)

// registration is the input of RegisterClient.
type registration struct {
	ClientName   string   `json:"clientName"`
	ClientType   string   `json:"clientType"`
	Scopes       []string `json:"scopes"`
	GrantTypes   []string `json:"grantTypes"`
	RedirectURIs []string `json:"redirectUris"`
	IssuerURL    string   `json:"issuerUrl"`
}

func (h *Handler) registerClient(v *visit) error {
	var in registration
	if err := read(v, &in, invalidRequest); err != nil {
		return err
	}
	if err := h.checkRegistration(&in); err != nil {
		return err
	}
	now := h.Clock.Now()
	c := access.Client{Name: in.ClientName, Grants: in.GrantTypes, RedirectURIs: in.RedirectURIs, Scopes: in.Scopes,
		Issuer: in.IssuerURL, Expires: now.Add(clientLife)}
	id, secret := h.Access.SealClient(c)
	h.write(v, 200, struct {
		ClientID  string `json:"clientId"`
		Secret    string `json:"clientSecret"`
		IssuedAt  int64  `json:"clientIdIssuedAt"`
		ExpiresAt int64  `json:"clientSecretExpiresAt"`
		Authorize string `json:"authorizationEndpoint"`
		Token     string `json:"tokenEndpoint"`
	}{id, secret, now.Unix(), c.Expires.Unix(), h.PublicURL + authorizePath, h.PublicURL + tokenPath})
	return nil
}

func (h *Handler) checkRegistration(in *registration) error {
	switch {
	case in.ClientName == "":
		return invalidRequest.because("clientName is missing.")
	case len(in.ClientName) > maxName:
		return invalidMetadata.because("clientName has more than %d bytes.", maxName)
	case strings.ContainsFunc(in.ClientName, func(r rune) bool { return !unicode.IsPrint(r) }):
		return invalidMetadata.because("clientName has characters that cannot be printed.") // people read it
	case in.ClientType != "public":
		return invalidMetadata.because("clientType is %.50q; it must be public.", in.ClientType)
	case len(in.Scopes) > maxList || len(in.GrantTypes) > maxList || len(in.RedirectURIs) > maxRedirects:
		return invalidMetadata.because("scopes, grantTypes or redirectUris has too many entries.")
	}
	for _, s := range in.Scopes {
		if s != accessScope {
			return invalidScope.because("The scope %.100q is not known; use %s.", s, accessScope)
		}
	}
	for _, g := range in.GrantTypes {
		if g != codeGrant && g != refreshGrant && g != deviceType {
			return unsupportedGrantType.because("The grant type %.100q is not supported.", g)
		}
	}
	for _, u := range in.RedirectURIs {
		if _, err := parseRedirect(u); err != nil {
			return err
		}
	}
	if slices.Contains(in.GrantTypes, codeGrant) && len(in.RedirectURIs) == 0 {
		return invalidRedirectURI.because("redirectUris is missing; %s needs it.", codeGrant)
	}
	if in.IssuerURL != "" {
		return h.checkStartURL(in.IssuerURL)
	}
	return nil
}

// parseRedirect parses a redirect URI. Only programs on the person's machine can receive codes. Source: RFC 8252,
// section 7.3.
func parseRedirect(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxRedirectSize || u.Scheme != "http" || u.User != nil || u.RawQuery != "" ||
		u.ForceQuery || strings.Contains(s, "#") || u.Opaque != "" ||
		!slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
		return nil, invalidRedirectURI.because(
			"The redirect URI %.200q must be http://127.0.0.1, http://[::1] or http://localhost, without a query.", s)
	}
	return u, nil
}

// registered reports whether a client has registered a redirect URI. The port is the client's choice, each time.
func registered(c *access.Client, sent *url.URL) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(s string) bool {
		u, err := parseRedirect(s)
		return err == nil && u.Hostname() == sent.Hostname() && u.EscapedPath() == sent.EscapedPath()
	})
}

// may reports whether a client may use a grant type. Only codes need a registration, for their redirect URI: AWS's
// command lines share one registration, and an older one then asks for a device code with that of a newer one.
func may(c *access.Client, grant string) bool {
	return grant != codeGrant || slices.Contains(c.Grants, grant)
}

// client returns the client with an id and secret.
func (h *Handler) client(id, secret string) (*access.Client, error) {
	if id == "" || secret == "" {
		return nil, invalidRequest.because("clientId or clientSecret is missing.")
	}
	c, err := h.Access.OpenClient(id, secret)
	if err != nil {
		return nil, invalidClient.because("The client is not registered here, or its registration has expired.")
	}
	return c, nil
}

// tokenRequest is the input of CreateToken, and of Sign-in's CreateOAuth2Token, which has no client secret.
type tokenRequest struct {
	GrantType    string `json:"grantType"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	DeviceCode   string `json:"deviceCode"`
	Code         string `json:"code"`
	CodeVerifier string `json:"codeVerifier"`
	RedirectURI  string `json:"redirectUri"`
	RefreshToken string `json:"refreshToken"`
}

func (h *Handler) createToken(v *visit) error {
	var in tokenRequest
	if err := read(v, &in, invalidRequest); err != nil {
		return err
	}
	grant, ok := map[string]func(*visit, *access.Client, *tokenRequest) (*access.Tokens, error){
		deviceType: h.deviceToken, codeGrant: h.codeToken, refreshGrant: h.refreshToken,
	}[in.GrantType]
	switch {
	case in.GrantType == "":
		return invalidRequest.because("grantType is missing.")
	case !ok:
		return unsupportedGrantType.because("The grant type %.100q is not supported.", in.GrantType)
	}
	c, err := h.client(in.ClientID, in.ClientSecret)
	if err != nil {
		return err
	}
	if !may(c, in.GrantType) {
		return unauthorizedClient.because("The client is not registered for the grant type %s.", in.GrantType)
	}
	tokens, err := grant(v, c, &in)
	if err != nil {
		return err
	}
	h.write(v, 200, struct {
		Access  string `json:"accessToken"`
		Type    string `json:"tokenType"`
		Expires int64  `json:"expiresIn"`
		Refresh string `json:"refreshToken"`
	}{tokens.Access, "Bearer", h.seconds(tokens.Expires), tokens.Refresh})
	return nil
}

// seconds returns how many are left.
func (h *Handler) seconds(until time.Time) int64 {
	return max(0, int64(until.Sub(h.Clock.Now())/time.Second))
}

// deviceToken is the poll of a client that waits for a person.
func (h *Handler) deviceToken(v *visit, c *access.Client, in *tokenRequest) (*access.Tokens, error) {
	if in.DeviceCode == "" {
		return nil, invalidRequest.because("deviceCode is missing.")
	}
	g, err := h.redeemDevice(v.r.Context(), in.ClientID, in.DeviceCode)
	if err != nil {
		return nil, err
	}
	return h.begin(v, access.Start{User: g.User, UserID: g.UserID, Since: g.At, Client: c.Name,
		Kind: access.KindSSO})
}

// codeToken exchanges an authorization code.
func (h *Handler) codeToken(v *visit, c *access.Client, in *tokenRequest) (*access.Tokens, error) {
	if in.Code == "" || in.CodeVerifier == "" || in.RedirectURI == "" {
		return nil, invalidRequest.because("code, codeVerifier or redirectUri is missing.")
	}
	a, err := h.redeemCode(v.r.Context(), access.KindSSO, in)
	if errors.Is(err, errSpent) {
		return nil, invalidGrant.because("%s", spentMessage)
	}
	if err != nil {
		return nil, err
	}
	return h.begin(v, access.Start{User: a.User, UserID: a.UserID, Since: a.Issued, Client: c.Name,
		Kind: access.KindSSO})
}

func (h *Handler) refreshToken(v *visit, _ *access.Client, in *tokenRequest) (*access.Tokens, error) {
	if in.RefreshToken == "" {
		return nil, invalidRequest.because("refreshToken is missing.")
	}
	tokens, _, err := h.Access.Refresh(v.r.Context(), in.RefreshToken, nil, v.from)
	return tokens, err
}

// begin begins a sign-in session.
func (h *Handler) begin(v *visit, s access.Start) (*access.Tokens, error) {
	signIn, err := h.start(v, s)
	if err != nil {
		return nil, err
	}
	tokens := h.Access.Tokens(signIn)
	return &tokens, nil
}

func (h *Handler) start(v *visit, s access.Start) (*catalog.SignIn, error) {
	s.Origin = v.from
	signIn, err := h.Access.StartSignIn(v.r.Context(), s)
	if fault.Is(err, fault.AccessDenied) || fault.Is(err, fault.NotFound) {
		return nil, access.ErrDisabled // or deleted, since the person allowed it
	}
	return signIn, err
}
