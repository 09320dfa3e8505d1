package game

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/muster-gg/muster/gamenet"
)

// ports is a transport of a system that gives out these ports, one after the other.
type ports struct {
	gamenet.Transport
	next   []int
	opened []*listener
}

type listener struct {
	gamenet.Listener
	port   int
	closed bool
}

func (l *listener) Addr() net.Addr { return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.port} }
func (l *listener) Close() error   { l.closed = true; return nil }

func (p *ports) Listen(context.Context, string) (gamenet.Listener, error) {
	if len(p.next) == 0 {
		return nil, errors.New("no more ports")
	}
	l := &listener{port: p.next[0]}
	p.next = p.next[1:]
	p.opened = append(p.opened, l)
	return l, nil
}

func TestPlayerPorts(t *testing.T) {
	for _, test := range []struct {
		address string
		given   []int
		want    int // 0 for an error
	}{
		{"127.0.0.1:0", []int{60001, 65535, 60000}, 60000},
		{"127.0.0.1:0", []int{32768}, 32768},
		{"127.0.0.1:61000", []int{61000}, 61000}, // as wanted: the service will complain
		{"127.0.0.1:0", []int{60001}, 0},
		{"127.0.0.1", []int{1}, 0},
	} {
		system := &ports{next: test.given}
		l, err := playerPorts{system}.Listen(t.Context(), test.address)
		if (err == nil) != (test.want != 0) || err == nil && portOf(l.Addr()) != test.want {
			t.Errorf("%v: got %v, %v", test.given, l, err)
		}
		for _, o := range system.opened {
			if chosen := o.port == test.want; o.closed == chosen {
				t.Errorf("%v: port %d is closed: %t", test.given, o.port, o.closed)
			}
		}
	}
}
