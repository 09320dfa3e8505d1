package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/matcher"
)

func (a *app) matchExplainCommand() *cobra.Command {
	e := &operatorCall{app: a}
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
		RunE: e.run(func(ctx context.Context, args []string) error {
			body, err := e.explain(ctx, args[0])
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

// explain asks the service and returns the body of the answer.
func (o *operatorCall) explain(ctx context.Context, ticket string) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	err = o.get(ctx, "/v1/tickets/"+url.PathEscape(ticket)+"/explain", func(from io.Reader) (err error) {
		body, err = io.ReadAll(io.LimitReader(from, maxExplanation))
		return err
	})
	return body, err
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
