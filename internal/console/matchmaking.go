package console

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type matchmakingBody struct {
	Configurations []wire.MatchmakingConfiguration
	Next           string
}

func matchmakingPage(v *visit) error {
	out, err := call(v, wire.OpDescribeMatchmakingConfigurations, &wire.DescribeMatchmakingConfigurationsInput{
		Limit: wire.Some[int32](maxConfigurations), NextToken: v.form("next")})
	if err != nil {
		return err
	}
	return v.show("matchmaking", page{Title: "Matchmaking", Nav: "/console/matchmaking", Live: true,
		Body: matchmakingBody{out.Configurations, out.NextToken}})
}

// maxConfigurations is the largest page. Source: API reference, DescribeMatchmakingConfigurations (Limit).
const maxConfigurations = 25

func configurationPath(name string) string { return "/console/matchmaking/" + url.PathEscape(name) }

// A configurationBody is the page of a matchmaking configuration.
type configurationBody struct {
	wire.MatchmakingConfiguration
	Queues  []string           // names
	Tickets control.TicketList // those that search, and the newest
	Ages    []ageBar           // of those that search
	Graphs  *graphsView        // nil: not for this person

	MatchesPerMinute string // "": not for this person
	Rules            []passRate
	Expansions       []outlinedStep
}

func configurationPage(v *visit) error { return v.configuration(v.r.PathValue("name"), nil) }

func (v *visit) configuration(name string, refused error) error {
	out, err := call(v, wire.OpDescribeMatchmakingConfigurations,
		&wire.DescribeMatchmakingConfigurationsInput{Names: []string{name}})
	if err != nil {
		return err
	}
	if len(out.Configurations) == 0 {
		return fault.New(fault.NotFound, "Matchmaking configuration %s does not exist.", name)
	}
	b := configurationBody{MatchmakingConfiguration: out.Configurations[0]}
	for _, arn := range b.GameSessionQueueArns {
		b.Queues = append(b.Queues, arn[strings.LastIndexByte(arn, '/')+1:])
	}
	err = v.read(
		part{"Tickets", func() error {
			if !v.may("muster:TicketRead", []string{"configuration/" + name}) {
				return nil
			}
			err := v.request("GET", v.rowsOf("configurations", name, "tickets"), nil, &b.Tickets)
			b.Ages = ageBars(b.Tickets.Searching)
			return err
		}},
		part{"Metrics", func() (err error) {
			b.Graphs, err = v.graphs(configurationGraphs, metrics.Dimension{Name: "ConfigurationName", Value: name})
			return cmp.Or(err, v.matchRates(&b))
		}},
		part{"Rule set", func() (err error) {
			b.Expansions, err = v.expansionsOf(b.RuleSetName)
			return err
		}},
	)
	if err != nil {
		return err
	}
	return v.refused("configuration", page{Title: b.Name, Nav: "/console/matchmaking", Live: refused == nil, Body: b,
		Crumbs: []link{{"Matchmaking", "/console/matchmaking"}}}, refused)
}

func deleteConfiguration(v *visit) error {
	name := v.r.PathValue("name")
	if _, err := call(v, wire.OpDeleteMatchmakingConfiguration,
		&wire.DeleteMatchmakingConfigurationInput{Name: name}); err != nil {
		return v.configuration(name, err)
	}
	return v.redirect("/console/matchmaking?done=configuration-deleted")
}

// A newConfigurationBody is the form of a new configuration.
type newConfigurationBody struct {
	RuleSets []wire.MatchmakingRuleSet
	Queues   []wire.GameSessionQueue

	// What was typed, or is proposed.
	Name, Description, RuleSet, Queue string
	Timeout, AcceptanceTimeout        string
	Standalone, Acceptance, Automatic bool
}

func newConfigurationPage(v *visit) error {
	return v.newConfiguration(newConfigurationBody{RuleSet: v.form("rule-set"), Timeout: "60"}, nil)
}

func (v *visit) newConfiguration(b newConfigurationBody, refused error) error {
	if err := v.needs("gamelift:CreateMatchmakingConfiguration"); err != nil {
		return err
	}
	sets, err := call(v, wire.OpDescribeMatchmakingRuleSets, &wire.DescribeMatchmakingRuleSetsInput{
		Limit: wire.Some[int32](maxRuleSets)})
	if err != nil {
		return err
	}
	queues, err := call(v, wire.OpDescribeGameSessionQueues, &wire.DescribeGameSessionQueuesInput{
		Limit: wire.Some[int32](pageSize)})
	if err != nil {
		return err
	}
	b.RuleSets, b.Queues = sets.RuleSets, queues.GameSessionQueues
	return v.refused("newconfiguration", page{Title: "Create configuration", Nav: "/console/matchmaking", Body: b,
		Crumbs: []link{{"Matchmaking", "/console/matchmaking"}}}, refused)
}

func createConfiguration(v *visit) error {
	b := newConfigurationBody{Name: v.form("configuration-name"), Description: v.form("description"),
		RuleSet: v.form("rule-set"), Queue: v.form("queue"), Timeout: v.form("timeout"),
		AcceptanceTimeout: v.form("acceptance-timeout"), Standalone: v.form("queue") == "",
		Acceptance: v.form("acceptance") != "", Automatic: v.form("automatic") != ""}
	in, err := v.configurationOf(&b)
	if err == nil {
		_, err = call(v, wire.OpCreateMatchmakingConfiguration, in)
	}
	if err != nil {
		return v.newConfiguration(b, err)
	}
	return v.redirect(configurationPath(b.Name) + "?done=configuration-created")
}

func (v *visit) configurationOf(b *newConfigurationBody) (*wire.CreateMatchmakingConfigurationInput, error) {
	seconds, err := v.number("timeout", "RequestTimeoutSeconds: type a number of seconds.")
	if err != nil {
		return nil, err
	}
	acceptance, err := v.number("acceptance-timeout", "AcceptanceTimeoutSeconds: type a number of seconds.")
	if err != nil {
		return nil, err
	}
	in := &wire.CreateMatchmakingConfigurationInput{Name: b.Name, Description: b.Description, RuleSetName: b.RuleSet,
		RequestTimeoutSeconds: seconds, AcceptanceTimeoutSeconds: acceptance,
		AcceptanceRequired: wire.Some(b.Acceptance), FlexMatchMode: wire.FlexMatchModeStandalone}
	if !b.Standalone {
		in.FlexMatchMode, in.GameSessionQueueArns = wire.FlexMatchModeWithQueue, []string{b.Queue}
		in.BackfillMode = wire.BackfillModeManual
		if b.Automatic {
			in.BackfillMode = wire.BackfillModeAutomatic
		}
	}
	return in, nil
}
