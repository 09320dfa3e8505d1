package control

import (
	"context"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// CreateAlias creates an alias of a fleet or of a message.
func (p *Plane) CreateAlias(ctx context.Context, in *wire.CreateAliasInput) (*wire.CreateAliasOutput, error) {
	id := "alias-" + uuid.NewString()
	command := catalog.CreateAlias{ID: id, Name: in.Name, Description: in.Description, Tags: tagsFrom(in.Tags)}
	if r := routing(in.RoutingStrategy); r != nil {
		command.Routing = *r
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	created(ctx, p.build("alias", id))
	alias, err := p.alias(id)
	return &wire.CreateAliasOutput{Alias: alias}, err
}

func routing(in *wire.RoutingStrategy) *catalog.Routing {
	if in == nil {
		return nil
	}
	return &catalog.Routing{Type: catalog.RoutingType(in.Type), Fleet: in.FleetId, Message: in.Message}
}

// alias returns an alias as the API shows it.
func (cr *catalogReader) alias(idOrArn string) (*wire.Alias, error) {
	a, ok := cr.Catalog().Alias(aliasID(idOrArn))
	if !ok {
		return nil, notFound("Alias %s not found", idOrArn)
	}
	return cr.aliasTo(a), nil
}

func (sh shapes) aliasTo(a *catalog.Alias) *wire.Alias {
	return &wire.Alias{
		AliasId: a.ID, Name: a.Name, AliasArn: arn.Alias(sh.names.Region, sh.names.Account, a.ID),
		Description: a.Description,
		RoutingStrategy: &wire.RoutingStrategy{
			Type: wire.RoutingStrategyType(a.Routing.Type), FleetId: a.Routing.Fleet, Message: a.Routing.Message,
		},
		CreationTime: a.Created.Time(), LastUpdatedTime: a.Updated.Time(),
	}
}

// UpdateAlias changes the members that are given; a routing strategy is replaced as a whole.
func (p *Plane) UpdateAlias(ctx context.Context, in *wire.UpdateAliasInput) (*wire.UpdateAliasOutput, error) {
	command := catalog.UpdateAlias{
		ID: aliasID(in.AliasId), Name: optional(in.Name), Description: optional(in.Description),
		Routing: routing(in.RoutingStrategy),
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	alias, err := p.alias(in.AliasId)
	return &wire.UpdateAliasOutput{Alias: alias}, err
}

// DescribeAlias describes one alias.
func (cr *catalogReader) DescribeAlias(_ context.Context,
	in *wire.DescribeAliasInput) (*wire.DescribeAliasOutput, error) {
	alias, err := cr.alias(in.AliasId)
	return &wire.DescribeAliasOutput{Alias: alias}, err
}

// ListAliases lists aliases by id, filtered by exact name and by type.
func (cr *catalogReader) ListAliases(_ context.Context, in *wire.ListAliasesInput) (*wire.ListAliasesOutput, error) {
	filter := catalog.AliasFilter{Name: in.Name, Type: catalog.RoutingType(in.RoutingStrategyType)}
	aliases, next, err := page(cr.secrets.Pages("ListAliases", in.Name, string(in.RoutingStrategyType)), in.NextToken,
		func(after string) ([]*catalog.Alias, bool) {
			return cr.Catalog().Aliases(filter, after, pageSize(in.Limit))
		},
		func(a *catalog.Alias) string { return a.ID })
	if err != nil {
		return nil, err
	}
	return &wire.ListAliasesOutput{Aliases: shown(aliases, cr.aliasTo), NextToken: next}, nil
}

// DeleteAlias deletes an alias.
func (p *Plane) DeleteAlias(ctx context.Context, in *wire.DeleteAliasInput) error {
	return p.Change(ctx, catalog.DeleteAlias{ID: aliasID(in.AliasId)})
}

// ResolveAlias returns the fleet of an alias. It may have been deleted since.
func (cr *catalogReader) ResolveAlias(_ context.Context, in *wire.ResolveAliasInput) (*wire.ResolveAliasOutput, error) {
	id, err := cr.Catalog().ResolveAlias(aliasID(in.AliasId))
	if err != nil {
		return nil, err
	}
	return &wire.ResolveAliasOutput{FleetId: id, FleetArn: cr.FleetARN(id)}, nil
}
