package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

func (a *app) matchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "match",
		Short: "Try matchmaking rule sets, and explain why a ticket waits",
		Long: `Try matchmaking rule sets before players use them, and explain why a ticket of a
running service waits.`,
		Example: `  muster match validate rules.json
  muster match generate --rules rules.json --tickets 10000 > tickets.ndjson
  muster match simulate --rules rules.json --tickets tickets.ndjson
  muster match explain t-1234`,
	}
	command.AddCommand(
		a.matchValidateCommand(), a.matchGenerateCommand(), a.matchSimulateCommand(), a.matchExplainCommand())
	return command
}

func (a *app) matchValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a rule set as CreateMatchmakingRuleSet does",
		Long: `Check a rule set as CreateMatchmakingRuleSet does. An error names the place in the
document; the exit status is then 1. "-" reads standard input.`,
		Example: `  muster match validate rules.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := a.readRules(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s is valid: %s.\n", args[0], outline(set))
			return err
		},
	}
}

// outline describes a rule set.
func outline(set *ruleset.Set) string {
	least := 0
	for _, team := range set.Teams {
		least += team.Min
	}
	text := fmt.Sprintf("%s of %d to %d players, %s",
		counted(len(set.Teams), "team"), least, set.MaxPlayers(), counted(len(set.Rules), "rule"))
	if set.Large() {
		text += "; large matches, of more than 40 players"
	}
	return text
}

func counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// open opens a file for reading; "-" is standard input.
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	return os.Open(name)
}

func (a *app) readRules(name string) (*ruleset.Set, error) {
	file, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	set, err := ruleset.Parse(string(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return set, nil
}

func (a *app) matchGenerateCommand() *cobra.Command {
	p := matchsim.DefaultPopulation()
	var rules string
	command := &cobra.Command{
		Use:   "generate",
		Short: "Generate tickets for a rule set",
		Long: `Generate tickets that a rule set can mostly match, one per line, for "muster match
simulate".

Numbers are around their default, on the scale of the rules' distances, or those that
rules compare for equality, in proportion to the teams' slots. Strings are those in the
rules; one that a rule counts is as frequent as the middle of its minCount and maxCount.
Players of a party are similar, each player has a home location with the least latency,
and tickets arrive at random times. Equal seeds give equal tickets. Rules that compare
attributes with each other have no effect.

Misfits have numbers far from all others, unique strings, and the values of which the
rules allow few, so that hardly any match can include them.`,
		Example: `  muster match generate --rules rules.json --tickets 100000 --rate 500 > tickets.ndjson`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := errors.Join(required("rules", rules), p.Check()); err != nil {
				return &misuseError{err}
			}
			set, err := a.readRules(rules)
			if err != nil {
				return err
			}
			return matchsim.Generate(a.stdout, set, p)
		},
	}
	f := command.Flags()
	addRules(command, &rules)
	f.IntVar(&p.Tickets, "tickets", p.Tickets, "number of tickets")
	f.Uint64Var(&p.Seed, "seed", p.Seed, "random seed")
	f.Float64Var(&p.Rate, "rate", p.Rate, "tickets per second, on average")
	f.Float64Var(&p.Parties, "parties", p.Parties, "share of the tickets with several players, from 0 to 1")
	f.Float64Var(&p.Misfits, "misfits", 0, "share of the tickets that hardly any match can include, from 0 to 1")
	f.StringSliceVar(&p.Locations, "locations", p.Locations,
		"locations with latencies; neighbours in the list are near each other")
	return command
}

// addRules adds the flag with the rule set; see required.
func addRules(command *cobra.Command, rules *string) {
	command.Flags().StringVar(rules, "rules", "", `file with the rule set; "-": standard input (required)`)
}

// required reports a missing file. (Cobra's check comes too late to count as misuse.)
func required(flag, file string) error {
	if file == "" {
		return fmt.Errorf("--%s is missing: name a file, or - for the standard input", flag)
	}
	return nil
}

// A matchSimulation is a run of muster match simulate.
type matchSimulation struct {
	*app
	rules, tickets, matches string
	clock                   string
	asJSON, progress        bool
	options                 matchsim.Options
}

func (a *app) matchSimulateCommand() *cobra.Command {
	s := &matchSimulation{app: a}
	command := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate matchmaking with a rule set, without a service",
		Long: `Match tickets by a rule set with the matcher of the service, and report how many are
matched, how long they wait, which rules reject players and how even the matches are.
No service is needed, and matches need no acceptance.

Tickets are lines of JSON in the form of "aws gamelift start-matchmaking
--cli-input-json" (or start-match-backfill, with a GameSessionArn), with the time of
the request: At, in seconds since the start, or StartTime, as describe-matchmaking
prints it. ConfigurationName and TicketId are optional:

  {"At":0.5,"TicketId":"t-1","Players":[{"PlayerId":"p-1",
   "PlayerAttributes":{"skill":{"N":23}},"LatencyInMs":{"us-east-1":40}}]}

