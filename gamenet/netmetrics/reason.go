package netmetrics

import (
	"errors"

	"github.com/muster-gg/muster/gamenet"
)

const (
	panicked = "panic" // of a callback or of the session factory
	other    = "other" // any cause that is not listed
)

type namedCause struct {
	cause error
	name  string
}

// causes are the labels of gamenet's causes. The first match counts, because a failed handshake wraps any error of the
// connection.
var causes = []namedCause{
	{gamenet.ErrHandshake, "handshake"},
	{gamenet.ErrPeerClosed, "peer_closed"}, // a *gamenet.PeerError too: its code and text are the peer's
	{gamenet.ErrDisconnected, "disconnected"},
	{gamenet.ErrServiceClosed, "service_closed"},
	{gamenet.ErrFrame, "frame"},
	{gamenet.ErrSlowConsumer, "slow_consumer"},
	{gamenet.ErrIdle, "idle"},
	{gamenet.ErrFirstPacket, "first_packet"},
	{gamenet.ErrWriteTimeout, "write_timeout"},
	{gamenet.ErrLost, "lost"},
}

var refusalCauses = []namedCause{
	{gamenet.ErrFull, "full"},
	{gamenet.ErrFullAddress, "full_address"},
	{gamenet.ErrServiceClosed, "service_closed"},
}

// reasons returns all values of the label reason of gamenet_sessions_closed_total. That metric also counts sessions
// that never connected, whose handshake failed or whose factory returned no handler ("other").
func reasons() []string { return names(causes, panicked, other) }

func refusals() []string { return names(refusalCauses, other) }

func names(of []namedCause, more ...string) []string {
	list := make([]string, 0, len(of)+len(more))
	for _, c := range of {
		list = append(list, c.name)
	}
	return append(list, more...)
}

// reason returns the label for the cause of a session's end.
func reason(cause error) string {
	if _, ok := errors.AsType[*gamenet.PanicError](cause); ok {
		return panicked
	}
	return name(causes, cause)
}

// refusal returns the label for the cause of a connection's rejection.
func refusal(cause error) string { return name(refusalCauses, cause) }

func name(of []namedCause, cause error) string {
	for _, c := range of {
		if errors.Is(cause, c.cause) {
			return c.name
		}
	}
	return other
}
