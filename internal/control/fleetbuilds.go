package control

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A FleetBuildInput is another build for an EC2-type fleet.
type FleetBuildInput struct {
	BuildID string `json:"buildId"`       // or its ARN
	Now     bool   `json:"now,omitempty"` // end processes of the build before also if they have a game session
}

// A FleetBuild is the build of an EC2-type fleet, and how far its instances have come with it.
type FleetBuild struct {
	FleetID   string `json:"fleetId"`
	BuildID   string `json:"buildId"`
	Now       bool   `json:"now"`       // see FleetBuildInput
	Instances int    `json:"instances"` // that are not TERMINATING
	Replaced  int    `json:"replaced"`  // of these: new processes start from the build
	Outdated  int    `json:"outdated"`  // processes of earlier builds that machines last reported
	// Failures are why instances go on with an earlier build.
	Failures []FleetBuildFailure `json:"failures"`
}

// A FleetBuildFailure is why an instance goes on with the build that it has.
type FleetBuildFailure struct {
	InstanceID string `json:"instanceId"`
	Machine    string `json:"machine"`
	Code       string `json:"code"` // of a fleet event
	Reason     string `json:"reason"`
}

// FleetBuild returns the build of an EC2-type fleet by its id or ARN. NotFound; InvalidRequest for an Anywhere fleet.
func (p *Plane) FleetBuild(ctx context.Context, fleetIDOrArn string) (*FleetBuild, error) {
	f, err := p.Catalog().LiveFleet(fleetID(fleetIDOrArn))
	switch {
	case err != nil:
		return nil, err
	case f.Managed == nil:
		return nil, invalid("Fleet %s is of compute type ANYWHERE: it has no build", f.ID)
	}
	b := &FleetBuild{FleetID: f.ID, BuildID: f.Managed.Build, Now: f.Managed.Now, Failures: []FleetBuildFailure{}}
	outdated := map[string]int{}
	for _, m := range p.machines.List(ctx) {
		maps.Copy(outdated, m.Outdated)
	}
	for _, i := range p.Catalog().Instances(f.ID, "") {
		if i.Status == catalog.InstanceTerminating {
			continue
		}
		b.Instances++
		b.Outdated += outdated[i.ID]
		switch {
		case i.Runs == b.BuildID && i.Stage == catalog.StageRunning:
			b.Replaced++
		case i.Code != "":
			b.Failures = append(b.Failures, FleetBuildFailure{i.ID, i.Machine, i.Code, i.Message})
		}
	}
	return b, nil
}

// SetFleetBuild changes the build of an EC2-type fleet: see catalog.SetFleetBuild.
func (p *Plane) SetFleetBuild(ctx context.Context, fleetIDOrArn string, in FleetBuildInput) (*FleetBuild, error) {
	b, err := p.startableBuild(in.BuildID)
	if err != nil {
		return nil, err
	}
	id := fleetID(fleetIDOrArn)
	err = p.Change(ctx, catalog.SetFleetBuild{Fleet: id, Build: b.ID, Now: in.Now, EventID: uuid.NewString()})
	if err != nil {
		return nil, err
	}
	return p.FleetBuild(ctx, id)
}

// endOutdated asks processes of an instance to end that were started from an earlier build. The machine reports them
// until they have ended, so that an error is repaired by its next report.
func (p *Plane) endOutdated(ctx context.Context, i *catalog.Instance, ids []string) {
	f, ok := p.Catalog().Fleet(i.Fleet)
	if !ok || f.Managed == nil {
		return
	}
	now := f.Managed.Now
	due, err := router.InRoom(ctx, p.Router, roomOfInstance(i), func(r *fleet.Room) (due []string) {
		r.ProcessesOf(i.ID, func(s *fleet.Process) bool {
			if s.Status != fleet.ProcessEnded && s.TerminateBy == 0 && (now || s.Status != fleet.ProcessHosting) &&
				slices.Contains(ids, s.ID) {
				due = append(due, s.ID)
			}
			return true
		})
		return due
	})
	if err == nil && len(due) > 0 {
		_, err = router.AskRoom[any](ctx, p.Router, roomOfInstance(i),
			fleet.StopCompute{Name: i.ID, Idle: !now, Only: due})
	}
	p.WarnUnless(err == nil || fault.Is(err, fault.NotFound),
		"processes of an earlier build not asked to end; trying again later", "instance", i.ID, "err", err)
}
