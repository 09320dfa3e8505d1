package catalog

import (
	"fmt"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ProtectTag is the tag of a fleet whose build cannot be changed.
var ProtectTag = Tag{Key: "muster:protect", Value: "true"}

// SetFleetBuild changes the build of an EC2-type fleet: its instances start new server processes from it. Those of
// earlier builds are asked to end when they have no game session, or with Now at once. NotFound for fleet or build;
// InvalidRequest for an Anywhere fleet, one with the ProtectTag, a FAILED build and one of another operating system;
// InvalidFleetStatus for a fleet that is not ACTIVE, NotReady for a build that is not READY.
type SetFleetBuild struct {
	Fleet   string `cbor:"1,keyasint,omitzero"`
	Build   string `cbor:"2,keyasint,omitzero"`
	Now     bool   `cbor:"3,keyasint,omitzero"`
	EventID string `cbor:"4,keyasint,omitzero"`
}

// FleetBuildSet follows SetFleetBuild.
type FleetBuildSet struct {
	Fleet string     `cbor:"1,keyasint,omitempty"`
	Build string     `cbor:"2,keyasint,omitempty"`
	Files BuildFiles `cbor:"3,keyasint"` // of the build
	Now   bool       `cbor:"4,keyasint,omitempty"`
}

func (c SetFleetBuild) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.managedFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	files, err := c.check(s, f)
	if err != nil || f.Managed.Build == c.Build && f.Managed.Now == c.Now {
		return nil, err
	}
	var notes []note
	if f.Managed.Build != c.Build {
		notes = []note{{codeGeneric, fmt.Sprintf("The build of fleet %s changed from %s to %s", c.Fleet,
			f.Managed.Build, c.Build), ""}}
	}
	noted, err := s.note(now, c.Fleet, []string{c.EventID}, notes)
	if err != nil {
		return nil, err
	}
	return append([]Event{&FleetBuildSet{c.Fleet, c.Build, files, c.Now}}, noted...), nil
}

// check rejects a change that is not allowed, and returns the files of the build.
func (c SetFleetBuild) check(s *State, f *Fleet) (files BuildFiles, err error) {
	if slices.Contains(s.Tags(fleetKind+f.ID), ProtectTag) {
		return files, fault.New(fault.InvalidRequest, "Fleet %s has the tag %s=%s, so that its build cannot be "+
			"changed. Create another fleet for the build, or remove the tag.", f.ID, ProtectTag.Key, ProtectTag.Value)
	}
	return s.fittingBuild(f, c.Build)
}

// fittingBuild returns the files of another build for an ACTIVE fleet: one that is READY, for its operating system.
func (s *State) fittingBuild(f *Fleet, build string) (files BuildFiles, err error) {
	if _, err := s.activeFleet(f.ID); err != nil {
		return files, err
	}
	b, err := s.readyBuild(build)
	if err != nil {
		return files, err
	}
	if files = FilesOf(b); files.OperatingSystem != f.Managed.Files.OperatingSystem {
		return files, fault.New(fault.InvalidRequest, "Build %s is for %s, and fleet %s for %s", b.ID,
			files.OperatingSystem, f.ID, f.Managed.Files.OperatingSystem)
	}
	return files, nil
}

func (e *FleetBuildSet) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) {
		if f.Managed != nil && f.Status != StatusTerminated {
			m := *f.Managed
			m.Build, m.Files, m.Now = e.Build, e.Files, e.Now
			f.Managed = &m
		}
	})
	for _, i := range s.Instances(e.Fleet, "") {
		s.changeInstance(i.ID, func(i *Instance) { i.Build = e.Build })
	}
	s.raiseGenerations(e.Fleet)
}
