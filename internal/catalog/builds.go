package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// BuildLevel is the feature level from which the catalog holds builds, buckets and objects.
const BuildLevel = 9

// BuildStatus is the status of a build. Source: API reference, Build.
type BuildStatus string

// The statuses of builds.
const (
	BuildInitialized BuildStatus = "INITIALIZED" // without bytes, or with bytes that are not checked yet
	BuildReady       BuildStatus = "READY"
	BuildFailed      BuildStatus = "FAILED"
)

// A Build is the files of a game server, as a zip archive whose bytes the object store has.
type Build struct {
	ID              string      `cbor:"1,keyasint,omitempty"` // build-<UUID>
	Name            string      `cbor:"2,keyasint,omitempty"` // need not be unique
	Version         string      `cbor:"3,keyasint,omitempty"`
	OperatingSystem string      `cbor:"4,keyasint,omitempty"`
	SDKVersion      string      `cbor:"5,keyasint,omitempty"` // of the server SDK
	Status          BuildStatus `cbor:"6,keyasint,omitempty"`
	Created         event.Time  `cbor:"7,keyasint,omitempty"`
	Source          BuildSource `cbor:"8,keyasint"`            // zero: its bytes are uploaded
	Hash            string      `cbor:"9,keyasint,omitempty"`  // SHA-256 of the zip in hex; "" until it is complete
	Size            int64       `cbor:"10,keyasint,omitempty"` // of the zip in bytes
	BuildContent
}

// A BuildSource is an object of a bucket from which a build was created, by reference to its bytes.
type BuildSource struct {
	Bucket  string `cbor:"1,keyasint,omitempty"`
	Key     string `cbor:"2,keyasint,omitempty"`
	RoleARN string `cbor:"3,keyasint,omitempty"` // as given, without effect
}

// BuildContent is the result of checking the bytes of a build. The numbers of the fields are part of every type that
// embeds it.
type BuildContent struct {
	Tree     string `cbor:"20,keyasint,omitempty"` // SHA-256 in hex of the paths, modes and contents of all files
	Files    int    `cbor:"21,keyasint,omitempty"`
	Unpacked int64  `cbor:"22,keyasint,omitempty"` // size of all files in bytes
	Reason   string `cbor:"23,keyasint,omitempty"` // why a build is FAILED; "" for others
}

// CreateBuild creates a build: without Source to be uploaded; with Source and Hash from these bytes, which FinishBuild
// follows; with Source alone FAILED, because there is no such object. InvalidRequest for too many (the API models no
// LimitExceeded here), TaggingFailed.
type CreateBuild struct {
	ID              string      `cbor:"1,keyasint,omitzero"`
	Name            string      `cbor:"2,keyasint,omitzero"`
	Version         string      `cbor:"3,keyasint,omitzero"`
	OperatingSystem string      `cbor:"4,keyasint,omitzero"`
	SDKVersion      string      `cbor:"5,keyasint,omitzero"`
	Source          BuildSource `cbor:"6,keyasint"`
	Hash            string      `cbor:"7,keyasint,omitzero"`
	Size            int64       `cbor:"8,keyasint,omitzero"`
	Tags            []Tag       `cbor:"9,keyasint,omitzero"`
}

// UpdateBuild changes the fields that are not nil. NotFound.
type UpdateBuild struct {
	ID      string  `cbor:"1,keyasint,omitzero"`
	Name    *string `cbor:"2,keyasint,omitzero"`
	Version *string `cbor:"3,keyasint,omitzero"`
}

// FinishBuild records the result of checking the bytes of a build: READY, or FAILED if the content has a Reason. It has
// no effect on a build that is finished. NotFound; Conflict if the bytes have another hash.
type FinishBuild struct {
	ID   string `cbor:"1,keyasint,omitzero"`
	Hash string `cbor:"2,keyasint,omitzero"` // of the bytes that were checked
	BuildContent
}

// DeleteBuild deletes a build with its uploaded object. NotFound.
type DeleteBuild struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// BuildCreated follows CreateBuild; its tags follow as ResourceTagged.
type BuildCreated struct{ Build }

// BuildUpdated follows UpdateBuild; it holds all changeable fields.
type BuildUpdated struct {
	ID      string `cbor:"1,keyasint,omitempty"`
	Name    string `cbor:"2,keyasint,omitempty"`
	Version string `cbor:"3,keyasint,omitempty"`
}

// BuildFinished follows FinishBuild.
type BuildFinished struct {
	ID     string      `cbor:"1,keyasint,omitempty"`
	Status BuildStatus `cbor:"2,keyasint,omitempty"`
	BuildContent
}

// BuildDeleted follows DeleteBuild. It also deletes the build's tags and its uploaded object.
type BuildDeleted struct {
	ID string `cbor:"1,keyasint,omitempty"`
}

