package query

import (
	"context"

	"github.com/muster-gg/muster/internal/control/access"
)

// The limits of lists. Source: STS API reference.
const (
	maxTags       = 50
	maxPolicyArns = 10
)

// The bounds of durations, in seconds. 0, for a missing one, is the operation's default. Source: STS API reference.
const (
	minDuration        = 900
	maxRoleDuration    = 43200
	maxSessionDuration = 129600
)

// credentials is a structure of the STS model, as all types of results here and in the other files.
type credentials struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      string
}

func credentialsOf(t *access.Temporary) credentials {
	return credentials{t.AccessKeyID, t.SecretAccessKey, t.SessionToken, iso(t.Expires)}
}

type assumedRoleUser struct {
	AssumedRoleID string `xml:"AssumedRoleId"`
	Arn           string
}

type callerIdentity struct {
	Arn     string
	UserID  string `xml:"UserId"`
	Account string
}

func getCallerIdentity(_ context.Context, _ *Handler, c *call) (any, error) {
	return callerIdentity{c.id.Arn, c.id.UserID, c.id.Account}, nil
}

type sessionToken struct {
	Credentials credentials
}

func getSessionToken(ctx context.Context, h *Handler, c *call) (any, error) {
	c.form.refuse("SerialNumber", "TokenCode")
	seconds := c.form.number("DurationSeconds", 0, minDuration, maxSessionDuration)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	t, err := h.Access.SessionToken(ctx, c.id, c.from, seconds)
	if err != nil {
		return nil, err
	}
	return sessionToken{credentialsOf(t)}, nil
}

// assumedRole is the result of AssumeRole and of AssumeRoleWithWebIdentity.
type assumedRole struct {
	SubjectFromWebIdentityToken string `xml:",omitempty"`
	Audience                    string `xml:",omitempty"`
	AssumedRoleUser             assumedRoleUser
	Credentials                 credentials
	PackedPolicySize            int    `xml:",omitempty"`
	Provider                    string `xml:",omitempty"`
	SourceIdentity              string `xml:",omitempty"`
}

func assumedRoleOf(t *access.Temporary) assumedRole {
	return assumedRole{AssumedRoleUser: assumedRoleUser{t.UserID, t.Arn}, Credentials: credentialsOf(t),
		PackedPolicySize: t.PackedPolicySize}
}

func assumeRole(ctx context.Context, h *Handler, c *call) (any, error) {
	f := &c.form
	f.refuse("SerialNumber", "TokenCode", "TransitiveTagKeys", "ProvidedContexts")
	in := access.AssumeRole{
		RoleArn: f.text("RoleArn", roleArnRule), SessionName: f.text("RoleSessionName", sessionNameRule),
		Duration: f.number("DurationSeconds", 0, minDuration, maxRoleDuration), Policy: f.text("Policy", sessionRule),
		PolicyArns: f.texts("PolicyArns", "arn", maxPolicyArns, policyArnRule),
		ExternalID: f.text("ExternalId", externalIDRule), SourceIdentity: f.text("SourceIdentity", sourceRule),
		Tags: f.tags("Tags", maxTags),
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	t, err := h.Access.AssumeRole(ctx, c.id, c.from, in)
	if err != nil {
		return nil, err
	}
	result := assumedRoleOf(t)
	result.SourceIdentity = in.SourceIdentity
	return result, nil
}

func assumeRoleWithWebIdentity(ctx context.Context, h *Handler, c *call) (any, error) {
	f := &c.form
	in := access.WebIdentity{
		RoleArn: f.text("RoleArn", roleArnRule), SessionName: f.text("RoleSessionName", sessionNameRule),
		Token: f.text("WebIdentityToken", webTokenRule), Provider: f.text("ProviderId", webProviderRule),
		Duration: f.number("DurationSeconds", 0, minDuration, maxRoleDuration), Policy: f.text("Policy", sessionRule),
		PolicyArns: f.texts("PolicyArns", "arn", maxPolicyArns, policyArnRule),
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	t, claims, err := h.Access.AssumeRoleWithWebIdentity(ctx, c.from, in)
	if err != nil {
		return nil, err
	}
	result := assumedRoleOf(t)
	result.SubjectFromWebIdentityToken, result.Audience = claims.Subject, claims.Audience
	result.Provider = claims.Issuer
	return result, nil
}

type accessKeyInfo struct {
	Account string
}

func getAccessKeyInfo(_ context.Context, h *Handler, c *call) (any, error) {
	id := c.form.text("AccessKeyId", keyRule)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	account, err := h.Access.KeyAccount(id)
	if err != nil {
		return nil, err
	}
	return accessKeyInfo{account}, nil
}
