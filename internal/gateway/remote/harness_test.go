package remote_test

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/remote"
	"github.com/muster-gg/muster/mustertest"
)

const (
	north = "custom-north"
	south = "custom-south"
)

// A world is Muster in this process, and the service under test that uses it over
// its port.
type world struct {
	*testing.T
	*remote.Service
	muster   *mustertest.Service
	config   aws.Config
	fleet    string
	alias    string
	computes map[string]gameserver.ServerParameters // one in each location
}

// start runs Muster.
func start(t *testing.T) *world {
	t.Helper()
	m := mustertest.Start(t, func(c *muster.Config) { c.Region = "eu-central-1" })
	w := &world{T: t, muster: m, config: m.AWS}
	w.Service = w.connect(remote.Config{AWS: w.config}).(*remote.Service)
	return w
}

func (w *world) connect(cfg remote.Config) gateway.Service {
	w.Helper()
	s, err := remote.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// newFleet makes a fleet in both locations, with a compute in each and an alias.
func (w *world) newFleet() {
	w.Helper()
	w.fleet = w.muster.Fleet(north, south)
	w.alias = *mustertest.Call(w.T, w.muster.Client.CreateAlias, &gamelift.CreateAliasInput{
		Name: aws.String("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
			FleetId: &w.fleet},
	}).Alias.AliasId
	w.computes = map[string]gameserver.ServerParameters{}
	for _, l := range []string{north, south} {
		w.computes[l] = w.muster.Compute(w.fleet, l, "pc-"+l)
	}
}

// launch starts a game server at a location. It takes its player sessions in order
// of arrival.
func (w *world) launch(location string) *gameserver.Server {
	w.Helper()
	return w.muster.Launch(w.computes[location], 7777)
}

// receive takes the next value of a channel.
func receive[V any](t *testing.T, what string, from <-chan V) (value V) {
	t.Helper()
	limit := time.NewTimer(mustertest.Patience)
	defer limit.Stop()
	select {
	case value = <-from:
	case <-limit.C:
		t.Fatal("never happened: ", what)
	}
	return value
}

// together runs a function n times at once and waits.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
