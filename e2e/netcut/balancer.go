package netcut

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	probeEvery = 200 * time.Millisecond
	probeLimit = time.Second // of one probe; a node that is silent for longer is not ready
)

// A Balancer leads connections to nodes that are ready, in turn, as the load balancer in front of a cluster does. When
// a node is not ready any more its connections are cut, so that those who want to stay come back and reach another.
type Balancer struct {
	listener net.Listener
	nodes    []*balanced
	probes   *http.Client
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	next   int
	closed bool
	idle   map[net.Conn]bool // who has no node yet
}

// A balanced is a node as the balancer sees it. The balancer's mu guards it.
type balanced struct {
	address string
	ready   bool
	conns   map[net.Conn]bool // both ends of each
}

// NewBalancer makes a balancer in front of nodes: the addresses of their HTTP ports, whose /readyz it asks. The test's
// end closes it.
func NewBalancer(t testing.TB, addresses ...string) *Balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{listener: listener, stop: cancel, idle: map[net.Conn]bool{},
		probes: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: probeLimit}}
	for _, a := range addresses {
		n := &balanced{address: a, conns: map[net.Conn]bool{}}
		b.nodes = append(b.nodes, n)
		b.running.Go(func() { b.watch(ctx, n) })
	}
	b.running.Go(b.accept)
	t.Cleanup(b.close)
	return b
}

// Addr is where to connect.
func (b *Balancer) Addr() string { return b.listener.Addr().String() }

// Ready lists the nodes that are ready, by their addresses.
func (b *Balancer) Ready() (addresses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.nodes {
		if n.ready {
			addresses = append(addresses, n.address)
		}
	}
	return addresses
}

func (b *Balancer) close() {
	b.stop()
	b.listener.Close()
	b.mu.Lock()
	b.closed = true
	for c := range b.idle {
		c.Close()
	}
	for _, n := range b.nodes {
		n.cut()
	}
	b.mu.Unlock()
	b.running.Wait()
}

// cut closes all connections. The balancer is locked.
func (n *balanced) cut() {
	for c := range n.conns {
		c.Close()
	}
}

// watch asks a node again and again.
func (b *Balancer) watch(ctx context.Context, n *balanced) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		ready := b.probe(ctx, n)
		b.mu.Lock()
		if n.ready = ready; !ready {
			n.cut()
		}
		b.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (b *Balancer) probe(ctx context.Context, n *balanced) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.address+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := b.probes.Do(request)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.Body.Close() == nil && err == nil && response.StatusCode == http.StatusOK
}

func (b *Balancer) accept() {
	for {
		near, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		if b.closed {
			near.Close()
		} else {
			b.idle[near] = true
			b.running.Go(func() { b.lead(near) })
		}
		b.mu.Unlock()
	}
}

// lead is the whole life of a connection.
func (b *Balancer) lead(near net.Conn) {
	defer near.Close()
	n, far := b.reach()
	b.mu.Lock()
	delete(b.idle, near)
	if n == nil || b.closed || !n.ready {
		b.mu.Unlock()
		if far != nil {
			far.Close()
		}
		return
	}
	n.conns[near], n.conns[far] = true, true
	b.mu.Unlock()
	defer func() {
		far.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(n.conns, near)
		delete(n.conns, far)
	}()
	var back sync.WaitGroup
	back.Go(func() { carry(near, far) })
	carry(far, near)
	back.Wait()
}

// carry copies until either end has gone, and takes the other one with it.
func carry(to, from net.Conn) {
	_, _ = io.Copy(to, from) // how a connection ends is for its ends to say
	to.Close()
	from.Close()
}

// reach connects to the next node that is ready; nil if none takes the connection.
func (b *Balancer) reach() (*balanced, net.Conn) {
	for range b.nodes {
		b.mu.Lock()
		var n *balanced
		for range b.nodes {
			b.next = (b.next + 1) % len(b.nodes)
			if b.nodes[b.next].ready {
				n = b.nodes[b.next]
				break
			}
		}
		b.mu.Unlock()
		if n == nil {
			return nil, nil
		}
		if far, err := net.DialTimeout("tcp", n.address, probeLimit); err == nil {
			return n, far
		}
	}
	return nil, nil
}
