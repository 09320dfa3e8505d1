package main

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // the name of a file, as the AWS tools compute it
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/gofrs/flock"

	"github.com/muster-gg/muster/internal/atomicfile"
)

// An ssoSession is the sign-in of a profile: an sso-session section and its token in the cache of the AWS tools.
type ssoSession struct {
	*app
	profile *sharedProfile
	section *awsconfig.SSOSession
	client  ssoClient
	file    string // of the token
}

// refreshTime is how long before its end a token is refreshed. Source: botocore, SSOTokenProvider.
const refreshTime = 15 * time.Minute

// ssoTimeout limits each call.
const ssoTimeout = 30 * time.Second

// A cachedToken is a file in ~/.aws/sso/cache, in the format of the AWS tools.
type cachedToken struct {
	StartURL            string    `json:"startUrl"`
	Region              string    `json:"region"`
	AccessToken         string    `json:"accessToken"`
	Expires             time.Time `json:"expiresAt"` // whole seconds in UTC: botocore reads no others
	ClientID            string    `json:"clientId,omitempty"`
	ClientSecret        string    `json:"clientSecret,omitempty"`
	RegistrationExpires time.Time `json:"registrationExpiresAt,omitzero"`
	RefreshToken        string    `json:"refreshToken,omitempty"`
}

// ssoSession returns the sign-in of a profile.
func (a *app) ssoSession(p *sharedProfile) (*ssoSession, error) {
	if p.SSOSession == nil {
		return nil, fmt.Errorf("profile %s has no sso_session: run 'muster configure --profile %s --endpoint URL'",
			p.Profile, p.Profile)
	}
	oidc, portal := a.serviceURL(p, "sso_oidc"), a.serviceURL(p, "sso")
	if oidc == "" || portal == "" {
		return nil, fmt.Errorf("profile %s names no endpoint of sso and sso_oidc: run 'muster configure --profile %s "+
			"--endpoint URL'", p.Profile, p.Profile)
	}
	trust, err := a.trusted(cmp.Or(a.getenv("MUSTER_CA_FILE"), a.getenv("AWS_CA_BUNDLE"), p.CustomCABundle))
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(p.SSOSession.Name))
	file, err := a.awsFile("", "sso", "cache", hex.EncodeToString(sum[:])+".json")
	transport := &http.Transport{TLSClientConfig: trust, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	client := ssoClient{&http.Client{Transport: transport, Timeout: ssoTimeout}, oidc, portal, a.agent}
	return &ssoSession{a, p, p.SSOSession, client, file}, err
}

// serviceURL returns the endpoint of a service of a profile: the environment comes first, as in the AWS tools.
func (a *app) serviceURL(p *sharedProfile, service string) string {
	url := cmp.Or(a.getenv("AWS_ENDPOINT_URL_"+strings.ToUpper(service)), a.getenv("AWS_ENDPOINT_URL"),
		p.serviceURL(service))
	return strings.TrimSuffix(url, "/")
}

// load reads the token.
func (s *ssoSession) load() (*cachedToken, error) {
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.signInAgain("you are not signed in")
	}
	if err != nil {
		return nil, err
	}
	t := new(cachedToken)
	if json.Unmarshal(text, t) != nil || t.AccessToken == "" {
		return nil, s.signInAgain(s.file + " has no token")
	}
	return t, nil
}

func (s *ssoSession) signInAgain(why string) error {
	return fmt.Errorf("%s: run 'muster login --profile %s'", why, s.profile.Profile)
}

// store replaces the token.
func (s *ssoSession) store(t *cachedToken) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(s.file, text, 0o600)
}

// tokenOf returns the token in an answer, for the cache.
func (s *ssoSession) tokenOf(out tokenOutput, r registration) *cachedToken {
	return &cachedToken{
		StartURL: s.section.SSOStartURL, Region: s.section.SSORegion,
		AccessToken: out.AccessToken, RefreshToken: out.RefreshToken,
		Expires:  s.now().Add(time.Duration(out.ExpiresIn) * time.Second).UTC().Truncate(time.Second),
		ClientID: r.ClientID, ClientSecret: r.ClientSecret, RegistrationExpires: time.Unix(r.ExpiresAt, 0).UTC(),
	}
}

// token returns a valid token. It refreshes one that ends soon.
func (s *ssoSession) token(ctx context.Context) (*cachedToken, error) {
	t, err := s.load()
	if err != nil || t.Expires.Sub(s.now()) >= refreshTime {
		return t, err
	}
	lock := flock.New(s.file + ".lock")
	if locked, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil || !locked {
		return nil, errors.Join(err, fmt.Errorf("lock %s", s.file))
	}
	defer lock.Unlock() //nolint:errcheck // the process ends soon, and its locks with it
	if t, err = s.load(); err != nil || t.Expires.Sub(s.now()) >= refreshTime {
		return t, err // another process has refreshed it
	}
	return s.refreshed(ctx, t)
}

// refreshed refreshes a token. A failure is an error only if the token has ended.
func (s *ssoSession) refreshed(ctx context.Context, t *cachedToken) (*cachedToken, error) {
	err := errors.New("the token cannot be refreshed")
	if t.RefreshToken != "" && s.now().Before(t.RegistrationExpires) {
		var out tokenOutput
		out, err = s.client.token(ctx, tokenInput{Grant: refreshGrant, ClientID: t.ClientID,
			ClientSecret: t.ClientSecret, RefreshToken: t.RefreshToken})
		if err == nil {
			next := s.tokenOf(out, registration{t.ClientID, t.ClientSecret, t.RegistrationExpires.Unix()})
			next.RefreshToken = cmp.Or(next.RefreshToken, t.RefreshToken)
			return next, s.store(next)
		}
	}
	if s.now().Before(t.Expires) {
		fmt.Fprintf(s.stderr, "muster: token not refreshed, and used until %s: %v\n", t.Expires.Format(time.RFC3339),
			err)
		return t, nil
	}
	return nil, s.signInAgain(fmt.Sprintf("the session has ended: %v", err))
}

// roleKeys returns temporary keys of the role of the profile.
func (s *ssoSession) roleKeys(ctx context.Context) (aws.Credentials, error) {
	if s.profile.SSORoleName == "" {
		return aws.Credentials{}, fmt.Errorf("it has no sso_role_name: run 'muster configure --profile %s --role ROLE'",
			s.profile.Profile)
	}
	t, err := s.token(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	keys, err := s.client.roleKeys(ctx, t.AccessToken, s.profile.SSOAccountID, s.profile.SSORoleName)
	if failure, ok := errors.AsType[*ssoError](err); ok && failure.Status == http.StatusUnauthorized {
		return keys, s.signInAgain(failure.Error())
	}
	if err != nil {
		return keys, fmt.Errorf("keys of role %s: %w", s.profile.SSORoleName, err)
	}
	return keys, nil
}
