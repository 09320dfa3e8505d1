package control

import (
	"context"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// configurationPage is the maximum number of matchmaking configurations on a page. Source: API reference,
// DescribeMatchmakingConfigurations.
const configurationPage = 10

// CreateMatchmakingConfiguration creates a matchmaking configuration.
func (p *Plane) CreateMatchmakingConfiguration(ctx context.Context,
	in *wire.CreateMatchmakingConfigurationInput) (*wire.CreateMatchmakingConfigurationOutput, error) {
	ruleSet, err := p.ruleSet(in.RuleSetName)
	if err != nil {
		return nil, err
	}
	queues, refers, err := p.queuesFrom(in.GameSessionQueueArns)
	if err != nil {
		return nil, err
	}
	err = p.Change(ctx, catalog.CreateMatchmakingConfiguration{
		MatchmakingConfiguration: catalog.MatchmakingConfiguration{
			ID: uuid.NewString(), Name: in.Name, Description: in.Description, RuleSet: ruleSet.Name, Queues: queues,
			Standalone:         in.FlexMatchMode == wire.FlexMatchModeStandalone,
			RequestTimeout:     in.RequestTimeoutSeconds.Or(0),
			AcceptanceRequired: in.AcceptanceRequired.Or(false), AcceptanceTimeout: in.AcceptanceTimeoutSeconds.Or(0),
			AdditionalPlayers: in.AdditionalPlayerCount.Or(0),
			AutomaticBackfill: in.BackfillMode == wire.BackfillModeAutomatic,
			Properties:        matchPropertiesFrom(in.GameProperties), Data: in.GameSessionData,
			CustomEventData: in.CustomEventData, NotificationTarget: in.NotificationTarget,
		},
		Refers: refers, Tags: tagsFrom(in.Tags),
	})
	if err != nil {
		return nil, err
	}
	configuration, err := p.describedConfiguration(in.Name)
	return &wire.CreateMatchmakingConfigurationOutput{Configuration: configuration}, err
}

// queuesFrom parses the ARNs of queues, and returns also the resources of this Region among them. A configuration may
// name queues of other Regions, in which nothing is placed.
func (sh shapes) queuesFrom(in []string) (arns, refers []string, err error) {
	for i, queue := range in {
		a, ok := arn.Parse(queue)
		if !ok || a.Kind != arn.KindQueue {
			return nil, nil, invalid("GameSessionQueueArns[%d] is not the ARN of a game session queue", i)
		}
		if a.Region == sh.names.Region {
			refers = append(refers, string(a.Kind)+"/"+a.ID)
		}
	}
	return in, refers, nil
}

// matchPropertiesFrom returns nil for properties that are not given.
func matchPropertiesFrom(in []wire.GameProperty) []catalog.Property {
	if in == nil {
		return nil
	}
	properties := make([]catalog.Property, len(in))
	for i, property := range in {
		properties[i] = catalog.Property{Key: property.Key, Value: property.Value}
	}
	return properties
}

// UpdateMatchmakingConfiguration changes the members that are given, for later matches. Lists are replaced as a whole;
// an empty list removes the old one.
func (p *Plane) UpdateMatchmakingConfiguration(ctx context.Context,
	in *wire.UpdateMatchmakingConfigurationInput) (*wire.UpdateMatchmakingConfigurationOutput, error) {
	m, err := p.matchmakingConfiguration(in.Name)
	if err != nil {
		return nil, err
	}
	command := catalog.UpdateMatchmakingConfiguration{
		Name: m.Name, Description: optional(in.Description), RequestTimeout: given(in.RequestTimeoutSeconds),
		AcceptanceRequired: given(in.AcceptanceRequired), AcceptanceTimeout: given(in.AcceptanceTimeoutSeconds),
		AdditionalPlayers: given(in.AdditionalPlayerCount), Properties: matchPropertiesFrom(in.GameProperties),
		Data: optional(in.GameSessionData), CustomEventData: given(in.CustomEventData),
		NotificationTarget: given(in.NotificationTarget),
		Standalone:         is(in.FlexMatchMode, wire.FlexMatchModeStandalone),
		AutomaticBackfill:  is(in.BackfillMode, wire.BackfillModeAutomatic),
	}
	if in.RuleSetName != "" {
		ruleSet, err := p.ruleSet(in.RuleSetName)
		if err != nil {
			return nil, err
		}
		command.RuleSet = &ruleSet.Name
	}
	if command.Queues, command.Refers, err = p.queuesFrom(in.GameSessionQueueArns); err != nil {
		return nil, err
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	configuration, err := p.describedConfiguration(m.Name)
	return &wire.UpdateMatchmakingConfigurationOutput{Configuration: configuration}, err
}

// is reports whether a mode is given and has a certain value; nil if it is not given.
func is[E ~string](mode, certain E) *bool {
	if mode == "" {
		return nil
	}
	same := mode == certain
	return &same
}

// DescribeMatchmakingConfigurations describes the named configurations that exist, or a page of all, by name; in both
// cases only those with the given rule set.
func (cr *catalogReader) DescribeMatchmakingConfigurations(
	_ context.Context, in *wire.DescribeMatchmakingConfigurationsInput,
) (*wire.DescribeMatchmakingConfigurationsOutput, error) {
	configurations, next, err := cr.configurationsPage(in)
	if err != nil {
		return nil, err
	}
	list := shown(configurations, cr.configurationTo)
	return &wire.DescribeMatchmakingConfigurationsOutput{Configurations: list, NextToken: next}, nil
}

func (cr *catalogReader) configurationsPage(in *wire.DescribeMatchmakingConfigurationsInput) (
	found []*catalog.MatchmakingConfiguration, next string, err error,
) {
	ruleSet, ok := "", true
	if in.RuleSetName != "" {
		ruleSet, ok = cr.Local(in.RuleSetName, arn.ParseMatchmakingRuleSet)
	}
	switch {
	case !ok: // of another Region: nothing here uses it
		return nil, "", nil
	case len(in.Names) > 0:
		found, err = named(in.Names, func(name string) (*catalog.MatchmakingConfiguration, error) {
			m, err := cr.matchmakingConfiguration(name)
			if err == nil && ruleSet != "" && m.RuleSet != ruleSet {
				err = notFound("Matchmaking configuration %s uses another rule set", name)
			}
			return m, err
		})
		return found, "", err
	}
	return page(cr.secrets.Pages("DescribeMatchmakingConfigurations", ruleSet), in.NextToken,
		func(after string) ([]*catalog.MatchmakingConfiguration, bool) {
			return cr.Catalog().MatchmakingConfigurations(ruleSet, after, pageOf(in.Limit, configurationPage))
		},
		func(m *catalog.MatchmakingConfiguration) string { return m.Name })
}

// DeleteMatchmakingConfiguration deletes a matchmaking configuration that no active ticket uses. A ticket that starts
// at the same moment fails.
func (p *Plane) DeleteMatchmakingConfiguration(
	ctx context.Context, in *wire.DeleteMatchmakingConfigurationInput,
) error {
	m, err := p.matchmakingConfiguration(in.Name)
	if err != nil {
		return err
	}
	active, err := router.Look(ctx, p.TicketShard(), func(s *region.Machine) int {
		return s.Matchmaking().ActiveTickets(m.ID)
	})
	switch {
	case err != nil:
		return err
	case active > 0:
		return invalid(
			"Matchmaking configuration %s has %d active tickets. Stop them, or delete it when they are over.",
			m.Name, active)
	}
	return p.Change(ctx, catalog.DeleteMatchmakingConfiguration{Name: m.Name})
}

// matchmakingConfiguration returns the configuration with a name or an ARN, or NotFound.
func (cr *catalogReader) matchmakingConfiguration(nameOrArn string) (*catalog.MatchmakingConfiguration, error) {
	name, _ := cr.Local(nameOrArn, arn.ParseMatchmakingConfiguration)
	if m, ok := cr.Catalog().MatchmakingConfiguration(name); ok {
		return m, nil
	}
	return nil, notFound("Matchmaking configuration %s not found", nameOrArn)
}

// describedConfiguration returns a configuration after a change, as the API shows it.
func (cr *catalogReader) describedConfiguration(name string) (*wire.MatchmakingConfiguration, error) {
	m, err := cr.matchmakingConfiguration(name)
	if err != nil {
		return nil, err
	}
	return cr.configurationTo(m), nil
}

func (sh shapes) configurationTo(m *catalog.MatchmakingConfiguration) *wire.MatchmakingConfiguration {
	out := &wire.MatchmakingConfiguration{
		Name: m.Name, ConfigurationArn: sh.names.ConfigurationARN(m.Name), Description: m.Description,
		GameSessionQueueArns: append([]string{}, m.Queues...), RequestTimeoutSeconds: wire.Some(m.RequestTimeout),
		AcceptanceTimeoutSeconds: present(m.AcceptanceTimeout), AcceptanceRequired: wire.Some(m.AcceptanceRequired),
		RuleSetName: m.RuleSet, RuleSetArn: sh.ruleSetArn(m.RuleSet), NotificationTarget: m.NotificationTarget,
		AdditionalPlayerCount: wire.Some(m.AdditionalPlayers), CustomEventData: m.CustomEventData,
		CreationTime:   m.Created.Time(),
		GameProperties: []wire.GameProperty{}, GameSessionData: m.Data,
		BackfillMode: wire.BackfillModeManual, FlexMatchMode: wire.FlexMatchModeWithQueue,
	}
	for _, property := range m.Properties {
		out.GameProperties = append(out.GameProperties, wire.GameProperty{Key: property.Key, Value: property.Value})
	}
	if m.AutomaticBackfill {
		out.BackfillMode = wire.BackfillModeAutomatic
	}
	if m.Standalone {
		out.FlexMatchMode = wire.FlexMatchModeStandalone
	}
	return out
}
