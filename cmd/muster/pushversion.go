package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control"
)

// runVersion uploads, and attaches the build to a fleet.
func (p *push) runVersion(ctx context.Context) error {
	p.began = p.app.now()
	result, err := p.uploadFor(ctx, p.gamelift(), p.fleet)
	if err != nil {
		return err
	}
	var state control.BuildVersion
	err = p.send(ctx, http.MethodPut, path("fleets", result.Fleet, "builds", p.Version),
		control.BuildVersionInput{BuildID: result.Build}, &state)
	if err != nil {
		return fmt.Errorf("attach the build to fleet %s: %w", result.Fleet, err)
	}
	p.step("fleet %s has build %s as version %s", result.Fleet, result.Build, p.Version)
	if err := p.awaitVersion(ctx, result, &state); err != nil {
		return err
	}
	p.step("%s of %d can start it", counted(state.Ready, "instance"), state.Instances)
	return p.show(result, func(to io.Writer) { fmt.Fprintln(to, result.Build) })
}

// awaitVersion waits until the instances of a fleet have the files of a version, and reports those that cannot.
func (p *push) awaitVersion(ctx context.Context, result *pushResult, state *control.BuildVersion) error {
	for state.Ready < state.Instances {
		if len(state.Failures) > 0 {
			return versionFailed(result.Fleet, state)
		}
		if err := p.pause(ctx, pollInterval); err != nil {
			return err
		}
		var all control.BuildVersions
		if err := p.ask(ctx, path("fleets", result.Fleet, "builds"), &all); err != nil {
			return err
		}
		at := slices.IndexFunc(all.Versions, func(v control.BuildVersion) bool { return v.Version == p.Version })
		if at < 0 || all.Versions[at].BuildID != result.Build {
			return fmt.Errorf("version %s of fleet %s was detached or replaced meanwhile", p.Version, result.Fleet)
		}
		*state = all.Versions[at]
	}
	return nil
}

func versionFailed(fleet string, state *control.BuildVersion) error {
	var reasons []string
	for _, f := range state.Failures {
		reasons = append(reasons, fmt.Sprintf("\n  instance %s on machine %s: %s: %s", f.InstanceID, f.Machine, f.Code,
			f.Reason))
	}
	return fmt.Errorf("%d of %d instances of fleet %s cannot start version %s; push a build that works:%s",
		len(state.Failures), state.Instances, fleet, state.Version, strings.Join(reasons, ""))
}
