package serversdk

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/processes"
)

// Replies to many sockets that are ready at the same moment all arrive, each
// socket's in order.
func TestManySocketsAtOnce(t *testing.T) {
	servers := newFakeServers()
	servers.holding = true
	servers.links = make(chan *fakeLink, 1000)
	h := newHarness(t, servers, Metrics{})
	const sockets, requests = 200, 5
	peers := make([]*peer, sockets)
	for i := range peers {
		peers[i] = h.dial(t, strings.Replace(goQuery, "proc-7", fmt.Sprint("proc-", i), 1))
		for j := range requests {
			peers[i].send(fmt.Sprintf(`{"Action":"HeartbeatServerProcess","RequestId":"%d-%d"}`, i, j))
		}
	}
	waitFor(t, "all requests", func() bool { return strings.Count(servers.called(), "Heartbeat") == sockets*requests })
	var reading sync.WaitGroup
	for i, p := range peers {
		reading.Go(func() {
			for j := range requests {
				_, got, err := p.ReadMessage()
				if want := fmt.Sprintf(`{"Action":"HeartbeatServerProcess","RequestId":"%d-%d",`+
					`"StatusCode":200}`, i, j); err != nil || string(got) != want {
					t.Errorf("received %s, %v; want %s", got, err, want)
					return
				}
			}
		})
	}
	servers.release()
	reading.Wait()
	if n := h.endpoint.sockets.Writers.Waiting(); n != 0 {
		t.Errorf("%d sockets still wait for a writer", n)
	}
}

// A peer that does not read holds up no other, and has missed nothing when it
// reads again.
func TestStuckPeerHoldsUpNobody(t *testing.T) {
	h := newHarness(t, newFakeServers(), Metrics{})
	stuck := h.dial(t, goQuery)
	connection := h.servers.next(t)
	other := h.dial(t, strings.Replace(goQuery, "proc-7", "proc-8", 1))

	// A single message of any size is taken; it is more than the system buffers.
	data := strings.Repeat("y", 16<<20)
	connection.about.Push(processes.CreateGameSessionPush{GameSessionData: data})
	for range 3 {
		other.send(heartbeat)
		other.expect(heartbeaten)
		pingpong(other)
	}
	stuck.send(heartbeat) // a writer is at the push by now; else the reply would be too much
	if got := stuck.receive(); !strings.Contains(got, data) {
		t.Errorf("a push of %d bytes came as %d bytes", len(data), len(got))
	}
	stuck.expect(heartbeaten)
	pingpong(stuck) // and from now on as before
	stuck.send(heartbeat)
	stuck.expect(heartbeaten)
}
