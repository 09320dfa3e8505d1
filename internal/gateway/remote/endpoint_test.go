package remote

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An endpoint answers the SDK over HTTP with the handlers of a test
// and records the inputs.
type endpoint struct {
	handlers map[string]wire.Handler
	mu       sync.Mutex
	inputs   []any
}

func (d *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h, ok := d.handlers[path.Base(r.URL.Path)]
	if err != nil || !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var out []byte
	status := http.StatusOK
	if err := h.Serve(r.Context(), wire.CBOR, body, &out); err != nil {
		f := fault.Of(err)
		status, out = f.Kind.HTTPStatus(), wire.AppendError(nil, wire.CBOR, f, h.Info.Models(f.Kind))
	}
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	w.WriteHeader(status)
	_, _ = w.Write(out)
}

// on sets the handler of an operation.
func on[I, O any](d *endpoint, op wire.Operation[I, O], answer func(*I) (*O, error)) {
	d.handlers[op.Name] = op.Handle(func(_ context.Context, in *I) (*O, error) {
		d.mu.Lock()
		d.inputs = append(d.inputs, in)
		d.mu.Unlock()
		return answer(in)
	})
}

// got checks that the last input was this one.
func (d *endpoint) got(t *testing.T, want any) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.inputs[len(d.inputs)-1]; !reflect.DeepEqual(last, want) {
		t.Errorf("the service was asked %+v, want %+v", last, want)
	}
}

func key(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
}

func newEndpoint(t *testing.T) (*endpoint, gateway.Service) {
	t.Helper()
	d := &endpoint{handlers: map[string]wire.Handler{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	s, err := New(Config{AWS: aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, HTTPClient: server.Client(),
		Credentials: aws.CredentialsProviderFunc(key),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func TestQueuesOverTheSDK(t *testing.T) {
	d, s := newEndpoint(t)
	queues := s.(gateway.Queues)
	placement := func(status wire.GameSessionPlacementState) *wire.GameSessionPlacement {
		return &wire.GameSessionPlacement{PlacementId: "p-1", Status: status,
			PlacedPlayerSessions: []wire.PlacedPlayerSession{{PlayerId: "ada", PlayerSessionId: "psess-1"}}}
	}
	on(d, wire.OpStartGameSessionPlacement, func(
		*wire.StartGameSessionPlacementInput,
	) (*wire.StartGameSessionPlacementOutput, error) {
		return &wire.StartGameSessionPlacementOutput{GameSessionPlacement: placement("PENDING")}, nil
	})
	on(d, wire.OpStopGameSessionPlacement, func(
		*wire.StopGameSessionPlacementInput,
	) (*wire.StopGameSessionPlacementOutput, error) {
		return &wire.StopGameSessionPlacementOutput{GameSessionPlacement: placement("CANCELLED")}, nil
	})
	var calls int
	on(d, wire.OpDescribeGameSessionPlacement, func(
		*wire.DescribeGameSessionPlacementInput,
	) (*wire.DescribeGameSessionPlacementOutput, error) {
		if calls++; calls == 1 {
			return nil, fault.New(fault.Throttling, "slow down")
		}
		return &wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: placement("FULFILLED")}, nil
	})
	start := &wire.StartGameSessionPlacementInput{
		PlacementId: "p-1", GameSessionQueueName: "hot", MaximumPlayerSessionCount: wire.Some[int32](4),
		GameSessionName: "duel",
		GameProperties:  []wire.GameProperty{{Key: "mode", Value: ""}},
		PlayerLatencies: []wire.PlayerLatency{{PlayerId: "ada", RegionIdentifier: "eu-central-1",
			LatencyInMilliseconds: wire.Some[float32](20.5)}},
		DesiredPlayerSessions: []wire.DesiredPlayerSession{{PlayerId: "ada", PlayerData: "red"}},
	}
	started, err := queues.StartGameSessionPlacement(t.Context(), start)
	if err != nil || started.GameSessionPlacement.Status != "PENDING" {
		t.Errorf("%+v, %v", started, err)
	}
	d.got(t, start)
	p, err := queues.AwaitPlacement(t.Context(), "p-1")
	if err != nil || !reflect.DeepEqual(p, placement("FULFILLED")) || calls != 2 {
		t.Errorf("%+v, %v after %d calls", p, err, calls)
	}
	stopped, err := queues.StopGameSessionPlacement(t.Context(),
		&wire.StopGameSessionPlacementInput{PlacementId: "p-1"})
	if err != nil || stopped.GameSessionPlacement.Status != "CANCELLED" {
		t.Errorf("%+v, %v", stopped, err)
	}
	d.got(t, &wire.StopGameSessionPlacementInput{PlacementId: "p-1"})
}

func TestMatchmakingOverTheSDK(t *testing.T) {
	d, s := newEndpoint(t)
	matchmaking := s.(gateway.Matchmaking)
	players := []wire.Player{{PlayerId: "ada", Team: "red", LatencyInMs: map[string]int32{"eu-central-1": 20},
		PlayerAttributes: map[string]wire.AttributeValue{"skill": {N: wire.Some(23.5)}, "map": {S: "desert"}}}}
	ticket := wire.MatchmakingTicket{TicketId: "t-1", Status: "REQUIRES_ACCEPTANCE", Players: players}
	on(d, wire.OpStartMatchmaking, func(*wire.StartMatchmakingInput) (*wire.StartMatchmakingOutput, error) {
		return &wire.StartMatchmakingOutput{MatchmakingTicket: &ticket}, nil
	})
	on(d, wire.OpDescribeMatchmaking, func(*wire.DescribeMatchmakingInput) (*wire.DescribeMatchmakingOutput, error) {
		return &wire.DescribeMatchmakingOutput{TicketList: []wire.MatchmakingTicket{ticket}}, nil
	})
	on(d, wire.OpAcceptMatch,
		func(*wire.AcceptMatchInput) (*wire.AcceptMatchOutput, error) { return &wire.AcceptMatchOutput{}, nil })
	on(d, wire.OpStopMatchmaking, func(*wire.StopMatchmakingInput) (*wire.StopMatchmakingOutput, error) {
		return nil, fault.New(fault.NotFound, "no such ticket")
	})
	start := &wire.StartMatchmakingInput{TicketId: "t-1", ConfigurationName: "duel", Players: players}
	started, err := matchmaking.StartMatchmaking(t.Context(), start)
	if err != nil || !reflect.DeepEqual(started.MatchmakingTicket, &ticket) {
		t.Errorf("%+v, %v", started, err)
	}
	d.got(t, start)
	if got, err := matchmaking.DescribeTicket(t.Context(), "t-1"); err != nil || !reflect.DeepEqual(got, &ticket) {
		t.Errorf("%+v, %v", got, err)
	}
	accept := &wire.AcceptMatchInput{TicketId: "t-1", PlayerIds: []string{"ada"},
		AcceptanceType: wire.AcceptanceTypeAccept}
	if err := matchmaking.AcceptMatch(t.Context(), accept); err != nil {
		t.Error(err)
	}
	d.got(t, accept)
	err = matchmaking.StopMatchmaking(t.Context(), &wire.StopMatchmakingInput{TicketId: "t-1"})
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want the exception", err)
	}
}
