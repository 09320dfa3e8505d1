package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// An ssoClient calls SSO-OIDC and the SSO portal of a service. Source: service models sso-oidc and sso of the AWS SDKs.
type ssoClient struct {
	http         *http.Client
	oidc, portal string // base URLs
	agent        string // User-Agent
}

// Grants of SSO-OIDC.
const (
	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	codeGrant    = "authorization_code"
	refreshGrant = "refresh_token"
)

// ssoScope is the scope of access to the roles of a person.
const ssoScope = "sso:account:access"

// An ssoError is an error of the service.
type ssoError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
	Message     string `json:"message"` // of the portal
	Status      int    `json:"-"`
}

func (e *ssoError) Error() string {
	for _, text := range []string{e.Description, e.Message, e.Code} {
		if text != "" {
			return strings.TrimSuffix(text, ".")
		}
	}
	return fmt.Sprintf("the service answered %d: check that the endpoint is that of Muster's API", e.Status)
}

// A registration identifies this program to the service.
type registration struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	ExpiresAt    int64  `json:"clientSecretExpiresAt"` // Unix seconds
}

type newClientInput struct {
	Name         string   `json:"clientName"`
	Type         string   `json:"clientType"`
	Scopes       []string `json:"scopes"`
	Grants       []string `json:"grantTypes,omitempty"`
	RedirectURIs []string `json:"redirectUris,omitempty"`
	Issuer       string   `json:"issuerUrl,omitempty"`
}

func (c *ssoClient) register(ctx context.Context, in newClientInput) (r registration, err error) {
	in.Name, in.Type, in.Scopes = "muster", "public", []string{ssoScope}
	return r, c.post(ctx, "/client/register", in, &r)
}

// A deviceGrantStart is a sign-in that waits for a person.
type deviceGrantStart struct {
	DeviceCode string `json:"deviceCode"`
	UserCode   string `json:"userCode"`
	URL        string `json:"verificationUri"`
	URLWithAll string `json:"verificationUriComplete"`
	ExpiresIn  int    `json:"expiresIn"` // seconds
	Interval   int    `json:"interval"`  // seconds
}

func (c *ssoClient) startDevice(ctx context.Context, r registration, startURL string) (d deviceGrantStart, err error) {
	in := map[string]string{"clientId": r.ClientID, "clientSecret": r.ClientSecret, "startUrl": startURL}
	d.Interval = 5 // unless the answer has one. Source: RFC 8628, section 3.2
	return d, c.post(ctx, "/device_authorization", in, &d)
}

type tokenInput struct {
	Grant        string `json:"grantType"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	DeviceCode   string `json:"deviceCode,omitempty"`
	Code         string `json:"code,omitempty"`
	Verifier     string `json:"codeVerifier,omitempty"`
	RedirectURI  string `json:"redirectUri,omitempty"`
	RefreshToken string `json:"refreshToken,omitempty"`
}

type tokenOutput struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
	ExpiresIn    int    `json:"expiresIn"` // seconds
}

func (c *ssoClient) token(ctx context.Context, in tokenInput) (t tokenOutput, err error) {
	return t, c.post(ctx, "/token", in, &t)
}

// authorizeURL returns the page of SSO-OIDC at which a person allows this program.
func (c *ssoClient) authorizeURL(r registration, redirectURI, state, challenge string) string {
	return c.oidc + "/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {r.ClientID}, "redirect_uri": {redirectURI}, "state": {state},
		"code_challenge_method": {"S256"}, "code_challenge": {challenge}, "scopes": {ssoScope},
	}.Encode()
}

// roleKeys returns temporary keys of a role.
func (c *ssoClient) roleKeys(ctx context.Context, accessToken, account, role string) (aws.Credentials, error) {
	var answer struct {
		Keys struct {
			AccessKeyID  string `json:"accessKeyId"`
			SecretKey    string `json:"secretAccessKey"`
			SessionToken string `json:"sessionToken"`
			Expiration   int64  `json:"expiration"` // Unix milliseconds
		} `json:"roleCredentials"`
	}
	query := url.Values{"role_name": {role}, "account_id": {account}}
	err := c.ask(ctx, http.MethodGet, "/federation/credentials?"+query.Encode(), accessToken, &answer)
	return aws.Credentials{AccessKeyID: answer.Keys.AccessKeyID, SecretAccessKey: answer.Keys.SecretKey,
		SessionToken: answer.Keys.SessionToken, CanExpire: true, Expires: time.UnixMilli(answer.Keys.Expiration).UTC(),
	}, err
}

// roles returns the names of a person's roles.
func (c *ssoClient) roles(ctx context.Context, accessToken, account string) (names []string, err error) {
	next := ""
	for {
		var answer struct {
			Roles []struct{ RoleName string } `json:"roleList"`
			Next  string                      `json:"nextToken"`
		}
		query := url.Values{"account_id": {account}}
		if next != "" {
			query.Set("next_token", next)
		}
		if err := c.ask(ctx, http.MethodGet, "/assignment/roles?"+query.Encode(), accessToken, &answer); err != nil {
			return nil, err
		}
		for _, r := range answer.Roles {
			names = append(names, r.RoleName)
		}
		if next = answer.Next; next == "" {
			return names, nil
		}
	}
}

func (c *ssoClient) logout(ctx context.Context, accessToken string) error {
	return c.ask(ctx, http.MethodPost, "/logout", accessToken, nil)
}

// post calls SSO-OIDC.
func (c *ssoClient) post(ctx context.Context, path string, in, answer any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.oidc+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	return c.do(request, answer)
}

// ask calls the portal.
func (c *ssoClient) ask(ctx context.Context, method, path, accessToken string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.portal+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Amz-Sso_bearer_token", accessToken)
	return c.do(request, answer)
}

func (c *ssoClient) do(request *http.Request, answer any) error {
	request.Header.Set("User-Agent", c.agent)
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		failure := &ssoError{Status: response.StatusCode}
		_ = json.Unmarshal(body, failure) // no JSON: the status says enough
		return failure
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("decode the answer: %w: check that the endpoint is that of Muster's API", err)
	}
	return nil
}
