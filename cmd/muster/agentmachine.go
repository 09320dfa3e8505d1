package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

// A machineAgent is "muster agent --machine".
type machineAgent struct {
	*app
	service, caFile, tokenFile string
	name, location, data       string
	ip, dns, ports             string
	cpus                       float64
	memory                     int64
}

func (m *machineAgent) addFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&m.service, "service", "", "base URL of the service, such as wss://games.example.com:9080")
	f.StringVar(&m.caFile, "ca-file", "", "PEM file of the CA to trust (environment MUSTER_CA_FILE)")
	f.StringVar(&m.tokenFile, "token-file", "", "file with the join token, for the first join; - is standard input")
	f.StringVar(&m.name, "name", "", "name of the machine in the region (default the host name)")
	f.StringVar(&m.location, "location", "", "location to join (default that of the token)")
	f.StringVar(&m.ip, "ip", "", "IP address for players (default that by which the service is reached)")
	f.StringVar(&m.dns, "dns", "", "DNS name for players")
	f.Float64Var(&m.cpus, "cpus", 0, "CPUs to offer (default those that this process may use)")
	f.Int64Var(&m.memory, "memory", 0, "memory to offer in MiB (default what this process may use)")
	f.StringVar(&m.ports, "port-range", "", "ports for games, such as 20000-29999")
	f.StringVar(&m.data, "data", "muster-machine", "directory with the key of the machine")
}

func (m *machineAgent) run(ctx context.Context) error {
	c, err := m.config()
	if err != nil {
		return &misuseError{err}
	}
	agent, err := machine.Open(c)
	if err != nil {
		return err
	}
	return agent.Run(ctx)
}

// config returns the configuration of the agent.
func (m *machineAgent) config() (c machine.Config, err error) {
	if m.service == "" {
		return c, errors.New("give --service")
	}
	log := slog.New(slog.NewTextHandler(m.stderr, nil))
	c = machine.Config{
		Service: m.service, Name: m.name, Location: m.location, Load: machine.MeasureLoad, Clock: m.clock, Log: log,
		Wanted: func(w protocol.Wanted) {
			log.Info("state wanted", "generation", w.Generation, "drain", w.Drain)
		},
	}
	if m.tokenFile != "" {
		c.Token = m.token
	}
	if c.TLS, err = m.trusted(m.caFile); err != nil {
		return c, err
	}
	if c.Data, err = filepath.Abs(m.data); err != nil {
		return c, err
	}
	c.Offer, err = m.offer()
	return c, err
}

// token reads the join token.
func (m *machineAgent) token() (string, error) {
	text, err := m.readFile(m.tokenFile)
	return strings.TrimSpace(string(text)), err
}

// offer returns what the machine offers: as measured, or as given.
func (m *machineAgent) offer() (o protocol.Offer, err error) {
	info, _ := debug.ReadBuildInfo() // nil for a binary without module support
	o = protocol.Offer{DNS: m.dns, Version: strings.Trim(versionOf(info).Version, "()"), OS: runtime.GOOS,
		Arch: runtime.GOARCH}
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
	if m.ports != "" {
		o.PortFirst, o.PortLast, err = portRange(m.ports)
	}
	return o, err
}

// portRange parses FIRST-LAST.
func portRange(text string) (first, last int32, err error) {
	a, b, ok := strings.Cut(text, "-")
	from, err1 := strconv.ParseUint(a, 10, 16)
	to, err2 := strconv.ParseUint(b, 10, 16)
	if !ok || err1 != nil || err2 != nil || from < 1 || from > to {
		return 0, 0, fmt.Errorf("--port-range is %q: must be FIRST-LAST within 1-65535", text)
	}
	return int32(from), int32(to), nil //nolint:gosec // 16 bits
}
