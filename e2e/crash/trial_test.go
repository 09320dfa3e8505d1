//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/e2e/report"
)

const (
	gamers        = 6
	operators     = 2
	processesEach = 4 // on each compute
	computesEach  = 2 // in each location
	locations     = 2

	// resumeLimit is how long the sockets may take to come back and rest.
	resumeLimit = 60 * time.Second
)

// A plan says how a trial goes.
type plan struct {
	kills     int
	stops     int  // graceful ones; one comes after each kill as long as there are any
	snapshots bool // kill while a snapshot is written
	archiving bool // kill while game sessions move to the history

	// end, if set, ends the service in another way than by a kill, and says how.
	end func(t *trial, closeGate func()) (how string)
}

// A trial is one test: a service, its load, and what the service acknowledged.
type trial struct {
	plan
	t       *testing.T
	random  *rand.Rand
	service *service
	http    *http.Transport
	calls   *watchedCalls
	client  *gamelift.Client // makes each call once
	reader  *gamelift.Client // repeats calls, for those that can be repeated
	ctx     context.Context  // ends with the load
	cancel  context.CancelFunc
	ledger  *ledger
	found   *report.Findings

	fleet, fleetARN, alias string
	locations              []string
	tokens                 map[string]string // by compute, from before the first kill
	catalog                catalogRegisters
	ids                    sync.Map // of aliases and fleets, by name
	slots                  []*slot
	ports                  atomic.Int32 // the last one that a process has

	gate    sync.RWMutex // read: a worker makes a call; write: nobody does
	repeats struct {
		sync.Mutex
		calls []func()
	}
	resumed int // sockets
}

func newTrial(t *testing.T, p plan) *trial {
	random := draw(t)
	options := []string{"--reservation-timeout", "1h", "--log-level", "info"}
	if p.snapshots {
		options = append(options, "--shards", "1", "--snapshot-every", "100", "--log-level", "debug")
	}
	if p.archiving {
		options = append(options, "--session-retention", "0s")
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	return &trial{
		plan: p, t: t, random: random, service: newService(t, random, options), http: transport,
		calls:  &watchedCalls{RoundTripper: transport},
		ledger: newLedger(), found: &report.Findings{}, tokens: map[string]string{},
	}
}

// run is the whole trial.
func (t *trial) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t.ctx, t.cancel = ctx, cancel
	defer t.http.CloseIdleConnections()
	begin := time.Now()
	t.service.start(ctx)
	t.connect()
	t.setUp()

	var servers, workers sync.WaitGroup
	for _, s := range t.slots {
		servers.Go(func() { s.run(ctx) })
	}
	loading, stop := context.WithCancel(ctx)
	t.startWorkers(loading, &workers)
	defer func() { stop(); workers.Wait(); cancel(); servers.Wait() }()

	stops := t.stops
	for n := range t.kills {
		t.strike(n+1, t.kind(), t.kill)
		if stops > 0 {
			stops--
			t.strike(n+1, "stop", t.stop)
		}
	}
	stop()
	workers.Wait()
	t.lastLook()
	t.report(time.Since(begin))
	cancel()
	servers.Wait()
	t.service.Stop()
	t.service.awaitEnd()
}

// connect makes the clients.
func (t *trial) connect() {
	env := t.service.environment()
	options := gamelift.Options{
		Region: env["AWS_REGION"], BaseEndpoint: aws.String(env["AWS_ENDPOINT_URL_GAMELIFT"]),
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"],
			""),
		HTTPClient: &http.Client{Transport: t.calls, Timeout: 30 * time.Second},
	}
	t.reader = gamelift.New(options)
	options.Retryer = aws.NopRetryer{}
	t.client = gamelift.New(options)
}

// must ends the test when a call fails that cannot.
func (t *trial) must(err error) {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
	}
}

// setUp makes what the load works on: a fleet of two locations with its alias,
// and computes with their tokens.
func (t *trial) setUp() {
	var in []types.LocationConfiguration
	for i := range locations {
		name := fmt.Sprintf("custom-home-%d", i)
		_, err := t.client.CreateLocation(t.ctx, &gamelift.CreateLocationInput{LocationName: &name})
		t.must(err)
		t.catalog.locations.set(name, "there")
		t.locations = append(t.locations, name)
		in = append(in, types.LocationConfiguration{Location: &name})
	}
	fleet, err := t.client.CreateFleet(t.ctx, &gamelift.CreateFleetInput{Name: aws.String("main"),
		ComputeType: types.ComputeTypeAnywhere, Locations: in})
	t.must(err)
	t.fleet, t.fleetARN = *fleet.FleetAttributes.FleetId, *fleet.FleetAttributes.FleetArn
	t.catalog.fleets.set("main", "")
	alias, err := t.client.CreateAlias(t.ctx, &gamelift.CreateAliasInput{Name: aws.String("main"),
		Description: aws.String("main"), RoutingStrategy: t.toFleet()})
	t.must(err)
	t.alias = *alias.Alias.AliasId
	t.catalog.aliases.set("main", "main")
	for i := range locations * computesEach {
		name := fmt.Sprintf("host-%d", i)
		t.register(name, t.locations[i%locations])
		for n := range processesEach {
			t.slots = append(t.slots, &slot{trial: t, compute: name, number: n, changed: make(chan struct{})})
		}
	}
	t.register(doorCompute, t.locations[0])
}

func (t *trial) register(name, location string) {
	const address = "127.0.0.1"
	_, err := t.client.RegisterCompute(t.ctx, &gamelift.RegisterComputeInput{FleetId: &t.fleet, ComputeName: &name,
		Location: &location, IpAddress: aws.String(address)})
	t.must(err)
	t.catalog.computes.set(name, address)
	token, err := t.client.GetComputeAuthToken(t.ctx,
		&gamelift.GetComputeAuthTokenInput{FleetId: &t.fleet, ComputeName: &name})
	t.must(err)
	t.tokens[name] = *token.AuthToken
}

