package gateway

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// buildProperty is the game property that holds the build a game session is for.
const buildProperty = "build_id"

// handOverGrace is how long after the deadline of its creation the service must
// know that the answer was sent. While the player's place is reserved, a game
// session that was not handed over lives on: the request may be repeated.
const handOverGrace = 5 * time.Second

// A creation is a request for a game session.
type creation struct {
	name       string
	maximum    int32
	build      wire.Opt[int32]
	player     string // who gets the first place; "" for nobody
	playerData string
	properties []wire.GameProperty // sorted by key, without the build
	data       string
	latencies  []wire.PlayerLatency
	target     Target // zero: as configured
	key        string // the Idempotency-Key; "" for none
	async      bool   // the placement is wanted, not the game session
	caller     string // who asks, for the bound of unused game sessions
	origin     string // where the request came from, if the player's id names nobody; see call.origin
}

// repeatable reports whether the gateway can tell that a request is one that it
// has seen before.
func (c *creation) repeatable() bool { return c.player != "" || c.key != "" }

// gameProperties are those of the request and the build's.
func (c *creation) gameProperties() []wire.GameProperty {
	properties := slices.Clone(c.properties)
	if build, ok := c.build.Get(); ok {
		properties = append(properties, wire.GameProperty{Key: buildProperty, Value: strconv.Itoa(int(build))})
	}
	return properties
}

// Created is what a creation has come to.
type created struct {
	sessionID string
	session   *wire.GameSession          // as it was when it was looked at last; nil if placed
	player    *wire.PlayerSession        // nil if none was asked for
	placement *wire.GameSessionPlacement // alone, of an asynchronous creation
	replayed  bool
	waited    time.Duration // for ACTIVE
}

// carryOut does what a request asks for, unless that was done before.
func (g *Gateway) carryOut(ctx context.Context, f *flight, in *creation) (*created, *failure) {
	t, bad := g.target(ctx, in)
	if bad != nil {
		return nil, bad
	}
	tok := g.newToken(in)
	if out, bad := g.replay(ctx, in, t, tok); out != nil || bad != nil {
		return out, bad
	}
	if t.Queue == "" && in.async {
		return nil, invalid("wait must be true: only a queue answers before the game session is there.")
	}
	if f.held, bad = g.hold(ctx, in.caller); bad != nil {
		return nil, bad
	}
	if t.Queue != "" {
		return g.place(ctx, f, in, t, tok)
	}
	if g.reuse && in.player != "" && in.key == "" && in.data == "" { // what is claimed has neither the key's id nor data
		if out, bad := g.claim(ctx, f, in, t, tok); out != nil || bad != nil {
			return out, bad
		}
	}
	return g.start(ctx, f, in, t, tok)
}

// start creates a game session on a fleet, waits until it is ACTIVE, and reserves
// the player's place.
func (g *Gateway) start(ctx context.Context, f *flight, in *creation, t Target, tok token) (*created, *failure) {
	began := g.clock.Now()
	s, bad := g.createSomewhere(ctx, f, in, t, tok)
	if bad != nil {
		return nil, bad
	}
	id := s.GameSessionId
	f.undo = append(f.undo, func(ctx context.Context) { g.abandon(ctx, id) })
	s, err := g.service.AwaitGameSession(ctx, id)
	if bad := notActive(ctx, s, err); bad != nil {
		return nil, bad
	}
	out := &created{sessionID: id, session: s, waited: g.clock.Since(began)}
	if in.player == "" { // no place that is reserved keeps it until the answer has come
		if err := g.service.HandOver(ctx, id); err != nil {
			return nil, failed(ctx, err, Internal, Internal)
		}
		return out, nil
	}
	players, bad := g.reserve(ctx, id, []newPlayer{{id: in.player, data: in.playerData}})
	if bad != nil {
		return nil, bad
	}
	out.player = &players[0]
	return out, nil
}

// notActive says why a game session that was waited for cannot be played.
func notActive(ctx context.Context, s *wire.GameSession, err error) *failure {
	switch {
	case err != nil:
		f := failed(ctx, err, ActivationFailed, Internal)
		if f.code == Timeout {
			f.code = ActivationTimeout
		}
		return f
	case s.Status != wire.GameSessionStatusActive:
		return &failure{code: ActivationFailed, err: fault.New(fault.InvalidGameSessionStatus, "game session %s is %s", s.GameSessionId, s.Status)}
	default:
		return nil
	}
}

