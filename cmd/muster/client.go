package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
)

// newClient returns an AWS client for a running service.
func newClient(e muster.Endpoints) (*gamelift.Client, error) {
	trust, err := trusting(e.CAFile)
	if err != nil {
		return nil, err
	}
	return gamelift.New(gamelift.Options{
		BaseEndpoint: aws.String(e.HTTP),
		Region:       e.Region,
		Credentials:  staticKey(e.AccessKey, e.SecretKey),
		HTTPClient:   awshttp.NewBuildableClient().WithTransportOptions(trust),
	}), nil
}

// staticKey returns the credentials of an access key.
func staticKey(id, secret string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, nil
	})
}

// trusting makes an HTTP transport trust the CA in a PEM file; "" keeps the system's CAs.
func trusting(caFile string) (func(*http.Transport), error) {
	if caFile == "" {
		return func(*http.Transport) {}, nil
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate", caFile)
	}
	return func(t *http.Transport) {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}, nil
}
