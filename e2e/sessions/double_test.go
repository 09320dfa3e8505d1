package sessions

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
)

// A double is the service's API with the operations of queues and matchmaking,
// which the service does not have. It finds game sessions for them on the fleet of
// the service, which answers everything else.
type double struct {
	*world
	URL string

	mu         sync.Mutex
	placements map[string]*types.GameSessionPlacement
	tickets    map[string]*types.MatchmakingTicket
	accepted   map[string]int // players of a ticket who have accepted
}

// The names that the double knows.
const (
	queue         = "Evening"
	configuration = "Duels"
)

// double starts one that ends with the test.
func (w *world) double() *double {
	w.Helper()
	d := &double{
		world: w, placements: map[string]*types.GameSessionPlacement{}, tickets: map[string]*types.MatchmakingTicket{}, accepted: map[string]int{},
	}
	service, err := url.Parse(w.HTTP)
	must(w.T, err)
	rest := &httputil.ReverseProxy{Transport: w.http.Transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(service)
		r.Out.Host = r.In.Host // which is signed
	}}
	operations := map[string]func(*http.Request) (any, error){
		"StartGameSessionPlacement":    operation(d.startPlacement),
		"DescribeGameSessionPlacement": operation(d.describePlacement),
		"StartMatchmaking":             operation(d.startMatchmaking),
		"DescribeMatchmaking":          operation(d.describeMatchmaking),
		"AcceptMatch":                  operation(d.acceptMatch),
		"StopMatchmaking":              operation(d.stopMatchmaking),
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		serve, ours := operations[path.Base(r.URL.Path)]
		if !ours {
			rest.ServeHTTP(out, r)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		answer, err := serve(r)
		writeCBOR(w.T, out, answer, err)
	}))
	w.Cleanup(server.Close)
	d.URL = server.URL
	return d
}

// A refusal is an exception of the API.
type refusal struct{ kind, message string }

func (r *refusal) Error() string { return r.message }

// operation reads an operation's input from a request in the protocol that the AWS
// SDK for Go speaks. Source: Smithy RPC v2 CBOR.
func operation[I any](serve func(context.Context, *I) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		in := new(I)
		if err := cbor.Unmarshal(body, in); err != nil {
			return nil, &refusal{"SerializationException", err.Error()}
		}
		return serve(r.Context(), in)
	}
}

// times are written as the protocol wants them.
var times = cbor.EncOptions{Time: cbor.TimeUnixMicro, TimeTag: cbor.EncTagRequired}

func writeCBOR(t *testing.T, out http.ResponseWriter, answer any, err error) {
	status := http.StatusOK
	if err != nil {
		status = http.StatusBadRequest
		kind := "InvalidRequestException"
		if r, ok := errors.AsType[*refusal](err); ok {
			kind = r.kind
		}
		answer = map[string]string{"__type": "com.amazonaws.gamelift#" + kind, "Message": err.Error()}
	}
	mode, err := times.EncMode()
	var body []byte
	if err == nil {
		body, err = mode.Marshal(answer)
	}
	if err != nil {
		t.Errorf("the double's answer: %v", err)
	}
	out.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	out.Header().Set("Content-Type", "application/cbor")
	out.WriteHeader(status)
	_, _ = out.Write(body)
}

// begin makes a game session on the fleet.
func (d *double) begin(ctx context.Context, in *gamelift.CreateGameSessionInput) (*types.GameSession, error) {
	in.FleetId, in.Location = &d.fleet, aws.String(home)
	out, err := d.admin.CreateGameSession(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.GameSession, nil
}

// isActive reports whether a game session has become ACTIVE.
func (d *double) isActive(ctx context.Context, id *string) (bool, error) {
	out, err := d.admin.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: id})
	return err == nil && out.GameSessions[0].Status == types.GameSessionStatusActive, err
}

func (d *double) startPlacement(ctx context.Context, in *gamelift.StartGameSessionPlacementInput) (any, error) {
	if *in.GameSessionQueueName != queue {
		return nil, &refusal{"NotFoundException", "no queue " + *in.GameSessionQueueName}
	}
	s, err := d.begin(ctx, &gamelift.CreateGameSessionInput{
		Name: in.GameSessionName, MaximumPlayerSessionCount: in.MaximumPlayerSessionCount, GameProperties: in.GameProperties,
	})
	if err != nil {
		return nil, err
	}
	d.placements[*in.PlacementId] = &types.GameSessionPlacement{
		PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName, GameSessionName: in.GameSessionName,
		Status: types.GameSessionPlacementStatePending, StartTime: s.CreationTime, MaximumPlayerSessionCount: in.MaximumPlayerSessionCount,
		GameSessionArn: s.GameSessionId, GameSessionId: s.GameSessionId, IpAddress: s.IpAddress, Port: s.Port,
	}
	return map[string]any{"GameSessionPlacement": placementTold(d.placements[*in.PlacementId])}, nil
}

