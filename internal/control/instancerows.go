package control

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// DescribeInstances lists the instances of an EC2-type fleet by id, at all its locations or at one.
func (cr *catalogReader) DescribeInstances(_ context.Context,
	in *wire.DescribeInstancesInput) (*wire.DescribeInstancesOutput, error) {
	f, err := cr.liveFleet(in.FleetId)
	switch {
	case err != nil:
		return nil, err
	case f.Managed == nil:
		return nil, invalid("Fleet %s is of compute type ANYWHERE and has no instances. Call ListCompute.", f.ID)
	}
	view := cr.Catalog()
	if _, ok := view.FleetLocation(f.ID, in.Location); in.Location != "" && !ok {
		return nil, notFound("Fleet %s has no location %s", f.ID, in.Location)
	}
	if in.InstanceId != "" {
		i, ok := view.Instance(in.InstanceId)
		if !ok || i.Fleet != f.ID || in.Location != "" && i.Location != in.Location {
			return nil, notFound("Instance %s not found in fleet %s", in.InstanceId, f.ID)
		}
		return &wire.DescribeInstancesOutput{Instances: []wire.Instance{*cr.instance(view, f, i)}}, nil
	}
	list, next, err := page(cr.secrets.Pages("DescribeInstances", f.ID, in.Location), in.NextToken,
		func(after string) ([]*catalog.Instance, bool) {
			filter := catalog.InstanceFilter{Fleet: f.ID, Location: in.Location}
			return view.InstancePage(filter, after, pageSize(in.Limit))
		},
		func(i *catalog.Instance) string { return i.ID })
	if err != nil {
		return nil, err
	}
	return &wire.DescribeInstancesOutput{NextToken: next,
		Instances: shown(list, func(i *catalog.Instance) *wire.Instance { return cr.instance(view, f, i) })}, nil
}

func (sh shapes) instance(view *catalog.State, f *catalog.Fleet, i *catalog.Instance) *wire.Instance {
	out := &wire.Instance{
		FleetId: f.ID, FleetArn: sh.names.FleetARN(f.ID), InstanceId: i.ID, Location: i.Location,
		Type: wire.EC2InstanceType(f.Managed.InstanceType), Status: wire.InstanceStatus(i.Status),
		OperatingSystem: wire.OperatingSystem(f.Managed.Files.OperatingSystem), CreationTime: i.Created.Time(),
	}
	if m, ok := view.Machine(i.Machine); ok {
		out.IpAddress = m.Offer.IP
	}
	if hasCertificates(f) {
		out.DnsName = sh.instanceName(i)
	}
	return out
}

// DescribeEC2InstanceLimits counts the instances of the type asked for, or of each type that a fleet uses, at a
// location or in the home Region. The limit of a type is the number that the machines of the location have room for:
// what there is, and what fits besides.
func (p *Plane) DescribeEC2InstanceLimits(ctx context.Context,
	in *wire.DescribeEC2InstanceLimitsInput) (*wire.DescribeEC2InstanceLimitsOutput, error) {
	view, location := p.Catalog(), cmp.Or(in.Location, p.cfg.Region)
	if location != p.cfg.Region && !view.SupportsInstances(location) {
		return nil, fault.New(fault.UnsupportedRegion, "Location %s is not supported: it is no custom location, and "+
			"no machine has joined there", location)
	}
	names := []string{string(in.EC2InstanceType)}
	if in.EC2InstanceType == "" {
		names = instanceTypes(view)
	}
	list := instanceRegion{p}.Machines(ctx)
	present := p.presentInstances(view)
	out := &wire.DescribeEC2InstanceLimitsOutput{EC2InstanceLimits: []wire.EC2InstanceLimit{}}
	for _, name := range names {
		need, ok := p.cfg.InstanceTypes.NeedOf(name)
		if !ok {
			return nil, unknownType(name)
		}
		n := countOfType(view, name, location)
		out.EC2InstanceLimits = append(out.EC2InstanceLimits, wire.EC2InstanceLimit{
			EC2InstanceType: wire.EC2InstanceType(name), Location: location, CurrentInstances: wire.Some(int32(n)),
			InstanceLimit: wire.Some(int32(n + capacity.Spare(list, present, location, need))),
		})
	}
	return out, nil
}

