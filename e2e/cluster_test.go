package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
)

// startCluster runs three nodes in this process, behind a balancer that sends every
// request, and every socket, to the next one. Whoever uses the service uses all of them.
func startCluster(t *testing.T, change ...func(*muster.Config)) *service {
	t.Helper()
	nodes := initNodes(t, 3, change...)
	runNodes(t, nodes)
	s := *nodes[0]
	s.HTTP = balance(t, nodes)
	s.WS = "ws" + strings.TrimPrefix(s.HTTP, "http")
	return &s
}

// initNodes prepares nodes that do not run yet.
func initNodes(t *testing.T, n int, change ...func(*muster.Config)) []*service {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("n", i+1))
	}
	if _, err := muster.InitCluster(dir, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	return newNodes(t, dir, names, change...)
}

// balance sends requests to nodes in turn. What was signed for the balancer stays so.
func balance(t *testing.T, nodes []*service) (address string) {
	var next atomic.Uint64
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			node := nodes[next.Add(1)%uint64(len(nodes))]
			r.Out.URL.Scheme, r.Out.URL.Host = "http", strings.TrimPrefix(node.HTTP, "http://")
			r.Out.Host = r.In.Host
		},
	})
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); transport.CloseIdleConnections() })
	return server.URL
}

// Three nodes are one region: everything of queues and matchmaking works when each call
// goes to another node than the one before, and no event is delivered by two of them.
func TestClusterIsOneRegion(t *testing.T) {
	t.Parallel()
	var delivered sync.Map // webhook-id → how often
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		count, _ := delivered.LoadOrStore(r.Header.Get("webhook-id"), new(atomic.Int64))
		count.(*atomic.Int64).Add(1)
	}))
	defer hook.Close()
	s := startCluster(t, func(c *muster.Config) { c.Webhooks = []string{hook.URL} })
	awaitDeliveries(t, s, &delivered)
	newMatchWalk(t, s, goSDK{t.Context(), s.client()}).whole()
	events := 0
	delivered.Range(func(id, count any) bool {
		events++
		if n := count.(*atomic.Int64).Load(); n != 1 {
			t.Errorf("event %s was delivered %d times", id, n)
		}
		return true
	})
	t.Logf("%d events were delivered", events)
}

// awaitDeliveries waits until events are delivered, which begins with those that come after
// the first node leads.
func awaitDeliveries(t *testing.T, s *service, delivered *sync.Map) {
	t.Helper()
	call(t, s.client().CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{Name: new("first")})
	placements := 0
	eventually(t, "an event is delivered", func() (some bool) {
		placements++
		call(t, s.client().StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
			PlacementId: new(fmt.Sprint("first-", placements)), GameSessionQueueName: new("first"),
			MaximumPlayerSessionCount: new(int32(2)),
		})
		call(t, s.client().StopGameSessionPlacement,
			&gamelift.StopGameSessionPlacementInput{PlacementId: new(fmt.Sprint("first-", placements))})
		delivered.Range(func(_, _ any) bool { some = true; return false })
		return some
	})
	call(t, s.client().DeleteGameSessionQueue, &gamelift.DeleteGameSessionQueueInput{Name: new("first")})
}

// Why a ticket waits is known to all nodes, though one drives matchmaking.
func TestClusterExplains(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	s.newMatchmaker(t, s.newFleet(t), "MANUAL")
	s.seek(t, "ada")
	for range 3 {
		if status, body := s.inspect(t, "/v1/tickets/ada/explain"); status != http.StatusOK {
			t.Errorf("status %d: %s", status, body)
		}
	}
}

// A node whose directory is of another region is not let in.
func TestClusterRefusesStrangers(t *testing.T) {
	t.Parallel()
	nodes := initNodes(t, 4)
	for _, n := range nodes[:3] { // who begins a cluster waits for all that it names
		n.config.Cluster.Peers = n.config.Cluster.Peers[:3]
	}
	runNodes(t, nodes[:3])
	stranger := nodes[3].config
	stranger.Region = "eu-west-1"
	if err := muster.Run(t.Context(), stranger); err == nil || !strings.Contains(err.Error(), testRegion) ||
		!strings.Contains(err.Error(), "eu-west-1") {
		t.Errorf("got %v", err)
	}
}
