package direct_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

func TestConfigure(t *testing.T) {
	t.Parallel()
	keys := mustertest.StaticKey("AKIDEXAMPLE", "secret")
	broken := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the token is too old")
	})
	for _, test := range []struct {
		name   string
		cfg    direct.Config
		region string
		want   error
	}{
		{"region given", direct.Config{Credentials: keys}, "us-east-1", nil},
		{"default region", direct.Config{Credentials: keys, Region: "us-east-1"}, "", nil},
		{"no region", direct.Config{Credentials: keys}, "", session.ErrInvalid},
		{"no credentials", direct.Config{}, "us-east-1", session.ErrDenied},
		{"broken credentials", direct.Config{Credentials: broken}, "us-east-1", session.ErrDenied},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := direct.New(test.cfg).Configure(t.Context(), test.region)
			if test.want == nil && err != nil {
				t.Error(err)
			} else if test.want != nil {
				wantError(t, err, test.want, "")
			}
		})
	}
}

// TestOwnClientAndCABundle has a client of its own in an environment with AWS_CA_BUNDLE, as that of muster dev.
func TestOwnClientAndCABundle(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	server := httptest.NewTLSServer(nil)
	server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	p := direct.New(direct.Config{Credentials: mustertest.StaticKey("id", "secret"), HTTPClient: &http.Client{}})
	if err := p.Configure(t.Context(), "us-east-1"); err != nil {
		t.Error(err)
	}
}

// TestNotConfigured makes every call before Configure.
func TestNotConfigured(t *testing.T) {
	t.Parallel()
	for name, err := range callAll(t.Context(), direct.New(direct.Config{}).(provider)) {
		if !errors.Is(err, session.ErrNotConfigured) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoTarget makes calls that name no fleet and no queue: nothing may be sent.
func TestNoTarget(t *testing.T) {
	t.Parallel()
	p := newScript(t).provider(direct.Target{FleetID: fleet})
	_, create := p.CreateSession(t.Context(), session.CreateSessionRequest{MaxPlayer: 2})
	_, search := p.SearchSessions(t.Context(), session.SearchSessionsRequest{})
	_, place := p.CreateSessionOnQueue(t.Context(), session.CreateSessionOnQueueRequest{PlacementID: "p", MaxPlayer: 2})
	for field, err := range map[string]error{"FleetID or AliasID": create, "FleetID or": search, "QueueName": place} {
		wantError(t, err, session.ErrInvalid, "")
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

// TestContextIsOver makes every call with a context that is done: nothing may be sent.
func TestContextIsOver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newScript(t)
	for name, err := range callAll(ctx, s.provider(direct.Target{FleetID: fleet})) {
		if !errors.Is(err, session.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range callAll(ctx, s.provider(direct.Target{QueueName: "q"})) {
		if !errors.Is(err, session.ErrCanceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.made(); got != "" {
		t.Errorf("called %s", got)
	}
}

// callAll makes every call of a provider once and returns their errors.
func callAll(ctx context.Context, p provider) map[string]error {
	failed := map[string]error{}
	_, failed["CreateSession"] = p.CreateSession(ctx,
		session.CreateSessionRequest{FleetID: fleet, Location: "custom-attic", MaxPlayer: 2})
	_, failed["CreateSessionOnQueue"] = p.CreateSessionOnQueue(ctx,
		session.CreateSessionOnQueueRequest{QueueName: "q", PlacementID: "p", MaxPlayer: 2})
	_, failed["Placement"] = p.Placement(ctx, "p")
	_, failed["SearchSessions"] = p.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: fleet})
	_, failed["Reserve"] = p.Reserve(ctx, session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
	_, failed["Host"] = p.Host(ctx, session.HostRequest{SessionName: "x", OwnerID: "ada", Connections: 2})
	_, failed["Find"] = p.Find(ctx, session.FindRequest{})
	_, failed["StartMatchmaking"] = p.StartMatchmaking(ctx,
		session.StartMatchmakingRequest{ConfigurationName: "m", Players: []session.Player{{PlayerID: "ada"}}})
	failed["StopMatchmaking"] = p.StopMatchmaking(ctx, session.StopMatchmakingRequest{TicketID: "t"})
	failed["AcceptMatch"] = p.AcceptMatch(ctx, session.AcceptMatchRequest{TicketID: "t", PlayerIDs: []string{"ada"}})
	_, failed["Ticket"] = p.Ticket(ctx, "t")
	return failed
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		target direct.Target
		want   error
	}{
		"none":              {direct.Target{}, session.ErrUnsupported},
		"fleet and alias":   {direct.Target{FleetID: fleet, AliasID: "alias-1"}, session.ErrInvalid},
		"location of queue": {direct.Target{QueueName: "q", Location: "custom-attic"}, session.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newScript(t).provider(test.target) // nothing may be called
			_, err := p.Host(t.Context(), session.HostRequest{SessionName: "x", OwnerID: "ada", Connections: 2})
			wantError(t, err, test.want, "")
			_, err = p.Find(t.Context(), session.FindRequest{})
			wantError(t, err, test.want, "")
		})
	}
}
