package control

import (
	"context"
	"slices"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// CreateLocation makes a custom location.
func (p *Plane) CreateLocation(ctx context.Context, in *wire.CreateLocationInput) (*wire.CreateLocationOutput, error) {
	if err := p.Change(ctx, catalog.CreateLocation{Name: in.LocationName, Tags: tagsFrom(in.Tags)}); err != nil {
		return nil, err
	}
	return &wire.CreateLocationOutput{Location: p.location(in.LocationName)}, nil
}

func (p *Plane) location(name string) *wire.LocationModel {
	return &wire.LocationModel{LocationName: name, LocationArn: arn.Location(p.cfg.Region, p.cfg.Account, name)}
}

// ListLocations lists the custom locations. There are no AWS locations: the
// filter for these finds none.
func (p *Plane) ListLocations(_ context.Context, in *wire.ListLocationsInput) (*wire.ListLocationsOutput, error) {
	pages := p.secrets.pages("ListLocations", enumsText(in.Filters)...)
	var after string
	if err := pages.read(in.NextToken, &after); err != nil {
		return nil, err
	}
	out := &wire.ListLocationsOutput{Locations: []wire.LocationModel{}}
	if len(in.Filters) > 0 && !slices.Contains(in.Filters, wire.LocationFilterCustom) {
		return out, nil
	}
	locations, more := p.Catalog().Locations(after, pageSize(in.Limit))
	for _, l := range locations {
		out.Locations = append(out.Locations, *p.location(l.Name))
	}
	if more {
		out.NextToken = pages.token(locations[len(locations)-1].Name)
	}
	return out, nil
}

// DeleteLocation removes a custom location. Fleets that refer to it show it as
// NOT_FOUND.
func (p *Plane) DeleteLocation(ctx context.Context, in *wire.DeleteLocationInput) error {
	name := in.LocationName
	if p.Elsewhere(name) {
		return fault.New(fault.NotFound, "Location %s not found: this is Region %s", name, p.cfg.Region)
	}
	if parsed, ok := arn.ParseLocation(name); ok {
		name = parsed
	}
	return p.Change(ctx, catalog.DeleteLocation{Name: name})
}
