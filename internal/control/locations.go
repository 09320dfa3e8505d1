package control

import (
	"context"
	"slices"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// CreateLocation creates a custom location.
func (p *Plane) CreateLocation(ctx context.Context, in *wire.CreateLocationInput) (*wire.CreateLocationOutput, error) {
	if err := p.Change(ctx, catalog.CreateLocation{Name: in.LocationName, Tags: tagsFrom(in.Tags)}); err != nil {
		return nil, err
	}
	return &wire.CreateLocationOutput{Location: p.location(in.LocationName)}, nil
}

func (sh shapes) location(name string) *wire.LocationModel {
	return &wire.LocationModel{LocationName: name, LocationArn: arn.Location(sh.names.Region, sh.names.Account, name)}
}

// ListLocations lists the custom locations. There are no AWS locations: a filter for these finds none.
func (cr *catalogReader) ListLocations(_ context.Context,
	in *wire.ListLocationsInput) (*wire.ListLocationsOutput, error) {
	locations, next, err := page(cr.secrets.Pages("ListLocations", enumsText(in.Filters)...), in.NextToken,
		func(after string) ([]*catalog.Location, bool) {
			if len(in.Filters) > 0 && !slices.Contains(in.Filters, wire.LocationFilterCustom) {
				return nil, false
			}
			return cr.Catalog().Locations(after, pageSize(in.Limit))
		},
		func(l *catalog.Location) string { return l.Name })
	if err != nil {
		return nil, err
	}
	list := shown(locations, func(l *catalog.Location) *wire.LocationModel { return cr.location(l.Name) })
	return &wire.ListLocationsOutput{Locations: list, NextToken: next}, nil
}

// DeleteLocation deletes a custom location. Fleets that refer to it show it as NOT_FOUND.
func (p *Plane) DeleteLocation(ctx context.Context, in *wire.DeleteLocationInput) error {
	name := in.LocationName
	if p.Elsewhere(name) {
		return notFound("Location %s not found: this is Region %s", name, p.cfg.Region)
	}
	if parsed, ok := arn.ParseLocation(name); ok {
		name = parsed
	}
	return p.Change(ctx, catalog.DeleteLocation{Name: name})
}
