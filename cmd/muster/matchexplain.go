package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/matcher"
)

func (a *app) matchExplainCommand() *cobra.Command {
	e := &explaining{app: a}
	var asJSON bool
	command := &cobra.Command{
		Use:   "explain TICKET",
		Short: "Ask a running service why a ticket waits",
		Long: `Ask a running service why a matchmaking ticket waits: how large a match was found
with it and what that lacks, which rules turned the other tickets away, and what the
next step of an expansion changes.

Endpoint and credentials are those of the AWS CLI's environment: AWS_ENDPOINT_URL,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; "muster dev" writes them to a
file to source.`,
		Example: `  source ~/.cache/muster/dev/muster.env; muster match explain t-1234
  muster match explain t-1234 --endpoint https://games.example.com:9080 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := e.complete(); err != nil {
				return &misuseError{err}
			}
			body, err := e.ask(command.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				_, err := a.stdout.Write(body)
				return err
			}
			var explanation matcher.Explanation
			if err := json.Unmarshal(body, &explanation); err != nil {
				return fmt.Errorf("the answer cannot be read: %w", err)
			}
			return writeExplanation(a.stdout, &explanation)
		},
	}
	f := command.Flags()
	f.StringVar(&e.service, "endpoint", "", "base URL of the API (environment AWS_ENDPOINT_URL_GAMELIFT or AWS_ENDPOINT_URL)")
	f.StringVar(&e.keys.AccessKey, "access-key", "", "access key (environment AWS_ACCESS_KEY_ID)")
	f.StringVar(&e.keys.SecretKey, "secret-key", "", "its secret; better in the environment (AWS_SECRET_ACCESS_KEY)")
	f.StringVar(&e.keys.Region, "region", "", "region that the call is signed for (environment AWS_REGION)")
	f.StringVar(&e.caFile, "ca-file", "", "PEM file of the authority to trust (environment MUSTER_CA_FILE)")
	f.BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return command
}

// explaining is a call of the operator's door.
type explaining struct {
	*app
	service, caFile string
	keys            bench.Credentials
	tls             *tls.Config
}

// complete takes from the environment what no flag gives.
func (e *explaining) complete() (err error) {
	if e.service = cmp.Or(e.service, e.endpoint()); e.service == "" {
		return errors.New("there is no endpoint: set AWS_ENDPOINT_URL")
	}
	if err := e.credentials(&e.keys); err != nil {
		return err
	}
	e.tls, err = e.trusted(e.caFile)
	return err
}

const (
	explainTimeout = 30 * time.Second
	maxExplanation = 16 << 20                                                           // bytes
	emptyBody      = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // its SHA-256
)

// ask makes the call and returns the body of the answer.
func (e *explaining) ask(ctx context.Context, ticket string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	address := strings.TrimSuffix(e.service, "/") + "/v1/tickets/" + url.PathEscape(ticket) + "/explain"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	keys := aws.Credentials{AccessKeyID: e.keys.AccessKey, SecretAccessKey: e.keys.SecretKey, SessionToken: e.keys.SessionToken}
	if err := v4.NewSigner().SignHTTP(ctx, keys, request, emptyBody, "gamelift", e.keys.Region, time.Now()); err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: e.tls, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxExplanation))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response.Status, body)
	}
	return body, nil
}

// refusal makes an error of the answer of a door that refuses.
func refusal(status string, body []byte) error {
	var failure struct{ Error, Message string }
	if json.Unmarshal(body, &failure) != nil || failure.Error == "" {
		return fmt.Errorf("the service answered %s; is the endpoint that of Muster's API?", status)
	}
	return fmt.Errorf("%s: %s", failure.Error, failure.Message)
}

// writeExplanation writes it for people.
func writeExplanation(to io.Writer, e *matcher.Explanation) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "ticket %s has waited for %.1f s, in a pool of %s\n", e.Ticket, e.AgeSeconds, counted(e.Pool, "ticket"))
	if e.Unmatchable != "" {
		fmt.Fprintf(t, "\nno match can ever have it: %s\n", e.Unmatchable)
		return t.Flush()
	}
	fmt.Fprintf(t, "the largest match found with it has %s", counted(e.Largest, "player"))
	if e.Missing != "" {
		fmt.Fprintf(t, ": %s", e.Missing)
	}
	fmt.Fprintf(t, "\n\nof %s tried alone beside it\n", counted(e.Candidates, "candidate"))
	for _, r := range e.Rejections {
		fmt.Fprintf(t, "  %d\tturned away by\t%s\t%s\n", r.Candidates, cmp.Or(r.Rule, "the sizes of the teams"), r.Example)
	}
	if e.Next != nil {
		fmt.Fprintf(t, "\nin %.1f s, which admits %s\n", e.Next.Seconds, counted(e.Next.Admits, "more candidate"))
		for _, c := range e.Next.Changes {
			fmt.Fprintf(t, "  %s\tfrom %s to %s\n", c.Target, cmp.Or(c.From, "none"), c.To)
		}
	}
	return t.Flush()
}
