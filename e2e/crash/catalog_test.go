//go:build unix

package crash

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
)

// An operator is a worker that changes what an operator sets up. Its names are
// its own. There is a limited number of them, so that things are made, changed
// and removed again.
type operator struct {
	*trial
	random *rand.Rand
	number int
}

// The catalog's registers.
type catalogRegisters struct {
	locations registers // name → "there"
	aliases   registers // name → description
	tags      registers // key on the fleet → value
	fleets    registers // name → description
	computes  registers // name → address
}

// step makes one change. What is there is removed or changed, what is not is made.
func (o *operator) step() {
	n := o.ledger.number()
	switch o.random.IntN(5) {
	case 0:
		o.location(fmt.Sprintf("custom-spare-%d-%d", o.number, o.random.IntN(6)))
	case 1:
		o.changeAlias(fmt.Sprintf("alias-%d-%d", o.number, o.random.IntN(6)), fmt.Sprint(n))
	case 2:
		o.tag(fmt.Sprintf("key-%d-%d", o.number, o.random.IntN(6)), fmt.Sprint(n))
	case 3:
		o.changeFleet(fmt.Sprintf("fleet-%d-%d", o.number, o.random.IntN(3)), fmt.Sprint(n))
	default:
		o.compute(fmt.Sprintf("spare-%d-%d", o.number, o.random.IntN(6)), fmt.Sprintf("10.0.%d.%d", n/250%250, 1+n%250))
	}
}

// write makes a call and counts it. The operator knows what is there, so that
// nothing is refused.
func (o *operator) write(r *registers, kind, name, value string, call func() error) {
	var err error
	result, fault := r.write(name, value, func() error {
		err = call()
		return err
	})
	switch result {
	case calls.Acknowledged:
		o.ledger.acknowledge(kind)
	case calls.Refused:
		o.found.Lost("%s: %s was refused with %s: %v", kind, name, fault, err)
	case calls.Unanswered:
	}
}

func (o *operator) location(name string) {
	r := &o.catalog.locations
	if !r.sure(name) {
		return
	}
	if r.is(name, "") {
		o.write(r, "locations created", name, "there", func() error {
			_, err := o.client.CreateLocation(o.ctx, &gamelift.CreateLocationInput{LocationName: &name})
			return err
		})
		return
	}
	o.write(r, "locations deleted", name, "", func() error {
		_, err := o.client.DeleteLocation(o.ctx, &gamelift.DeleteLocationInput{LocationName: &name})
		return err
	})
}

func (o *operator) changeAlias(name, description string) {
	r := &o.catalog.aliases
	if !r.sure(name) {
		return
	}
	switch {
	case r.is(name, ""):
		o.write(r, "aliases created", name, description, func() error {
			out, err := o.client.CreateAlias(o.ctx,
				&gamelift.CreateAliasInput{Name: &name, Description: &description, RoutingStrategy: o.toFleet()})
			if err == nil {
				o.ids.Store(name, *out.Alias.AliasId)
			}
			return err
		})
	case o.random.IntN(2) == 0:
		o.write(r, "aliases updated", name, description, func() error {
			_, err := o.client.UpdateAlias(o.ctx, &gamelift.UpdateAliasInput{AliasId: o.id(name),
				Description: &description})
			return err
		})
	default:
		o.write(r, "aliases deleted", name, "", func() error {
			_, err := o.client.DeleteAlias(o.ctx, &gamelift.DeleteAliasInput{AliasId: o.id(name)})
			return err
		})
	}
}

func (t *trial) toFleet() *types.RoutingStrategy {
	return &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: aws.String(t.fleet)}
}

// id is the id of an alias or a fleet by its name.
func (t *trial) id(name string) *string {
	id, _ := t.ids.Load(name)
	return aws.String(id.(string))
}

func (o *operator) tag(key, value string) {
	r := &o.catalog.tags
	if !r.sure(key) {
		return
	}
	if !r.is(key, "") && o.random.IntN(3) == 0 {
		o.write(r, "tags removed", key, "", func() error {
			_, err := o.client.UntagResource(o.ctx,
				&gamelift.UntagResourceInput{ResourceARN: &o.fleetARN, TagKeys: []string{key}})
			return err
		})
		return
	}
	o.write(r, "tags set", key, value, func() error {
		_, err := o.client.TagResource(o.ctx, &gamelift.TagResourceInput{ResourceARN: &o.fleetARN,
			Tags: []types.Tag{{Key: &key, Value: &value}}})
		return err
	})
}

