package catalog

import (
	"fmt"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The codes of the fleet events of an EC2-type fleet. Source: API reference, EventCode.
const (
	codeStateDownloading   = "FLEET_STATE_DOWNLOADING"
	codeExtracting         = "FLEET_CREATION_EXTRACTING_BUILD"
	codeRunningInstaller   = "FLEET_CREATION_RUNNING_INSTALLER"
	codeCompletedInstaller = "FLEET_CREATION_COMPLETED_INSTALLER"
	codeFailedInstaller    = "FLEET_CREATION_FAILED_INSTALLER"
	codeStateValidating    = "FLEET_STATE_VALIDATING"
	codeValidatingRuntime  = "FLEET_CREATION_VALIDATING_RUNTIME_CONFIG"
	codeStateBuilding      = "FLEET_STATE_BUILDING"
	codeStateActivating    = "FLEET_STATE_ACTIVATING"
	codeStateError         = "FLEET_STATE_ERROR"
	codeDownloadFailed     = "FLEET_BINARY_DOWNLOAD_FAILED"
	codeInitFailed         = "FLEET_INITIALIZATION_FAILED"
	codeActivationFailed   = "FLEET_ACTIVATION_FAILED"
	codeLaunchPathMissing  = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	codeNotExecutable      = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	codeLocationCreating   = "LOCATION_STATE_CREATING"
	codeLocationActivating = "LOCATION_STATE_ACTIVATING"
)

// MaxLifecycleEvents is the number of ids that a command needs for the fleet events that may follow from a stage of an
// instance.
const MaxLifecycleEvents = 16

// A FleetStep is how far a fleet has come before it is ACTIVE: that of its most advanced instance. Each step has its
// fleet events, which are in this order for every fleet, even if no machine has reported some steps.
type FleetStep int32

// The steps of a fleet.
const (
	stepNew FleetStep = iota
	stepDownloading
	stepExtracting
	stepInstalling // not without an installer
	stepInstalled  // not without an installer
	stepValidating
	stepBuilding
	stepActivating
	stepActive
)

// steps are what the steps do: the status of the fleet, and a fleet event besides that of the status.
var steps = [...]struct {
	status Status
	code   string // "": none
	text   string // of the event
}{
	stepNew:         {StatusNew, "", ""},
	stepDownloading: {StatusDownloading, "", ""},
	stepExtracting:  {StatusDownloading, codeExtracting, "The files of the build are extracted"},
	stepInstalling:  {StatusDownloading, codeRunningInstaller, "The installer of the build runs"},
	stepInstalled:   {StatusDownloading, codeCompletedInstaller, "The installer of the build has ended well"},
	stepValidating:  {StatusValidating, codeValidatingRuntime, "The runtime configuration is validated"},
	stepBuilding:    {StatusBuilding, "", ""},
	stepActivating:  {StatusActivating, "", ""},
	stepActive:      {StatusActive, "", ""},
}

// stateCodes are the fleet events of statuses.
var stateCodes = map[Status]string{StatusDownloading: codeStateDownloading, StatusValidating: codeStateValidating,
	StatusBuilding: codeStateBuilding, StatusActivating: codeStateActivating, StatusActive: codeFleetStateActive}

// failedSteps are the steps in which failures happen.
var failedSteps = map[string]FleetStep{codeDownloadFailed: stepDownloading, codeFailedInstaller: stepInstalling,
	codeLaunchPathMissing: stepValidating, codeNotExecutable: stepValidating, codeActivationFailed: stepActivating}

// FailFleet makes an EC2-type fleet fail that is not ACTIVE yet. NotFound; InvalidFleetStatus for one that is, or has
// failed, or is being deleted.
type FailFleet struct {
	Fleet    string   `cbor:"1,keyasint,omitzero"`
	Code     string   `cbor:"2,keyasint,omitzero"` // of a fleet event
	Message  string   `cbor:"3,keyasint,omitzero"`
	EventIDs []string `cbor:"4,keyasint,omitzero"` // MaxLifecycleEvents ids
}

// FleetAdvanced records how far an EC2-type fleet has come.
type FleetAdvanced struct {
	Fleet  string     `cbor:"1,keyasint,omitempty"`
	Status Status     `cbor:"2,keyasint,omitempty"`
	Step   FleetStep  `cbor:"3,keyasint,omitempty"`
	At     event.Time `cbor:"4,keyasint,omitempty"`
}

// FleetLocationAdvanced records another status of a location of an EC2-type fleet.
type FleetLocationAdvanced struct {
	Fleet    string `cbor:"1,keyasint,omitempty"`
	Location string `cbor:"2,keyasint,omitempty"`
	Status   Status `cbor:"3,keyasint,omitempty"`
}

func (c FailFleet) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.LiveFleet(c.Fleet)
	switch {
	case err != nil:
		return nil, err
	case !f.beginning():
		return nil, fault.New(fault.InvalidFleetStatus, "Fleet %s is %s", c.Fleet, f.Status)
	}
	return s.failFleet(now, f, f.Managed.Step, []note{{c.Code, c.Message, ""}}, c.EventIDs)
}

