package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/muster-gg/muster/internal/mustertest/ports"
)

// engines starts three servers that are a cluster of NATS.
func engines(t *testing.T) []*natsserver.Server {
	t.Helper()
	var servers []*natsserver.Server
	addresses := ports.Free(t, rand.IntN, 3) // all must know all from the beginning
	var routes []*url.URL
	for _, a := range addresses {
		routes = append(routes, &url.URL{Scheme: "nats", Host: a})
	}
	for i := range 3 {
		port := int(netip.MustParseAddrPort(addresses[i]).Port())
		s, err := natsserver.NewServer(&natsserver.Options{
			ServerName: fmt.Sprint("server-", i), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(),
			Cluster: natsserver.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers = append(servers, s)
	}
	for _, s := range servers {
		await(t, "the servers to know one another", func() bool { return s.NumRoutes() > 0 && s.JetStreamIsCurrent() })
	}
	return servers
}

// Each node has a server of its own, and the bucket three replicas. One server
// goes with its node, whichever of them led the bucket.
func TestReplicas(t *testing.T) {
	var book ledger
	servers := engines(t)
	var members []*member
	for i, s := range servers {
		members = append(members, start(t, connect(t, s), &book, fmt.Sprint("n", i+1), func(c *Config) {
			c.Replicas, c.Lease = 3, 1500*time.Millisecond
		}, nil))
		members[i].Ready()
	}
	spread(t, members...)
	l := members[0].load(1)
	await(t, "some answers", func() bool { return l.answersCount.Load() > 100 })
	begin := time.Now()
	servers[2].Shutdown()
	members[2].stop()
	spread(t, members[:2]...)
	t.Logf("after %v the others have taken over", time.Since(begin))
	n := l.answersCount.Load()
	await(t, "more answers", func() bool { return l.answersCount.Load() > n+1000 })
	l.end()
	l.verify(t, &book)
}
