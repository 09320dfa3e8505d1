package figures

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster"
	children "github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	// nodeShards is how many shards a region of BenchmarkNodes has, however many nodes
	// serve it.
	nodeShards = 12

	// quietShard is where the calls of a quiet region go: a shard that has nothing else
	// to do, as the first one and the last one have.
	quietShard = 1
)

// BenchmarkNodes makes calls of three nodes that serve a region together, and of one
// that serves a region of as many shards alone. Each node is a process of its own; they
// share the machine and its disk.
//
// Together: calls over 64 connections, spread over the nodes, for game sessions in three
// fleet locations, one in a shard of each node, or in twelve, one in each shard. Two of
// three calls come to a node that does not own the shard.
//
// Forwarded: one call after the other, to a node that does not own the shard of the game
// sessions, to the one that does, and to the one that is alone.
func BenchmarkNodes(b *testing.B) {
	for _, perNode := range []int{1, nodeShards / 3} {
		var r *regions
		b.Run(fmt.Sprintf("together/%d", 3*perNode), func(leaf *testing.B) {
			if r == nil {
				r = openRegions(b)
				r.prepare(reservation{wire.JSON, 25}, operations(b), r.three.shards(perNode))
			}
			three, one := r.together(leaf.N)
			if leaf.N > 1 {
				tell("three nodes: %.0f calls/s, one node %.0f", three.rate, one.rate)
			}
			three.report(leaf, "")
			leaf.ReportMetric(three.rate/one.rate, "of-one")
			one.reportAlone(leaf, three)
		})
		r.end()
	}
	var r *regions
	b.Run("forwarded", func(leaf *testing.B) {
		if r == nil {
			r = openRegions(b)
			r.prepare(reservation{wire.JSON, 1}, 2*operations(b), []int{quietShard})
		}
		other, owner, one := r.forwarded(leaf.N)
		if leaf.N > 1 {
			tell("a call of another node: p50 %.2f ms, of the owner %.2f ms, of one node %.2f ms", other.p50, owner.p50,
				one.p50)
		}
		other.report(leaf, "")
		owner.report(leaf, "owner-")
		leaf.ReportMetric(owner.p50/other.p50, "of-owner")
		leaf.ReportMetric(owner.cpu/other.cpu, "of-owner-by-cpu")
		leaf.ReportMetric(one.p50/other.p50, "of-one")
		one.reportAlone(leaf, other)
	})
	r.end()
}

// regions are one of three nodes and one of one.
type regions struct{ three, one *nodeSet }

func openRegions(tb testing.TB) *regions {
	tb.Helper()
	return &regions{three: startNodes(tb, 3), one: startNodes(tb, 1)}
}

// prepare makes both ready for n calls for game sessions in these shards.
func (r *regions) prepare(of reservation, n int, shards []int) {
	tell("nodes, %s in %d shards: preparing for %d calls", of, len(shards), n)
	for _, s := range []*nodeSet{r.three, r.one} {
		s.prepare(of, n+warm, shards)
		s.round(connections, warm, s.at...) // derives the signing keys and fills the pools
	}
}

func (r *regions) together(n int) (three, one nodesSample) {
	return r.three.round(connections, n, r.three.at...), r.one.round(connections, n, r.one.at...)
}

func (r *regions) forwarded(n int) (other, owner, one nodesSample) {
	at := slices.Clone(r.three.at)
	i := slices.IndexFunc(at,
		func(e muster.Endpoints) bool { return slices.Contains(owned(r.three.tb, e), quietShard) })
	at[0], at[i] = at[i], at[0]
	return r.three.round(1, n, at[1]), r.three.round(1, n, at[0]), r.one.round(1, n, r.one.at...)
}

// end ends all nodes. What they keep is not needed any more, and nodes that stop in order
// wait for one another.
func (r *regions) end() {
	if r == nil {
		return
	}
	for _, p := range slices.Concat(r.three.nodes, r.one.nodes) {
		p.kill()
	}
}

// A nodesSample is what calls of the nodes of a region came to.
type nodesSample struct {
	sample
	perRecord float64 // calls that shared a record of a journal
}

func (s nodesSample) report(b *testing.B, of string) {
	s.sample.report(b, of)
	b.ReportMetric(s.perRecord, of+"calls/record")
}

// reportAlone is report of one node that is alone, beside nodes that are not.
func (s nodesSample) reportAlone(b *testing.B, together nodesSample) {
	s.report(b, "one-")
	b.ReportMetric(s.cpu/together.cpu, "of-one-by-cpu")
}

// A nodeSet is the nodes of one region.
type nodeSet struct {
	tb    testing.TB
	nodes []*player
	at    []muster.Endpoints // of each node
	load  *load
}

