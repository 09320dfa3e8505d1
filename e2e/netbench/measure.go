//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/control"
	"github.com/muster-gg/muster/e2e/netbench/load"
	"github.com/muster-gg/muster/e2e/netbench/result"
	"github.com/muster-gg/muster/e2e/netbench/usage"
)

// A trial is one work with one server, once.
type trial struct {
	work    work
	peer    string
	program string        // whose server it is
	own     string        // this program, whose load it is
	warmUp  time.Duration // from when everything is connected and the content has been checked
	lasts   time.Duration
}

// measure starts a server and a load, and reads what they count.
func (t trial) measure(ctx context.Context) (sample result.Sample, err error) {
	var at control.Ready
	server, err := control.Start(ctx, "the server",
		[]string{t.program, serveCommand, "-peer", t.peer, "-work", string(t.work.server)}, &at)
	if err != nil {
		return sample, err
	}
	if t.work.part == memoryPart {
		return t.memory(ctx, server, at.Address)
	}
	return t.speed(ctx, server, at.Address)
}

// stop ends the server first, so that rooms end while their players still read.
func stop(server, clients *control.Child) error {
	return errors.Join(server.Stop(), clients.Stop())
}

// speed measures messages, processor time and allocations.
func (t trial) speed(ctx context.Context, server *control.Child, address string) (sample result.Sample, err error) {
	clients, err := t.connect(ctx, address)
	if err != nil {
		return sample, errors.Join(err, server.Stop())
	}
	defer func() { err = errors.Join(err, stop(server, clients)) }()
	if err := pause(ctx, t.warmUp); err != nil {
		return sample, err
	}
	before, err := read(clients, server)
	if err != nil {
		return sample, err
	}
	if err := pause(ctx, t.lasts); err != nil {
		return sample, err
	}
	after, err := read(clients, server)
	if err != nil {
		return sample, err
	}
	return after.since(before)
}

// connect starts the load.
func (t trial) connect(ctx context.Context, address string) (*control.Child, error) {
	command := []string{t.own, loadCommand, "-address", address, "-work", t.work.load,
		"-connections", strconv.Itoa(t.work.connections), "-in-flight", strconv.Itoa(max(1, t.work.inFlight))}
	var ready load.Ready
	return control.Start(ctx, "the load", command, &ready)
}

// A reading is what both processes have counted at a moment.
type reading struct {
	count load.Count
	usage usage.Usage
}

func read(clients, server *control.Child) (r reading, err error) {
	return r, errors.Join(clients.Ask(control.Report, &r.count), server.Ask(control.Report, &r.usage))
}

// errNothing: no figure can be made of nothing.
var errNothing = errors.New("no message was received, or the server took no processor time")

func (r reading) since(before reading) (result.Sample, error) {
	s := result.Sample{
		Messages: float64(r.count.Messages - before.count.Messages),
		Seconds:  float64(r.count.Nanos-before.count.Nanos) / 1e9,
		CPU:      r.usage.CPU - before.usage.CPU,
		Mallocs:  float64(r.usage.Mallocs - before.usage.Mallocs),
	}
	if s.Messages == 0 || s.CPU == 0 {
		return s, errNothing
	}
	return s, nil
}

// memory measures what connections add that have had one packet each.
func (t trial) memory(ctx context.Context, server *control.Child, address string) (sample result.Sample, err error) {
	var before, after usage.Usage
	if err := server.Ask(control.Collect, &before); err != nil {
		return sample, errors.Join(err, server.Stop())
	}
	clients, err := t.connect(ctx, address)
	if err != nil {
		return sample, errors.Join(err, server.Stop())
	}
	defer func() { err = errors.Join(err, stop(server, clients)) }()
	if err := server.Ask(control.Collect, &after); err != nil {
		return sample, err
	}
	var count load.Count
	if err := clients.Ask(control.Report, &count); err != nil {
		return sample, err
	}
	if count.Messages != uint64(t.work.connections) {
		return sample, fmt.Errorf("%d connections have had %d packets", t.work.connections, count.Messages)
	}
	per := func(after, before uint64) float64 {
		return (float64(after) - float64(before)) / float64(t.work.connections)
	}
	return result.Sample{Heap: per(after.Heap, before.Heap), Resident: per(after.Resident, before.Resident)}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
