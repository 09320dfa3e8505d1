package signin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
)

// The clients of aws login, which do not register.
const (
	sameDevice  = "arn:aws:signin:::devtools/same-device"
	crossDevice = "arn:aws:signin:::devtools/cross-device"
)

// callbackPath is the path of the same-device client's redirect URI. Source: AWS's command line, 2.36.
const callbackPath = "/oauth/callback"

// loginKeySeconds is how long keys of aws login are valid; clients refresh them when 5 minutes are left.
const loginKeySeconds = 900

// parseLogin parses the query of Sign-in's authorization page.
func (h *Handler) parseLogin(q url.Values) (*request, error) {
	a := &request{kind: access.KindLogin, path: loginPath, clientID: q.Get("client_id"), client: "aws login",
		redirect: q.Get("redirect_uri"), state: q.Get("state"), challenge: q.Get("code_challenge")}
	var ok bool
	switch u, err := url.Parse(a.redirect); {
	case a.clientID == sameDevice && err == nil:
		_, err = parseRedirect(a.redirect)
		ok, a.origin = err == nil && u.Path == callbackPath, originOf(u)
	case a.clientID == crossDevice && err == nil:
		// The code is shown, never sent there.
		ok, a.crossDevice = u.Path == confirmationPath, true
	default:
		return nil, pageError(http.StatusBadRequest, "The client %.200q is unknown.", a.clientID)
	}
	if !ok {
		return nil, pageError(
			http.StatusBadRequest,
			"The redirect URI %.200q does not belong to aws login.",
			a.redirect,
		)
	}
	return a, a.check(q, "SHA-256")
}

func (h *Handler) loginPage(v *visit) error { return h.showConsent(v, h.parseLogin) }

func (h *Handler) loginConsent(v *visit) error { return h.takeConsent(v, h.parseLogin) }

// confirmation shows a code that the person copies to the machine where aws login --remote waits.
func (h *Handler) confirmation(v *visit) error {
	q := v.r.URL.Query()
	code, state := q.Get("code"), q.Get("state")
	if code == "" || state == "" {
		return pageError(http.StatusBadRequest, "The code is missing. Start aws login --remote again.")
	}
	text := "state=" + url.QueryEscape(state) + "&code=" + url.QueryEscape(code)
	h.show(v, http.StatusOK, "confirmation", page{Title: "Copy the authorization code",
		Body: confirmationBody{Code: encodeStd(text), Seconds: int(codeLife / time.Second)}})
	return nil
}

func (h *Handler) loginToken(v *visit) error {
	var in tokenRequest
	if err := read(v, &in, loginInvalid); err != nil {
		return err
	}
	if in.ClientID != sameDevice && in.ClientID != crossDevice {
		return loginInvalid.because("clientId is %.200q; it must be %s or %s.", in.ClientID, sameDevice, crossDevice)
	}
	if in.GrantType != codeGrant && in.GrantType != refreshGrant {
		return loginInvalid.because("grantType is %.100q; it must be %s or %s.", in.GrantType, codeGrant, refreshGrant)
	}
	thumbprint, err := h.proof(v)
	if err != nil {
		return err
	}
	var tokens *access.Tokens
	var signIn *catalog.SignIn
	if in.GrantType == codeGrant {
		tokens, signIn, err = h.loginByCode(v, &in, thumbprint)
	} else {
		tokens, signIn, err = h.loginByRefresh(v, &in, thumbprint)
	}
	if err != nil {
		return err
	}
	return h.loginKeys(v, in.ClientID, tokens, signIn)
}

func (h *Handler) loginByCode(v *visit, in *tokenRequest, thumbprint []byte) (*access.Tokens, *catalog.SignIn,
	error) {
	if in.Code == "" || in.CodeVerifier == "" || in.RedirectURI == "" {
		return nil, nil, loginInvalid.because("code, codeVerifier or redirectUri is missing.")
	}
	a, err := h.redeemCode(v.r.Context(), access.KindLogin, in)
	if errors.Is(err, errSpent) {
		return nil, nil, loginCodeExpired.because("%s", spentMessage)
	}
	if err != nil {
		return nil, nil, err
	}
	signIn, err := h.start(v, access.Start{User: a.User, UserID: a.UserID, Since: a.Issued, Client: "aws login",
		Kind: access.KindLogin, Role: a.Role, Thumbprint: thumbprint})
	if err != nil {
		return nil, nil, err
	}
	tokens := h.Access.Tokens(signIn)
	return &tokens, signIn, nil
}

func (h *Handler) loginByRefresh(v *visit, in *tokenRequest, thumbprint []byte) (*access.Tokens, *catalog.SignIn,
	error) {
	if in.RefreshToken == "" {
		return nil, nil, loginInvalid.because("refreshToken is missing.")
	}
	return h.Access.Refresh(v.r.Context(), in.RefreshToken, thumbprint, v.from)
}

// loginKeys answers with keys of the session's role. Request and answer lack the members tokenInput and tokenOutput of
// the model.
func (h *Handler) loginKeys(v *visit, clientID string, tokens *access.Tokens, signIn *catalog.SignIn) error {
	p, err := h.Access.Bearer(tokens.Access)
	if err != nil {
		return err
	}
	keys, err := h.Access.RoleKeys(v.r.Context(), p, signIn.Role, loginKeySeconds, v.from)
	if err != nil {
		return err
	}
	idToken, err := h.idToken(clientID, keys)
	if err != nil {
		return err
	}
	type accessToken struct {
		ID     string `json:"accessKeyId"`
		Secret string `json:"secretAccessKey"`
		Token  string `json:"sessionToken"`
	}
	h.write(v, http.StatusOK, struct {
		Access  accessToken `json:"accessToken"`
		Type    string      `json:"tokenType"`
		Expires int64       `json:"expiresIn"`
		Refresh string      `json:"refreshToken"`
		ID      string      `json:"idToken"`
	}{accessToken{keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken}, "aws_sigv4", h.seconds(keys.Expires),
		tokens.Refresh, idToken})
	return nil
}

// idToken names the session. It is not signed: clients read the subject of their own session from it, and nobody may
// accept it as a proof of anything.
func (h *Handler) idToken(clientID string, keys *access.Temporary) (string, error) {
	claims, err := json.Marshal(map[string]any{"iss": h.PublicURL, "aud": clientID, "sub": keys.Arn,
		"iat": h.Clock.Now().Unix(), "exp": keys.Expires.Unix()})
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(claims) + ".", err
}