func (c CreateBuild) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.builds.Get(c.ID); ok { // the id is random per request: this is a repetition
		return nil, nil
	}
	if s.builds.Len() >= s.limits.Builds {
		return nil, fault.New(fault.InvalidRequest, "The limit of %d builds is reached. Delete builds that no fleet "+
			"needs.", s.limits.Builds)
	}
	tagged, err := s.tagNew(buildKind+c.ID, c.Tags)
	if err != nil {
		return nil, err
	}
	b := Build{ID: c.ID, Name: c.Name, Version: c.Version, OperatingSystem: c.OperatingSystem,
		SDKVersion: c.SDKVersion, Status: BuildInitialized, Created: now, Source: c.Source, Hash: c.Hash, Size: c.Size}
	if c.Source != (BuildSource{}) && c.Hash == "" {
		b.Status, b.Reason = BuildFailed, "There is no object "+c.Source.Key+" in bucket "+c.Source.Bucket
	}
	return append([]Event{&BuildCreated{b}}, tagged...), nil
}

func (c UpdateBuild) decide(s *State, _ event.Time) ([]Event, error) {
	b, ok := s.builds.Get(c.ID)
	if !ok {
		return nil, buildNotFound(c.ID)
	}
	e := &BuildUpdated{ID: c.ID, Name: b.Name, Version: b.Version}
	set(&e.Name, c.Name)
	set(&e.Version, c.Version)
	if e.Name == b.Name && e.Version == b.Version {
		return nil, nil
	}
	return []Event{e}, nil
}

func (c FinishBuild) decide(s *State, _ event.Time) ([]Event, error) {
	b, ok := s.builds.Get(c.ID)
	switch {
	case !ok:
		return nil, buildNotFound(c.ID)
	case b.Status != BuildInitialized:
		return nil, nil
	case b.Hash != c.Hash || c.Hash == "":
		return nil, fault.New(fault.Conflict, "Build %s has other bytes than those that were checked", c.ID)
	}
	e := &BuildFinished{ID: c.ID, Status: BuildReady, BuildContent: c.BuildContent}
	if c.Reason != "" {
		e.Status = BuildFailed
	}
	return []Event{e}, nil
}

func (c DeleteBuild) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.builds.Get(c.ID); !ok {
		return nil, buildNotFound(c.ID)
	}
	return []Event{&BuildDeleted{ID: c.ID}}, nil
}

func (e *BuildCreated) apply(s *State) { s.putBuild(&e.Build) }

func (e *BuildUpdated) apply(s *State) {
	if old, ok := s.builds.Get(e.ID); ok {
		b := *old
		b.Name, b.Version = e.Name, e.Version
		s.builds.Set(e.ID, &b)
	}
}

func (e *BuildFinished) apply(s *State) {
	if old, ok := s.builds.Get(e.ID); ok {
		b := *old
		b.Status, b.BuildContent = e.Status, e.BuildContent
		s.putBuild(&b)
	}
}

func (e *BuildDeleted) apply(s *State) {
	if b, ok := s.builds.Delete(e.ID); ok {
		s.unchecked.Delete(e.ID)
		s.refer(b.Hash, -1)
	}
	s.deleteObject("", e.ID)
	s.tags.Delete(buildKind + e.ID)
}

// putBuild stores a build with what is derived from it.
func (s *State) putBuild(b *Build) {
	if b.Hash == "" {
		s.deleteObject("", b.ID)
	}
	if old, ok := s.builds.Set(b.ID, b); ok {
		s.refer(old.Hash, -1)
	}
	s.refer(b.Hash, +1)
	s.unchecked.Delete(b.ID)
	if b.Status == BuildInitialized && b.Hash != "" {
		s.unchecked.Set(b.ID, struct{}{})
	}
}

func buildNotFound(id string) error { return fault.New(fault.NotFound, "Build %s not found", id) }

// Build finds a build.
func (s *State) Build(id string) (*Build, bool) { return s.builds.Get(id) }

// Builds returns the builds that keep accepts with ids after the given one, in order. A limit below 1 is none; more
// reports that there are further ones.
func (s *State) Builds(keep func(*Build) bool, after string, limit int) (builds []*Build, more bool) {
	return page(&s.builds, "", after, limit, keep)
}

// BuildCount returns the number of builds.
func (s *State) BuildCount() int { return s.builds.Len() }

// UncheckedBuilds returns the builds whose bytes are complete and not checked yet.
func (s *State) UncheckedBuilds() (builds []*Build) {
	s.unchecked.Scan(func(id string, _ struct{}) bool {
		if b, ok := s.builds.Get(id); ok {
			builds = append(builds, b)
		}
		return true
	})
	return builds
}
