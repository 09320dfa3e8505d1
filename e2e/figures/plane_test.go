package figures

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	testRegion  = "us-west-2"
	testAccount = "111122223333"
	shards      = 4
	location    = "custom-hall"

	// long is a time within which nothing that a benchmark waits for runs out.
	long = 24 * time.Hour
)

// never has a shard write no snapshots, not even when it stops.
var never = shard.SnapshotEvery{Records: -1, Bytes: -1}

// A plane is a control plane without doors on a real journal, in the places of
// a data directory where a service finds them.
type plane struct {
	*control.Plane
	stop func()
}

// openPlane runs a control plane on a data directory.
func openPlane(tb testing.TB, dir string, every shard.SnapshotEvery) *plane {
	tb.Helper()
	engine, err := jetstream.Open(tb.Context(), jetstream.Config{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		tb.Fatal(err)
	}
	history, err := engine.History(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	journals := make([]journal.Journal, shards)
	for i := range journals {
		if journals[i], err = engine.Journal(tb.Context(), i); err != nil {
			tb.Fatal(err)
		}
	}
	p, err := control.New(control.Config{
		Region: testRegion, Account: testAccount, Secret: secretIn(tb, dir), Journals: journals, History: history,
		Settings:    patient(),
		SDKEndpoint: "wss://127.0.0.1:1", AgentEndpoint: "wss://127.0.0.1:1", SessionRetention: long,
		SnapshotEvery: every, FinalSnapshot: every.Records >= 0, Clock: clockwork.NewRealClock(),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	starting, started := context.WithCancelCause(tb.Context())
	defer started(nil)
	go func() {
		err := p.Run(ctx)
		started(err) // else it would be waited for
		ended <- err
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, engine.Close()); err != nil {
			tb.Errorf("stop: %v", err)
		}
	})
	tb.Cleanup(stop)
	if err := p.WaitReady(starting); err != nil {
		tb.Fatal(errors.Join(err, context.Cause(starting)))
	}
	return &plane{p, stop}
}

// secretIn is the secret of the region that a data directory is of; a directory
// of no service gets one.
func secretIn(tb testing.TB, dir string) []byte {
	tb.Helper()
	path := filepath.Join(dir, "region.secret")
	secret, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		secret = make([]byte, credentials.SecretSize)
		rand.Read(secret)
		err = os.WriteFile(path, secret, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return secret
}

// patient are settings by which nothing runs out, and a compute takes as many
// processes as a benchmark wants.
func patient() region.Settings {
	f := fleet.DefaultSettings(testRegion)
	f.ProcessGrace, f.HealthInterval, f.Reservation, f.ReadyTimeout = long, long, long, long
	f.Processes = 1 << 20
	return region.Settings{Fleet: f, Catalog: catalog.DefaultLimits(), Shards: shards}
}

// hall is a fleet location that is full of ACTIVE game sessions. What a game
// server would say over its socket is said to the control plane directly.
type hall struct {
	*plane
	tb       testing.TB
	fleet    string
	sessions []string // ids, which are ARNs, in the order of creation
	hosts    map[string]processes.Connection
}

// inFlight is how many calls are under way while a hall is filled.
const inFlight = 1024

// fill makes a fleet with n processes that host a game session each. game is
// what the i-th asks for, besides fleet and location.
func fill(tb testing.TB, p *plane, n int, game func(i int) wire.CreateGameSessionInput) *hall {
	tb.Helper()
	h := &hall{plane: p, tb: tb, sessions: make([]string, n), hosts: make(map[string]processes.Connection, n)}
	h.openFleet()
	started := h.connect(n)
	h.each(n, func(i int) error {
		in := game(i)
		in.FleetId, in.Location = h.fleet, location
		out, err := p.CreateGameSession(tb.Context(), &in)
		if err == nil {
			h.sessions[i] = out.GameSession.GameSessionId
		}
		return err
	})
	var hosts sync.Mutex
	h.each(n, func(int) error {
		s := <-started
		hosts.Lock()
		h.hosts[s.session] = *s.host
		hosts.Unlock()
		return wait(func(done func(error)) { (*s.host).ActivateGameSession(s.session, done) })
	})
	return h
}

// openFleet makes a fleet and registers as many computes as calls are under way.
func (h *hall) openFleet() {
	h.tb.Helper()
	ctx := h.tb.Context()
	if _, err := h.CreateLocation(ctx, &wire.CreateLocationInput{LocationName: location}); err != nil {
		h.tb.Fatal(err)
	}
	out, err := h.CreateFleet(ctx, &wire.CreateFleetInput{
		Name: "figures", ComputeType: wire.ComputeTypeAnywhere,
		Locations: []wire.LocationConfiguration{{Location: location}},
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	h.fleet = out.FleetAttributes.FleetId
}

// order is what the service pushed to a process: to start a game session.
type order struct {
	session string
	host    *processes.Connection
}

// perCompute is how many processes of a hall run on one compute.
const perCompute = 1000

// connect connects n processes that are ready to host, and returns the orders
// that they will get.
func (h *hall) connect(n int) <-chan order {
	h.tb.Helper()
	started := make(chan order, n)
	links := make([]processes.Connection, n)
	tokens := h.register((n + perCompute - 1) / perCompute)
	h.each(n, func(i int) (err error) {
		links[i], err = h.Servers().Connect(h.tb.Context(), processes.ConnectRequest{
			FleetID: h.fleet, ComputeName: computeName(i / perCompute), ProcessID: fmt.Sprintf("process-%d", i),
			Authorization: tokens[i/perCompute], IdempotencyToken: fmt.Sprint(i), SDKVersion: "5.4.0",
			SDKLanguage: "Go",
			Push: func(p processes.Push) {
				if start, ok := p.(processes.CreateGameSessionPush); ok {
					started <- order{start.GameSessionID, &links[i]}
				}
			},
			Replaced: func() {},
		})
		if err != nil {
			return err
		}
		return wait(func(done func(error)) {
			links[i].Activate(processes.ProcessReady{SDKVersion: "5.4.0", SDKLanguage: "Go", Port: 7777}, done)
		})
	})
	return started
}

func computeName(i int) string { return fmt.Sprintf("host-%d", i) }

// register registers n computes and returns their tokens.
func (h *hall) register(n int) []string {
	h.tb.Helper()
	tokens := make([]string, n)
	h.each(n, func(i int) error {
		_, err := h.RegisterCompute(h.tb.Context(), &wire.RegisterComputeInput{
			FleetId: h.fleet, Location: location, ComputeName: computeName(i), IpAddress: "10.1.2.3",
		})
		if err != nil {
			return err
		}
		out, err := h.GetComputeAuthToken(h.tb.Context(),
			&wire.GetComputeAuthTokenInput{FleetId: h.fleet, ComputeName: computeName(i)})
		if err == nil {
			tokens[i] = out.AuthToken
		}
		return err
	})
	return tokens
}

// join gives each game session n players, 25 at most in a call, and has them
// accepted when accept is set.
func (h *hall) join(sessions []string, n int, accept bool) {
	h.tb.Helper()
	flights := inFlight
	if accept {
		flights /= 25 // each is as many calls
	}
	h.eachOf(len(sessions), flights, func(i int) error {
		for first := 0; first < n; first += 25 {
			players := make([]string, min(25, n-first))
			for j := range players {
				players[j] = playerID(uint64(i*n + first + j))
			}
			out, err := h.CreatePlayerSessions(h.tb.Context(),
				&wire.CreatePlayerSessionsInput{GameSessionId: sessions[i], PlayerIds: players})
			if err != nil {
				return err
			}
			if accept {
				err = h.accept(sessions[i], out.PlayerSessions)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *hall) accept(session string, players []wire.PlayerSession) error {
	outcomes := make(chan error, len(players))
	for _, s := range players {
		h.hosts[session].AcceptPlayerSession(session, s.PlayerSessionId, func(err error) { outcomes <- err })
	}
	var all error
	for range players {
		all = errors.Join(all, <-outcomes)
	}
	return all
}

func playerID(n uint64) string {
	var text [playerLength]byte
	return string(appendPlayer(text[:0], n))
}

// each calls do for 0 to n-1 from many goroutines at once.
func (h *hall) each(n int, do func(i int) error) {
	h.tb.Helper()
	h.eachOf(n, inFlight, do)
}

// eachOf is each with so many goroutines.
func (h *hall) eachOf(n, flights int, do func(i int) error) {
	h.tb.Helper()
	var next atomic.Int64
	var group errgroup.Group
	for range min(n, flights) {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		h.tb.Fatal(err)
	}
}

// wait turns an asynchronous call into one that returns its error.
func wait(call func(done func(error))) error {
	result := make(chan error, 1)
	call(func(err error) { result <- err })
	return <-result
}
