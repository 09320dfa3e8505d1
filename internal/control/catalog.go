package control

import (
	"context"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/region"
)

// catalog is a frozen view of the catalog, in which everything is durable. It
// holds everything that any call was answered before.
func (p *Plane) catalog() *catalog.State { return p.view.Load() }

// change has the catalog carry out a command. When it returns without an
// error the view holds the outcome, on all nodes: a caller may go on with any of them.
func (p *Plane) change(ctx context.Context, c catalog.Command) error {
	shard := p.shards[region.CatalogShard]
	_, err := p.do(ctx, shard, region.CatalogCommand{Command: c})
	if err == nil && p.cfg.Cluster != nil {
		p.cfg.Cluster.Spread(ctx, region.CatalogShard, shard.Newest())
	}
	return err
}

// elsewhere reports whether a text is an ARN of another Region. Names are not
// unique across Regions, so what such an ARN names is not here.
func (p *Plane) elsewhere(nameOrArn string) bool {
	a, ok := arn.Parse(nameOrArn)
	return ok && a.Region != p.cfg.Region
}

// nameHere takes the name out of a name or an ARN, by the parser of its kind. ok is
// false when that is no name of this Region.
func (p *Plane) nameHere(nameOrArn string, parse func(string) (string, bool)) (name string, ok bool) {
	if p.elsewhere(nameOrArn) {
		return "", false
	}
	return parse(nameOrArn)
}

// named finds what a request names and leaves out what does not exist.
func named[R any](names []string, find func(nameOrArn string) (R, error)) (found []R, err error) {
	if len(names) > maxIDs {
		return nil, fault.New(fault.InvalidRequest, "Names has %d elements; the maximum is %d", len(names), maxIDs)
	}
	for _, name := range names {
		if r, err := find(name); err == nil {
			found = append(found, r)
		}
	}
	return found, nil
}

// liveFleet finds the fleet that an id or an ARN names and that is not TERMINATED.
func (p *Plane) liveFleet(idOrArn string) (*catalog.Fleet, error) {
	return p.catalog().LiveFleet(fleetID(idOrArn))
}

// fleetID takes the id out of an id or an ARN; the pattern was checked before.
func fleetID(idOrArn string) string {
	if id, ok := arn.ParseFleet(idOrArn); ok {
		return id
	}
	return idOrArn
}

func aliasID(idOrArn string) string {
	if id, ok := arn.ParseAlias(idOrArn); ok {
		return id
	}
	return idOrArn
}

// target finds the fleet that a request names by exactly one of a fleet and an
// alias.
func (p *Plane) target(fleet, alias string) (*catalog.Fleet, error) {
	switch {
	case (fleet == "") == (alias == ""):
		return nil, fault.New(fault.InvalidRequest, "Give exactly one of FleetId and AliasId")
	case fleet != "":
		return p.liveFleet(fleet)
	}
	id, err := p.catalog().ResolveAlias(aliasID(alias))
	if err != nil {
		return nil, err
	}
	return p.catalog().LiveFleet(id)
}
