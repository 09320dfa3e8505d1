package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/muster-gg/muster"
)

// checkPorts fails if ports of the service cannot be opened, with flags for all that are in use. Called before the
// service starts, it leaves no data directory behind.
func checkPorts(ctx context.Context, c *muster.Config) error {
	var taken error
	flags := ""
	for _, p := range portsOf(c) {
		err := tryPort(ctx, p.address)
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", p.setting, err)
		if !isInUse(err) {
			return err
		}
		taken = errors.Join(taken, explainPort(ctx, err))
		flags += " --" + p.setting + " " + freeNear(ctx, p.address)
	}
	if taken != nil {
		return fmt.Errorf("%w\nTry the same command with%s", taken, flags)
	}
	return nil
}

func tryPort(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// freeNear returns an address like one that is in use, with a port that is free: 9180 instead of 9080.
func freeNear(ctx context.Context, address string) string {
	const distance, attempts = 100, 20
	host, text, _ := net.SplitHostPort(address) // listening has checked it
	port, _ := strconv.Atoi(text)
	for i := range attempts {
		near := net.JoinHostPort(host, strconv.Itoa(port+distance*(i+1)))
		if tryPort(ctx, near) == nil {
			return near
		}
	}
	return net.JoinHostPort(host, "0")
}

// A servicePort is an address that a service listens on, and the setting that has it.
type servicePort struct{ setting, address string }

// portsOf returns the addresses of a service, but those for old game servers and for other nodes.
func portsOf(c *muster.Config) []servicePort {
	gateway := ""
	if c.Gateway.Listen != "" {
		gateway = c.Gateway.ListenAddress()
	}
	return slices.DeleteFunc([]servicePort{
		{"listen", c.Listen}, {"gateway-listen", gateway}, {"metrics-listen", c.MetricsListen},
		{"pprof-listen", c.PprofListen},
	}, func(p servicePort) bool { return p.address == "" })
}

// inUse are the errors of a port that is in use. Source of the second: Windows, WSAEADDRINUSE.
var inUse = []error{syscall.EADDRINUSE, syscall.Errno(10048)}

// explainPort adds to the error of a setting whose port is in use which process has it, and which flag changes it. It
// returns other errors as they are.
func explainPort(ctx context.Context, err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil || !isInUse(err) {
		return err
	}
	setting, _, _ := strings.Cut(err.Error(), ":")
	address := op.Addr.String()
	_, text, _ := net.SplitHostPort(address) // the system has returned it
	port, _ := strconv.Atoi(text)
	owners := nameOwners(portOwners(ctx, []int{port})[port])
	return fmt.Errorf("%s: %s is in use by %s: choose another address with --%s: %w", setting, address,
		owners, setting, inUse[0])
}

func isInUse(err error) bool {
	return slices.ContainsFunc(inUse, func(e error) bool { return errors.Is(err, e) })
}

// nameOwners names the processes that have a port, each once.
func nameOwners(owners []portOwner) string {
	var names []string
	for _, o := range owners {
		if name := o.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = []string{portOwner{}.String()}
	}
	return strings.Join(names, " and ")
}
