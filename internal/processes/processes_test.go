package processes

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A rig is the connections of a region with one shard, a fleet and a compute. Most of what they do is tested with the
// whole control plane, in its package.
type rig struct {
	*Connections
	t       *testing.T
	journal *memory.Journal
}

var place = fleet.RoomID{Fleet: "fleet-1", Location: "custom-a"}

// newRig makes a rig. It must be called in a bubble of synctest.
func newRig(t *testing.T) *rig {
	settings := &region.Settings{
		Fleet: fleet.DefaultSettings("us-west-2"), Catalog: catalog.DefaultLimits(), Shards: 1, Level: region.MaxLevel,
	}
	settings.Fleet.TokenSerial = func(fleet.RoomID, *fleet.Compute, string) (uint64, bool) { return 1, true }
	r := &rig{t: t, journal: memory.New(memory.Config{})}
	clock, log := clockwork.NewRealClock(), slog.New(slog.DiscardHandler)
	shards := router.New(router.Config{
		Names:    router.Names{Region: "us-west-2", Account: "111122223333"},
		Journals: []journal.Journal{r.journal}, Settings: settings, Clock: clock, Log: log,
		Observe: func(c *router.Commit) { r.Observe(c) },
	})
	r.Connections = New(Config{Router: shards, Clock: clock, Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- shards.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		shards.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, c := range []catalog.Command{
		catalog.CreateLocation{Name: place.Location},
		catalog.CreateFleet{
			ID: string(place.Fleet), ComputeType: "ANYWHERE", Attributes: catalog.Attributes{Name: "fleet"},
			Locations: []string{place.Location}, EventIDs: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
		},
		catalog.ClaimCompute{Fleet: string(place.Fleet), Name: "c1", Location: place.Location},
	} {
		r.ok(shards.Change(ctx, c))
	}
	register := fleet.RegisterCompute{Name: "c1", IPAddress: "10.0.0.1"}
	command := region.RoomCommand{Room: place, Open: true, Command: register}
	_, err := router.Ask[any](ctx, shards.RoomShard(place), command)
	r.ok(err)
	_, err = router.AskRoom[any](ctx, shards, place, fleet.IssueToken{Compute: "c1"})
	r.ok(err)
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// A peer is the endpoint's side of a connection.
type peer struct {
	*connection
	replaced int
}

func (r *rig) connect() *peer {
	p := &peer{}
	n, err := r.Connect(context.Background(), ConnectRequest{
		FleetID: string(place.Fleet), ComputeName: "c1", ProcessID: "p1", Authorization: "token", IdempotencyToken: "i",
		Push: func(Push) {}, Replaced: func() { p.replaced++ },
	})
	if err != nil {
		r.t.Error(err)
	}
	p.connection = n.(*connection)
	return p
}

// isConnected reports whether the room takes the process of a connection for connected.
func (r *rig) isConnected(n *peer) bool {
	r.t.Helper()
	connected, err := router.InRoom(context.Background(), r.router, place, func(room *fleet.Room) bool {
		p, ok := room.Process(n.key.Process)
		return ok && p.Connected
	})
	r.ok(err)
	return connected
}

// Two connections of an unknown process are opened concurrently: one of them replaces the other.
func TestTwoFirstConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		release := r.journal.Hold()
		opened := make(chan *peer)
		for range 2 {
			go func() { opened <- r.connect() }()
		}
		synctest.Wait()
		release()
		first, second := <-opened, <-opened
		synctest.Wait()
		if first.replaced > 0 {
			first, second = second, first
		}
		if first.replaced != 0 || second.replaced != 1 || r.shards[0].primary(first.key) != first.connection {
			t.Errorf("replaced %d and %d times", first.replaced, second.replaced)
		}
		if len(r.shards[0].opening) != 0 {
			t.Error("a connection is still expected")
		}
		second.Disconnected()
		if !r.isConnected(first) {
			t.Error("the process counts as lost")
		}
	})
}

// A connection that closes just before it is announced again leaves no process that counts as connected.
func TestResumeOfAClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		n := r.connect()
		n.Disconnected()
		n.resume(context.Background())
		synctest.Wait()
		if r.isConnected(n) {
			t.Error("the process counts as connected")
		}
	})
}

// The signatures that are kept are bounded, and expire.
func TestUsedSignatures(t *testing.T) {
	var u usedSignatures
	now := time.Unix(0, 0)
	refused := func(what string) {
		t.Helper()
		if err := u.use("a", now.Add(time.Minute), now); !fault.Is(err, fault.AccessDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := u.use("a", now.Add(time.Minute), now); err != nil {
		t.Error(err)
	}
	refused("twice")
	u.forget("a")
	for i := range mostSignatures {
		if err := u.use(strconv.Itoa(i), now.Add(time.Minute), now); err != nil {
			t.Fatal(err)
		}
	}
	refused("too many")
	now = now.Add(sweepPause)
	if err := u.use("a", now.Add(time.Minute), now); err != nil || len(u.ends) != 1 {
		t.Errorf("%d are remembered: %v", len(u.ends), err)
	}
}