// beginning reports whether a fleet is an EC2-type fleet that was never ACTIVE.
func (f *Fleet) beginning() bool {
	return f.Managed != nil && f.Status != StatusActive && f.Status != StatusError && f.Status != StatusDeleting &&
		f.Status != StatusTerminated
}

// lifecycle returns the events of fleet and location that follow from an instance as it is now.
func (s *State) lifecycle(now event.Time, i *Instance, ids []string) ([]Event, error) {
	f, ok := s.fleets.Get(i.Fleet)
	l, known := s.fleetLocations.Get(join(i.Fleet, i.Location))
	if !ok || !known || f.Managed == nil || i.Status == InstanceTerminating {
		return nil, nil
	}
	step := i.step()
	switch {
	case f.beginning() && i.fails():
		return s.failFleet(now, f, step, append(f.notes(step, i), i.failure()), ids)
	case f.beginning():
		return s.advance(now, f, l, i, ids)
	case f.Status == StatusActive && (i.Stage == StageFailed || i.keepsBuild()):
		return s.note(now, f.ID, ids, []note{i.failure()})
	case f.Status == StatusActive:
		events, notes := l.advance(f, statusOf(step))
		noted, err := s.note(now, f.ID, ids, notes)
		return append(events, noted...), err
	}
	return nil, nil
}

// advance returns the events of a fleet that is not ACTIVE yet.
func (s *State) advance(now event.Time, f *Fleet, l *FleetLocation, i *Instance, ids []string) ([]Event, error) {
	step := i.step()
	events, ofLocation := l.advance(f, statusOf(step))
	notes := append(f.notes(step, i), ofLocation...)
	if step > f.Managed.Step {
		events = append([]Event{&FleetAdvanced{f.ID, statusOf(step), step, now}}, events...)
	}
	noted, err := s.note(now, f.ID, ids, notes)
	return append(events, noted...), err
}

// failFleet returns the events of a fleet that fails at a step, for the reason that is the last note.
func (s *State) failFleet(now event.Time, f *Fleet, at FleetStep, notes []note, ids []string) ([]Event, error) {
	notes = append(notes, note{codeStateError, "Fleet " + f.ID + " changed state to ERROR", ""})
	noted, err := s.note(now, f.ID, ids, notes)
	if err != nil {
		return nil, err
	}
	return append([]Event{&FleetAdvanced{f.ID, StatusError, max(at, f.Managed.Step), now}}, noted...), nil
}

func statusOf(step FleetStep) Status { return steps[step].status }