// createSomewhere creates the game session in the first of the target's locations
// that has a server process for it.
func (g *Gateway) createSomewhere(ctx context.Context, f *flight, in *creation, t Target, tok token) (*wire.GameSession, *failure) {
	names, bad := g.candidates(ctx, in, t)
	if bad != nil {
		return nil, bad
	}
	last := &failure{code: NoCapacity}
	for _, name := range names {
		s, err := g.createAt(ctx, f, in, t, name, tok)
		if err == nil {
			return s, nil
		}
		if last = in.failed(ctx, err, RequestConflict); last.code != NoCapacity {
			break
		}
		f.retries++
	}
	if last.code == NoFleet || last.code == NoCapacity {
		g.first.forget() // another fleet may be the first by now
	}
	return nil, last
}

// failed is the function of that name for an error of the call that creates. A
// target that is missing is the client's mistake if the client has named it.
func (c *creation) failed(ctx context.Context, err error, conflict Code) *failure {
	if c.target != (Target{}) && fault.Is(err, fault.NotFound) {
		return invalid("target: there is no such fleet, alias or queue.")
	}
	return failed(ctx, err, NoFleet, conflict)
}

// candidates are the locations to try, the best first: the configured one alone;
// else those with most server processes that wait, and then those that do not say
// how many do.
func (g *Gateway) candidates(ctx context.Context, in *creation, t Target) ([]string, *failure) {
	if t.Location != "" {
		return []string{t.Location}, nil
	}
	locations, err := g.service.Locations(ctx, t)
	if err != nil {
		g.first.forget()
		return nil, in.failed(ctx, err, Internal)
	}
	locations = slices.DeleteFunc(slices.Clone(locations), func(l Location) bool { return l.Idle == 0 })
	slices.SortFunc(locations, func(a, b Location) int { return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.Name, b.Name)) })
	names := make([]string, len(locations))
	for i, l := range locations {
		names[i] = l.Name
	}
	return names, nil
}

// createAt creates the game session in one location. A call of which no answer
// came may have had its effect all the same.
func (g *Gateway) createAt(ctx context.Context, f *flight, in *creation, t Target, location string, tok token) (*wire.GameSession, error) {
	input := &wire.CreateGameSessionInput{
		FleetId: t.FleetID, AliasId: t.AliasID, Location: location, Name: in.name, MaximumPlayerSessionCount: wire.Some(in.maximum),
		GameProperties: in.gameProperties(), GameSessionData: in.data, IdempotencyToken: tok.String(),
	}
	var by time.Time
	if deadline, ok := ctx.Deadline(); ok {
		by = deadline.Add(handOverGrace)
	}
	s, err := g.service.CreateGameSession(ctx, Creation{Input: input, HandOverBy: by, Fresh: in.key == ""})
	if err == nil {
		return s, nil
	}
	if fleet, ok := arn.ParseFleet(t.FleetID); ok && ctx.Err() != nil {
		f.undo = append(f.undo, func(ctx context.Context) { g.abandon(ctx, arn.GameSession(g.region, fleet, location, tok.String())) })
	}
	return nil, err
}

// abandon ends a game session that no client knows of, if it has no player. It
// is no failure if it is gone already.
func (g *Gateway) abandon(ctx context.Context, id string) {
	s, err := g.service.DescribeGameSession(ctx, id)
	if err == nil {
		if over(s) || s.CurrentPlayerSessionCount.Or(0) > 0 {
			return
		}
		err = g.terminate(ctx, id)
	}
	switch {
	case err == nil:
		g.log.Info("game session ended", "game_session", id, "reason", "its creation was not completed")
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidGameSessionStatus): // it has ended by itself
	default:
		g.log.Warn("game session left behind", "game_session", id, "error", err)
	}
}

// terminate ends a game session: in order, or else by force, because the server
// process of one that never became ACTIVE may not be able to be asked.
func (g *Gateway) terminate(ctx context.Context, id string) (err error) {
	for _, mode := range []wire.TerminationMode{wire.TerminationModeTriggerOnProcessTerminate, wire.TerminationModeForceTerminate} {
		_, err = g.service.TerminateGameSession(ctx, &wire.TerminateGameSessionInput{GameSessionId: id, TerminationMode: mode})
		if !fault.Is(err, fault.InvalidRequest) && !fault.Is(err, fault.InvalidGameSessionStatus) {
			break
		}
	}
	return err
}

// over reports whether a game session has ended or is about to.
func over(s *wire.GameSession) bool {
	return s.Status != wire.GameSessionStatusActive && s.Status != wire.GameSessionStatusActivating
}
