package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/atomicfile"
)

// A configuration is a run of muster configure.
type configuration struct {
	*app
	profile, service, region, account, role, startURL, caFile string
}

func (a *app) configureCommand() *cobra.Command {
	c := &configuration{app: a}
	command := &cobra.Command{
		Use:   "configure",
		Short: "Write the AWS configuration for signing in to a service",
		Long: `Write what AWS tools need to sign in to a service and to call it, into the AWS
configuration (~/.aws/config, or AWS_CONFIG_FILE): the sections [sso-session NAME],
[profile NAME] and [services NAME], where NAME is the profile. Region, account and start
URL come from the service. Other sections, other keys and comments stay as they are.

Only the profile is for the service: other profiles still call AWS. Then sign in with
"muster login" or "aws sso login --profile NAME".

Without --role the profile gets its role at the first "muster login", if there is only
one to choose.`,
		Example: `  muster configure --endpoint https://games.example.com:9080 --role GameDev
  muster login
  aws gamelift list-fleets --profile muster`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return c.run(command.Context()) },
	}
	f := command.Flags()
	f.StringVar(&c.profile, "profile", cmp.Or(a.getenv("AWS_PROFILE"), defaultProfile), "profile to write")
	f.StringVar(&c.service, "endpoint", "",
		"base URL of the API (environment AWS_ENDPOINT_URL_GAMELIFT or AWS_ENDPOINT_URL)")
	f.StringVar(&c.role, "role", "", "role to use")
	f.StringVar(&c.region, "region", "", "region, if the service cannot be asked")
	f.StringVar(&c.account, "account", "", "account, if the service cannot be asked")
	f.StringVar(&c.startURL, "start-url", "", "URL of the start page, if the service cannot be asked")
	f.StringVar(&c.caFile, "ca-file", "", "PEM file of the CA to trust, also by the AWS tools")
	f.StringVar(&c.caFile, "ca-bundle", "", "the same as --ca-file")
	_ = f.MarkHidden("ca-bundle") // the flag exists
	return command
}

// run finds out what is missing, and writes the sections.
func (c *configuration) run(ctx context.Context) error {
	if strings.ContainsAny(c.profile+c.role+c.startURL+c.region+c.account, "[]\r\n") {
		return &misuseError{errors.New("brackets and line ends are not possible in the AWS configuration")}
	}
	c.service = strings.TrimSuffix(cmp.Or(c.service, c.endpoint(), c.present(ctx).serviceURL("gamelift")), "/")
	if u, err := url.Parse(c.service); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return &misuseError{fmt.Errorf("--endpoint is %q: must be a URL like https://games.example.com:9080",
			c.service)}
	}
	if err := c.complete(ctx); err != nil {
		return err
	}
	file, err := c.awsFile("AWS_CONFIG_FILE", "config")
	if err != nil {
		return err
	}
	changed, err := editINI(file, c.write)
	if err != nil {
		return err
	}
	done := "is up to date"
	if changed {
		done = "is written"
	}
	role := "no role yet"
	if name := c.present(ctx).SSORoleName; name != "" {
		role = "role " + name
	}
	_, err = fmt.Fprintf(c.stdout, "Profile %s in %s %s: region %s, account %s, %s.\n", c.profile, file, done, c.region,
		c.account, role)
	if !c.signedIn(ctx) {
		fmt.Fprintf(c.stderr, "Sign in: muster login --profile %s\n", c.profile)
	}
	return err
}

// signedIn reports whether the profile has a token of the service that is still valid.
func (c *configuration) signedIn(ctx context.Context) bool {
	s, err := c.ssoSession(c.present(ctx))
	if err != nil {
		return false
	}
	t, err := s.load()
	return err == nil && t.StartURL == c.startURL && c.now().Before(t.Expires)
}

// present returns the profile as it is; the zero one if there is none yet.
func (c *configuration) present(ctx context.Context) *sharedProfile {
	p, err := c.loadProfile(ctx, c.profile)
	if err != nil {
		return new(sharedProfile)
	}
	return p
}

// A signInConfiguration is what a service says about itself: GET /signin/configuration.
type signInConfiguration struct {
	Region   string `json:"region"`
	Account  string `json:"account"`
	StartURL string `json:"startUrl"`
	CA       string `json:"caPem"` // local CA of the certificate; "" if another CA has issued it
}

