package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxBuildVersions is the maximum number of build versions of a fleet: each of its machines keeps their files.
const maxBuildVersions = 10

// buildVersionPattern is that of the names of build versions: they are values of game properties, which may have 96
// characters, and parts of paths.
var buildVersionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// A BuildVersion is a build that an EC2-type fleet has besides its own, for the game sessions with the name of the
// version in their game property fleet.VersionProperty.
type BuildVersion struct {
	Version  string     `cbor:"1,keyasint,omitempty"`
	Build    string     `cbor:"2,keyasint,omitempty"` // its id; the build may have been deleted
	Files    BuildFiles `cbor:"3,keyasint"`           // of the build
	Attached event.Time `cbor:"4,keyasint,omitempty"`
}

// PutBuildVersion attaches a build to an EC2-type fleet under the name of a version, or replaces the one that has that
// name. NotFound for fleet or build; InvalidRequest for an Anywhere fleet, a bad name, a FAILED build and one of
// another operating system; InvalidFleetStatus for a fleet that is not ACTIVE, NotReady for a build that is not READY,
// LimitExceeded.
type PutBuildVersion struct {
	Fleet   string `cbor:"1,keyasint,omitzero"`
	Version string `cbor:"2,keyasint,omitzero"`
	Build   string `cbor:"3,keyasint,omitzero"`
	EventID string `cbor:"4,keyasint,omitzero"`
}

// DeleteBuildVersion detaches a build from an EC2-type fleet. Its game sessions go on. NotFound for fleet or version,
// InvalidRequest for an Anywhere fleet.
type DeleteBuildVersion struct {
	Fleet   string `cbor:"1,keyasint,omitzero"`
	Version string `cbor:"2,keyasint,omitzero"`
	EventID string `cbor:"3,keyasint,omitzero"`
}

// BuildVersionPut follows PutBuildVersion.
type BuildVersionPut struct {
	Fleet   string       `cbor:"1,keyasint,omitempty"`
	Version BuildVersion `cbor:"2,keyasint"`
}

// BuildVersionDeleted follows DeleteBuildVersion.
type BuildVersionDeleted struct {
	Fleet   string `cbor:"1,keyasint,omitempty"`
	Version string `cbor:"2,keyasint,omitempty"`
}

func (c PutBuildVersion) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.VersionedFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	if !buildVersionPattern.MatchString(c.Version) {
		return nil, fault.New(fault.InvalidRequest, "The name of a build version must have 1 to 64 letters, digits "+
			"and . _ + -, the first one a letter or digit: %.100q is none", c.Version)
	}
	old, err := f.BuildVersion(c.Version)
	if err == nil && old.Build == c.Build {
		return nil, nil
	}
	files, err := s.fittingBuild(f, c.Build)
	switch {
	case err != nil:
		return nil, err
	case old == nil && len(f.Managed.Versions) >= maxBuildVersions:
		return nil, fault.New(fault.LimitExceeded, "Fleet %s has %d build versions, which is the limit. Detach one of "+
			"them: %s", f.ID, maxBuildVersions, strings.Join(f.Managed.versionNames(), ", "))
	}
	noted, err := s.note(now, c.Fleet, []string{c.EventID}, []note{{codeGeneric, fmt.Sprintf(
		"Build %s was attached to fleet %s as version %s", c.Build, c.Fleet, c.Version), ""}})
	if err != nil {
		return nil, err
	}
	return append([]Event{&BuildVersionPut{c.Fleet, BuildVersion{c.Version, c.Build, files, now}}}, noted...), nil
}

func (c DeleteBuildVersion) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.VersionedFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	v, err := f.BuildVersion(c.Version)
	if err != nil {
		return nil, err
	}
	noted, err := s.note(now, c.Fleet, []string{c.EventID}, []note{{codeGeneric, fmt.Sprintf(
		"Build %s, version %s, was detached from fleet %s", v.Build, c.Version, c.Fleet), ""}})
	if err != nil {
		return nil, err
	}
	return append([]Event{&BuildVersionDeleted{c.Fleet, c.Version}}, noted...), nil
}

func (e *BuildVersionPut) apply(s *State) {
	s.changeVersions(e.Fleet, e.Version.Version, func(all []BuildVersion, at int, has bool) []BuildVersion {
		if has {
			all[at] = e.Version
			return all
		}
		return slices.Insert(all, at, e.Version)
	})
}

func (e *BuildVersionDeleted) apply(s *State) {
	s.changeVersions(e.Fleet, e.Version, func(all []BuildVersion, at int, has bool) []BuildVersion {
		if has {
			all = slices.Delete(all, at, at+1)
		}
		return all
	})
}

// changeVersions replaces the versions of a fleet by a changed copy, at the position of a version.
func (s *State) changeVersions(fleet, version string, change func([]BuildVersion, int, bool) []BuildVersion) {
	s.changeFleet(fleet, func(f *Fleet) {
		if f.Managed != nil && f.Status != StatusTerminated {
			m := *f.Managed
			at, has := m.find(version)
			m.Versions = change(slices.Clone(m.Versions), at, has)
			f.Managed = &m
		}
	})
	s.raiseGenerations(fleet)
}

// VersionedFleet returns an EC2-type fleet. NotFound; InvalidRequest for an Anywhere fleet.
func (s *State) VersionedFleet(id string) (*Fleet, error) {
	f, err := s.LiveFleet(id)
	switch {
	case err != nil:
		return nil, err
	case f.Managed == nil:
		return nil, fault.New(fault.InvalidRequest, "Fleet %s is of compute type ANYWHERE: you start its server "+
			"processes, so it has no build versions", id)
	}
	return f, nil
}

func (m *Managed) find(version string) (at int, ok bool) {
	return slices.BinarySearchFunc(m.Versions, version, func(v BuildVersion, name string) int {
		return strings.Compare(v.Version, name)
	})
}

func (m *Managed) versionNames() []string {
	names := make([]string, len(m.Versions))
	for i := range m.Versions {
		names[i] = m.Versions[i].Version
	}
	return names
}

// BuildsByVersion returns the ids of the builds of an EC2-type fleet besides its own by version, which may be none; nil
// for an Anywhere fleet.
func (f *Fleet) BuildsByVersion() map[string]string {
	if f.Managed == nil {
		return nil
	}
	builds := make(map[string]string, len(f.Managed.Versions))
	for i := range f.Managed.Versions {
		builds[f.Managed.Versions[i].Version] = f.Managed.Versions[i].Build
	}
	return builds
}

// BuildVersion returns a build version of an EC2-type fleet; NotFound with the names of those that the fleet has.
func (f *Fleet) BuildVersion(version string) (*BuildVersion, error) {
	if at, ok := f.Managed.find(version); ok {
		return &f.Managed.Versions[at], nil
	}
	has := "It has none."
	if len(f.Managed.Versions) > 0 {
		has = "It has " + strings.Join(f.Managed.versionNames(), ", ") + "."
	}
	return nil, fault.New(fault.NotFound, "Fleet %s has no build version %.100s. %s", f.ID, version, has)
}
