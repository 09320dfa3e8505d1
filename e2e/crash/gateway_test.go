//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/gameserver"
)

// A rush is many players who create a session at the session gateway at the same
// moment, each with a server process that waits.
type rush struct {
	t       *testing.T
	ctx     context.Context
	service *service
	gateway string // base URL
	http    *http.Client
	client  *gamelift.Client
	fleet   string

	hosting sync.Map // *rushHost by game session
}

const (
	rushPlayers  = 500
	rushComputes = 10 // with 50 processes each, which is all that one may have
	rushLocation = "custom-rush"
)

// newRush starts a service, and as many server processes as there will be players.
func newRush(t *testing.T, options ...string) *rush {
	random := draw(t)
	gateway := child.FreeAddress(t, random)
	// May build it first.
	service := newService(t, random, append([]string{"--gateway-listen", gateway, "--log-level", "warn"}, options...))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &rush{
		t: t, ctx: ctx, gateway: "http://" + gateway, service: service,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: rushPlayers}},
	}
	t.Cleanup(r.http.CloseIdleConnections)
	r.service.start(ctx)
	env := r.service.environment()
	r.client = gamelift.New(gamelift.Options{
		Region: env["AWS_REGION"], BaseEndpoint: aws.String(env["AWS_ENDPOINT_URL_GAMELIFT"]), HTTPClient: r.http,
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"],
			""),
	})
	r.makeFleet()
	r.startHosts()
	return r
}

func (r *rush) makeFleet() {
	r.t.Helper()
	must(r.t, func() error {
		_, err := r.client.CreateLocation(r.ctx, &gamelift.CreateLocationInput{LocationName: aws.String(rushLocation)})
		return err
	})
	must(r.t, func() error {
		out, err := r.client.CreateFleet(r.ctx, &gamelift.CreateFleetInput{
			Name: aws.String("Rush"), ComputeType: types.ComputeTypeAnywhere,
			Locations: []types.LocationConfiguration{{Location: aws.String(rushLocation)}},
		})
		if err == nil {
			r.fleet = aws.ToString(out.FleetAttributes.FleetId)
		}
		return err
	})
	// A compute activates one game session at a time unless it is told otherwise.
	must(r.t, func() error {
		_, err := r.client.UpdateRuntimeConfiguration(r.ctx, &gamelift.UpdateRuntimeConfigurationInput{
			FleetId: &r.fleet, RuntimeConfiguration: &types.RuntimeConfiguration{
				MaxConcurrentGameSessionActivations: aws.Int32(rushPlayers / rushComputes),
			},
		})
		return err
	})
}

func must(t *testing.T, call func() error) {
	t.Helper()
	if err := call(); err != nil {
		t.Fatal(err)
	}
}

// startHosts starts the server processes, which all wait at the end, and keeps so
// many of them: one that ends is followed by the next.
func (r *rush) startHosts() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.ctx)
	var running, starting sync.WaitGroup
	r.t.Cleanup(func() { cancel(); running.Wait() })
	for c := range rushComputes {
		compute := fmt.Sprint("Host", c)
		must(r.t, func() error {
			_, err := r.client.RegisterCompute(r.ctx, &gamelift.RegisterComputeInput{
				FleetId: &r.fleet, ComputeName: &compute, Location: aws.String(rushLocation),
				IpAddress: aws.String("127.0.0.1"),
			})
			return err
		})
		out, err := r.client.GetComputeAuthToken(r.ctx,
			&gamelift.GetComputeAuthTokenInput{FleetId: &r.fleet, ComputeName: &compute})
		if err != nil {
			r.t.Fatal(err)
		}
		for p := range rushPlayers / rushComputes {
			starting.Add(1)
			running.Go(func() {
				ready := sync.OnceFunc(starting.Done)
				defer ready()
				for ctx.Err() == nil {
					r.runHost(ctx, compute, aws.ToString(out.AuthToken), 10_000+50*c+p, ready)
				}
			})
		}
	}
	starting.Wait()
}

// A rushHost is a server process that activates its game session at once.
type rushHost struct{ *gameserver.Server }