// step returns how far the instance has come.
func (i *Instance) step() FleetStep {
	if i.Status == InstanceActive {
		return stepActive
	}
	switch i.Stage {
	case StageExtracting:
		return stepExtracting
	case StageInstalling:
		return stepInstalling
	case StageValidating:
		return stepValidating
	case StageBuilding:
		return stepBuilding
	case StageRunning:
		return stepActivating
	case StageFailed:
		if step, ok := failedSteps[i.Code]; ok {
			return step
		}
	}
	return stepDownloading
}

// fails reports whether the instance makes a fleet fail that is not ACTIVE.
func (i *Instance) fails() bool {
	return i.Stage == StageFailed || i.Stage == StageRunning && i.Code != ""
}

// keepsBuild reports whether the build of its fleet could not replace the one that the instance runs.
func (i *Instance) keepsBuild() bool {
	return i.Stage == StageRunning && i.Runs != "" && i.Runs != i.Build && i.Code != "" &&
		i.Code != codeActivationFailed
}

// failure returns the fleet event of the instance's failure.
func (i *Instance) failure() note {
	code := i.Code
	if code == "" {
		code = codeInitFailed
	}
	return note{code, i.Message + i.where(), i.Log}
}

// where is the part of the message of a fleet event that says which instance it is about.
func (i *Instance) where() string {
	return fmt.Sprintf(" (instance %s on machine %s)", i.ID, i.Machine)
}

// notes returns the fleet events of the steps of a fleet up to one that an instance has reached.
func (f *Fleet) notes(through FleetStep, i *Instance) (notes []note) {
	installs := i.Installed || i.Stage == StageInstalling || i.Code == codeFailedInstaller ||
		f.Managed.Step == stepInstalling
	for step := max(f.Managed.Step, stepNew) + 1; step <= through; step++ {
		if !installs && (step == stepInstalling || step == stepInstalled) {
			continue
		}
		info, log := steps[step], ""
		if info.status != statusOf(step-1) {
			notes = append(notes, note{stateCodes[info.status],
				fmt.Sprintf("Fleet %s changed state to %s%s", f.ID, info.status, i.where()), ""})
		}
		if step == stepInstalled {
			log = i.Log
		}
		if info.code != "" {
			notes = append(notes, note{info.code, info.text + i.where(), log})
		}
	}
	return notes
}

// locationCodes are the fleet events of the statuses of a location that is not the home of its fleet, in their order.
var locationCodes = [...]struct {
	status Status
	code   string
}{{StatusDownloading, codeLocationCreating}, {StatusActivating, codeLocationActivating},
	{StatusActive, codeLocationStateActive}}

// advance returns the events of a location whose most advanced instance has reached a status.
func (l *FleetLocation) advance(f *Fleet, status Status) (events []Event, notes []note) {
	from, to := rankOf(l.Status), rankOf(status)
	if to <= from || l.Status == StatusDeleting {
		return nil, nil
	}
	for _, c := range locationCodes {
		if n := rankOf(c.status); n > from && n <= to && l.Location != f.Managed.Home {
			notes = append(notes, locationNote(c.code, f.ID, l.Location, c.status))
		}
	}
	return []Event{&FleetLocationAdvanced{f.ID, l.Location, status}}, notes
}

// rankOf returns the first step with a status.
func rankOf(status Status) FleetStep {
	for step := range steps {
		if steps[step].status == status {
			return FleetStep(step) //nolint:gosec // below 10
		}
	}
	return stepNew
}

func (e *FleetAdvanced) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) {
		if f.Managed == nil || f.Status == StatusTerminated {
			return
		}
		m := *f.Managed
		m.Step, m.Changed = e.Step, e.At
		f.Status, f.Managed = e.Status, &m
	})
}

func (e *FleetLocationAdvanced) apply(s *State) {
	if old, ok := s.fleetLocations.Get(join(e.Fleet, e.Location)); ok {
		l := *old
		l.Status = e.Status
		s.fleetLocations.Set(join(e.Fleet, e.Location), &l)
	}
}
