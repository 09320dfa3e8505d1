package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A WebIdentity is the input of AssumeRoleWithWebIdentity.
type WebIdentity struct {
	RoleArn, SessionName, Token string

	Provider   string // of OAuth 2.0 providers without a token; not used
	Duration   int32  // seconds; 0: the default
	Policy     string
	PolicyArns []string
}

// AssumeRoleWithWebIdentity returns keys of a role for a token of an identity provider that the role trusts.
func (a *Access) AssumeRoleWithWebIdentity(ctx context.Context, from Origin, in WebIdentity) (
	t *Temporary, claims *idp.Claims, err error,
) {
	defer func() { a.recordWebIdentity(from, &in, claims, t, err) }()
	claims, err = a.webClaims(ctx, in.Token)
	if err != nil {
		return nil, claims, err
	}
	role, err := a.roleByArn(in.RoleArn)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, claims, err
	}
	if err != nil || !a.trustsWeb(role, from, claims) {
		return nil, claims, fault.New(fault.AccessDenied, "Not authorized to perform sts:AssumeRoleWithWebIdentity")
	}
	lasts, err := duration(in.Duration, standardRoleSeconds, roleMaximum(role))
	if err != nil {
		return nil, claims, err
	}
	managed, err := a.sessionPolicies(in.Policy, in.PolicyArns)
	if err != nil {
		return nil, claims, err
	}
	size, err := packedSize(in.Policy, managed, nil)
	if err != nil {
		return nil, claims, err
	}
	now := a.cfg.Catalog.Now()
	t = a.issue(sealed{
		Role: role.Name, RoleID: role.ID, SessionName: in.SessionName, Arn: a.sessionArn(role.Name, in.SessionName),
		Until: int64(now.Add(maxRoleSeconds * time.Second)), Issued: int64(now), Expires: int64(now.Add(lasts)),
		Policies: managed, Policy: in.Policy,
		Source: clip(claims.Subject, 200),
	})
	t.PackedPolicySize = size
	return t, claims, nil
}

// webClaims verifies a token by the provider that its issuer names.
func (a *Access) webClaims(ctx context.Context, token string) (*idp.Claims, error) {
	issuer, err := idp.IssuerOf(token)
	if err != nil {
		return nil, fault.New(fault.InvalidIdentityToken, "The ID Token provided is not a valid JWT.")
	}
	p, ok := a.state().ProviderByIssuer(issuer)
	if !ok || a.cfg.Tokens == nil {
		return nil, fault.New(fault.InvalidIdentityToken, "No OpenIDConnect provider found in your account for %s",
			clip(issuer, 200))
	}
	claims, err := a.cfg.Tokens.Verify(ctx, providerOf(p), token)
	return claims, tokenFault(err)
}

// tokenFault converts the error of a token.
func tokenFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, idp.ErrExpired):
		return fault.New(fault.ExpiredToken, "Token expired: %s", err)
	case errors.Is(err, idp.ErrRejected):
		return fault.New(fault.InvalidIdentityToken, "%s", err)
	case errors.Is(err, idp.ErrUnreachable):
		return &fault.Error{Kind: fault.IDPCommunicationError, Err: err,
			Message: "The keys of the identity provider could not be fetched. Try again."}
	}
	return &fault.Error{Kind: fault.InvalidIdentityToken, Message: "The ID Token provided is not valid.", Err: err}
}

func providerOf(p *catalog.Provider) idp.Provider {
	audiences := slices.Clone(p.Audiences)
	if p.ClientID != "" && !slices.Contains(audiences, p.ClientID) {
		audiences = append(audiences, p.ClientID)
	}
	return idp.Provider{Name: p.Name, Issuer: p.Issuer, Audiences: audiences, Keys: p.Keys, GroupClaim: p.GroupClaim}
}

// issuerName returns an issuer as condition keys and principals name it.
func issuerName(issuer string) string {
	if _, name, ok := strings.Cut(issuer, "://"); ok { // https, or http on loopback
		issuer = name
	}
	return strings.TrimSuffix(issuer, "/")
}

// trustsWeb reports whether a role trusts a token.
func (a *Access) trustsWeb(role *catalog.Role, from Origin, c *idp.Claims) bool {
	if role.Trust == "" {
		return false
	}
	document, err := policy.ParseTrust(role.Trust)
	if err != nil {
		return false
	}
	issuer := issuerName(c.Issuer)
	d := document.Trusts(&policy.TrustRequest{
		Action: assumeWebIdentity, Federated: true,
		Principals: []string{issuer, "arn:aws:iam::" + a.cfg.Account + ":oidc-provider/" + issuer},
		Values: func(key string) ([]string, bool) {
			switch key {
			case issuer + ":sub":
				return []string{c.Subject}, true
			case issuer + ":aud":
				return c.Audiences, true
			case "aws:SourceIp":
				return []string{address(from.Address)}, from.Address.IsValid()
			case "aws:CurrentTime":
				return []string{a.now().UTC().Format(time.RFC3339)}, true
			}
			return nil, false
		},
	})
	return d.Allowed
}