// runHost is the life of one server process.
func (r *rush) runHost(ctx context.Context, compute, token string, port int, ready func()) {
	h := &rushHost{gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})}
	defer func() { h.Close(); h.Wait() }()
	ended := make(chan struct{})
	err := h.Connect(ctx, gameserver.ServerParameters{
		WebSocketURL: "ws://" + r.service.address, HostID: compute, FleetID: r.fleet, AuthToken: token,
	})
	if err == nil {
		err = untilAnswered(ctx, func() error {
			return h.ProcessReady(ctx, gameserver.ProcessParameters{
				Port: port,
				OnStartGameSession: func(g gameserver.GameSession) {
					r.hosting.Store(g.GameSessionID, h)
					// It fails when the game session was given up meanwhile.
					_ = untilAnswered(ctx, func() error { return h.ActivateGameSession(ctx) })
				},
				OnProcessTerminate: func() {
					defer close(ended)
					_ = untilAnswered(ctx, func() error { return h.ProcessEnding(ctx) })
				},
			})
		})
	}
	if err != nil && ctx.Err() == nil {
		r.t.Errorf("a server process was not let in: %v", err)
	}
	ready()
	select {
	case <-ended:
	case <-h.Done():
	case <-ctx.Done():
	}
}

// An answered is the player session that a player was told of.
type answered struct{ GameSessionId, PlayerSessionId, PlayerId string }

// create asks for a session as the clients do. ok is false without a whole answer
// of success.
func (r *rush) create(player int) (a answered, status int, ok bool) {
	body := fmt.Sprintf(`{"session_name":"S%d","build_id":1,"uuid":"player-%d","num_connections":4}`, player, player)
	request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, r.gateway+"/create_session",
		strings.NewReader(body))
	if err != nil {
		return a, 0, false
	}
	response, err := r.http.Do(request)
	if err != nil {
		return a, 0, false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || json.NewDecoder(bytes.NewReader(text)).Decode(&a) != nil {
		return a, response.StatusCode, false
	}
	return a, response.StatusCode, response.StatusCode == http.StatusOK
}

// living are the game sessions that are not over, by id.
func (r *rush) living() map[string]types.GameSession {
	r.t.Helper()
	all := map[string]types.GameSession{}
	pages := gamelift.NewDescribeGameSessionsPaginator(r.client, &gamelift.DescribeGameSessionsInput{FleetId: &r.fleet})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, g := range page.GameSessions {
			if g.Status != types.GameSessionStatusTerminated {
				all[aws.ToString(g.GameSessionId)] = g
			}
		}
	}
	return all
}

// distinct checks that no two players were told of the same session.
func distinct(t *testing.T, answers map[int]answered) {
	t.Helper()
	seen := map[string]int{}
	for player, a := range answers {
		for _, id := range []string{a.GameSessionId, a.PlayerSessionId} {
			if other, twice := seen[id]; id == "" || twice {
				t.Errorf("players %d and %d were both told of %q", player, other, id)
			}
			seen[id] = player
		}
		if a.PlayerId != fmt.Sprint("player-", player) {
			t.Errorf("player %d was given the place of %s", player, a.PlayerId)
		}
	}
}

// all creates a session for each player at once. each is called with every answer
// of success, as it comes.
func (r *rush) all(each func(player int, a answered)) (answers map[int]answered, failed map[int]int) {
	answers, failed = map[int]answered{}, map[int]int{}
	var mu sync.Mutex
	var players sync.WaitGroup
	for player := range rushPlayers {
		players.Go(func() {
			a, status, ok := r.create(player)
			mu.Lock()
			defer mu.Unlock()
			if !ok {
				failed[player] = status
				return
			}
			answers[player] = a
			each(player, a)
		})
	}
	players.Wait()
	return answers, failed
}

