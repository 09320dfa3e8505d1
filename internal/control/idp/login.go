package idp

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// A Login is the registration of this service at a provider.
type Login struct {
	Provider     Provider // Audiences are not used: the audience of ID tokens is the client id
	ClientID     string
	ClientSecret string // "" for a public client
	RedirectURL  string
	Scopes       []string // none: profile and email; openid is added
}

// AuthorizeURL returns the URL of the provider's sign-in page. state, nonce and verifier are random values of the
// sign-in; the caller compares the state of the callback with its own.
func (v *Verifier) AuthorizeURL(ctx context.Context, l Login, state, nonce, verifier string) (string, error) {
	config, err := v.config(ctx, &l)
	if err != nil {
		return "", err
	}
	return config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Exchange returns the claims of the ID token that the provider issues for the code of the callback. Errors are those
// of Verify.
func (v *Verifier) Exchange(ctx context.Context, l Login, code, nonce, verifier string) (*Claims, error) {
	config, err := v.config(ctx, &l)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, v.client)
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, v.refused(&l, err)
	}
	id, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, rejected("provider %s has issued no ID token: the client may lack the scope openid",
			l.Provider.Name)
	}
	l.Provider.Audiences = []string{l.ClientID}
	claims, err := v.Verify(ctx, l.Provider, id)
	if err == nil {
		err = claims.checkLogin(l.ClientID, nonce)
	}
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// checkLogin checks that the token was issued for this client and this sign-in.
func (c *Claims) checkLogin(client, nonce string) error {
	sent := text(c.All, "nonce")
	switch {
	case nonce == "" || subtle.ConstantTimeCompare([]byte(sent), []byte(nonce)) != 1:
		return rejected("it belongs to another sign-in (claim nonce)")
	case c.AuthorizedParty != client && (c.AuthorizedParty != "" || len(c.Audiences) > 1):
		return rejected("it was issued to another client (claim azp)")
	}
	return nil
}

// config returns the configuration of package oauth2.
func (v *Verifier) config(ctx context.Context, l *Login) (*oauth2.Config, error) {
	d, err := v.document(ctx, v.issuer(l.Provider.Issuer), nil)
	if err != nil {
		return nil, err
	}
	if d.endpoint.AuthURL == "" || d.endpoint.TokenURL == "" {
		return nil, rejected("provider %s offers no sign-in: its discovery document lacks the endpoints",
			l.Provider.Name)
	}
	scopes := l.Scopes
	if len(scopes) == 0 {
		scopes = []string{"profile", "email"}
	}
	if !slices.Contains(scopes, oidc.ScopeOpenID) {
		scopes = append([]string{oidc.ScopeOpenID}, scopes...)
	}
	endpoint := d.endpoint
	if l.ClientSecret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, RedirectURL: l.RedirectURL,
		Scopes: scopes, Endpoint: endpoint}, nil
}

// refused returns the error of a failed exchange of a code, and logs its cause.
func (v *Verifier) refused(l *Login, err error) error {
	cause := err
	reason := fmt.Errorf("%w: %s", ErrUnreachable, l.Provider.Issuer)
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		// The text of the error would be the whole answer.
		cause = fmt.Errorf("%s: %.200q %.200q", e.Response.Status, e.ErrorCode, e.ErrorDescription)
		if e.Response.StatusCode < 500 {
			reason = rejected("provider %s has refused the sign-in: %.100q", l.Provider.Name,
				cmp.Or(e.ErrorCode, e.Response.Status))
		}
	}
	v.warn("sign-in at identity provider failed", "provider", l.Provider.Name, "err", cause)
	return reason
}
