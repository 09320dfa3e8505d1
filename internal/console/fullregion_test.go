package console

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/matcher/matchsim"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A fullRegion is a service that has one of everything, whose texts attack the page. A person with a built-in role asks
// it: what the policies of the role do not allow it denies.
type fullRegion struct {
	*world
	policies policy.Set
	mux      *http.ServeMux // of the requests of operators
	changes  []string       // calls and requests that are no reads, and were allowed
}

// outputs are what operations answer, filled.
var outputs = map[string]any{
	"DescribeFleetAttributes":           wire.DescribeFleetAttributesOutput{},
	"DescribeFleetEvents":               wire.DescribeFleetEventsOutput{},
	"DescribeFleetLocationAttributes":   wire.DescribeFleetLocationAttributesOutput{},
	"DescribeFleetLocationCapacity":     wire.DescribeFleetLocationCapacityOutput{},
	"DescribeFleetLocationUtilization":  wire.DescribeFleetLocationUtilizationOutput{},
	"DescribeFleetUtilization":          wire.DescribeFleetUtilizationOutput{},
	"DescribeGameSessionQueues":         wire.DescribeGameSessionQueuesOutput{},
	"DescribeGameSessions":              wire.DescribeGameSessionsOutput{},
	"DescribeMatchmaking":               wire.DescribeMatchmakingOutput{},
	"DescribeMatchmakingConfigurations": wire.DescribeMatchmakingConfigurationsOutput{},
	"DescribeMatchmakingRuleSets":       wire.DescribeMatchmakingRuleSetsOutput{},
	"DescribePlayerSessions":            wire.DescribePlayerSessionsOutput{},
	"DescribeScalingPolicies":           wire.DescribeScalingPoliciesOutput{},
	"GetGameSessionLogUrl":              wire.GetGameSessionLogUrlOutput{},
	"ListBuilds":                        wire.ListBuildsOutput{},
	"ListFleets":                        wire.ListFleetsOutput{},
	"ListLocations":                     wire.ListLocationsOutput{},
	"ListTagsForResource":               wire.ListTagsForResourceResponse{},
	"ResolveAlias":                      wire.ResolveAliasOutput{},
	"SearchGameSessions":                wire.SearchGameSessionsOutput{},
	"ValidateMatchmakingRuleSet":        wire.ValidateMatchmakingRuleSetOutput{},
}

// answered are what requests of operators answer, filled. Those that are no reads answer {}.
var answered = map[string]any{
	"GET /v1/audit":                         audit.Record{},
	"GET /v1/configurations/{name}/tickets": control.TicketList{},
	"GET /v1/events":                        feedLine{},
	"GET /v1/fleets":                        control.FleetList{},
	"GET /v1/fleets/{fleet}/builds":         control.BuildVersions{},
	"GET /v1/fleets/{fleet}/computes":       control.ComputeList{},
	"GET /v1/game-sessions":                 control.SessionList{},
	"GET /v1/builds":                        control.BuildList{},
	"GET /v1/builds/{id}":                   control.BuildView{},
	"GET /v1/groups":                        struct{ Groups []access.GroupView }{},
	"GET /v1/keys":                          struct{ Keys []access.KeyView }{},
	"GET /v1/latency":                       control.LatencyList{},
	"GET /v1/logs":                          struct{ Level, Msg, More string }{},
	"GET /v1/instances":                     control.InstanceList{},
	"GET /v1/game-sessions/{id}/log":        outputLine{},
	"GET /v1/machines":                      control.MachineList{},
	"GET /v1/processes/{id}/log":            outputLine{},
	"GET /v1/nodes":                         struct{ Nodes []node }{},
	"GET /v1/overview":                      control.Overview{},
	"GET /v1/placements/{id}":               control.PlacementTrail{},
	"GET /v1/players/{player}":              control.Player{},
	"GET /v1/policies":                      struct{ Policies []access.PolicyView }{},
	"GET /v1/policies/{name}":               access.PolicyView{},
	"GET /v1/providers":                     struct{ Providers []access.ProviderView }{},
	"GET /v1/providers/{name}":              access.ProviderView{},
	"GET /v1/queues/{name}/placements":      control.PlacementList{},
	"GET /v1/roles":                         struct{ Roles []access.RoleView }{},
	"GET /v1/roles/{name}":                  access.RoleView{},
	"GET /v1/search":                        control.Lookup{},
	"GET /v1/shards":                        shardList{},
	"GET /v1/settings":                      struct{ Settings []setting }{},
	"GET /v1/tickets/{id}/explain":          control.TicketExplanation{},
	"GET /v1/users":                         struct{ Users []access.UserView }{},
	"GET /v1/users/{name}":                  access.UserView{},
	"GET /v1/users/{name}/sign-ins":         struct{ SignIns []access.SignInView }{},
	"GET /v1/views":                         struct{ Views []access.SavedView }{},
	"PUT /v1/views":                         struct{}{}, // of the person alone, as all views
	"DELETE /v1/views":                      struct{}{},
	"POST /v1/policies/check":               access.CheckResult{},
	"POST /v1/rulesets/simulate":            matchsim.Report{},
}

// A feedLine is an event of the feed.
type feedLine struct {
	Event struct {
		Time      time.Time
		Resources []string
		Detail    struct {
			Type, Reason, Message string
			PlacementID           string   `json:"placementId"`
			GameSessionArn        string   `json:"gameSessionArn"`
			Tickets               []ticket `json:"tickets"`
		}
	}
}

