//go:build unix

package fault

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/history"
	"github.com/muster-gg/muster/e2e/netcut"
	"github.com/muster-gg/muster/e2e/report"
	"github.com/muster-gg/muster/gameserver"
)

const (
	awsRegion = "us-west-2" // the default

	processesEach = 3   // in each location
	gamersEach    = 3   // of each location
	doormenEach   = 2   // of each location
	warm          = 100 // answers in each location before the fault
	further       = 40  // answers in each location that show that the fault is over

	queueLocation = "custom-queue" // where placements go
	arenaLocation = "custom-arena"

	// decideLimit is how long the check of one game session's history may take.
	decideLimit = 20 * time.Second

	// limit is how long a service may take to do what it must after a fault, on a busy
	// machine.
	limit = 90 * time.Second
)

// playLocations are where gamers create game sessions.
var playLocations = []string{"custom-play-0", "custom-play-1"}

// A trial is one fault, and all that there is around it.
type trial struct {
	t        *testing.T
	cluster  *cluster
	balancer *netcut.Balancer // in front of all nodes, for game servers
	http     *http.Transport
	clients  []*gamelift.Client // of each node
	ctx      context.Context    // ends with the trial
	cancel   context.CancelFunc

	history    *history.Recorder
	meter      *meter
	found      *report.Findings
	games      *games
	placements *placements

	fleet  string
	tokens map[string]string // of computes
	slots  []*slot
	arenas []*arena
	ports  atomic.Int32 // the last one that a process has
}

// Placements are those that were started; true when that was acknowledged.
type placements struct {
	mu  sync.Mutex
	all map[string]bool
}

func (p *placements) set(id string, acknowledged bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[id] = p.all[id] || acknowledged
}

// ids lists those that were acknowledged, or those that were not.
func (p *placements) ids(acknowledged bool) (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(p.all)) {
		if p.all[id] == acknowledged {
			ids = append(ids, id)
		}
	}
	return ids
}

// newTrial makes a trial of so many nodes, which do not run yet.
func newTrial(t *testing.T, nodes int) *trial {
	found := &report.Findings{}
	r := &trial{
		t: t, cluster: newCluster(t, nodes), http: &http.Transport{MaxIdleConnsPerHost: 64}, history: history.New(),
		meter: newMeter(), found: found,
		games: &games{found: found, all: map[string]*game{}}, placements: &placements{all: map[string]bool{}},
		tokens: map[string]string{},
	}
	r.ports.Store(30_000)
	return r
}

// run is the whole trial. It returns its row of the table, and the error of the check of its
// history.
func (t *trial) run(f fault) (row, error) {
	t.t.Helper()
	t.ctx, t.cancel = context.WithCancel(context.Background())
	defer t.cancel()
	defer t.http.CloseIdleConnections()
	t.begin(f)

	var servers, load sync.WaitGroup
	for _, s := range t.slots {
		servers.Go(func() { s.run(t.ctx) })
	}
	loading, stop := context.WithCancel(t.ctx)
	defer func() { stop(); t.cancel(); load.Wait(); servers.Wait() }()
	t.openArenas()
	t.startLoad(loading, &load)

	r := t.strike(f)
	stop()
	load.Wait()
	t.judge()
	r.lost, r.doubled = t.found.Counts()
	v, err := history.Check(t.history.Operations(), decideLimit)
	t.t.Logf("history: %d operations on %d game sessions, at most %d on one; %d without an answer", v.Operations,
		v.Sessions, v.Longest, v.Pending)
	r.calls, r.checked = t.acknowledged(), v.Operations
	t.closeArenas()
	t.cancel()
	servers.Wait()
	t.cluster.stop()
	return r, err
}

