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
	"github.com/muster-gg/muster/internal/matchsim"
	"github.com/muster-gg/muster/internal/ruleset"
)

func (a *app) matchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "match",
		Short: "Try matchmaking rule sets, and ask why a ticket waits",
		Long: `Try matchmaking rule sets before players meet them, and ask a running service why
a ticket waits.`,
		Example: `  muster match validate rules.json
  muster match generate --rules rules.json --tickets 10000 > tickets.ndjson
  muster match simulate --rules rules.json --tickets tickets.ndjson
  muster match explain t-1234`,
	}
	command.AddCommand(a.matchValidateCommand(), a.matchGenerateCommand(), a.matchSimulateCommand(), a.matchExplainCommand())
	return command
}

func (a *app) matchValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a rule set as CreateMatchmakingRuleSet does",
		Long: `Check a rule set as CreateMatchmakingRuleSet does. What is wrong is named by its
place in the document, and the exit status is then 1. "-" reads the standard input.`,
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

// outline says in words what a rule set is.
func outline(set *ruleset.Set) string {
	least := 0
	for _, team := range set.Teams {
		least += team.Min
	}
	size := "a small set"
	if set.Large() {
		size = "a large set"
	}
	return fmt.Sprintf("%s, %s of %d to %d players, %s", size, counted(len(set.Teams), "team"), least, set.MaxPlayers(), counted(len(set.Rules), "rule"))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// open opens a file to read; "-" is the standard input.
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	return os.Open(name)
}

// readRules reads a rule set from a file.
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
		Short: "Make up tickets for a rule set",
		Long: `Make up a population that a rule set can mostly match, one ticket a line, as "muster
match simulate" reads it.

Numbers lie around their default on the scale of the rules' distances, or are those
that rules want them to equal, as often as the teams have slots for them. Strings are
those that the rules name; one that a rule counts is as frequent as the middle of its
minCount and maxCount. Friends in a party resemble each other, each player has a home
location with the least latency, and tickets arrive at random moments. The same seed
gives the same tickets. Rules that compare attributes with each other have no effect.

Misfits have numbers far from all others, strings of their own, and the values of
which the rules want few, so that hardly any match can have them.`,
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
	f.IntVar(&p.Tickets, "tickets", p.Tickets, "how many tickets")
	f.Uint64Var(&p.Seed, "seed", p.Seed, "seed of all that is random")
	f.Float64Var(&p.Rate, "rate", p.Rate, "tickets that come in a second, on average")
	f.Float64Var(&p.Parties, "parties", p.Parties, "share of the tickets with several players, from 0 to 1")
	f.Float64Var(&p.Misfits, "misfits", 0, "share of the tickets that go with hardly anybody, from 0 to 1")
	f.StringSliceVar(&p.Locations, "locations", p.Locations, "locations to which players report latencies; neighbours in the list are near each other")
	return command
}

// addRules adds the flag with the rule set; see required.
func addRules(command *cobra.Command, rules *string) {
	command.Flags().StringVar(rules, "rules", "", `file with the rule set; "-": standard input (required)`)
}

// required refuses to go without a file. (Cobra's own check comes too late to count
// as misuse.)
func required(flag, file string) error {
	if file == "" {
		return fmt.Errorf("--%s is missing: name a file, or - for the standard input", flag)
	}
	return nil
}

// A matchSimulation is one run of muster match simulate.
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
		Short: "Let tickets meet a rule set, without a service",
		Long: `Let a pool of tickets meet a rule set, with the code that matches in the service,
and say who is matched, how long tickets wait, which rules turn players away and how
even the matches are. No service is needed, and matches need no acceptance.

Tickets are lines of JSON, each exactly what
"aws gamelift start-matchmaking --cli-input-json" takes (or start-match-backfill, with
a GameSessionArn), and when it comes: At, in seconds since the start, or StartTime, as
describe-matchmaking prints it. ConfigurationName and TicketId may be left out:

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
	f.StringVar(&s.clock, "clock", matchsim.Virtual.String(), "virtual: as fast as it goes; real: a second takes a second")
	f.DurationVar(&o.Timeout, "request-timeout", 0, "how long a ticket waits before it times out; 0: to the end")
	f.IntVar(&o.Matcher.Additional, "additional-players", 0, "places of each match that stay open (AdditionalPlayerCount)")
	f.IntVar(&o.Matcher.Batch, "batch", 0, "tickets that are tried with one another; 0: as many as the service tries")
	f.Int64Var(&o.Matcher.Seed, "seed", 1, "seed of the random batches")
	f.StringVar(&s.matches, "matches", "", "file for the matches, one a line of JSON")
	f.BoolVar(&s.asJSON, "json", false, "print the report as JSON")
	f.BoolVar(&s.progress, "progress", false, "print progress to standard error although it is not a terminal")
	return command
}

// check refuses what flags must not say.
func (s *matchSimulation) check() error {
	if err := errors.Join(required("rules", s.rules), required("tickets", s.tickets)); err != nil {
		return err
	}
	switch s.clock {
	case matchsim.Virtual.String():
	case matchsim.Real.String():
		s.options.Clock = matchsim.Real
	default:
		return fmt.Errorf("--clock is %q; give virtual or real", s.clock)
	}
	switch o := s.options; {
	case o.Timeout < 0:
		return fmt.Errorf("--request-timeout is %s; give a positive duration, or 0", o.Timeout)
	case o.Matcher.Additional < 0:
		return fmt.Errorf("--additional-players is %d; give a number that is not below 0", o.Matcher.Additional)
	case o.Matcher.Batch < 0:
		return fmt.Errorf("--batch is %d; give a number that is not below 0", o.Matcher.Batch)
	case s.rules == "-" && s.tickets == "-":
		return errors.New("--rules and --tickets cannot both be the standard input")
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

// simulate runs the simulation, with its matches in a file and its progress on a
// terminal.
func (s *matchSimulation) simulate(ctx context.Context, set *ruleset.Set, tickets []*matcher.Ticket) (report *matchsim.Report, err error) {
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

// isTerminal reports whether people read this.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	about, err := file.Stat()
	return err == nil && about.Mode()&os.ModeCharDevice != 0
}

// A progressBar is one line of a terminal, written anew.
type progressBar struct {
	to   io.Writer
	last time.Time
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond // as often as eyes care
)

func (b *progressBar) show(p matchsim.Progress) {
	if time.Since(b.last) < barEvery {
		return
	}
	b.last = time.Now()
	done := barWidth * p.Arrived / max(1, p.Total)
	fmt.Fprintf(b.to, "\r[%s%s] %3d %%  %d of %d tickets, %d matches, %d waiting, at %s\x1b[K", strings.Repeat("#", done), strings.Repeat(" ", barWidth-done),
		100*p.Arrived/max(1, p.Total), p.Arrived, p.Total, p.Matches, p.Waiting, p.At.Round(time.Second))
}

// progressLines is a line each second, and at the end.
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
	fmt.Fprintf(l.to, "%d of %d tickets arrived, %d matches, %d waiting, at %s\n", p.Arrived, p.Total, p.Matches, p.Waiting, p.At.Round(time.Second))
}

// clear wipes the line.
func (b *progressBar) clear() { fmt.Fprint(b.to, "\r\x1b[K") }
