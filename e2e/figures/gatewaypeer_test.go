package figures

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/muster-gg/muster"
)

// polling is a gateway that does what the original's function does, call by call.
// In Go, in one process and with connections that stay open it costs less and
// answers sooner than functions in Python.
// Source: AWS-SAMUEL, function create_session.
type polling struct{ api *gamelift.Client }

// pollingPause is between two looks at a game session that is not ACTIVE yet. The
// original pauses after the last look too.
const pollingPause = 10 * time.Millisecond

// mostConnections is how many connections a client keeps open: more than there
// are calls under way.
const mostConnections = 1024

// servePolling plays the polling gateway. Its only order says where the service
// is; it answers with its base URL.
func servePolling(orders *json.Decoder, answer func(any) error) error {
	var e muster.Endpoints
	if err := orders.Decode(&e); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &polling{newAPI(e)}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /create_session", p.createSession)
	routes.Handle("GET /metrics", promhttp.Handler())
	server := &http.Server{Handler: routes}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err = answer("http://" + listener.Addr().String()); err == nil {
		err = untilNoMore(orders)
	}
	return errors.Join(err, server.Close(), ignoring(<-ended, http.ErrServerClosed))
}

// newAPI makes a client of the AWS SDK, with connections enough and without
// second attempts, which would hide failures.
func newAPI(e muster.Endpoints) *gamelift.Client {
	return gamelift.New(gamelift.Options{
		Region: e.Region, BaseEndpoint: &e.HTTP, Retryer: aws.NopRetryer{}, HTTPClient: pooled(),
		Credentials: credentials.NewStaticCredentialsProvider(e.AccessKey, e.SecretKey, ""),
	})
}

// pooled is a client that keeps its connections.
func pooled() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: mostConnections}}
}

// A creation is the body of create_session.
type creation struct {
	SessionName string `json:"session_name"`
	BuildID     int32  `json:"build_id"`
	UUID        string `json:"uuid"`
	Connections int32  `json:"num_connections"`
}

func (p *polling) createSession(w http.ResponseWriter, r *http.Request) {
	var in creation
	err := json.NewDecoder(r.Body).Decode(&in)
	var player types.PlayerSession
	if err == nil {
		player, err = p.create(r.Context(), in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(player) // who has gone needs no answer
}

// create makes the original's calls.
func (p *polling) create(ctx context.Context, in creation) (none types.PlayerSession, err error) {
	fleets, err := p.api.ListFleets(ctx, &gamelift.ListFleetsInput{Limit: aws.Int32(1)})
	if err != nil {
		return none, err
	}
	fleet := &fleets.FleetIds[0]
	computes, err := p.api.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: fleet})
	if err != nil {
		return none, err
	}
	game, err := p.api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		FleetId: fleet, Location: computes.ComputeList[0].Location, MaximumPlayerSessionCount: &in.Connections,
		Name: &in.SessionName,
	})
	if err != nil {
		return none, err
	}
	session := game.GameSession.GameSessionId
	if err := p.untilActivated(ctx, session); err != nil {
		return none, err
	}
	out, err := p.api.CreatePlayerSessions(ctx,
		&gamelift.CreatePlayerSessionsInput{GameSessionId: session, PlayerIds: []string{in.UUID}})
	if err != nil {
		return none, err
	}
	return out.PlayerSessions[0], nil
}

// untilActivated looks at a game session until it is not ACTIVATING any more.
func (p *polling) untilActivated(ctx context.Context, session *string) error {
	for {
		out, err := p.api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: session})
		if err != nil || out.GameSessions[0].Status != types.GameSessionStatusActivating {
			return err
		}
		pause(ctx, pollingPause)
	}
}
