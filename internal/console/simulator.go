package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// atOnce is a rate in tickets per second at which all tickets of a simulation arrive in the same millisecond.
const atOnce = 1e9

// A simulation is the simulator of a rule set: what was typed, and the result.
type simulation struct {
	Tickets, Rate, Parties, Seed, Timeout numberField
	AtOnce                                bool   // the tickets arrive together: Rate has no effect
	Profile                               string // tickets as JSON; "": they are generated
	Problem                               string // of the profile
	Command                               string // that does the same
	Report                                *matchsim.Report

	Against string   // the rule set to compare with; "": none
	InForce []string // rule sets of configurations, other than this one
	Other   *matchsim.Report
}

// A numberField is a field of a form for a number.
type numberField struct {
	ID, Label, Hint string
	Least, Most     float64
	Whole           bool
	Value           string // that was typed, or is proposed
	Problem         string // why the value is refused; "": it is not
}

// Step is the attribute of the field.
func (f *numberField) Step() string {
	if f.Whole {
		return "1"
	}
	return "any"
}

// Describes is the ids of the texts about the field.
func (f *numberField) Describes() string {
	ids := ""
	if f.Hint != "" {
		ids = "hint-" + f.ID
	}
	if f.Problem != "" {
		ids += " problem-" + f.ID
	}
	return ids
}

// number returns the value of the field, or sets its Problem.
func (f *numberField) number() float64 {
	n, err := strconv.ParseFloat(f.Value, 64)
	if f.Whole { // a seed can have more digits than a float64
		var whole uint64
		if whole, err = strconv.ParseUint(f.Value, 10, 64); err == nil {
			f.Value = strconv.FormatUint(whole, 10) // as JSON has it
		}
	}
	if err != nil || !(n >= f.Least && n <= f.Most) {
		kind := "number"
		if f.Whole {
			kind = "whole number"
		}
		f.Problem = fmt.Sprintf("Type a %s from %s to %s.", kind, limitText(f.Least), limitText(f.Most))
	}
	return n
}

func limitText(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// newSimulation returns the form with what a request has of it, and with proposals for the rest.
func (v *visit) newSimulation() *simulation {
	s := &simulation{
		Tickets: numberField{ID: "tickets", Label: "Tickets", Least: 1, Most: 5000, Whole: true, Value: "1000"},
		Rate:    numberField{ID: "rate", Label: "Tickets per second", Least: 0.001, Most: 1e6, Value: "10"},
		Parties: numberField{ID: "parties", Label: "Tickets with several players, in percent", Most: 100, Value: "20",
			Hint: "The others have one player. A ticket has at most 5 players, and no more than the largest team."},
		Seed: numberField{ID: "seed", Label: "Seed", Most: 1 << 63, Whole: true, Value: "1",
			Hint: "The same seed gives the same tickets."},
		Timeout: numberField{ID: "timeout", Label: "Time-out of a ticket, in seconds", Most: 43_200, Whole: true,
			Value: "60", Hint: "0: tickets wait until the end."},
		AtOnce:  v.form("at-once") != "",
		Profile: strings.TrimSpace(v.form("profile")),
		Against: v.form("against"),
	}
	for _, f := range s.Numbers() {
		if typed, ok := v.r.Form[f.ID]; ok {
			f.Value = strings.TrimSpace(typed[0])
		}
	}
	return s
}

// Numbers are the fields of the form for numbers.
func (s *simulation) Numbers() []*numberField {
	return []*numberField{&s.Tickets, &s.Rate, &s.Parties, &s.Seed, &s.Timeout}
}

// input returns the body of POST /v1/rulesets/simulate, and false if a value is refused.
func (s *simulation) input(ruleSet string) (map[string]any, bool) {
	s.Timeout.number()
	body := map[string]any{"ruleSetBody": ruleSet, "timeoutSeconds": json.Number(s.Timeout.Value)}
	if s.Profile != "" {
		tickets, err := ticketsOf(s.Profile)
		if err != nil {
			s.Problem = "This is not valid JSON: " + err.Error() + "."
		}
		body["tickets"] = tickets
		return body, s.Problem+s.Timeout.Problem == ""
	}
	rate := s.Rate.number()
	if s.AtOnce {
		rate, s.Rate.Problem = atOnce, ""
	}
	parties := s.Parties.number() / 100
	s.Tickets.number()
	s.Seed.number()
	for _, f := range s.Numbers() {
		if f.Problem != "" {
			return nil, false
		}
	}
	body["population"] = map[string]any{"tickets": json.Number(s.Tickets.Value), "ticketsPerSecond": rate,
		"parties": parties, "seed": json.Number(s.Seed.Value)}
	number := func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
	s.Command = shell([]string{"muster", "match", "generate", "--rules", "rules.json", "--tickets", s.Tickets.Value,
		"--rate", number(rate), "--parties", number(parties), "--seed", s.Seed.Value}) + " |\n  " + shell([]string{
		"muster", "match", "simulate", "--rules", "rules.json", "--tickets", "-", "--request-timeout",
		s.Timeout.Value + "s"})
	return body, true
}

// ticketsOf reads tickets in the format of muster match simulate: JSON values one after the other, or an array of them.
func ticketsOf(text string) ([]json.RawMessage, error) {
	tickets := []json.RawMessage{}
	if strings.HasPrefix(text, "[") {
		err := json.Unmarshal([]byte(text), &tickets)
		return tickets, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var t json.RawMessage
		switch err := d.Decode(&t); {
		case errors.Is(err, io.EOF):
			return tickets, nil
		case err != nil:
			return nil, fmt.Errorf("ticket %d: %w", len(tickets)+1, err)
		}
		tickets = append(tickets, t)
	}
}

// simulate matches tickets with a rule set, and shows the result. It changes nothing, so it answers with the page.
func simulate(v *visit) error {
	r, err := v.findRuleSet(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	s := v.newSimulation()
	body, ok := s.input(r.RuleSetBody)
	if !ok {
		return v.showRuleSet(r, s, invalid("Change the values that are marked."))
	}
	var report matchsim.Report
	switch err = v.request(http.MethodPost, in("rulesets", "simulate"), body, &report); {
	case err == nil:
		s.Report = &report
		err = v.simulateOther(s, body)
	case s.Profile != "" && fault.Is(err, fault.InvalidRequest):
		s.Problem = fault.Of(err).Message
		err = invalid("Change the values that are marked.")
	}
	return v.showRuleSet(r, s, err)
}
