package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
)

func (a *app) matchExplainCommand() *cobra.Command {
	e := &operatorCall{app: a}
	var asJSON bool
	command := &cobra.Command{
		Use:   "explain TICKET",
		Short: "Explain why a ticket of a running service waits",
		Long: `Explain why a matchmaking ticket of a running service waits. In status SEARCHING: the
largest match found with it and what it lacks, the rules that rejected other tickets
and larger matches, and the effect of the next expansion step. In REQUIRES_ACCEPTANCE:
the players that have not answered. In PLACING: the placement of its match.

Endpoint and credentials are those of the AWS CLI's environment: AWS_ENDPOINT_URL,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, as in the file of "muster dev".`,
		Example: `  ` + sourceDev() + `; muster match explain t-1234
  muster match explain t-1234 --endpoint https://games.example.com:9080 --json`,
		Args: cobra.ExactArgs(1),
		RunE: e.run(func(ctx context.Context, args []string) error {
			body, err := e.explain(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				_, err := a.stdout.Write(body)
				return err
			}
			var explanation control.TicketExplanation
			if err := json.Unmarshal(body, &explanation); err != nil {
				return fmt.Errorf("decode the answer: %w", err)
			}
			return writeExplanation(a.stdout, &explanation)
		}),
	}
	e.addFlags(command)
	command.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return command
}

const (
	explainTimeout = 30 * time.Second
	maxExplanation = 16 << 20 // bytes
)

// explain returns the body of the answer.
func (o *operatorCall) explain(ctx context.Context, ticket string) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	err = o.get(ctx, "/v1/tickets/"+url.PathEscape(ticket)+"/explain", func(from io.Reader) (err error) {
		body, err = io.ReadAll(io.LimitReader(from, maxExplanation))
		return err
	})
	return body, err
}

// refusal returns the error in an answer of the operator's API.
func refusal(status string, body []byte) error {
	var failure struct{ Error, Message string }
	if json.Unmarshal(body, &failure) != nil || failure.Error == "" ||
		failure.Message == "" && !strings.HasSuffix(failure.Error, "Exception") { // another service, as the gateway
		if bytes.Contains(body, []byte("speaks TLS only")) { // see internal/listen
			return errors.New("the service accepts only TLS: use https in --endpoint or AWS_ENDPOINT_URL_GAMELIFT")
		}
		return fmt.Errorf("the service answered %s: check that the endpoint is that of Muster's API", status)
	}
	return fmt.Errorf("%s: %s", failure.Error, failure.Message)
}

func writeExplanation(to io.Writer, x *control.TicketExplanation) error {
	var b strings.Builder
	for i, r := range x.Reasons() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, r.Text)
		for _, point := range r.Points {
			fmt.Fprintln(&b, " ", point)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
