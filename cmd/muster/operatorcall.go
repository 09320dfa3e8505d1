package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// An operatorCall is a call of the operator's API of a running service.
type operatorCall struct {
	*app
	service, caFile string
	keys            sigv4.ClientCredentials
	tls             *tls.Config
}

// addFlags adds the flags for address and credentials of the service.
func (o *operatorCall) addFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&o.service, "endpoint", "",
		"base URL of the API (environment AWS_ENDPOINT_URL_GAMELIFT or AWS_ENDPOINT_URL)")
	f.StringVar(&o.keys.AccessKey, "access-key", "", "access key (environment AWS_ACCESS_KEY_ID)")
	f.StringVar(&o.keys.SecretKey, "secret-key", "", "its secret; better in the environment (AWS_SECRET_ACCESS_KEY)")
	f.StringVar(&o.keys.Region, "region", "", "region that the call is signed for (environment AWS_REGION)")
	f.StringVar(&o.caFile, "ca-file", "", "PEM file of the CA to trust (environment MUSTER_CA_FILE)")
}

// complete fills in missing values from the environment.
func (o *operatorCall) complete() (err error) {
	if o.service = cmp.Or(o.service, o.endpoint()); o.service == "" {
		return errors.New("no endpoint: set AWS_ENDPOINT_URL")
	}
	if err := o.credentials(&o.keys); err != nil {
		return err
	}
	o.tls, err = o.trusted(o.caFile)
	return err
}

// run returns the RunE of a command that makes the call.
func (o *operatorCall) run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		if err := o.complete(); err != nil {
			return &misuseError{err}
		}
		return do(command.Context(), args)
	}
}

const (
	emptyBody  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // its SHA-256
	maxRefusal = 1 << 20                                                            // bytes
)

// get makes a GET call and passes the body of the answer to read.
func (o *operatorCall) get(ctx context.Context, path string, read func(io.Reader) error) error {
	return o.call(ctx, http.MethodGet, path, read)
}

// call makes the call and passes the body of the answer to read.
func (o *operatorCall) call(ctx context.Context, method, path string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(o.service, "/")+path, nil)
	if err != nil {
		return err
	}
	keys := aws.Credentials{AccessKeyID: o.keys.AccessKey, SecretAccessKey: o.keys.SecretKey,
		SessionToken: o.keys.SessionToken}
	err = v4.NewSigner().SignHTTP(ctx, keys, request, emptyBody, "gamelift", o.keys.Region, time.Now())
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: o.tls, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode == http.StatusOK {
		return read(response.Body)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	return refusal(response.Status, body)
}
