package game

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/muster-gg/muster/gamenet"
)

// highestPort is the highest that a process may name. Source: server SDK 5, validation of ProcessParameters.
const highestPort = 60000

// playerPorts is a transport that, where any free port will do, finds one that players can be sent to: of those that a
// system gives out by itself some are too high.
type playerPorts struct{ gamenet.Transport }

func (t playerPorts) Listen(ctx context.Context, address string) (gamenet.Listener, error) {
	const attempts = 64
	_, wanted, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var tooHigh []gamenet.Listener // held until another is found, so that they are not given out again
	defer func() {
		for _, l := range tooHigh {
			_ = l.Close() // nobody has used it
		}
	}()
	for range attempts {
		l, err := t.Transport.Listen(ctx, address)
		if err != nil || wanted != "0" || portOf(l.Addr()) <= highestPort {
			return l, err
		}
		tooHigh = append(tooHigh, l)
	}
	return nil, errors.New("the system gives out no port up to 60000; name one with -port")
}

// portOf is the port of an address of TCP or UDP.
func portOf(a net.Addr) int {
	address, _ := netip.ParseAddrPort(a.String())
	return int(address.Port())
}