// strike lets the fault come, and waits until the service is as it was.
func (t *trial) strike(f fault) row {
	t.t.Helper()
	t.awaitAnswers(warm)
	t.await("the game sessions that stay begin", func() bool { return len(t.residents()) == len(playLocations)+1 })
	before := t.living()
	t.meter.begin(loaded())
	f.strike(t)
	t.awaitAnswers(further)
	r := row{fault: f.name, nodes: len(t.cluster.nodes)}
	r.longest, r.failures = t.meter.end()
	struck := time.Now()
	t.awaitSockets()
	r.back = time.Since(struck)
	r.resumed = t.stillThere(before) + t.playArenas()
	return r
}

// begin starts the nodes, and makes what the load works on.
func (t *trial) begin(f fault) {
	t.t.Helper()
	c := t.cluster
	if f.prepare != nil {
		f.prepare(t)
	}
	c.share()
	c.start(t.ctx, c.nodes...)
	addresses := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addresses[i] = n.address
		t.clients = append(t.clients, t.client(n))
	}
	t.balancer = netcut.NewBalancer(t.t, addresses...)
	t.setUp()
}

// client makes each call once, at one node.
func (t *trial) client(n *node) *gamelift.Client {
	id, secret := t.cluster.keys(t.ctx)
	return gamelift.New(gamelift.Options{
		Region: awsRegion, BaseEndpoint: aws.String("http://" + n.address),
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
		HTTPClient:  &http.Client{Transport: calls.WholeBodies{RoundTripper: t.http}}, Retryer: aws.NopRetryer{},
	})
}

// must ends the test when a call fails that cannot.
func (t *trial) must(err error) {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
	}
}

// setUp makes a fleet, its locations with their computes, and a queue.
func (t *trial) setUp() {
	t.t.Helper()
	client := t.clients[len(t.clients)-1]
	locations := append(slices.Clone(playLocations), queueLocation, arenaLocation)
	var in []types.LocationConfiguration
	for _, name := range locations {
		_, err := client.CreateLocation(t.ctx, &gamelift.CreateLocationInput{LocationName: &name})
		t.must(err)
		in = append(in, types.LocationConfiguration{Location: &name})
	}
	made, err := client.CreateFleet(t.ctx, &gamelift.CreateFleetInput{Name: aws.String("fault"),
		ComputeType: types.ComputeTypeAnywhere, Locations: in})
	t.must(err)
	t.fleet = *made.FleetAttributes.FleetId
	for _, name := range locations {
		t.register(client, "host-"+name, name)
		if name == arenaLocation {
			continue
		}
		for n := range processesEach {
			t.slots = append(t.slots, &slot{trial: t, compute: "host-" + name, location: name, resident: n == 0})
		}
	}
	_, err = client.CreateGameSessionQueue(t.ctx, &gamelift.CreateGameSessionQueueInput{
		Name:                aws.String(queue),
		Destinations:        []types.GameSessionQueueDestination{{DestinationArn: made.FleetAttributes.FleetArn}},
		FilterConfiguration: &types.FilterConfiguration{AllowedLocations: []string{queueLocation}},
	})
	t.must(err)
}

func (t *trial) register(client *gamelift.Client, compute, location string) {
	t.t.Helper()
	_, err := client.RegisterCompute(t.ctx, &gamelift.RegisterComputeInput{FleetId: &t.fleet, ComputeName: &compute,
		Location: &location, IpAddress: aws.String("127.0.0.1")})
	t.must(err)
	token, err := client.GetComputeAuthToken(t.ctx,
		&gamelift.GetComputeAuthTokenInput{FleetId: &t.fleet, ComputeName: &compute})
	t.must(err)
	t.tokens[compute] = *token.AuthToken
}

// arn is that of the game session which a token makes.
func (t *trial) arn(location, token string) string {
	return fmt.Sprintf("arn:aws:gamelift:%s::gamesession/%s/%s/%s", awsRegion, t.fleet, location, token)
}

// locationOf is the location that an ARN names.
func locationOf(arn string) string {
	parts := strings.Split(arn, "/")
	return parts[len(parts)-2]
}

