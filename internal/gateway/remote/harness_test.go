package remote_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/remote"
)

const (
	north = "custom-north"
	south = "custom-south"
)

// A world is Muster in this process, and the service under test that uses it over
// its port.
type world struct {
	*testing.T
	muster.Endpoints
	*remote.Service
	config aws.Config
	client *gamelift.Client
	fleet  string
	alias  string
}

// start runs Muster with a fleet in two locations.
func start(t *testing.T) *world {
	t.Helper()
	w := &world{T: t}
	w.run()
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)
	w.config = aws.Config{
		Region: w.Region, BaseEndpoint: &w.HTTP, HTTPClient: web,
		Credentials: credentials.NewStaticCredentialsProvider(w.AccessKey, w.SecretKey, ""),
	}
	w.client = gamelift.NewFromConfig(w.config)
	w.Service = w.connect(remote.Config{AWS: w.config}).(*remote.Service)
	return w
}

// run starts Muster; it ends with the test.
func (w *world) run() {
	w.Helper()
	config := muster.DefaultConfig()
	config.Data, config.Listen, config.Gateway.Listen, config.Region = w.TempDir(), "127.0.0.1:0", "", "eu-central-1"
	config.Log = slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }
	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- muster.Run(ctx, config) }()
	select {
	case w.Endpoints = <-ready:
	case err := <-ended:
		stop()
		w.Fatal("Muster did not start: ", err)
	}
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Error("Muster ended with: ", err)
		}
	})
}

func (w *world) connect(cfg remote.Config) gateway.Service {
	w.Helper()
	s, err := remote.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// must makes a call that has to work.
func must[I, O any](w *world, op func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I) *O {
	w.Helper()
	out, err := op(w.Context(), in)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// newFleet makes a fleet in both locations, with a compute in each and an alias.
func (w *world) newFleet() {
	w.Helper()
	in := &gamelift.CreateFleetInput{Name: aws.String("Arena"), ComputeType: types.ComputeTypeAnywhere}
	for _, l := range []string{north, south} {
		must(w, w.client.CreateLocation, &gamelift.CreateLocationInput{LocationName: &l})
		in.Locations = append(in.Locations, types.LocationConfiguration{Location: &l})
	}
	w.fleet = *must(w, w.client.CreateFleet, in).FleetAttributes.FleetId
	for _, l := range []string{north, south} {
		must(w, w.client.RegisterCompute, &gamelift.RegisterComputeInput{FleetId: &w.fleet, Location: &l, ComputeName: aws.String("pc-" + l), IpAddress: aws.String("127.0.0.1")})
	}
	w.alias = *must(w, w.client.CreateAlias, &gamelift.CreateAliasInput{
		Name: aws.String("live"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &w.fleet},
	}).Alias.AliasId
}

// launch starts a game server at a location, which ends with the test. It takes its
// player sessions in order of arrival.
func (w *world) launch(location string) *gameserver.Server {
	w.Helper()
	compute := "pc-" + location
	token := must(w, w.client.GetComputeAuthToken, &gamelift.GetComputeAuthTokenInput{FleetId: &w.fleet, ComputeName: &compute})
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	w.Cleanup(func() { server.Close(); server.Wait() })
	if err := server.Connect(w.Context(), gameserver.ServerParameters{
		WebSocketURL: w.WS, HostID: compute, FleetID: w.fleet, AuthToken: *token.AuthToken,
	}); err != nil {
		w.Fatal(err)
	}
	if err := server.ProcessReady(w.Context(), gameserver.ProcessParameters{
		Port:               7777,
		OnStartGameSession: func(gameserver.GameSession) { _ = server.ActivateGameSession(context.Background()) },
		OnProcessTerminate: func() { _ = server.ProcessEnding(context.Background()) },
	}); err != nil {
		w.Fatal(err)
	}
	return server
}

// receive takes the next value of a channel.
func receive[V any](t *testing.T, what string, from <-chan V) (value V) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
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
