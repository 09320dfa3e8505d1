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

// checkPorts fails if a port of the service cannot be opened. Called before the service starts, it leaves no data
// directory behind.
func checkPorts(ctx context.Context, c *muster.Config) error {
	gateway := ""
	if c.Gateway.Listen != "" {
		gateway = c.Gateway.ListenAddress()
	}
	for _, p := range []struct{ setting, address string }{
		{"listen", c.Listen}, {"gateway-listen", gateway}, {"metrics-listen", c.MetricsListen},
		{"pprof-listen", c.PprofListen},
	} {
		if p.address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
		if err != nil {
			return explainPort(ctx, fmt.Errorf("%s: %w", p.setting, err))
		}
		if err := listener.Close(); err != nil {
			return fmt.Errorf("%s: %w", p.setting, err)
		}
	}
	return nil
}

// inUse are the errors of a port that is in use. Source of the second: Windows, WSAEADDRINUSE.
var inUse = []error{syscall.EADDRINUSE, syscall.Errno(10048)}

// explainPort adds to the error of a setting whose port is in use which process has it, and which flag changes it. It
// returns other errors as they are.
func explainPort(ctx context.Context, err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil || !slices.ContainsFunc(inUse, func(e error) bool { return errors.Is(err, e) }) {
		return err
	}
	setting, _, _ := strings.Cut(err.Error(), ":")
	address := op.Addr.String()
	_, text, _ := net.SplitHostPort(address) // the system has returned it
	port, _ := strconv.Atoi(text)
	var owners []string
	for _, o := range portOwners(ctx, []int{port})[port] {
		if name := o.String(); !slices.Contains(owners, name) {
			owners = append(owners, name)
		}
	}
	if len(owners) == 0 {
		owners = []string{portOwner{}.String()}
	}
	return fmt.Errorf("%s: %s is in use by %s: end that, or choose another address with --%s: %w", setting, address,
		strings.Join(owners, " and "), setting, inUse[0])
}