// loaded are the locations of the load.
func loaded() []string { return append(slices.Clone(playLocations), queueLocation) }

// newCaller makes a caller who begins at a node, counted around.
func (t *trial) newCaller(node int) caller {
	return caller{trial: t, node: node % len(t.clients), random: rand.New(rand.NewPCG(rand.Uint64(), 0))}
}

// startLoad starts gamers and doormen.
func (t *trial) startLoad(ctx context.Context, running *sync.WaitGroup) {
	for _, location := range loaded() {
		for n := range gamersEach { // of a location, at different nodes
			g := &gamer{caller: t.newCaller(n), location: location, place: location == queueLocation}
			running.Go(func() { inSteps(ctx, gamerStep, g.step) })
		}
		for range doormenEach {
			d := &doorman{trial: t, location: location, random: rand.New(rand.NewPCG(rand.Uint64(), 0))}
			running.Go(func() { inSteps(ctx, doormanStep, d.step) })
		}
	}
}

// awaitAnswers waits until each location of the load has had so many further answers.
func (t *trial) awaitAnswers(n int) {
	t.t.Helper()
	before := t.meter.counts()
	t.await("further answers", func() bool {
		now := t.meter.counts()
		for _, location := range loaded() {
			if now[location] < before[location]+n {
				return false
			}
		}
		return true
	})
}

// await waits for a condition.
func (t *trial) await(what string, condition func() bool) {
	t.t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, limit)
	defer cancel()
	for !condition() {
		if !pause(ctx, 5*time.Millisecond) {
			t.found.Tell(t.t)
			t.t.Fatalf("still waiting after %s: %s", limit, what)
		}
	}
}

// living are the processes of the moment that host a game session and do not end.
func (t *trial) living() (living []*process) {
	for _, s := range t.slots {
		if p := s.now(); p != nil && p.resting() && p.GameSessionID() != "" {
			living = append(living, p)
		}
	}
	return living
}

// residents are the processes whose game sessions stay, as far as those have begun.
func (t *trial) residents() []*process {
	return slices.DeleteFunc(t.living(), func(p *process) bool { return !p.slot.resident })
}

// awaitSockets waits until every process is connected and at rest, once.
func (t *trial) awaitSockets() {
	t.t.Helper()
	for _, s := range t.slots {
		t.await("a process comes back and rests", func() bool { return s.rests(t.ctx) })
	}
}

// settle waits, when there is no load any more, until every process is at rest, and every
// game session that was acknowledged is with its process.
func (t *trial) settle() {
	t.t.Helper()
	t.awaitSockets()
	t.await("every game session reaches its process", func() bool {
		all := true
		t.games.look(func(k *game) { all = all && (!k.answered || k.active || k.ending || k.arena) })
		return all
	})
}

// stillThere checks that processes have come back by themselves, with their game sessions,
// unless their end was asked for, and counts them.
func (t *trial) stillThere(before []*process) (resumed int) {
	for _, p := range before {
		switch {
		case p.isEnding():
		case p != p.slot.now():
			t.found.Lost("process %s has gone: %v", p.name(), p.Err())
		case p.arn != p.GameSessionID():
			t.found.Lost("process %s was given game session %s and has %s", p.name(), p.arn, p.GameSessionID())
		default:
			resumed++
		}
	}
	return resumed
}

// acknowledged counts the calls that were answered and not refused.
func (t *trial) acknowledged() (n int) {
	for _, o := range t.history.Operations() {
		if o.Return != history.Pending && o.Fault == "" {
			n++
		}
	}
	return n + len(t.placements.ids(true))
}

// parameters are what a game server of a compute connects with.
func (t *trial) parameters(compute string) gameserver.ServerParameters {
	return gameserver.ServerParameters{WebSocketURL: "ws://" + t.balancer.Addr(), HostID: compute, FleetID: t.fleet,
		AuthToken: t.tokens[compute]}
}