// startWorkers starts the load. A worker makes its calls inside the gate.
func (t *trial) startWorkers(ctx context.Context, workers *sync.WaitGroup) {
	var steps []func()
	for range gamers {
		steps = append(steps, (&gamer{t, rand.New(rand.NewPCG(t.random.Uint64(), 1))}).step)
	}
	for n := range operators {
		steps = append(steps, (&operator{t, rand.New(rand.NewPCG(t.random.Uint64(), 2)), n}).step)
	}
	for _, step := range steps {
		workers.Go(func() {
			for ctx.Err() == nil {
				t.gate.RLock()
				step()
				t.gate.RUnlock()
			}
		})
	}
}

// repeatLater has a call made after the next restart.
func (t *trial) repeatLater(call func()) {
	t.repeats.Lock()
	defer t.repeats.Unlock()
	t.repeats.calls = append(t.repeats.calls, call)
}

// kind says how the trial ends the service.
func (t *trial) kind() string {
	switch {
	case t.end != nil:
		return "full disk"
	case t.archiving:
		return "kill while archiving"
	case t.snapshots:
		return "kill in a snapshot"
	}
	return "kill"
}

// kill kills the service under load, calls closeGate, and says how it went.
func (t *trial) kill(closeGate func()) string {
	if t.end != nil {
		return t.end(t, closeGate)
	}
	defer closeGate()
	switch {
	case t.archiving:
		t.service.killInArchiving(t.ctx)
		return ", while game sessions moved to the history, " + t.service.harmIndex(t.random)
	case !t.snapshots:
		t.service.Kill()
		return ""
	case t.service.killInSnapshot(t.ctx):
		return ", a snapshot was cut short"
	}
	return ", a snapshot was just whole"
}

// stop has the service stop by itself, in the same way.
func (t *trial) stop(closeGate func()) string {
	begin := time.Now()
	t.service.Stop()
	closeGate()
	t.service.awaitEnd()
	return fmt.Sprintf(", stopped in %d ms", time.Since(begin).Milliseconds())
}

// strike waits for a random number of acknowledged calls, ends the service under
// load, starts it again, and checks everything.
func (t *trial) strike(n int, kind string, end func(closeGate func()) string) {
	t.t.Helper()
	select {
	case <-t.ledger.after(1 + t.random.IntN(2**interval)):
	case <-time.After(child.StartLimit):
		t.t.Fatal("the load makes no headway")
	}
	peak := t.service.PeakMemory()
	still := make(chan struct{})
	defer func() {
		if t.t.Failed() {
			t.cancel() // nobody waits any longer for a service that may not come back
		}
		<-still
		t.gate.Unlock()
	}()
	how := end(func() {
		go func() { // those who are in the gate may wait for the restart
			t.gate.Lock()
			close(still)
		}()
	})
	before := t.living()
	total, _ := t.ledger.acknowledgements()

	door := t.watchDoor()
	ready := t.service.start(t.ctx)
	restarted := time.Now()
	door()
	<-still
	t.settle()
	rest := time.Since(restarted)
	open := t.ledger.unanswered()
	resumed := t.stillThere(before)
	t.repeat()
	t.settle()
	t.verify(false)
	accepted := t.exercise()
	noteRestart(kind, ready, rest)
	t.t.Logf("%s %d after %d acknowledged calls%s, %d creations without an answer: ready in %d ms, all at rest "+
		"%.1f s later, %d sockets resumed and %d ended as asked, %d players accepted; %d MiB at most before, "+
		"check took %.1f s",
		kind, n, total, how, open, ready.Milliseconds(), rest.Seconds(), resumed, len(before)-resumed, accepted, peak,
		(time.Since(restarted) - rest).Seconds())
	t.complain()
}

// living are the processes of the moment that do not end.
func (t *trial) living() (living []*process) {
	for _, s := range t.slots {
		if p, _ := s.now(); p != nil && !p.isEnding() {
			living = append(living, p)
		}
	}
	return living
}

// stillThere counts those processes whose sockets have come back. The others
// must have ended because they were asked to.
func (t *trial) stillThere(before []*process) (resumed int) {
	for _, p := range before {
		if now, _ := p.slot.now(); now == p {
			resumed++
		} else if !p.isEnding() {
			t.found.Lost("process %s has gone: %v", p.name(), p.Err())
		}
	}
	t.resumed += resumed
	return resumed
}

// settle waits until every process is connected and has nothing under way.
func (t *trial) settle() (settled []*process) {
	t.t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, resumeLimit)
	defer cancel()
	settled = make([]*process, len(t.slots))
	var waiting sync.WaitGroup
	for i, s := range t.slots {
		waiting.Go(func() {
			p, err := s.settle(ctx)
			if err != nil {
				t.found.Lost("a socket was not resumed: %v", err)
			}
			settled[i] = p
		})
	}
	waiting.Wait()
	t.complain()
	return settled
}

// complain ends the test when something is wrong.
func (t *trial) complain() {
	t.t.Helper()
	t.found.Tell(t.t)
	if t.t.Failed() {
		t.t.FailNow()
	}
}

// report says what came of the trial.
func (t *trial) report(took time.Duration) {
	lost, doubled := t.found.Counts()
	total, kinds := t.ledger.acknowledgements()
	t.t.Log(kinds)
	noteTotals(totals{total, lost, doubled, t.resumed})
	t.t.Logf("%d times %s, %d stops, %d acknowledged, %d lost, %d doubled, %d sockets resumed, in %.0f s",
		t.kills, t.kind(), t.stops, total, lost, doubled, t.resumed, took.Seconds())
}
