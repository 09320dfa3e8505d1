package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/instances"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// reviewInterval is the longest time between two comparisons of the instances with what is desired.
const reviewInterval = 5 * time.Second

// Defaults of Config.
const (
	DefaultActivationTimeout = 45 * time.Minute
	DefaultReplaceAfter      = 3 * time.Minute
)

// wakeInstances has the instances compared with what is desired. It returns at once.
func (p *Plane) wakeInstances() { router.Wake(p.instancesNews) }

// observeInstances wakes the driver for facts from which something may follow for instances.
func (p *Plane) observeInstances(c *router.Commit) {
	if slices.ContainsFunc(c.Facts, func(f event.Fact) bool { return instances.Concerns(f.Body) }) {
		p.wakeInstances()
	}
}

// runInstances compares the instances with what is desired, until ctx is done.
func (p *Plane) runInstances(ctx context.Context) error {
	d := instances.New(instances.Config{Region: instanceRegion{p}, Now: p.cfg.Clock.Now, Log: p.cfg.Log,
		NewID: newInstanceID, EventIDs: newIDs, ActivationTimeout: p.cfg.ActivationTimeout,
		Types: p.cfg.InstanceTypes})
	timer := p.cfg.Clock.NewTimer(reviewInterval)
	defer timer.Stop()
	for ctx.Err() == nil {
		if d.Needed() {
			d.Review(ctx)
			timer.Reset(reviewInterval)
		}
		select {
		case <-ctx.Done():
		case <-p.instancesNews:
		case <-timer.Chan():
		}
	}
	return nil
}

// An instanceRegion is the region as the driver of instances reads and changes it. It implements instances.Region.
type instanceRegion struct{ *Plane }

// Machines implements instances.Region.
func (r instanceRegion) Machines(ctx context.Context) []capacity.Machine {
	return instances.MachinesOf(r.machines.List(ctx), r.cfg.ReplaceAfter)
}

// Registration implements instances.Region.
func (r instanceRegion) Registration(i *catalog.Instance) (fleet.RegisterCompute, bool) {
	view := r.Catalog()
	m, ok := view.Machine(i.Machine)
	if !ok {
		return fleet.RegisterCompute{}, false
	}
	c := fleet.RegisterCompute{Name: i.ID, IPAddress: m.Offer.IP, DNSName: m.Offer.DNS}
	if f, ok := view.Fleet(i.Fleet); ok && hasCertificates(f) {
		c.DNSName, c.CertificatePath = r.instanceName(i), certificateDir(&m.Offer, i.ID)
	}
	return c, true
}

// Computes implements instances.Region.
func (r instanceRegion) Computes(ctx context.Context, room fleet.RoomID) (map[string]instances.Compute, error) {
	return router.InRoom(ctx, r.Router, room, instances.ComputesOf)
}

// AskRoom implements instances.Region.
func (r instanceRegion) AskRoom(ctx context.Context, room fleet.RoomID, c fleet.Command, open bool) error {
	_, err := router.Ask[any](ctx, r.RoomShard(room), region.RoomCommand{Room: room, Command: c, Open: open})
	return err
}

// Exists implements instances.Region.
func (r instanceRegion) Exists(ctx context.Context, instance string) (bool, error) {
	return router.Look(ctx, r.Shards()[region.CatalogShard], func(m *region.Machine) bool {
		_, ok := m.Catalog().Instance(instance)
		return ok
	})
}

// FinishDeletion implements instances.Region.
func (r instanceRegion) FinishDeletion(ctx context.Context, f *catalog.Fleet) error {
	return r.finishDeletion(ctx, f)
}

// newInstanceID returns an id of the form that instances of EC2 have.
func newInstanceID() string {
	random := make([]byte, 9)
	_, _ = rand.Read(random) // never fails
	return instances.IDPrefix + hex.EncodeToString(random)[:17]
}

func roomOfInstance(i *catalog.Instance) fleet.RoomID {
	return fleet.RoomID{Fleet: fleet.ID(i.Fleet), Location: i.Location}
}

// wantedInstances returns what a machine has to run.
func (p *Plane) wantedInstances(view *catalog.State, machine string) (wanted []protocol.Instance) {
	for _, i := range view.InstancesOf(machine) {
		f, ok := view.Fleet(i.Fleet)
		if !ok || f.Managed == nil {
			continue
		}
		need, _ := p.cfg.InstanceTypes.NeedOf(f.Managed.InstanceType)
		wanted = append(wanted, protocol.Instance{
			ID: i.ID, Fleet: i.Fleet, Certificate: hasCertificates(f),
			MilliCPUs: need.MilliCPUs, MemoryMiB: need.MemoryMiB,
			Ends: i.Status == catalog.InstanceTerminating, LogPath: p.logPath(i.ID),
			Runtime:  machines.RuntimeOf(f.Runtime),
			Build:    p.buildFor(i.ID, i.Build, f.Managed.Files),
			Versions: p.versionsFor(i.ID, f),
			Role:     p.wantedRole(f), RoleFile: hasRoleFile(f),
		})
	}
	return wanted
}

// instanceToken returns the token of the compute of an instance, which it registers if that was not completed.
func (p *Plane) instanceToken(ctx context.Context, i *catalog.Instance) (*protocol.Token, error) {
	if err := instances.Register(ctx, instanceRegion{p}, i); err != nil {
		return nil, err
	}
	token, expires, err := p.authToken(ctx, roomOfInstance(i), i.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.Token{Instance: i.ID, Token: token, Expires: int64(expires), SDK: p.sdkEndpoint,
		Agent: p.agentEndpoint}, nil
}
