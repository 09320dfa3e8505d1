package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A login is a run of muster login.
type login struct {
	*ssoSession
	device, noBrowser bool
}

func (a *app) loginCommand() *cobra.Command {
	var l login
	var profile string
	command := &cobra.Command{
		Use:   "login",
		Short: "Sign in to a service",
		Long: `Sign in to the service of a profile, which "muster configure" has written, with a
browser. The browser opens if there is one; the address is printed, too. With --device
the browser can be on another machine: open the printed address there and check the
code.

The session is stored where the AWS tools keep theirs, so that all of them use it, also
those that cannot sign in themselves (AWS CLI v1, SDKs): ~/.aws/sso/cache. It is the
same as after "aws sso login".`,
		Example: `  muster login
  muster login --device --profile staging
  aws sts get-caller-identity --profile muster`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if l.ssoSession, err = a.sessionOf(command.Context(), profile); err != nil {
				return &misuseError{err}
			}
			return l.run(command.Context())
		},
	}
	a.addProfile(command, &profile)
	command.Flags().BoolVar(&l.device, "device", false, "sign in with a code, on any machine")
	command.Flags().BoolVar(&l.noBrowser, "no-browser", false, "open no browser")
	return command
}

// addProfile adds the flag for the profile of a sign-in.
func (a *app) addProfile(command *cobra.Command, profile *string) {
	command.Flags().StringVar(profile, "profile", cmp.Or(a.getenv("AWS_PROFILE"), defaultProfile),
		"profile of the AWS configuration (environment AWS_PROFILE)")
}

// sessionOf returns the sign-in of a profile.
func (a *app) sessionOf(ctx context.Context, profile string) (*ssoSession, error) {
	p, err := a.loadProfile(ctx, profile)
	if err != nil {
		return nil, err
	}
	return a.ssoSession(p)
}

// run signs in, stores the token, and completes the profile.
func (l *login) run(ctx context.Context) error {
	signIn := l.byBrowser
	if l.device {
		signIn = l.byDevice
	}
	token, err := signIn(ctx)
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	if err := l.store(token); err != nil {
		return err
	}
	fmt.Fprintf(l.stdout, "Signed in to %s. The token is refreshed until the session ends.\n", l.client.oidc)
	if l.profile.SSORoleName == "" {
		if err := l.chooseRole(ctx, token); err != nil {
			return err
		}
	}
	return l.forgetRoleKeys()
}

// chooseRole gives the profile its role, if there is only one.
func (l *login) chooseRole(ctx context.Context, t *cachedToken) error {
	roles, err := l.client.roles(ctx, t.AccessToken, l.profile.SSOAccountID)
	switch {
	case err != nil:
		return fmt.Errorf("list the roles: %w", err)
	case len(roles) == 0:
		fmt.Fprintln(l.stdout, "No role is assigned to you.")
		return nil
	case len(roles) > 1:
		fmt.Fprintf(l.stdout, "Choose one of your roles: muster configure --profile %s --role ROLE\n  %s\n",
			l.profile.Profile, strings.Join(roles, "\n  "))
		return nil
	}
	file, err := l.awsFile("AWS_CONFIG_FILE", "config")
	if err != nil {
		return err
	}
	_, err = editINI(file, func(f *iniFile) error {
		return f.set(profileSection(l.profile.Profile), []iniSetting{{"", "sso_role_name", roles[0]}})
	})
	l.profile.SSORoleName = roles[0]
	fmt.Fprintf(l.stdout, "Profile %s has your role %s.\n", l.profile.Profile, roles[0])
	return err
}

// byBrowser signs in with an authorization code that the browser brings to this machine.
func (l *login) byBrowser(ctx context.Context) (*cachedToken, error) {
	verifier, state := randomText(48), randomText(24)
	callback, err := listenLoopback(state)
	if err != nil {
		return nil, err
	}
	defer callback.close()
	r, err := l.client.register(ctx, newClientInput{Grants: []string{codeGrant, refreshGrant},
		RedirectURIs: []string{callbackURI}, Issuer: l.section.SSOStartURL})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(verifier))
	address := l.client.authorizeURL(r, callback.uri, state, base64.RawURLEncoding.EncodeToString(sum[:]))
	l.show("Sign in with a browser on this machine:", address)
	code, err := callback.await(ctx)
	if err != nil {
		return nil, err
	}
	out, err := l.client.token(ctx, tokenInput{Grant: codeGrant, ClientID: r.ClientID, ClientSecret: r.ClientSecret,
		Code: code, Verifier: verifier, RedirectURI: callback.uri})
	if err != nil {
		return nil, err
	}
	return l.tokenOf(out, r), nil
}

// randomText returns random bytes as text that needs no escape.
func randomText(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// show prints an address, and opens it in a browser.
func (l *login) show(what, address string) {
	fmt.Fprintf(l.stderr, "%s\n\n  %s\n\n", what, address)
	if !l.noBrowser {
		l.openBrowser(address)
	}
}

// byDevice signs in with a code that a person enters anywhere.
func (l *login) byDevice(ctx context.Context) (*cachedToken, error) {
	r, err := l.client.register(ctx, newClientInput{})
	if err != nil {
		return nil, err
	}
	d, err := l.client.startDevice(ctx, r, l.section.SSOStartURL)
	if err != nil {
		return nil, err
	}
	l.show(fmt.Sprintf("Open %s and enter the code %s, or open", d.URL, d.UserCode), d.URLWithAll)
	interval := time.Duration(d.Interval) * time.Second
	for ends := l.now().Add(time.Duration(d.ExpiresIn) * time.Second); l.now().Before(ends); {
		if err := l.pause(ctx, interval); err != nil {
			return nil, err
		}
		out, err := l.client.token(ctx, tokenInput{Grant: deviceGrant, ClientID: r.ClientID,
			ClientSecret: r.ClientSecret, DeviceCode: d.DeviceCode})
		failure, _ := errors.AsType[*ssoError](err)
		switch {
		case err == nil:
			return l.tokenOf(out, r), nil
		case failure != nil && failure.Code == "slow_down":
			interval += 5 * time.Second // Source: RFC 8628, section 3.5
		case failure == nil || failure.Code != "authorization_pending":
			return nil, err
		}
	}
	return nil, errors.New("the code has expired: start again")
}
