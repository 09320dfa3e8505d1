package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Validate checks the form of a target, not whether it exists. queues reports whether the gateway has queues.
func (t Target) Validate(queues bool) error {
	given := 0
	for _, s := range []string{t.FleetID, t.AliasID, t.Queue} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("a target needs exactly one of fleet, alias and queue")
	case t.Queue != "" && t.Location != "":
		return errors.New("a queue chooses the location itself: leave it out")
	case t.Queue != "" && !queues:
		return errors.New("there are no queues behind this gateway: name a fleet or an alias")
	}
	for _, id := range []struct {
		text  string
		what  string
		parse func(string) (string, bool)
	}{
		{t.FleetID, "fleet id or ARN", arn.ParseFleet},
		{t.AliasID, "alias id or ARN", arn.ParseAlias},
		{t.Queue, "queue name or ARN", arn.ParseQueue},
	} {
		if _, ok := id.parse(id.text); id.text != "" && !ok {
			return errors.New(id.text + " is no " + id.what)
		}
	}
	return nil
}

// firstFleetTime is how long the fleet that the service chooses is cached.
const firstFleetTime = 5 * time.Second

// A firstFleet caches the fleet that the service chooses, and logs each change.
type firstFleet struct {
	clock clockwork.Clock
	ask   func(context.Context) (string, error)
	log   *slog.Logger

	mu     sync.Mutex
	id     string
	until  time.Time
	logged string
}

func (f *firstFleet) get(ctx context.Context) (string, error) {
	f.mu.Lock()
	id, until := f.id, f.until
	f.mu.Unlock()
	if id != "" && f.clock.Now().Before(until) {
		return id, nil
	}
	id, err := f.ask(ctx)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	f.id, f.until = id, f.clock.Now().Add(firstFleetTime)
	before := f.logged
	f.logged = id
	f.mu.Unlock()
	if id != before {
		f.log.Info("gateway fleet chosen", "fleet", id, "setting", "gateway-fleet")
	}
	return id, nil
}

// forget clears the cache.
func (f *firstFleet) forget() {
	f.mu.Lock()
	f.id = ""
	f.mu.Unlock()
}

// defaultTarget returns the target of clients without a route.
func (g *Gateway) defaultTarget(ctx context.Context) (Target, error) {
	if g.def != (Target{}) {
		return g.def, nil
	}
	id, err := g.first.get(ctx)
	return Target{FleetID: id}, err
}

func (g *Gateway) target(ctx context.Context, c *creation) (Target, error) {
	if c.target != (Target{}) {
		return c.target, nil
	}
	if build, ok := c.build.Get(); ok {
		if t, ok := g.routes[build]; ok {
			return t, nil
		}
	}
	if err := g.checkRoute(c); err != nil {
		return Target{}, err
	}
	t, err := g.defaultTarget(ctx)
	if err != nil {
		return Target{}, failed(ctx, err, NoFleet, Internal)
	}
	return t, nil
}

// checkRoute applies the BuildCheck to a creation without a route.
func (g *Gateway) checkRoute(c *creation) error {
	if len(g.routes) == 0 || g.buildCheck == BuildOff {
		return nil
	}
	build, given := c.build.Get()
	if g.buildCheck == BuildWarn {
		if suppressed, ok := g.lines.Allow("no route"); ok {
			g.log.Warn("no route for the client's build", "build", build, "given", given, "suppressed", suppressed)
		}
		return nil
	}
	return fail(BuildMismatch, "There is no fleet for the client's build. Update the game.")
}

// searched returns the targets to search, without duplicates, in a stable order.
func (g *Gateway) searched(ctx context.Context) ([]Target, error) {
	targets := slices.Clone(g.fixed)
	if g.def != (Target{}) && len(targets) > 0 {
		return targets, nil
	}
	id, err := g.first.get(ctx)
	if err == nil {
		if t := (Target{FleetID: id}); !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
		return targets, nil
	}
	if fault.Is(err, fault.NotFound) && len(targets) > 0 {
		return targets, nil
	}
	return nil, failed(ctx, err, NoFleet, Internal)
}

// fixedTargets returns the fleets and aliases of a configuration.
func fixedTargets(c *Config) []Target {
	var targets []Target
	add := func(t Target) {
		if t != (Target{}) && t.Queue == "" && !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	add(c.Default)
	builds := make([]int32, 0, len(c.Routes))
	for build := range c.Routes {
		builds = append(builds, build)
	}
	slices.Sort(builds)
	for _, build := range builds {
		add(c.Routes[build])
	}
	for _, t := range c.Search {
		add(t)
	}
	return targets
}

// lookUp finds the game session of a target by the last part of its id. It returns nil if there is none, or if it has
// ended and the target is an alias.
func (g *Gateway) lookUp(ctx context.Context, t Target, part string) (*wire.GameSession, error) {
	fleet, err := g.fleetOf(ctx, t)
	if err != nil || fleet == "" {
		return nil, err
	}
	names, err := g.locationsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s, err := g.service.DescribeGameSession(ctx, arn.GameSession(g.region, fleet, name, part))
		switch {
		case err == nil:
			return s, nil
		case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.InvalidRequest):
			return nil, err
		}
	}
	return nil, nil
}

// locationsOf returns the names of the locations of a target.
func (g *Gateway) locationsOf(ctx context.Context, t Target) ([]string, error) {
	if t.Location != "" {
		return []string{t.Location}, nil
	}
	locations, err := g.service.Locations(ctx, t)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(locations))
	for i, l := range locations {
		names[i] = l.Name
	}
	return names, nil
}

// fleetOf returns the fleet of a target. For an alias it reads one of its game sessions; "" if none is ACTIVE.
func (g *Gateway) fleetOf(ctx context.Context, t Target) (string, error) {
	if t.AliasID == "" {
		id, _ := arn.ParseFleet(t.FleetID)
		return id, nil
	}
	out, err := g.service.SearchGameSessions(ctx,
		&wire.SearchGameSessionsInput{AliasId: t.AliasID, Limit: wire.Some[int32](1)})
	if err != nil || len(out.GameSessions) == 0 {
		return "", err
	}
	return out.GameSessions[0].FleetId, nil
}
