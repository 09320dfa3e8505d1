package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	accessKey = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	fullArn   = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/full"
)

// keyring is a key source over a map.
type keyring map[string]sigv4.Credential

func (k keyring) Secret(id, _ string) (sigv4.Credential, bool) {
	c, ok := k[id]
	return c, ok
}

var keys = keyring{accessKey: {Secret: secretKey, Principal: "alice"}}

// serve starts the servers of a service on a door with these handlers: one for
// plain requests, and net/http for all others.
func serve(t *testing.T, c api.Config) (url string) {
	t.Helper()
	c.Keys = keys
	if c.Handlers == nil {
		c.Handlers = handlers()
	}
	endpoint, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plain, other := listen.NewServer(listen.ServerConfig{Handler: endpoint}),
		&http.Server{Handler: endpoint, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := plain.Serve(l); err != nil {
			t.Error(err)
		}
	})
	serving.Go(func() {
		if err := other.Serve(plain.Rest()); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		_ = other.Close()
		_ = plain.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

// handlers are a few operations with made-up answers.
func handlers() []wire.Handler {
	return []wire.Handler{
		wire.OpListFleets.Handle(func(_ context.Context, in *wire.ListFleetsInput) (*wire.ListFleetsOutput, error) {
			return &wire.ListFleetsOutput{FleetIds: []string{"fleet-1", fmt.Sprintf("fleet-limit-%d", in.Limit.Or(0))}},
				nil
		}),
		wire.OpCreatePlayerSessions.Handle(createPlayerSessions),
		wire.OpDeleteFleet.HandleEmpty(func(_ context.Context, in *wire.DeleteFleetInput) error {
			if in.FleetId == "fleet-none" {
				return fault.New(fault.NotFound, "fleet %s not found", in.FleetId)
			}
			return nil
		}),
		wire.OpCreateBuild.Refuse(fault.InvalidRequest, "builds are not offered here"),
		wire.OpDescribeAlias.Handle(func(context.Context, *wire.DescribeAliasInput) (*wire.DescribeAliasOutput, error) {
			panic("a defect")
		}),
		wire.OpListAliases.Handle(func(context.Context, *wire.ListAliasesInput) (*wire.ListAliasesOutput, error) {
			return nil, fmt.Errorf("append: %w", errors.New("disk full at /secret/place"))
		}),
	}
}

func createPlayerSessions(_ context.Context, in *wire.CreatePlayerSessionsInput) (
	*wire.CreatePlayerSessionsOutput, error,
) {
	if in.GameSessionId == fullArn {
		return nil, fault.New(fault.GameSessionFull, "game session %s has its %d players", in.GameSessionId, 2)
	}
	out := &wire.CreatePlayerSessionsOutput{PlayerSessions: make([]wire.PlayerSession, len(in.PlayerIds))}
	for i, p := range in.PlayerIds {
		out.PlayerSessions[i] = wire.PlayerSession{
			PlayerSessionId: "psess-3f0e6a1c-1111-4222-8333-444455556666", PlayerId: p, GameSessionId: in.GameSessionId,
			FleetId:   "fleet-3f0e6a1c-1111-4222-8333-444455556666",
			FleetArn:  "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-3f0e6a1c",
			IpAddress: "192.0.2.1", Port: wire.Some(int32(7777)), Status: wire.PlayerSessionStatusReserved,
			CreationTime: time.UnixMilli(1767323045123), PlayerData: in.PlayerDataMap[p],
		}
	}
	return out, nil
}

// newClient makes a client of the door that does not retry.
func newClient(url string, change ...func(*gamelift.Options)) *gamelift.Client {
	o := gamelift.Options{
		Region: "us-west-2", BaseEndpoint: &url, Retryer: aws.NopRetryer{},
		Credentials: staticKey(accessKey, secretKey, ""),
	}
	return gamelift.New(o, change...)
}

func staticKey(id, secret, token string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}, nil
	})
}

