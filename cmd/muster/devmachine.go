package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/agent/instance"
	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// The ports of the machines of muster dev, a range for each.
const (
	firstDevPort = 20000
	devPorts     = 5000
)

// What a machine of muster dev offers at least: 16 instances of type c5.large. With the CPUs of a laptop alone, the
// first instance would fill it, and a new fleet could not start beside the one that it replaces.
const (
	devMilliCPUs = 32_000
	devMemoryMiB = 64 << 10
)

// devTokenSeconds is how long a join token of muster dev can be used.
const devTokenSeconds = 60

// runMachines joins this machine at some locations, in this process, until ctx ends. Failures are in the log alone:
// all but managed fleets works without a machine.
func (d *development) runMachines(ctx context.Context, e muster.Endpoints, locations ...string) {
	if d.alone {
		return
	}
	var running sync.WaitGroup
	for n, location := range locations {
		running.Go(func() {
			if err := d.runMachine(ctx, e, n, location); err != nil {
				d.config.Log.Error("machine not joined: managed fleets find no machine there", "location", location,
					"error", err)
			}
		})
	}
	running.Wait()
}

// runMachine joins a location as the nth machine.
func (d *development) runMachine(ctx context.Context, e muster.Endpoints, n int, location string) error {
	trust, err := trustedBy(e.CAFile)
	if err != nil {
		return err
	}
	flags := machineFlags{ip: "127.0.0.1"}
	offer, err := flags.offer()
	if err != nil {
		return err
	}
	offer.MilliCPUs, offer.MemoryMiB = max(offer.MilliCPUs, devMilliCPUs), max(offer.MemoryMiB, devMemoryMiB)
	low := firstDevPort + n*devPorts
	offer.PortFirst, offer.PortLast = int32(low), int32(low+devPorts-1) //nolint:gosec // 16 bits
	call := &operatorCall{app: d.app, service: e.HTTP, tls: trust,
		keys: sigv4.ClientCredentials{AccessKey: e.AccessKey, SecretKey: e.SecretKey, Region: e.Region}}
	data, err := filepath.Abs(filepath.Join(d.config.Data, fmt.Sprint("machine", n)))
	if err != nil {
		return err
	}
	log := d.config.Log.With("machine", location)
	joins := machine.Config{
		Service: e.HTTP, Name: "dev-" + location, Location: location, Data: data, Offer: offer,
		Load: machine.MeasureLoad, TLS: trust, Clock: d.clock, Log: log,
		Token: func() (string, error) {
			var made control.MachineTokenCreated
			err := call.send(ctx, http.MethodPost, path("machine-tokens"),
				control.MachineTokenInput{Location: location, TTLSeconds: devTokenSeconds}, &made)
			return made.Token, err
		},
	}
	instances := instance.Config{Data: data, Service: e.HTTP, TLS: trust, LowPort: low, HighPort: low + devPorts - 1,
		Environ: append(slices.Clone(d.environ), "MUSTER_CA_FILE="+e.CAFile), Log: log}
	if instances.Supervisor, err = supervisors(); err != nil {
		return err
	}
	return alone(data, func() error { return instance.Run(ctx, joins, instances) })
}
