package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	profile         string
	asJSON          bool // print the answer as JSON
	wide            bool // print more columns
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
	f.StringVar(&o.profile, "profile", "", "profile of the AWS configuration (environment AWS_PROFILE; "+
		"without an endpoint "+defaultProfile+", if there is one)")
}

// complete fills in missing values from the environment, then from a profile of the AWS configuration. A profile on the
// command line has precedence over keys in the environment.
func (o *operatorCall) complete(ctx context.Context) error {
	p, err := o.profileOfCall(ctx)
	if err != nil {
		return err
	}
	if o.service = cmp.Or(o.service, o.endpoint(), p.serviceURL("gamelift")); o.service == "" {
		return errNoEndpoint
	}
	if u, err := url.Parse(o.service); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("the endpoint is %q: must be a URL such as http://127.0.0.1:9080: correct --endpoint or "+
			"AWS_ENDPOINT_URL_GAMELIFT", o.service)
	}
	ca := cmp.Or(o.caFile, o.getenv("MUSTER_CA_FILE"), o.getenv("AWS_CA_BUNDLE"), p.CustomCABundle)
	if o.tls, err = o.trusted(ca); err != nil {
		return err
	}
	o.keys.Region = cmp.Or(o.keys.Region, o.getenv("AWS_REGION"), o.getenv("AWS_DEFAULT_REGION"), p.Region)
	inEnvironment := o.getenv("AWS_ACCESS_KEY_ID") != ""
	if o.keys.AccessKey != "" || p.Profile == "" || o.profile == "" && inEnvironment {
		return o.credentials(&o.keys)
	}
	keys, err := o.profileKeys(ctx, p)
	if err != nil {
		return fmt.Errorf("profile %s: %w", p.Profile, err)
	}
	o.keys.AccessKey, o.keys.SecretKey, o.keys.SessionToken = keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken
	return o.credentials(&o.keys)
}

// completeOrDefault is complete with the profile that "muster configure" writes, if nothing names a service.
func (o *operatorCall) completeOrDefault(ctx context.Context) error {
	err := o.complete(ctx)
	if !errors.Is(err, errNoEndpoint) ||
		cmp.Or(o.profile, o.getenv("AWS_PROFILE"), o.keys.AccessKey, o.getenv("AWS_ACCESS_KEY_ID")) != "" {
		return err
	}
	if _, missing := o.loadProfile(ctx, defaultProfile); missing != nil {
		return err
	}
	o.profile = defaultProfile
	return o.complete(ctx)
}

var errNoEndpoint = errors.New("no endpoint: set AWS_ENDPOINT_URL_GAMELIFT to the URL of the service, such as " +
	"http://127.0.0.1:9080, or use --endpoint or --profile; of muster dev, source muster.env")

// run returns the RunE of a command that makes the call.
func (o *operatorCall) run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		if err := o.completeOrDefault(command.Context()); err != nil {
			return &misuseError{err}
		}
		return do(command.Context(), args)
	}
}

const (
	maxRefusal  = 1 << 20  // bytes
	maxAnswer   = 64 << 20 // bytes
	callTimeout = time.Minute
)

// get makes a GET call and passes the body of the answer to read.
func (o *operatorCall) get(ctx context.Context, path string, read func(io.Reader) error) error {
	return o.call(ctx, http.MethodGet, path, read)
}

// call makes a call without a body and passes the body of the answer to read.
func (o *operatorCall) call(ctx context.Context, method, path string, read func(io.Reader) error) error {
	return o.exchange(ctx, method, path, nil, read)
}

// ask makes a GET call and decodes the answer.
func (o *operatorCall) ask(ctx context.Context, path string, answer any) error {
	return o.send(ctx, http.MethodGet, path, nil, answer)
}

// send makes a call with body as JSON, or without a body if it is nil, and decodes the answer, which may be nil.
func (o *operatorCall) send(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return o.exchange(ctx, method, path, text, decodeTo(answer))
}

// decodeTo returns a reader of an answer, which may be nil.
func decodeTo(answer any) func(io.Reader) error {
	return func(from io.Reader) error {
		if answer == nil {
			return nil
		}
		if err := json.NewDecoder(io.LimitReader(from, maxAnswer)).Decode(answer); err != nil {
			return fmt.Errorf("decode the answer: %w: check that the endpoint is that of Muster's API", err)
		}
		return nil
	}
}

// exchange makes a call and passes the body of the answer to read.
func (o *operatorCall) exchange(
	ctx context.Context, method, path string, body []byte, read func(io.Reader) error,
) error {
	request, err := o.signed(ctx, method, path, body)
	if err != nil {
		return err
	}
	return o.perform(request, read)
}

// signed returns a signed request. The signature covers the body.
func (o *operatorCall) signed(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	head := http.Header{}
	if body != nil {
		head.Set("Content-Type", "application/json")
	}
	return o.signedAs(ctx, method, path, body, head)
}

// signedAs is signed with the headers of the body. Its SHA-256 is one of them, for requests whose signature is verified
// before the body is read.
func (o *operatorCall) signedAs(
	ctx context.Context, method, path string, body []byte, head http.Header,
) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(o.service, "/")+path,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	head.Set("X-Amz-Content-Sha256", hash)
	request.Header = head
	keys := aws.Credentials{AccessKeyID: o.keys.AccessKey, SecretAccessKey: o.keys.SecretKey,
		SessionToken: o.keys.SessionToken}
	return request, v4.NewSigner().SignHTTP(ctx, keys, request, hash, "gamelift", o.keys.Region, time.Now())
}

// perform makes a request and passes the body of the answer to read.
func (o *operatorCall) perform(request *http.Request, read func(io.Reader) error) error {
	request.Header.Set("User-Agent", o.agent) // which no signature covers
	transport := &http.Transport{TLSClientConfig: o.tls, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return explainConnection(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode == http.StatusOK {
		return read(response.Body)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	return &refusedError{response.StatusCode, refusal(response.Status, body)}
}

// explainConnection adds to the error of a call without an answer what to do.
func explainConnection(err error) error {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	name, other := errors.AsType[x509.HostnameError](err)
	invalid, ends := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case unknown:
		return fmt.Errorf("%w: name the CA of the service's certificate with --ca-file: tls/ca.pem of its data "+
			"directory, or the file of your own CA if it has tls-cert", err)
	case other:
		return fmt.Errorf("%w: call the service by a name of its certificate (%s), such as --endpoint "+
			"https://games.example.com:9080", err, strings.Join(name.Certificate.DNSNames, ", "))
	case ends && invalid.Reason == x509.Expired:
		return fmt.Errorf("%w: renew the certificate of the service, or correct the clock of this machine", err)
	}
	return fmt.Errorf("%w: start the service, or correct --endpoint or AWS_ENDPOINT_URL_GAMELIFT", err)
}