// TestGatewayRush has 500 players create a session at the same moment: each gets
// one of its own.
func TestGatewayRush(t *testing.T) {
	t.Parallel()
	r := newRush(t)
	answers, failed := r.all(func(int, answered) {})
	for player, status := range failed {
		t.Errorf("player %d got no session: status %d", player, status)
	}
	distinct(t, answers)
	living := r.living()
	if len(living) != rushPlayers {
		t.Errorf("%d game sessions live, want %d", len(living), rushPlayers)
	}
	for _, a := range answers {
		g := living[a.GameSessionId]
		if g.Status != types.GameSessionStatusActive || aws.ToInt32(g.CurrentPlayerSessionCount) != 1 ||
			aws.ToInt32(g.MaximumPlayerSessionCount) != 4 {
			t.Errorf("game session %s is %s with %d of %d players", a.GameSessionId, g.Status,
				aws.ToInt32(g.CurrentPlayerSessionCount), aws.ToInt32(g.MaximumPlayerSessionCount))
		}
	}
}

// TestGatewayKilled kills the service in the middle of that. Every answer that was
// received holds afterwards, whoever asks again gets one session, and the sessions
// that nobody was told of go away.
func TestGatewayKilled(t *testing.T) {
	t.Parallel()
	// Reservations outlast an outage by the grace.
	r := newRush(t, "--reservation-timeout", "15s", "--process-grace", "30s", "--gateway-deadline", "4s")
	var received atomic.Int32
	enough := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		<-enough
		r.service.Kill()
	}()
	answers, failed := r.all(func(int, answered) {
		if received.Add(1) == rushPlayers/5 {
			close(enough)
		}
	})
	<-killed
	r.service.start(r.ctx)
	t.Logf("%d answers were received before the kill", len(answers))
	if len(failed) == 0 {
		t.Fatal("the service was killed too late: all had their answers")
	}
	distinct(t, answers)
	before := r.living()
	for player, a := range answers {
		if g, ok := before[a.GameSessionId]; !ok || g.Status != types.GameSessionStatusActive ||
			aws.ToInt32(g.CurrentPlayerSessionCount) != 1 {
			t.Errorf("player %d was told of %s, which is %q with %d players", player, a.GameSessionId, g.Status,
				aws.ToInt32(g.CurrentPlayerSessionCount))
		}
	}
	r.retry(answers, failed)
	distinct(t, answers)
	r.enter(answers)
	r.settled(answers)
}

// retry has every second player who got no answer ask again, until there is one.
func (r *rush) retry(answers map[int]answered, failed map[int]int) {
	var mu sync.Mutex
	var players sync.WaitGroup
	for player := range failed {
		if player%2 == 0 {
			continue
		}
		players.Go(func() {
			for r.ctx.Err() == nil {
				if a, _, ok := r.create(player); ok {
					mu.Lock()
					defer mu.Unlock()
					answers[player] = a
					return
				}
				r.pause() // its server process may not be back yet
			}
			r.t.Errorf("player %d asked again and again, in vain", player)
		})
	}
	players.Wait()
}

func (r *rush) pause() {
	select {
	case <-r.ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

// enter lets everybody come in who was told where.
func (r *rush) enter(answers map[int]answered) {
	var entering sync.WaitGroup
	for player, a := range answers {
		entering.Go(func() {
			host, ok := r.hosting.Load(a.GameSessionId)
			if !ok {
				r.t.Errorf("no server process hosts %s", a.GameSessionId)
				return
			}
			err := untilAnswered(r.ctx,
				func() error { return host.(*rushHost).AcceptPlayerSession(r.ctx, a.PlayerSessionId) })
			if err != nil {
				r.t.Errorf("player %d was not let in: %v", player, err)
			}
		})
	}
	entering.Wait()
}

// settled waits until the only game sessions left are those that a player knows of.
func (r *rush) settled(answers map[int]answered) {
	known := map[string]bool{}
	for _, a := range answers {
		known[a.GameSessionId] = true
	}
	r.service.Await(r.ctx, func() bool { return len(r.living()) <= len(known) })
	living := r.living()
	for id := range known {
		if living[id].Status != types.GameSessionStatusActive {
			r.t.Errorf("a player was told of %s, which is gone", id)
		}
	}
	for id := range living {
		if !known[id] {
			r.t.Errorf("nobody knows of %s, which stays", id)
		}
	}
}