// complete asks the service for what the command line does not have.
func (c *configuration) complete(ctx context.Context) error {
	if c.caFile != "" {
		absolute, err := filepath.Abs(c.caFile)
		if err != nil {
			return err
		}
		c.caFile = absolute
	}
	served, err := c.fetch(ctx)
	if err != nil {
		if c.region == "" || c.account == "" || c.startURL == "" {
			return fmt.Errorf("%w\nGive --region, --account and --start-url if the service cannot be asked", err)
		}
		return nil
	}
	c.region, c.account = cmp.Or(c.region, served.Region), cmp.Or(c.account, served.Account)
	c.startURL = cmp.Or(c.startURL, served.StartURL)
	if served.CA != "" && c.caFile == "" && c.needsCA() {
		return c.keepCA(served.CA)
	}
	return nil
}

// needsCA reports whether the service is called over TLS: at its endpoint, or at its start page. The latter can be one
// of AWS, which is not called.
func (c *configuration) needsCA() bool {
	endpoint, err1 := url.Parse(c.service)
	start, err2 := url.Parse(c.startURL)
	return err1 == nil && err2 == nil &&
		(endpoint.Scheme == "https" || start.Scheme == "https" && start.Hostname() == endpoint.Hostname())
}

// fetch asks the service.
func (c *configuration) fetch(ctx context.Context) (served signInConfiguration, err error) {
	trust, err := c.trusted(cmp.Or(c.caFile, c.present(ctx).CustomCABundle))
	if err != nil {
		return served, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.service+"/signin/configuration", nil)
	if err != nil {
		return served, err
	}
	request.Header.Set("User-Agent", c.agent)
	transport := &http.Transport{TLSClientConfig: trust, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport, Timeout: ssoTimeout}).Do(request)
	if unknownCA(err) {
		return served, fmt.Errorf("%w\nGive the CA of the service with --ca-file FILE", err)
	}
	if err != nil {
		return served, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	err = json.NewDecoder(io.LimitReader(response.Body, maxRefusal)).Decode(&served)
	if response.StatusCode != http.StatusOK || err != nil || served.Region == "" {
		return served, fmt.Errorf("%s answered %s: check that the endpoint is that of Muster's API", c.service,
			response.Status)
	}
	if response.TLS != nil && !issued(served.CA, response.TLS.PeerCertificates) {
		served.CA = "" // a proxy before the service has another certificate, which is trusted without this CA
	}
	return served, nil
}

// issued reports whether a certificate, the first one, is from a CA; the others are those between them.
func issued(ca string, certificates []*x509.Certificate) bool {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	for _, c := range certificates[1:] {
		between.AddCert(c)
	}
	_, err := certificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err == nil
}

// keepCA stores the CA that the service has sent beside the configuration. It came over TLS, or from this machine.
func (c *configuration) keepCA(pem string) error {
	if (&operatorCall{service: c.service}).unencrypted() {
		return errors.New("the service has a CA of its own, which came unencrypted: give it with --ca-file FILE")
	}
	config, err := c.awsFile("AWS_CONFIG_FILE", "config")
	if err != nil {
		return err
	}
	if c.caFile, err = filepath.Abs(filepath.Join(filepath.Dir(config), c.profile+"-ca.pem")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(c.caFile, []byte(pem), 0o644)
}

// signInServices are the services whose endpoints a profile needs, as a services section spells them. The global
// endpoint_url is never written: the SDK for Go ignores it for its own calls of sso and sts.
var signInServices = []string{"gamelift", "sts", "sso", "sso_oidc", "iam", "signin", "cloudwatch", "s3"}

// write changes the three sections.
func (c *configuration) write(f *iniFile) error {
	session := []iniSetting{{"", "sso_start_url", c.startURL}, {"", "sso_region", c.region},
		{"", "sso_registration_scopes", ssoScope}}
	profile := []iniSetting{{"", "sso_session", c.profile}, {"", "sso_account_id", c.account}}
	for _, s := range []iniSetting{{"", "sso_role_name", c.role}, {"", "region", c.region},
		{"", "ca_bundle", c.caFile}, {"", "services", c.profile}} {
		if s.value != "" {
			profile = append(profile, s)
		}
	}
	var services []iniSetting
	for _, name := range signInServices {
		services = append(services, iniSetting{name, "endpoint_url", c.service})
	}
	return cmp.Or(f.set("sso-session "+c.profile, session), f.set(profileSection(c.profile), profile),
		f.set("services "+c.profile, services))
}

// profileSection returns the section of a profile. Source: AWS SDKs and Tools reference guide: only that of the default
// profile has no prefix.
func profileSection(name string) string {
	if name == "default" {
		return name
	}
	return "profile " + name
}
