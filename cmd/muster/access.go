package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// endpoint returns the base URL of the API from the environment, with the names of the AWS clients; "" if there is
// none.
func (a *app) endpoint() string {
	return cmp.Or(a.getenv("AWS_ENDPOINT_URL_GAMELIFT"), a.getenv("AWS_ENDPOINT_URL"))
}

// credentials fills in missing credentials from the environment.
func (a *app) credentials(k *sigv4.ClientCredentials) error {
	if k.AccessKey == "" {
		k.AccessKey, k.SessionToken = a.getenv("AWS_ACCESS_KEY_ID"), a.getenv("AWS_SESSION_TOKEN")
	}
	k.SecretKey = cmp.Or(k.SecretKey, a.getenv("AWS_SECRET_ACCESS_KEY"))
	k.Region = cmp.Or(k.Region, a.getenv("AWS_REGION"), a.getenv("AWS_DEFAULT_REGION"))
	if k.AccessKey == "" || k.SecretKey == "" || k.Region == "" {
		return errors.New("an endpoint needs an access key, its secret and a region: " +
			"set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION")
	}
	return nil
}

// trusted returns the TLS configuration for a service.
func (a *app) trusted(caFile string) (*tls.Config, error) {
	return trustedBy(cmp.Or(caFile, a.getenv("MUSTER_CA_FILE"), a.getenv("AWS_CA_BUNDLE")))
}

// trustedBy returns a TLS configuration that trusts the system's CAs and those in a PEM file; nil without a file.
func trustedBy(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // no system CAs
	}
	return trusting(roots, caFile)
}

// unknownCA reports whether a server's certificate is from an unknown CA.
func unknownCA(err error) bool {
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

// trusting returns a TLS configuration that trusts the given CAs and those in a PEM file.
func trusting(roots *x509.CertPool, caFile string) (*tls.Config, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate", caFile)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// newClient returns an AWS client for a running service. Of CAs it trusts the service's alone, if there is one.
func newClient(e muster.Endpoints) (*gamelift.Client, error) {
	transport := awshttp.NewBuildableClient()
	if e.CAFile != "" {
		trust, err := trusting(x509.NewCertPool(), e.CAFile)
		if err != nil {
			return nil, err
		}
		transport = transport.WithTransportOptions(func(t *http.Transport) { t.TLSClientConfig = trust })
	}
	return gamelift.New(gamelift.Options{
		BaseEndpoint: aws.String(e.HTTP),
		Region:       e.Region,
		Credentials:  staticKey(e.AccessKey, e.SecretKey),
		HTTPClient:   transport,
	}), nil
}

// staticKey returns the credentials of an access key.
func staticKey(id, secret string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, nil
	})
}
