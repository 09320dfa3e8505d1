package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/muster-gg/muster/internal/sigv4"
)

// What subcommands that call a service take from the environment when no flag gives
// it. The names are those of the AWS clients.

// endpoint is the base URL of the API; "" when the environment has none.
func (a *app) endpoint() string {
	return cmp.Or(a.getenv("AWS_ENDPOINT_URL_GAMELIFT"), a.getenv("AWS_ENDPOINT_URL"))
}

// credentials fills in what is missing.
func (a *app) credentials(k *sigv4.ClientCredentials) error {
	if k.AccessKey == "" {
		k.AccessKey, k.SessionToken = a.getenv("AWS_ACCESS_KEY_ID"), a.getenv("AWS_SESSION_TOKEN")
	}
	k.SecretKey = cmp.Or(k.SecretKey, a.getenv("AWS_SECRET_ACCESS_KEY"))
	k.Region = cmp.Or(k.Region, a.getenv("AWS_REGION"), a.getenv("AWS_DEFAULT_REGION"))
	if k.AccessKey == "" || k.SecretKey == "" || k.Region == "" {
		return errors.New("an endpoint needs an access key, its secret and a region: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION")
	}
	return nil
}

// trusted is what a service's certificate is checked with.
func (a *app) trusted(caFile string) (*tls.Config, error) {
	return trustedBy(cmp.Or(caFile, a.getenv("MUSTER_CA_FILE"), a.getenv("AWS_CA_BUNDLE")))
}

// trustedBy is a TLS configuration that trusts the system's authorities and
// those in a PEM file; nil without a file.
func trustedBy(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	authority, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without authorities of its own
	}
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", caFile)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
