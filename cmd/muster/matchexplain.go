package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/matcher"
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
	if json.Unmarshal(body, &failure) != nil || failure.Error == "" {
		return fmt.Errorf("the service answered %s: check that the endpoint is that of Muster's API", status)
	}
	return fmt.Errorf("%s: %s", failure.Error, failure.Message)
}

func writeExplanation(to io.Writer, x *control.TicketExplanation) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	switch {
	case x.Explanation != nil:
		fmt.Fprintf(t, "ticket %s has waited for %.1f s, in a pool of %s\n", x.Ticket, x.AgeSeconds,
			counted(x.Pool, "ticket"))
		writeSearch(t, x.Explanation)
	default:
		fmt.Fprintf(t, "ticket %s is %s after %.1f s; it times out in %.1f s\n", x.Ticket, x.Status, x.AgeSeconds,
			x.TimeoutSeconds)
		if x.Match != nil {
			writeMatch(t, x.Match)
		}
		if x.Placement != nil {
			writePlacement(t, x.Placement)
		}
	}
	return t.Flush()
}

func writeSearch(t io.Writer, e *matcher.Explanation) {
	if e.Unmatchable != "" {
		fmt.Fprintf(t, "\nno match can ever include it: %s\n", e.Unmatchable)
		return
	}
	fmt.Fprintf(t, "the largest match found with it has %s", counted(e.Largest, "player"))
	if e.Missing != "" {
		fmt.Fprintf(t, ": %s", e.Missing)
	}
	fmt.Fprintf(t, "\n\n%s checked\n", counted(e.Candidates, "candidate"))
	for _, r := range e.Rejections {
		fmt.Fprintf(t, "  %d\trejected by\t%s\t%s\n", r.Candidates, cmp.Or(r.Rule, "the sizes of the teams"), r.Example)
	}
	if len(e.Failures) > 0 {
		fmt.Fprint(t, "\nlarger matches tried\n")
	}
	for _, f := range e.Failures {
		fmt.Fprintf(t, "  %d\trejected by\t%s\t%s\n", f.Matches, f.Rule, f.Example)
	}
	if e.Next != nil {
		fmt.Fprintf(t, "\nin %.1f s, which admits %s\n", e.Next.Seconds, counted(e.Next.Admits, "more candidate"))
		for _, c := range e.Next.Changes {
			fmt.Fprintf(t, "  %s\tfrom %s to %s\n", c.Target, cmp.Or(c.From, "none"), c.To)
		}
	}
}

func writeMatch(t io.Writer, m *control.MatchExplanation) {
	fmt.Fprintf(t, "\nmatch %s of %s: %s\n", m.ID, counted(len(m.Tickets), "ticket"), strings.Join(m.Tickets, ", "))
	if m.GameSessionArn != "" {
		fmt.Fprintf(t, "  fills\t%s\n", m.GameSessionArn)
	}
	if len(m.Accepted) > 0 {
		fmt.Fprintf(t, "  accepted by\t%s\n", strings.Join(m.Accepted, ", "))
	}
	if len(m.Unanswered) > 0 {
		fmt.Fprintf(t, "  no answer from\t%s\tfor %.1f s more\n", strings.Join(m.Unanswered, ", "), m.AcceptanceSeconds)
	}
}

func writePlacement(t io.Writer, p *control.PlacementTrail) {
	fmt.Fprintf(t, "\nits placement in the queue %s is %s\n", p.Queue, p.Status)
	for _, c := range p.Candidates {
		if c.Dropped != "" {
			fmt.Fprintf(t, "  left out\t%s %s\t%s\n", c.FleetID, c.Location, c.Dropped)
		}
	}
	for _, s := range p.Steps {
		fmt.Fprintf(t, "  %s\t%s %s\t%s\n", s.Kind, s.FleetID, s.Location, s.Text)
	}
	if p.Waiting == nil {
		return
	}
	for _, l := range p.Waiting.Lines {
		fmt.Fprintf(t, "  waiting for\t%s %s\t%d of %d\n", l.FleetID, l.Location, l.Position, l.Length)
	}
}