// instanceTypes returns the instance types of all fleets, in order.
func instanceTypes(view *catalog.State) (names []string) {
	fleets, _ := view.Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Managed != nil {
			names = append(names, f.Managed.InstanceType)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// presentInstances returns what the instances of the region need of their machines.
func (p *Plane) presentInstances(view *catalog.State) (list []capacity.Instance) {
	for _, i := range view.AllInstances() {
		if f, ok := view.Fleet(i.Fleet); ok && f.Managed != nil {
			need, _ := p.cfg.InstanceTypes.NeedOf(f.Managed.InstanceType)
			list = append(list, capacity.Instance{ID: i.ID, Machine: i.Machine, Need: need,
				Ended: i.Stage == catalog.StageEnded})
		}
	}
	return list
}

// countOfType returns the number of instances of a type at a location.
func countOfType(view *catalog.State, name, location string) (n int) {
	for _, i := range view.AllInstances() {
		f, ok := view.Fleet(i.Fleet)
		if ok && f.Managed != nil && f.Managed.InstanceType == name && i.Location == location {
			n++
		}
	}
	return n
}

// An InstanceRow is an instance for operators.
type InstanceRow struct {
	InstanceID   string    `json:"instanceId"`
	FleetID      string    `json:"fleetId"`
	Location     string    `json:"location"`
	Machine      string    `json:"machine"`
	BuildID      string    `json:"buildId"`
	Type         string    `json:"type"`
	Status       string    `json:"status"`                // PENDING, ACTIVE or TERMINATING
	Stage        string    `json:"stage,omitempty"`       // how far its machine has come; "": not known
	FailureCode  string    `json:"failureCode,omitempty"` // of a fleet event
	Failure      string    `json:"failure,omitempty"`
	Processes    int       `json:"processes"` // that its machine last reported
	CreationTime time.Time `json:"creationTime"`
}

// An InstanceList is instances by id.
type InstanceList struct {
	Instances []InstanceRow `json:"instances"`
	NextToken string        `json:"nextToken,omitempty"`
	// Shortages are those of the fleet and location asked for, on the first page.
	Shortages []ShortageRow `json:"shortages,omitempty"`
}

// A ShortageRow is how many instances of a fleet are missing at a location, because no machine can have them.
type ShortageRow struct {
	FleetID  string    `json:"fleetId"`
	Location string    `json:"location"`
	Missing  int       `json:"missing"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
}

// An InstanceQuery selects instances.
type InstanceQuery struct {
	Fleet, Location, Machine, Status string // "": any
	After                            string // the token of the page before
	Limit                            int    // at least 1
}

// Instances returns a page of the instances of the region by id. InvalidRequest.
func (p *Plane) Instances(ctx context.Context, q InstanceQuery) (*InstanceList, error) {
	switch catalog.InstanceStatus(q.Status) {
	case "", catalog.InstancePending, catalog.InstanceActive, catalog.InstanceTerminating:
	default:
		return nil, invalid("status must be %s, %s or %s", catalog.InstancePending, catalog.InstanceActive,
			catalog.InstanceTerminating)
	}
	view := p.Catalog()
	filter := catalog.InstanceFilter{Fleet: fleetID(q.Fleet), Location: q.Location, Machine: q.Machine,
		Status: catalog.InstanceStatus(q.Status)}
	list, next, err := page(p.secrets.Pages("Instances", q.Fleet, q.Location, q.Machine, q.Status), q.After,
		func(after string) ([]*catalog.Instance, bool) { return view.InstancePage(filter, after, q.Limit) },
		func(i *catalog.Instance) string { return i.ID })
	if err != nil {
		return nil, err
	}
	processes := p.instanceProcesses(ctx)
	out := &InstanceList{NextToken: next, Instances: shown(list, func(i *catalog.Instance) *InstanceRow {
		row := instanceRow(view, i)
		row.Processes = processes[i.ID]
		return row
	})}
	if q.After == "" {
		out.Shortages = shortages(view, filter.Fleet, q.Location)
	}
	return out, nil
}

// shortages returns those of a fleet and a location; "": of any.
func shortages(view *catalog.State, fleet, location string) (rows []ShortageRow) {
	fleets, _ := view.Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Managed == nil || fleet != "" && f.ID != fleet {
			continue
		}
		for _, l := range view.FleetLocations(f.ID) {
			if s := l.Shortage; s.Missing > 0 && (location == "" || l.Location == location) {
				rows = append(rows, ShortageRow{f.ID, l.Location, int(s.Missing), s.Reason, s.Since.Time()})
			}
		}
	}
	return rows
}

// instanceProcesses returns the number of processes of each instance, as machines have reported it.
func (p *Plane) instanceProcesses(ctx context.Context) map[string]int {
	processes := map[string]int{}
	for _, m := range p.machines.List(ctx) {
		for id, n := range m.Processes {
			processes[id] = n
		}
	}
	return processes
}

func instanceRow(view *catalog.State, i *catalog.Instance) *InstanceRow {
	row := &InstanceRow{
		InstanceID: i.ID, FleetID: i.Fleet, Location: i.Location, Machine: i.Machine, BuildID: i.Build,
		Status: string(i.Status), Stage: string(i.Stage), FailureCode: i.Code, Failure: strings.TrimSpace(i.Message),
		CreationTime: i.Created.Time(),
	}
	if f, ok := view.Fleet(i.Fleet); ok && f.Managed != nil {
		row.Type = f.Managed.InstanceType
	}
	return row
}