func TestSDKSuccess(t *testing.T) {
	url := serve(t, api.Config{})
	for _, prefix := range []string{"", "/", "/pfx", "/a/b%20c/"} {
		for _, region := range []string{"us-west-2", ""} {
			client := newClient(url+prefix, func(o *gamelift.Options) { o.Region = region })
			fleets, err := client.ListFleets(t.Context(), &gamelift.ListFleetsInput{Limit: aws.Int32(7)})
			if err != nil || len(fleets.FleetIds) != 2 || fleets.FleetIds[1] != "fleet-limit-7" {
				t.Errorf("prefix %q, region %q: %v, %v", prefix, region, fleets, err)
			}
		}
	}
	client := newClient(url)
	players := []string{"ada", "bob"}
	out, err := client.CreatePlayerSessions(t.Context(), &gamelift.CreatePlayerSessionsInput{
		GameSessionId: aws.String("arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/x"), PlayerIds: players,
		PlayerDataMap: map[string]string{"bob": "red"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, ps := range out.PlayerSessions {
		if *ps.PlayerId != players[i] || *ps.Port != 7777 || ps.Status != types.PlayerSessionStatusReserved ||
			ps.CreationTime.UnixMilli() != 1767323045123 {
			t.Errorf("player session %d: %+v", i, ps)
		}
	}
	_, err = client.DeleteFleet(t.Context(), &gamelift.DeleteFleetInput{FleetId: aws.String("fleet-1")})
	if err != nil {
		t.Error("without output:", err)
	}
}

func TestSDKErrors(t *testing.T) {
	client := newClient(serve(t, api.Config{}))
	_, err := client.CreatePlayerSessions(t.Context(),
		&gamelift.CreatePlayerSessionsInput{GameSessionId: aws.String(fullArn), PlayerIds: []string{"ada"}})
	if e, ok := errors.AsType[*types.GameSessionFullException](err); !ok ||
		e.ErrorMessage() != "game session "+fullArn+" has its 2 players" {
		t.Errorf("got %v, want a GameSessionFullException", err)
	}
	_, err = client.DeleteFleet(t.Context(), &gamelift.DeleteFleetInput{FleetId: aws.String("fleet-none")})
	if e, ok := errors.AsType[*types.NotFoundException](err); !ok || *e.Message != "fleet fleet-none not found" {
		t.Errorf("got %v, want a NotFoundException", err)
	}
	_, err = client.DeleteFleet(t.Context(), &gamelift.DeleteFleetInput{FleetId: aws.String("not a fleet")})
	if _, ok := errors.AsType[*types.InvalidRequestException](err); !ok ||
		!strings.Contains(err.Error(), "validation error") {
		t.Errorf("got %v, want an InvalidRequestException", err)
	}
	_, err = client.DescribeAlias(t.Context(), &gamelift.DescribeAliasInput{AliasId: aws.String("alias-1")})
	if _, ok := errors.AsType[*types.InternalServiceException](err); !ok || strings.Contains(err.Error(), "defect") {
		t.Errorf("got %v, want an InternalServiceException", err)
	}
	_, err = client.ListLocations(t.Context(), &gamelift.ListLocationsInput{})
	wantCode(t, err, fault.UnknownOperation)
}

// wantCode checks the code that the SDK shows for an error.
func wantCode(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	type apiError interface {
		error
		ErrorCode() string
		ErrorMessage() string
	}
	if e, ok := errors.AsType[apiError](err); !ok || e.ErrorCode() != string(kind) || e.ErrorMessage() == "" {
		t.Errorf("got %v, want %s", err, kind)
	}
}

func TestSDKAuthentication(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Now())
	url := serve(t, api.Config{Clock: clock})
	list := func(change func(*gamelift.Options)) error {
		_, err := newClient(url, change).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
		return err
	}
	key := func(id, secret, token string) func(*gamelift.Options) {
		return func(o *gamelift.Options) { o.Credentials = staticKey(id, secret, token) }
	}
	wantCode(t, list(key("AKIDNONE", secretKey, "")), fault.UnrecognizedClient)
	wantCode(t, list(key(accessKey, "wrong", "")), fault.InvalidSignature)
	wantCode(t, list(key(accessKey, secretKey, "token")), fault.UnrecognizedClient)
	wantCode(t, list(func(o *gamelift.Options) { o.Credentials = aws.AnonymousCredentials{} }),
		fault.MissingAuthenticationToken)
	if err := list(key(accessKey, secretKey, "")); err != nil {
		t.Error(err)
	}
	clock.Advance(6 * time.Minute)
	err := list(key(accessKey, secretKey, ""))
	wantCode(t, err, fault.InvalidSignature)
	if !strings.Contains(err.Error(), "Signature expired") {
		t.Errorf("got %v", err)
	}
}

// A client whose clock is wrong learns the time from the Date of the answer.
func TestSDKCorrectsItsClock(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.Now().Add(time.Hour))
	client := newClient(serve(t, api.Config{Clock: clock}), func(o *gamelift.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.Backoff = noBackoff{} })
	})
	if _, err := client.ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Error(err)
	}
}

type noBackoff struct{}

func (noBackoff) BackoffDelay(int, error) (time.Duration, error) { return 0, nil }

// A throttled client comes again by itself.
func TestSDKThrottling(t *testing.T) {
	calls := 0
	url := serve(t, api.Config{Allow: func(operation, principal string) bool {
		if operation != "ListFleets" || principal != "alice" {
			t.Errorf("asked for %s, %s", operation, principal)
		}
		calls++
		return calls%3 == 0
	}})
	_, err := newClient(url).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	wantCode(t, err, fault.Throttling)
	client := newClient(url, func(o *gamelift.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.Backoff = noBackoff{} })
	})
	if _, err := client.ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil || calls != 3 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// The answer to every call of the SDK has a request id, a date and the protocol.
func TestSDKSeesHeaders(t *testing.T) {
	var got http.Header
	client := newClient(serve(t, api.Config{}), func(o *gamelift.Options) {
		o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultClient.Do(r)
			if err == nil {
				got = resp.Header
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				resp.Body = io.NopCloser(bytes.NewReader(body))
			}
			return resp, err
		})
	})
	_, _ = client.ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	success := got
	_, _ = client.ListLocations(t.Context(), &gamelift.ListLocationsInput{})
	for _, h := range []http.Header{success, got} {
		if len(h.Get("x-amzn-RequestId")) != 36 || h.Get("Smithy-Protocol") != "rpc-v2-cbor" ||
			h.Get("Content-Type") != "application/cbor" || h.Get("Date") == "" {
			t.Errorf("headers %v", h)
		}
	}
	if success.Get("x-amzn-RequestId") == got.Get("x-amzn-RequestId") {
		t.Error("two requests with one id")
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