func (d *double) describePlacement(ctx context.Context, in *gamelift.DescribeGameSessionPlacementInput) (any, error) {
	p, ok := d.placements[*in.PlacementId]
	if !ok {
		return nil, &refusal{"NotFoundException", "no placement " + *in.PlacementId}
	}
	active, err := d.isActive(ctx, p.GameSessionArn)
	if err != nil {
		return nil, err
	}
	if active {
		p.Status, p.EndTime = types.GameSessionPlacementStateFulfilled, p.StartTime
	}
	return map[string]any{"GameSessionPlacement": placementTold(p)}, nil
}

// placementTold is what is told of a placement: where the session is only when
// there is one.
func placementTold(p *types.GameSessionPlacement) types.GameSessionPlacement {
	told := *p
	if told.Status != types.GameSessionPlacementStateFulfilled {
		told.GameSessionArn, told.GameSessionId, told.IpAddress, told.Port = nil, nil, nil, nil
	}
	return told
}

func (d *double) startMatchmaking(_ context.Context, in *gamelift.StartMatchmakingInput) (any, error) {
	if *in.ConfigurationName != configuration {
		return nil, &refusal{"NotFoundException", "no configuration " + *in.ConfigurationName}
	}
	id := in.TicketId
	if id == nil {
		id = aws.String(uuid.NewString())
	}
	d.tickets[*id] = &types.MatchmakingTicket{
		TicketId: id, ConfigurationName: in.ConfigurationName, Players: in.Players, Status: types.MatchmakingConfigurationStatusQueued,
	}
	return map[string]any{"MatchmakingTicket": *d.tickets[*id]}, nil
}

// set gives a ticket a status, as the matchmaker does.
func (d *double) set(ticket string, status types.MatchmakingConfigurationStatus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tickets[ticket].Status = status
}

// ticket is a ticket as it is.
func (d *double) ticket(id string) types.MatchmakingTicket {
	d.mu.Lock()
	defer d.mu.Unlock()
	return *d.tickets[id]
}

func (d *double) describeMatchmaking(ctx context.Context, in *gamelift.DescribeMatchmakingInput) (any, error) {
	list := []types.MatchmakingTicket{}
	for _, id := range in.TicketIds {
		if t, ok := d.tickets[id]; ok {
			if err := d.place(ctx, t); err != nil {
				return nil, err
			}
			list = append(list, *t)
		}
	}
	return map[string]any{"TicketList": list}, nil
}

// place finds the game of a ticket that is PLACING: a game session, and when that
// is ACTIVE a place in it for each player.
func (d *double) place(ctx context.Context, t *types.MatchmakingTicket) error {
	if t.Status != types.MatchmakingConfigurationStatusPlacing {
		return nil
	}
	if t.GameSessionConnectionInfo == nil {
		s, err := d.begin(ctx, &gamelift.CreateGameSessionInput{MaximumPlayerSessionCount: aws.Int32(int32(len(t.Players)))})
		if err == nil {
			t.GameSessionConnectionInfo = &types.GameSessionConnectionInfo{GameSessionArn: s.GameSessionId, IpAddress: s.IpAddress, Port: s.Port}
		}
		return err
	}
	info := t.GameSessionConnectionInfo
	active, err := d.isActive(ctx, info.GameSessionArn)
	if err != nil || !active {
		return err
	}
	for _, player := range t.Players {
		out, err := d.admin.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: info.GameSessionArn, PlayerId: player.PlayerId})
		if err != nil {
			return err
		}
		info.MatchedPlayerSessions = append(info.MatchedPlayerSessions, types.MatchedPlayerSession{
			PlayerId: player.PlayerId, PlayerSessionId: out.PlayerSession.PlayerSessionId,
		})
	}
	t.Status = types.MatchmakingConfigurationStatusCompleted
	return nil
}

// acceptMatch follows the API: a rejection ends the ticket as CANCELLED.
// Source: API reference, AcceptMatch.
func (d *double) acceptMatch(_ context.Context, in *gamelift.AcceptMatchInput) (any, error) {
	t, ok := d.tickets[*in.TicketId]
	switch {
	case !ok:
		return nil, &refusal{"NotFoundException", "no ticket " + *in.TicketId}
	case t.Status != types.MatchmakingConfigurationStatusRequiresAcceptance:
		return nil, &refusal{"InvalidRequestException", "no match is proposed"}
	case in.AcceptanceType == types.AcceptanceTypeReject:
		t.Status = types.MatchmakingConfigurationStatusCancelled
		return map[string]any{}, nil
	}
	for _, id := range in.PlayerIds {
		if slices.ContainsFunc(t.Players, func(p types.Player) bool { return *p.PlayerId == id }) {
			d.accepted[*in.TicketId]++
		}
	}
	if d.accepted[*in.TicketId] == len(t.Players) {
		t.Status = types.MatchmakingConfigurationStatusPlacing
	}
	return map[string]any{}, nil
}

func (d *double) stopMatchmaking(_ context.Context, in *gamelift.StopMatchmakingInput) (any, error) {
	t, ok := d.tickets[*in.TicketId]
	if !ok {
		return nil, &refusal{"NotFoundException", "no ticket " + *in.TicketId}
	}
	t.Status = types.MatchmakingConfigurationStatusCancelled
	return map[string]any{}, nil
}
