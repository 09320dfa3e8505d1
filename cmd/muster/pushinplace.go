package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/control"
)

const (
	// pollInterval is the time between two requests that wait for a change.
	pollInterval = 100 * time.Millisecond
	// idleLimit is how long processes without a game session may take to end before they count as busy.
	idleLimit = 2 * time.Second
)

// runInPlace uploads, and changes the build of a fleet.
func (p *push) runInPlace(ctx context.Context) error {
	p.began = p.app.now()
	client := p.gamelift()
	result, err := p.uploadFor(ctx, client, p.inPlace)
	if err != nil {
		return err
	}
	at := path("fleets", result.Fleet, "build")
	var state control.FleetBuild
	err = p.send(ctx, http.MethodPut, at, control.FleetBuildInput{BuildID: result.Build, Now: p.now}, &state)
	if err != nil {
		return fmt.Errorf("change the build of fleet %s: %w", result.Fleet, err)
	}
	p.step("fleet %s has build %s", result.Fleet, result.Build)
	if err := p.awaitReplaced(ctx, at, &state); err != nil {
		return err
	}
	return p.show(result, func(to io.Writer) { fmt.Fprintln(to, result.Build) })
}

// uploadFor uploads for a fleet of compute type EC2 that is ACTIVE.
func (p *push) uploadFor(ctx context.Context, client *gamelift.Client, name string) (*pushResult, error) {
	fleet, err := fleetNamed(ctx, client, name)
	switch {
	case err != nil:
		return nil, err
	case fleet.ComputeType != types.ComputeTypeEc2:
		return nil, fmt.Errorf("fleet %s is of compute type %s: only a fleet of compute type EC2 has a build",
			*fleet.FleetId, fleet.ComputeType)
	case fleet.Status != types.FleetStatusActive:
		return nil, fmt.Errorf("fleet %s is %s and must be ACTIVE", *fleet.FleetId, fleet.Status)
	}
	p.OperatingSystem = cmp.Or(p.OperatingSystem, string(fleet.OperatingSystem))
	result, err := p.upload(ctx)
	if err != nil {
		return nil, err
	}
	p.uploaded(result)
	result.Fleet = *fleet.FleetId
	return result, nil
}

// awaitReplaced waits until the instances of a fleet have its build, and reports those that cannot.
func (p *push) awaitReplaced(ctx context.Context, at string, state *control.FleetBuild) error {
	build, replaced := state.BuildID, time.Time{}
	for {
		switch {
		case state.BuildID != build:
			return fmt.Errorf("fleet %s got build %s meanwhile", state.FleetID, state.BuildID)
		case state.Replaced+len(state.Failures) < state.Instances:
		case len(state.Failures) > 0:
			return replaceFailed(state)
		case replaced.IsZero():
			replaced = p.app.now()
			p.step("%s of %d replaced", counted(state.Replaced, "instance"), state.Instances)
		}
		if !replaced.IsZero() && (state.Outdated == 0 || p.app.now().Sub(replaced) > idleLimit) {
			break
		}
		if err := p.pause(ctx, pollInterval); err != nil {
			return err
		}
		if err := p.ask(ctx, at, state); err != nil {
			return err
		}
	}
	if state.Outdated > 0 {
		p.step("%s of earlier builds end with their game sessions", counted(state.Outdated, "server process"))
	} else {
		p.step("no server process of an earlier build is left")
	}
	return nil
}

func replaceFailed(state *control.FleetBuild) error {
	var reasons []string
	for _, f := range state.Failures {
		reasons = append(reasons, fmt.Sprintf("\n  instance %s on machine %s: %s: %s", f.InstanceID, f.Machine, f.Code,
			f.Reason))
	}
	return fmt.Errorf("%d of %d instances of fleet %s go on with the build before; push a build that works:%s",
		len(state.Failures), state.Instances, state.FleetID, strings.Join(reasons, ""))
}

// step reports a step that is done, and when.
func (p *push) step(format string, args ...any) {
	fmt.Fprintf(p.stderr, "muster: %6.1f s  %s\n", p.app.now().Sub(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// uploaded reports what was uploaded.
func (p *push) uploaded(result *pushResult) {
	p.step("build %s is READY: %s, %s, sent %s", result.Build, counted(result.Files, "file"), sizeText(result.Size),
		sizeText(result.Sent))
}

// fleetNamed finds a fleet by its id, ARN or name.
func fleetNamed(ctx context.Context, client *gamelift.Client, text string) (*types.FleetAttributes, error) {
	fleets, err := rowsOf(ctx, gamelift.NewDescribeFleetAttributesPaginator(client, nil),
		func(page *gamelift.DescribeFleetAttributesOutput) []types.FleetAttributes {
			return page.FleetAttributes
		})
	if err != nil {
		return nil, err
	}
	return named("fleet", "fleets", text, fleets, func(f *types.FleetAttributes) (id, arn, name *string) {
		return f.FleetId, f.FleetArn, f.Name
	})
}
