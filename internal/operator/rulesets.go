package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	maxRuleSet    = 512 << 10 // bytes of a body with a rule set, of at most 65,535 characters
	maxSimulation = 8 << 20   // with tickets
	maxTickets    = 5000
	maxTimeout    = 43_200 // seconds; source: API model, MatchmakingRequestTimeoutInteger
	simulateTime  = 10 * time.Second
)

// A ruleSetInput is the body of POST /v1/rulesets/check.
type ruleSetInput struct {
	Body string `json:"ruleSetBody"`
}

// A RuleSetCheck is whether a rule set is valid, and its first problem.
type RuleSetCheck struct {
	Valid   bool   `json:"valid"`
	Problem string `json:"problem,omitempty"`
	Path    string `json:"path,omitempty"`   // of the value that the problem is about: rules[2].type
	Line    int    `json:"line,omitempty"`   // from 1; absent for a problem of the whole rule set
	Column  int    `json:"column,omitempty"` // from 1, in characters
}

func (d *Handler) checkRuleSet(_ *call, in *ruleSetInput) (RuleSetCheck, error) {
	_, err := ruleset.Parse(in.Body)
	if err == nil {
		return RuleSetCheck{Valid: true}, nil
	}
	out := RuleSetCheck{Problem: err.Error()}
	if e, ok := errors.AsType[*ruleset.Error](err); ok {
		out.Problem, out.Path = e.Problem, e.Path
	}
	out.Line, out.Column = ruleset.Place(in.Body, err)
	return out, nil
}

// A simulationInput is the body of POST /v1/rulesets/simulate.
type simulationInput struct {
	Body       string            `json:"ruleSetBody"`
	Tickets    []json.RawMessage `json:"tickets"` // in the format of muster match simulate; or
	Population *populationInput  `json:"population"`
	Timeout    int               `json:"timeoutSeconds"` // RequestTimeoutSeconds; 0: none
}

// A populationInput describes tickets to generate. Absent members are as in matchsim.DefaultPopulation.
type populationInput struct {
	Tickets   *int     `json:"tickets"`
	Seed      *uint64  `json:"seed"`
	Rate      *float64 `json:"ticketsPerSecond"`
	Parties   *float64 `json:"parties"`
	Misfits   *float64 `json:"misfits"`
	Locations []string `json:"locations"`
}

func (in *populationInput) population() matchsim.Population {
	p := matchsim.DefaultPopulation()
	if in == nil {
		return p
	}
	set(&p.Tickets, in.Tickets)
	set(&p.Seed, in.Seed)
	set(&p.Rate, in.Rate)
	set(&p.Parties, in.Parties)
	set(&p.Misfits, in.Misfits)
	if in.Locations != nil {
		p.Locations = in.Locations
	}
	return p
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// simulate matches tickets with a rule set. One simulation runs at a time.
func (d *Handler) simulate(c *call, in *simulationInput) (*matchsim.Report, error) {
	rules, err := ruleset.Parse(in.Body)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "ruleSetBody is not valid: %.1000s. POST /v1/rulesets/check has "+
			"the positions.", err.Error())
	}
	if in.Timeout < 0 || in.Timeout > maxTimeout {
		return nil, fault.New(fault.InvalidRequest, "timeoutSeconds is %d: it must be 0 to %d.", in.Timeout, maxTimeout)
	}
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	default:
		return nil, fault.New(fault.Throttling, "Another simulation is running on this node. Try again when it "+
			"has ended.")
	}
	ctx, cancel := context.WithTimeout(c.Context(), simulateTime)
	defer cancel()
	tickets, err := in.tickets(rules)
	if err != nil {
		return nil, err
	}
	report, err := matchsim.Run(ctx, rules, tickets, matchsim.Options{
		Matcher: matcher.Options{Seed: matchsim.DefaultSeed}, Timeout: time.Duration(in.Timeout) * time.Second})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fault.New(fault.InvalidRequest, "The simulation took longer than %s. Give fewer tickets, or use "+
			"muster match simulate.", simulateTime)
	}
	return report, err
}

// tickets reads or generates the tickets.
func (in *simulationInput) tickets(rules *ruleset.Set) ([]*matcher.Ticket, error) {
	if in.Tickets != nil && in.Population != nil {
		return nil, fault.New(fault.InvalidRequest, "Give either tickets or population.")
	}
	var lines bytes.Buffer
	n := len(in.Tickets)
	for _, t := range in.Tickets {
		_ = json.Compact(&lines, t) // they are valid
		lines.WriteByte('\n')
	}
	if in.Tickets == nil {
		p := in.Population.population()
		n = p.Tickets
		if err := p.Check(); err != nil {
			return nil, fault.New(fault.InvalidRequest, "population: %s.", err.Error())
		}
		if n <= maxTickets {
			if err := matchsim.Generate(&lines, rules, p); err != nil {
				return nil, err
			}
		}
	}
	if n > maxTickets {
		return nil, fault.New(fault.InvalidRequest, "There are %d tickets: give at most %d.", n, maxTickets)
	}
	tickets, err := matchsim.ReadTickets(&lines, rules)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "tickets: %s.", err.Error())
	}
	return tickets, nil
}