The report goes to standard output, progress to standard error if that is a terminal.`,
		Example: `  muster match simulate --rules rules.json --tickets tickets.ndjson
  muster match simulate --rules rules.json --tickets tickets.ndjson --request-timeout 2m --matches matches.ndjson --json
  muster match generate --rules rules.json | muster match simulate --rules rules.json --tickets -`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return s.run(command.Context()) },
	}
	f, o := command.Flags(), &s.options
	addRules(command, &s.rules)
	f.StringVar(&s.tickets, "tickets", "", `file with the tickets; "-": standard input (required)`)
	f.StringVar(&s.clock, "clock", matchsim.Virtual.String(), "virtual: as fast as possible; real: in real time")
	f.DurationVar(&o.Timeout, "request-timeout", 0, "time-out of a ticket; 0: none")
	f.IntVar(&o.Matcher.Additional, "additional-players", 0,
		"slots of each match that stay open (AdditionalPlayerCount)")
	f.IntVar(&o.Matcher.Batch, "batch", 0, "tickets tried together; 0: as in the service")
	f.Int64Var(&o.Matcher.Seed, "seed", matchsim.DefaultSeed, "seed of the random batches")
	f.StringVar(&s.matches, "matches", "", "file for the matches, one line of JSON each")
	f.BoolVar(&s.asJSON, "json", false, "print the report as JSON")
	f.BoolVar(&s.progress, "progress", false, "print progress even if standard error is no terminal")
	return command
}

// check reports invalid flags.
func (s *matchSimulation) check() error {
	if err := errors.Join(required("rules", s.rules), required("tickets", s.tickets)); err != nil {
		return err
	}
	switch s.clock {
	case matchsim.Virtual.String():
	case matchsim.Real.String():
		s.options.Clock = matchsim.Real
	default:
		return fmt.Errorf("--clock is %q: must be virtual or real", s.clock)
	}
	switch o := s.options; {
	case o.Timeout < 0:
		return fmt.Errorf("--request-timeout is %s: must not be negative", o.Timeout)
	case o.Matcher.Additional < 0:
		return fmt.Errorf("--additional-players is %d: must not be negative", o.Matcher.Additional)
	case o.Matcher.Batch < 0:
		return fmt.Errorf("--batch is %d: must not be negative", o.Matcher.Batch)
	case s.rules == "-" && s.tickets == "-":
		return errors.New("--rules and --tickets cannot both be standard input")
	}
	return nil
}

func (s *matchSimulation) run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return &misuseError{err}
	}
	set, err := s.readRules(s.rules)
	if err != nil {
		return err
	}
	tickets, err := s.readTickets(set)
	if err != nil {
		return err
	}
	report, err := s.simulate(ctx, set, tickets)
	switch {
	case err != nil:
		return err
	case s.asJSON:
		out := json.NewEncoder(s.stdout)
		out.SetIndent("", "  ")
		return out.Encode(report)
	default:
		return matchsim.WriteTable(s.stdout, report)
	}
}

func (s *matchSimulation) readTickets(set *ruleset.Set) ([]*matcher.Ticket, error) {
	file, err := s.open(s.tickets)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	tickets, err := matchsim.ReadTickets(file, set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.tickets, err)
	}
	return tickets, nil
}

// simulate runs the simulation, with its matches in a file and its progress on a terminal.
func (s *matchSimulation) simulate(
	ctx context.Context, set *ruleset.Set, tickets []*matcher.Ticket,
) (report *matchsim.Report, err error) {
	o := s.options
	o.CPU = bench.OwnCPU
	if s.matches != "" {
		file, err := os.Create(s.matches)
		if err != nil {
			return nil, err
		}
		out := bufio.NewWriter(file)
		lines := json.NewEncoder(out)
		o.Matched = func(m matchsim.Match) error { return lines.Encode(m) }
		defer func() { err = errors.Join(err, out.Flush(), file.Close()) }()
	}
	if isTerminal(s.stderr) {
		bar := &progressBar{to: s.stderr}
		o.Progress = bar.show
		defer bar.clear()
	} else if s.progress {
		o.Progress = (&progressLines{to: s.stderr}).show
	}
	return matchsim.Run(ctx, set, tickets, o)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	about, err := file.Stat()
	return err == nil && about.Mode()&os.ModeCharDevice != 0
}

// A progressBar is a line of a terminal, rewritten.
type progressBar struct {
	to   io.Writer
	last time.Time
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond // at most
)

func (b *progressBar) show(p matchsim.Progress) {
	if time.Since(b.last) < barEvery {
		return
	}
	b.last = time.Now()
	done := barWidth * p.Arrived / max(1, p.Total)
	fmt.Fprintf(b.to, "\r[%s%s] %3d %%  %d of %d tickets, %d matches, %d waiting, at %s\x1b[K",
		strings.Repeat("#", done), strings.Repeat(" ", barWidth-done), 100*p.Arrived/max(1, p.Total), p.Arrived,
		p.Total, p.Matches, p.Waiting, p.At.Round(time.Second))
}

// progressLines prints a line per second, and at the end.
type progressLines struct {
	to   io.Writer
	last time.Time
}

func (l *progressLines) show(p matchsim.Progress) {
	ended := p.Arrived == p.Total && p.Waiting == 0
	if !ended && time.Since(l.last) < time.Second {
		return
	}
	l.last = time.Now()
	fmt.Fprintf(l.to, "%d of %d tickets arrived, %d matches, %d waiting, at %s\n",
		p.Arrived, p.Total, p.Matches, p.Waiting, p.At.Round(time.Second))
}

func (b *progressBar) clear() { fmt.Fprint(b.to, "\r\x1b[K") }