// startNodes starts a region of n nodes.
func startNodes(tb testing.TB, n int) *nodeSet {
	tb.Helper()
	s := &nodeSet{tb: tb, at: make([]muster.Endpoints, n)}
	var names, routes []string
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i+1))
		routes = append(routes, children.FreeAddress(tb, random))
	}
	dir := tb.TempDir()
	_, err := muster.InitCluster(dir, names, time.Now())
	must(tb, err)
	for i, name := range names {
		data, config := filepath.Join(dir, name), muster.DefaultClusterConfig()
		if n > 1 {
			config.Node, config.Listen, config.Peers = name, routes[i], routes
		}
		p := play(tb, "node")
		p.tell(nodeOrder{&data, &config})
		s.nodes = append(s.nodes, p)
	}
	for i, p := range s.nodes { // none is ready before the others are there
		p.hear(&s.at[i])
	}
	s.awaitShared()
	return s
}

// awaitShared waits until all nodes own as many shards.
func (s *nodeSet) awaitShared() {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), roundLimit)
	defer cancel()
	for _, e := range s.at {
		for len(owned(s.tb, e)) != nodeShards/len(s.at) {
			if ctx.Err() != nil {
				s.tb.Fatalf("a node of %d owns %d of %d shards", len(s.at), len(owned(s.tb, e)), nodeShards)
			}
			pause(ctx, pollingPause)
		}
	}
}

// owned are the shards that a node owns.
func owned(tb testing.TB, e muster.Endpoints) (all []int) {
	tb.Helper()
	values := counters(tb, e)
	for i := range nodeShards {
		if values[fmt.Sprintf("muster_shard_owned{shard=\"%d\"}", i)] == 1 {
			all = append(all, i)
		}
	}
	return all
}

// shards are so many of each node's.
func (s *nodeSet) shards(perNode int) (all []int) {
	s.tb.Helper()
	for _, e := range s.at {
		all = append(all, owned(s.tb, e)[:perNode]...)
	}
	return all
}

// prepare makes game sessions that have room for n calls, and the load.
func (s *nodeSet) prepare(r reservation, n int, shards []int) {
	s.tb.Helper()
	perSession := seats / r.players
	each := (n + perSession*len(shards) - 1) / (perSession * len(shards)) // game sessions of a shard
	games, err := s.fill(s.tb.Context(), each, shards)
	must(s.tb, err)
	s.load = &load{protocol: r.protocol, operation: r.operation(), body: func(dst []byte, call int) []byte {
		shard := call % len(shards) // another one than that of the call before
		return r.appendBody(dst, games[shard][call/len(shards)/perSession], call)
	}}
}

// fill makes a fleet with a location in each of these shards, and n ACTIVE game sessions in
// each location. Their game servers are disconnected in the end.
func (s *nodeSet) fill(ctx context.Context, n int, shards []int) (games [][]string, err error) {
	servers, err := openGameServers(ctx, s.at[0], 0)
	if err != nil {
		return nil, err
	}
	defer servers.close()
	games = make([][]string, len(shards))
	var group errgroup.Group
	for i, shard := range shards {
		group.Go(func() (err error) {
			games[i], err = servers.host(ctx, newAPI(s.at[0]), locationIn(servers.fleet, shard), n)
			return err
		})
	}
	return games, group.Wait()
}

// locationIn is the name of a location that makes a shard the one of a fleet's game sessions.
func locationIn(id string, shard int) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%d", location, i)
		if region.ShardOf(fleet.RoomID{Fleet: fleet.ID(id), Location: name}, nodeShards) == shard {
			return name
		}
	}
}

// host adds a location to the fleet and makes n game sessions there.
func (s *gameServers) host(ctx context.Context, api *gamelift.Client, location string, n int) (
	games []string, err error,
) {
	if _, err := api.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &location}); err != nil {
		return nil, err
	}
	_, err = api.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{
		FleetId: &s.fleet, Locations: []types.LocationConfiguration{{Location: &location}},
	})
	if err == nil {
		err = s.addTo(ctx, api, location, n)
	}
	for err == nil && len(games) < n {
		var out *gamelift.CreateGameSessionOutput
		out, err = api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
			FleetId: &s.fleet, Location: &location, Name: aws.String("a game"),
			MaximumPlayerSessionCount: aws.Int32(seats),
		})
		if err == nil {
			games = append(games, *out.GameSession.GameSessionId)
			err = (&polling{api}).untilActivated(ctx, out.GameSession.GameSessionId)
		}
	}
	return games, err
}

// round makes n calls over so many connections to some of the nodes. Its cost is that of
// all nodes and of the client; the allocations are those of the nodes.
func (s *nodeSet) round(connections, n int, to ...muster.Endpoints) (r nodesSample) {
	s.tb.Helper()
	s.load.reach(to...)
	before := s.counters()
	m := s.load.over(s.tb, connections, n)
	after := s.counters()
	s.load.first += n
	r.sample = m.sample()
	r.cpu += (after[cpuSeconds] - before[cpuSeconds]) * 1e6 / m.calls()
	r.allocs = (after[mallocs] - before[mallocs]) / m.calls()
	r.perRecord = m.calls() / (after[appended] - before[appended])
	return r
}

// mallocs is the metric that counts a process's allocations.
const mallocs = "go_memstats_mallocs_total"

// counters are what all nodes have counted.
func (s *nodeSet) counters() map[string]float64 {
	s.tb.Helper()
	sums := map[string]float64{}
	for _, e := range s.at {
		for name, value := range counters(s.tb, e) {
			sums[name] += value
		}
	}
	return sums
}
