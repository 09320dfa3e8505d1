package quic

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A relay is a network between one client and a server that loses packets.
type relay struct {
	address string
	every   atomic.Int64 // one in so many is lost; 0 for none, 1 for all
	seen    atomic.Int64
}

// newRelay makes a network before a server.
func newRelay(t *testing.T, server net.Addr) *relay {
	t.Helper()
	near, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.DialUDP("udp", nil, server.(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: near.LocalAddr().String()}
	var client atomic.Pointer[net.UDPAddr]
	var running sync.WaitGroup
	running.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := near.ReadFromUDP(b)
			if err != nil {
				return
			}
			client.Store(from)
			if !r.lost() {
				_, _ = far.Write(b[:n])
			}
		}
	})
	running.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, err := far.Read(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue // nobody listens there any more, says the system
			}
			if to := client.Load(); to != nil && !r.lost() {
				_, _ = near.WriteToUDP(b[:n], to)
			}
		}
	})
	t.Cleanup(func() {
		near.Close()
		far.Close()
		running.Wait()
	})
	return r
}

func (r *relay) lost() bool {
	every := r.every.Load()
	return every > 0 && r.seen.Add(1)%every == 0
}