func (o *operator) changeFleet(name, description string) {
	r := &o.catalog.fleets
	if !r.sure(name) {
		return
	}
	switch {
	case r.is(name, ""):
		o.write(r, "fleets created", name, description, func() error {
			out, err := o.client.CreateFleet(o.ctx, &gamelift.CreateFleetInput{
				Name: &name, Description: &description, ComputeType: types.ComputeTypeAnywhere,
				Locations: []types.LocationConfiguration{{Location: &o.locations[0]}},
			})
			if err == nil {
				o.ids.Store(name, *out.FleetAttributes.FleetId)
			}
			return err
		})
	case o.random.IntN(2) == 0:
		o.write(r, "fleets updated", name, description, func() error {
			_, err := o.client.UpdateFleetAttributes(o.ctx,
				&gamelift.UpdateFleetAttributesInput{FleetId: o.id(name), Description: &description})
			return err
		})
	default:
		o.write(r, "fleets deleted", name, "", func() error {
			_, err := o.client.DeleteFleet(o.ctx, &gamelift.DeleteFleetInput{FleetId: o.id(name)})
			return err
		})
	}
}

// compute registers a compute on which nothing runs, or takes it away. What got
// no answer is repeated after the restart, as an agent does.
func (o *operator) compute(name, address string) {
	r := &o.catalog.computes
	if !r.sure(name) {
		return
	}
	if !r.is(name, "") {
		o.write(r, "computes deregistered", name, "", func() error {
			_, err := o.client.DeregisterCompute(o.ctx,
				&gamelift.DeregisterComputeInput{FleetId: &o.fleet, ComputeName: &name})
			return err
		})
		return
	}
	register := func() error {
		_, err := o.client.RegisterCompute(o.ctx,
			&gamelift.RegisterComputeInput{FleetId: &o.fleet, ComputeName: &name, Location: &o.locations[0],
				IpAddress: &address})
		return err
	}
	o.write(r, "computes registered", name, address, register)
	if !r.is(name, address) {
		o.repeatLater(func() { o.write(r, "computes registered", name, address, register) })
	}
}

// seeCatalog reads everything that operators have set up, and compares.
func (t *trial) seeCatalog() {
	c := &t.catalog
	c.locations.compare("location", t.seeLocations(), t.found)
	c.aliases.compare("alias", t.seeAliases(), t.found)
	c.fleets.compare("fleet", t.seeFleets(), t.found)
	c.computes.compare("compute", t.seeComputes(), t.found)
	c.tags.compare("tag", t.seeTags(), t.found)
}

func (t *trial) seeLocations() sightings {
	seen := sightings{}
	pages := gamelift.NewListLocationsPaginator(t.reader,
		&gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterCustom}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.ctx)
		t.must(err)
		for _, l := range page.Locations {
			seen.add("location", *l.LocationName, "there", t.found)
		}
	}
	return seen
}

func (t *trial) seeAliases() sightings {
	seen := sightings{}
	pages := gamelift.NewListAliasesPaginator(t.reader, &gamelift.ListAliasesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.ctx)
		t.must(err)
		for _, a := range page.Aliases {
			seen.add("alias", *a.Name, *a.Description, t.found)
			t.ids.Store(*a.Name, *a.AliasId)
		}
	}
	return seen
}

func (t *trial) seeFleets() sightings {
	seen := sightings{}
	pages := gamelift.NewDescribeFleetAttributesPaginator(t.reader, &gamelift.DescribeFleetAttributesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.ctx)
		t.must(err)
		for _, f := range page.FleetAttributes {
			if f.Status == types.FleetStatusActive {
				seen.add("fleet", *f.Name, aws.ToString(f.Description), t.found)
				t.ids.Store(*f.Name, *f.FleetId)
			}
		}
	}
	return seen
}

func (t *trial) seeComputes() sightings {
	seen := sightings{}
	pages := gamelift.NewListComputePaginator(t.reader, &gamelift.ListComputeInput{FleetId: &t.fleet})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.ctx)
		t.must(err)
		for _, c := range page.ComputeList {
			seen.add("compute", *c.ComputeName, cmp.Or(aws.ToString(c.IpAddress), aws.ToString(c.DnsName)), t.found)
		}
	}
	return seen
}

func (t *trial) seeTags() sightings {
	seen := sightings{}
	out, err := t.reader.ListTagsForResource(t.ctx, &gamelift.ListTagsForResourceInput{ResourceARN: &t.fleetARN})
	t.must(err)
	for _, tag := range out.Tags {
		seen.add("tag", *tag.Key, *tag.Value, t.found)
	}
	return seen
}
