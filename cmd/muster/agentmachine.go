package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/agent"
	"github.com/muster-gg/muster/internal/agent/cgroup"
	"github.com/muster-gg/muster/internal/agent/instance"
	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

// machineFlags are the options that only "muster agent --machine" has.
type machineFlags struct {
	service, tokenFile string
	name               string
	ip, dns            string
	cpus               float64
	memory             int64
	hostPaths, hardCPU bool
	runAs              string
}

// machineOptions need --machine.
var machineOptions = []string{"service", "token-file", "name", "ip", "dns", "cpus", "memory", "allow-host-paths",
	"hard-cpu", "run-as"}

func (m *machineFlags) addFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&m.service, "service", "", "with --machine: base URL of the service, such as "+
		"wss://games.example.com:9080")
	f.StringVar(&m.tokenFile, "token-file", "",
		"with --machine: file with the join token, for the first join; - is standard input")
	f.StringVar(&m.name, "name", "", "with --machine: name of the machine in the region (default the host name)")
	f.StringVar(&m.ip, "ip", "",
		"with --machine: IP address for players (default that by which the service is reached)")
	f.StringVar(&m.dns, "dns", "", "with --machine: DNS name for players")
	f.Float64Var(&m.cpus, "cpus", 0, "with --machine: CPUs to offer (default those that this process may use)")
	f.Int64Var(&m.memory, "memory", 0, "with --machine: memory to offer in MiB (default what this process may use)")
	f.BoolVar(&m.hostPaths, "allow-host-paths", false,
		"with --machine: fleets may start programs of this machine, not only those of their build")
	f.BoolVar(&m.hardCPU, "hard-cpu", false,
		"with --machine: give an instance no more than its CPUs, also where others are idle")
	f.StringVar(&m.runAs, "run-as", "",
		"with --machine, as root: USER[:GROUP] that runs game servers and installers (default the agent's)")
}

// runMachine runs the agent of a machine.
func (f *agentFlags) runMachine(ctx context.Context) error {
	c, err := f.machineConfig()
	if err != nil {
		return &misuseError{err}
	}
	asUser, environ, err := runAs(f.machine.runAs, os.Geteuid(), f.gameEnviron())
	if err != nil {
		return &misuseError{err}
	}
	instances := instance.Config{Data: c.Data, Service: c.Service, TLS: c.TLS, LowPort: int(c.Offer.PortFirst),
		HighPort: int(c.Offer.PortLast), Environ: environ, HostPaths: f.machine.hostPaths, Keep: f.keep, Log: c.Log,
		User: asUser, HardCPU: f.machine.hardCPU, Cgroups: delegated(c.Log)}
	if instances.Supervisor, err = supervisors(); err != nil {
		return err
	}
	return alone(c.Data, func() error {
		return f.metrics.during(ctx, c.Log, func(ctx context.Context, t agent.Telemetry) error {
			instances.Telemetry = t
			return instance.Run(ctx, c, instances)
		})
	})
}

// delegated returns the cgroup that was delegated to this process; nil if there is none.
func delegated(log *slog.Logger) *cgroup.Tree {
	var tree *cgroup.Tree
	membership, err := os.ReadFile(cgroup.Membership)
	if err == nil {
		tree, err = cgroup.Open(cgroup.Mount, membership, os.Getpid())
	}
	if err != nil {
		log.Info("instances run without limits: no cgroup with cpu and memory is delegated to the agent", "reason", err)
		return nil
	}
	return tree
}

func (f *agentFlags) machineConfig() (c machine.Config, err error) {
	m := &f.machine
	if m.service == "" {
		return c, errors.New("give --service")
	}
	if _, err := machine.HTTPURL(m.service); err != nil {
		return c, err
	}
	log := slog.New(slog.NewTextHandler(f.stderr, nil))
	c = machine.Config{
		Service: m.service, Name: m.name, Location: f.location, Load: machine.MeasureLoad, Clock: f.clock, Log: log,
	}
	if m.tokenFile != "" {
		c.Token = f.token
	}
	if c.TLS, err = f.trusted(f.caFile); err != nil {
		return c, err
	}
	if c.Data, err = f.dataDir(); err != nil {
		return c, err
	}
	if c.Offer, err = m.offer(); err != nil {
		return c, err
	}
	low, high, err := parsePorts(f.ports)
	c.Offer.PortFirst, c.Offer.PortLast = int32(low), int32(high) //nolint:gosec // 16 bits
	return c, err
}

// token reads the join token.
func (f *agentFlags) token() (string, error) {
	text, err := f.readFile(f.machine.tokenFile)
	return strings.TrimSpace(string(text)), err
}

// offer returns what the machine offers: as measured, or as given.
func (m *machineFlags) offer() (o protocol.Offer, err error) {
	o = protocol.Offer{DNS: m.dns, Version: bareVersion(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	o.MilliCPUs, o.MemoryMiB = machine.Capacity()
	if m.cpus != 0 {
		if m.cpus < 0.001 || m.cpus > 4096 {
			return o, errors.New("--cpus must be between 0.001 and 4096")
		}
		o.MilliCPUs = int32(math.Round(m.cpus * 1000))
	}
	if m.memory != 0 {
		o.MemoryMiB = m.memory
	}
	if o.MemoryMiB < 1 {
		return o, errors.New("--memory must be at least 1 MiB, and given where it is not known")
	}
	if m.ip != "" {
		address, err := netip.ParseAddr(m.ip)
		if err != nil {
			return o, fmt.Errorf("--ip: %w", err)
		}
		o.IP = address.String()
	}
	return o, nil
}
