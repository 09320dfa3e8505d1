package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A passing lets its caller call everything of GameLift, and pass on the role game alone.
type passing struct {
	trail *audit.Trail
	asked []string // actions and resources
	named []string // resources of the last record
}

func (p *passing) IdentityOf(sigv4.Caller) *access.Identity { return &access.Identity{} }

func (p *passing) AllowsAll(_ *access.Identity, a policy.Action) bool {
	return strings.HasPrefix(a.String(), "gamelift:")
}

func (p *passing) Decide(_ *access.Identity, _ access.Origin, c access.Call) error {
	p.asked = append(p.asked, c.Action.String()+" "+strings.Join(c.Resources, " "))
	if slices.Equal(c.Resources, []string{"role/game"}) {
		return nil
	}
	return fault.New(fault.AccessDenied, "not %s", c.Resources)
}

func (p *passing) RoleARN(sent string) string {
	return strings.TrimPrefix(sent, "arn:aws:iam::111122223333:")
}

func (p *passing) Refused(string, access.Origin, string, error) {}

func (p *passing) Recorded(_ *access.Identity, _ access.Origin, _ string, resources []string,
	_ error) (r audit.Record) {
	p.named = slices.Clone(resources)
	return r
}

func (p *passing) Trail() *audit.Trail { return p.trail }

// AppendARNs implements api.Resolver.
func (p *passing) AppendARNs(_ context.Context, arns []string, _ string, _ []string) []string {
	return arns
}

// TestPassRole: a fleet with a role can be created by callers that may pass on the role, whatever else they may do.
func TestPassRole(t *testing.T) {
	clock := clockwork.NewFakeClockAt(now)
	for body, want := range map[string]struct {
		status int
		asked  []string
	}{
		`{"Name":"f"}`: {http.StatusOK, nil},
		`{"Name":"f","InstanceRoleArn":"arn:aws:iam::111122223333:role/game"}`: {http.StatusOK,
			[]string{"iam:PassRole role/game"}},
		`{"Name":"f","InstanceRoleArn":"arn:aws:iam::111122223333:role/admin"}`: {http.StatusBadRequest,
			[]string{"iam:PassRole role/admin"}},
	} {
		created := false
		var added func(arn string)
		p := &passing{trail: audit.New(audit.Config{Feed: memory.NewFeedAt(clock), Clock: clock,
			Log: slog.New(slog.DiscardHandler)})}
		create := func(context.Context, *wire.CreateFleetInput) (*wire.CreateFleetOutput, error) {
			created = true
			added("fleet/new")
			return &wire.CreateFleetOutput{}, nil
		}
		endpoint := newEndpoint(t, api.Config{Access: p, Resolver: p,
			Attach:   func(ctx context.Context, c api.Call) context.Context { added = c.Created; return ctx },
			Handlers: []wire.Handler{wire.OpCreateFleet.Handle(create)}})
		r := newRequest(wire.JSON, "http://h/", "CreateFleet", []byte(body))
		sign(t, r, []byte(body))
		w := do(endpoint, r)
		if w.Code != want.status || created != (want.status == http.StatusOK) || !slices.Equal(p.asked, want.asked) {
			t.Errorf("%s: %d %s, asked %q", body, w.Code, w.Body, p.asked)
		}
		if created != slices.Equal(p.named, []string{"fleet/new"}) {
			t.Errorf("%s: the record has %q", body, p.named)
		}
	}
}