type ticket struct {
	TicketID string `json:"ticketId"`
}

func newFullRegion(t *testing.T, role string) *fullRegion {
	t.Helper()
	f := &fullRegion{mux: http.NewServeMux()}
	roles := policy.BuiltinRoles()
	at := slices.IndexFunc(roles, func(r policy.BuiltinRole) bool { return r.Name == role })
	for _, name := range roles[at].Policies {
		text, _ := policy.Builtin(name)
		document, err := policy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		f.policies = append(f.policies, policy.Source{Name: name, Document: document})
	}
	for _, r := range operator.Requests() {
		f.mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, q *http.Request) { f.request(w, q, r) })
	}
	f.world = newWorld(t, func(c *Config) {
		c.Calls, c.Requests, c.Region, c.Access, c.Metrics = f, f, f, f, f
		c.Operations = []OperationGroup{{hostile, []string{"CreateFleet"}}}
	})
	return f
}

// filled returns a pointer to a value like v with hostile texts, which can be changed. Only a first page has a next
// one.
func filled(v any, first bool) any {
	p := reflect.New(reflect.TypeOf(v))
	fill(p.Elem())
	if builtin := p.Elem().FieldByName("Builtin"); builtin.IsValid() {
		builtin.SetBool(false) // else it has no form
	}
	if next := p.Elem().FieldByName("NextToken"); next.IsValid() && !first {
		next.SetString("")
	}
	if list, ok := p.Interface().(*control.SessionList); ok {
		list.MissingShards = nil // else its file is refused
	}
	return p.Interface()
}

func (f *fullRegion) allows(action policy.Action) bool {
	return f.policies.Evaluate(&policy.Request{Action: action, Resource: "*"}).Allowed
}

func (f *fullRegion) decide(name string) error {
	if action, ok := policy.ActionOf(name); name != "" && (!ok || !f.allows(action)) {
		return fault.New(fault.AccessDenied, "not authorized to perform %s on %s", name, hostile)
	}
	return nil
}

func (f *fullRegion) Allow(_ *access.Identity, _ access.Origin, action policy.Action, _ ...string) error {
	return f.decide(action.String())
}

func (f *fullRegion) Permits(_ *access.Identity, _ access.Origin, action policy.Action, _ ...string) bool {
	return f.allows(action)
}

func (f *fullRegion) PermitsSome(_ *access.Identity, action policy.Action) bool {
	return f.allows(action)
}

func (f *fullRegion) Invoke(_ context.Context, _ *access.Identity, _ access.Origin, operation string, in any) (
	any, error,
) {
	if err := f.decide("gamelift:" + operation); err != nil {
		return nil, err
	}
	out, ok := outputs[operation]
	if !ok {
		f.changes = append(f.changes, operation)
		return nil, fault.New(fault.Conflict, "%s is refused: %s", operation, hostile)
	}
	token := reflect.ValueOf(in).Elem().FieldByName("NextToken")
	return filled(out, !token.IsValid() || token.IsZero()), nil
}

func (f *fullRegion) InvokeJSON(ctx context.Context, id *access.Identity, from access.Origin, operation string,
	_ []byte,
) ([]byte, error) {
	_, err := f.Invoke(ctx, id, from, operation, &struct{}{})
	return nil, err
}

func (f *fullRegion) Timeline(context.Context, string, int) (*control.Timeline, error) {
	t := filled(control.Timeline{}, true).(*control.Timeline)
	t.Facts[0].DurationMS = nil // since the fact before
	return t, nil
}

func (f *fullRegion) ServeLocal(w http.ResponseWriter, r *http.Request, _ *access.Identity, _ access.Origin) error {
	h, pattern := f.mux.Handler(r)
	for _, q := range operator.Requests() {
		if q.Pattern == pattern && f.decide(q.Action) != nil {
			return f.decide(q.Action)
		}
	}
	h.ServeHTTP(w, r)
	return nil
}

func (f *fullRegion) request(w http.ResponseWriter, r *http.Request, q operator.Request) {
	value, ok := answered[q.Pattern]
	switch {
	case ok:
		query := r.URL.Query()
		if err := json.NewEncoder(w).Encode(filled(value, !query.Has("after"))); err != nil {
			f.Errorf("%s: %v", q.Pattern, err)
		}
	case strings.HasPrefix(q.Pattern, "GET ") && q.Pattern != "GET /v1/backup":
		f.Errorf("%s has no answer", q.Pattern)
	default:
		f.changes = append(f.changes, q.Pattern)
		_, _ = w.Write([]byte("{}"))
	}
}

// Named, Unit, Points: the region has one series of each metric, without values.
func (f *fullRegion) Named(metric string, names ...string) []metrics.Series {
	s := metrics.Series{Metric: metric}
	for _, name := range names {
		s.Dimensions = append(s.Dimensions, metrics.Dimension{Name: name, Value: hostile})
	}
	return []metrics.Series{s}
}

func (f *fullRegion) Unit(string) string { return "Count" }

func (f *fullRegion) Spread(context.Context, metrics.Timing, []float64, time.Time, time.Time, time.Duration) (
	[]metrics.Spread, error,
) {
	return []metrics.Spread{{At: noon, Count: 1, Quantiles: []float64{1, 1, 1}}}, nil
}

func (f *fullRegion) Points(context.Context, metrics.Series, time.Time, time.Time, time.Duration) (
	[]metrics.Point, error,
) {
	return []metrics.Point{{At: f.clock.Now(), Sum: 7, Count: 1}}, nil
}
