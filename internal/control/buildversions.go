package control

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// hostLimit is how long CreateGameSession waits until the process of another build than the fleet's own is ready.
// Source: AWS sample multi-build-solution.
const hostLimit = 30 * time.Second

// A BuildVersionInput is a build for a version of an EC2-type fleet.
type BuildVersionInput struct {
	BuildID string `json:"buildId"` // or its ARN
}

// A BuildVersion is a build that an EC2-type fleet has besides its own, and how many of its instances have the files.
type BuildVersion struct {
	Version   string    `json:"version"` // value of the game property BuildVersion
	BuildID   string    `json:"buildId"`
	Attached  time.Time `json:"attached"`
	Instances int       `json:"instances"` // of the fleet that are not TERMINATING
	Ready     int       `json:"ready"`     // of these: game sessions can get a process of the build
	// Failures are why instances do not have the files. They try again each minute.
	Failures []FleetBuildFailure `json:"failures"`
}

// BuildVersions are the builds of an EC2-type fleet.
type BuildVersions struct {
	FleetID  string         `json:"fleetId"`
	BuildID  string         `json:"buildId"` // the fleet's own
	Versions []BuildVersion `json:"versions"`
}

// BuildVersions returns the builds of an EC2-type fleet by its id or ARN. NotFound; InvalidRequest for an Anywhere
// fleet.
func (p *Plane) BuildVersions(ctx context.Context, fleetIDOrArn string) (*BuildVersions, error) {
	f, err := p.Catalog().VersionedFleet(fleetID(fleetIDOrArn))
	if err != nil {
		return nil, err
	}
	all := &BuildVersions{FleetID: f.ID, BuildID: f.Managed.Build, Versions: []BuildVersion{}}
	for _, v := range f.Managed.Versions {
		all.Versions = append(all.Versions, BuildVersion{Version: v.Version, BuildID: v.Build,
			Attached: v.Attached.Time(), Failures: []FleetBuildFailure{}})
	}
	states := map[string][]protocol.VersionState{}
	for _, m := range p.machines.List(ctx) {
		for instance, s := range m.Versions {
			states[instance] = s
		}
	}
	for _, i := range p.Catalog().Instances(f.ID, "") {
		if i.Status != catalog.InstanceTerminating {
			for at := range all.Versions {
				all.Versions[at].count(i, states[i.ID])
			}
		}
	}
	return all, nil
}

// count adds an instance.
func (v *BuildVersion) count(i *catalog.Instance, states []protocol.VersionState) {
	v.Instances++
	at := slices.IndexFunc(states, func(s protocol.VersionState) bool { return s.Build == v.BuildID })
	switch {
	case at < 0:
	case states[at].Failure == nil:
		v.Ready++
	default:
		v.Failures = append(v.Failures, FleetBuildFailure{i.ID, i.Machine, states[at].Failure.Code,
			states[at].Failure.Message})
	}
}

// PutBuildVersion attaches a build to an EC2-type fleet under the name of a version: see catalog.PutBuildVersion.
func (p *Plane) PutBuildVersion(ctx context.Context, fleetIDOrArn, version string,
	in BuildVersionInput) (*BuildVersion, error) {
	b, err := p.startableBuild(in.BuildID)
	if err != nil {
		return nil, err
	}
	id := fleetID(fleetIDOrArn)
	put := catalog.PutBuildVersion{Fleet: id, Version: version, Build: b.ID, EventID: uuid.NewString()}
	if err := p.Change(ctx, put); err != nil {
		return nil, err
	}
	all, err := p.BuildVersions(ctx, id)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all.Versions, func(v BuildVersion) bool { return v.Version == version })
	if at < 0 {
		return nil, fault.New(fault.Conflict, "Version %s of fleet %s was detached meanwhile", version, id)
	}
	return &all.Versions[at], nil
}

// DeleteBuildVersion detaches a build from an EC2-type fleet: see catalog.DeleteBuildVersion.
func (p *Plane) DeleteBuildVersion(ctx context.Context, fleetIDOrArn, version string) error {
	return p.Change(ctx, catalog.DeleteBuildVersion{Fleet: fleetID(fleetIDOrArn), Version: version,
		EventID: uuid.NewString()})
}

// versionsFor returns the builds besides the fleet's own for an instance, each once.
func (p *Plane) versionsFor(instance string, f *catalog.Fleet) (builds []protocol.Build) {
	for _, v := range f.Managed.Versions {
		if !slices.ContainsFunc(builds, func(b protocol.Build) bool { return b.ID == v.Build }) {
			builds = append(builds, p.buildFor(instance, v.Build, v.Files))
		}
	}
	return builds
}

// buildFor returns a build for an instance.
func (p *Plane) buildFor(instance, id string, files catalog.BuildFiles) protocol.Build {
	return protocol.Build{ID: id, SHA256: files.Hash, Tree: files.Tree, Size: files.Size,
		Path: p.buildPath(instance, files.Hash)}
}

// versionBuild returns the id of the build whose process a game session of a fleet needs by its properties; "": the
// fleet's own. InvalidRequest for a version that an EC2-type fleet does not have; the property has no meaning for an
// Anywhere fleet.
func versionBuild(f *catalog.Fleet, properties []fleet.Property) (string, error) {
	version := fleet.VersionOf(properties)
	if version == "" || f.Managed == nil {
		return "", nil
	}
	v, err := f.BuildVersion(version)
	if err != nil {
		return "", invalid("The game property %s names a build version. %s", fleet.VersionProperty,
			fault.Of(err).Message)
	}
	return v.Build, nil
}

// awaitHost returns a game session when its requested process is ready, so that its port is known, or as it is after
// hostLimit: then the port follows. FleetCapacityExceeded if the process could not be started.
func (p *Plane) awaitHost(ctx context.Context, room fleet.RoomID, g *fleet.GameSession) (*fleet.GameSession, error) {
	news, end := p.watches.Add(sessionKey{room, g.Ordinal})
	defer end()
	limit := p.cfg.Clock.NewTimer(hostLimit)
	defer limit.Stop()
	for {
		now, err := p.GameSession(ctx, room, g.ID)
		switch {
		case err != nil:
			return nil, err
		case now == nil || now.HasEnded() && now.Port == 0:
			return nil, fault.New(fault.FleetCapacityExceeded, "The server process of build version %s on fleet %s "+
				"has ended before it was ready. DescribeFleetEvents has the reason.", fleet.VersionOf(g.Properties),
				room.Fleet)
		case now.Port != 0:
			return now, nil
		}
		select {
		case <-news:
		case <-limit.Chan():
			return now, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
