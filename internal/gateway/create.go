package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// buildProperty is the game property with the build of a game session.
const buildProperty = "build_id"

// confirmGrace is the time after the deadline of a creation until which the gateway must confirm that the answer was
// sent. An unconfirmed game session lives on while its player session is RESERVED, because the client may repeat the
// request.
const confirmGrace = 5 * time.Second

// A creation is a request for a game session.
type creation struct {
	name       string
	maximum    int32
	build      wire.Opt[int32]
	player     string // of the first player session; "" for none
	playerData string
	properties []wire.GameProperty // sorted by key, without the build
	data       string
	latencies  []wire.PlayerLatency
	target     Target // zero: as configured
	key        string // the Idempotency-Key; "" for none
	async      bool   // answer with the placement; do not wait for the game session
	caller     string // counts against MaxUnused
	origin     string // see call.origin
}

// repeatable reports whether the gateway can recognise a repeat of the request.
func (c *creation) repeatable() bool { return c.player != "" || c.key != "" }

// gameProperties returns the properties of the request, and the build as a property.
func (c *creation) gameProperties() []wire.GameProperty {
	properties := slices.Clone(c.properties)
	if build, ok := c.build.Get(); ok {
		properties = append(properties, wire.GameProperty{Key: buildProperty, Value: strconv.Itoa(int(build))})
	}
	return properties
}

type created struct {
	sessionID string
	session   *wire.GameSession          // its latest known state; nil if placed
	player    *wire.PlayerSession        // nil if none was requested
	placement *wire.GameSessionPlacement // the only field of an asynchronous creation
	replayed  bool
	waited    time.Duration // for ACTIVE
}

// carryOut executes a creation, unless it is the repeat of an earlier one.
func (g *Gateway) carryOut(ctx context.Context, ic *inflightCall, in *creation) (*created, error) {
	t, err := g.target(ctx, in)
	if err != nil {
		return nil, err
	}
	tok := g.newToken(in)
	if out, err := g.replay(ctx, in, t, tok); out != nil || err != nil {
		return out, err
	}
	if t.Queue == "" && in.async {
		return nil, invalid("wait must be true: only a queue answers before the game session is there.")
	}
	if ic.held, err = g.hold(ctx, in.caller); err != nil {
		return nil, err
	}
	if t.Queue != "" {
		return g.place(ctx, ic, in, t, tok)
	}
	if g.reuse && in.player != "" && in.key == "" && in.data == "" { // a claim cannot set the id or the data
		if out, err := g.claim(ctx, ic, in, t, tok); out != nil || err != nil {
			return out, err
		}
	}
	return g.start(ctx, ic, in, t, tok)
}

// start creates a game session on a fleet, waits until it is ACTIVE, and creates the player session.
func (g *Gateway) start(ctx context.Context, ic *inflightCall, in *creation, t Target, tok token) (*created, error) {
	began := g.clock.Now()
	s, err := g.createSomewhere(ctx, ic, in, t, tok)
	if err != nil {
		return nil, err
	}
	id := s.GameSessionId
	ic.undo = append(ic.undo, func(ctx context.Context) { g.abandon(ctx, id) })
	s, err = g.service.AwaitGameSession(ctx, id)
	if err = notActive(ctx, s, err); err != nil {
		return nil, err
	}
	out := &created{sessionID: id, session: s, waited: g.clock.Since(began)}
	if in.player == "" { // no player session keeps the game session alive: confirm before the answer
		return out, g.service.ConfirmGameSession(ctx, id)
	}
	players, err := g.reserve(ctx, id, []newPlayer{{id: in.player, data: in.playerData}})
	if err != nil {
		return nil, err
	}
	out.player = &players[0]
	return out, nil
}

// notActive returns why a game session is not ACTIVE after the wait; nil if it is.
func notActive(ctx context.Context, s *wire.GameSession, err error) error {
	switch {
	case err != nil:
		f := asFailure(failed(ctx, err, ActivationFailed, Internal))
		if f.code == Timeout {
			f.code = ActivationTimeout
		}
		return f
	case s.Status != wire.GameSessionStatusActive:
		return &failure{code: ActivationFailed, err: fault.New(fault.InvalidGameSessionStatus, "game session %s is %s",
			s.GameSessionId, s.Status)}
	default:
		return nil
	}
}

// createSomewhere creates the game session in the first location of the target with a free server process.
func (g *Gateway) createSomewhere(ctx context.Context, ic *inflightCall, in *creation, t Target,
	tok token) (*wire.GameSession, error) {
	names, err := g.candidates(ctx, in, t)
	if err != nil {
		return nil, err
	}
	var last error
	for _, name := range names {
		s, err := g.createAt(ctx, ic, in, t, name, tok)
		if err == nil {
			return s, nil
		}
		if last = in.failed(ctx, err, RequestConflict); asFailure(last).code != NoCapacity {
			break
		}
		ic.retries++
	}
	if last == nil { // there is no candidate
		last = g.noneFree(in, t)
	}
	if code := asFailure(last).code; code == NoFleet || code == NoCapacity {
		g.first.forget() // another fleet may be the first by now
	}
	return nil, last
}

// noneFree returns the failure of a target without a free server process. In development clients see its cause, too.
func (g *Gateway) noneFree(in *creation, t Target) error {
	cause := "No game server is free in fleet " + cmp.Or(t.FleetID, t.AliasID) + "."
	if in.target == (Target{}) && g.def == (Target{}) {
		cause += " Start one there, or choose another fleet with the setting gateway-fleet."
	}
	return &failure{code: NoCapacity, err: errors.New(cause)}
}

// failed is the function of that name for the call that creates. A missing target is an error of the client if the
// client has named it.
func (c *creation) failed(ctx context.Context, err error, conflict Code) error {
	if c.target != (Target{}) && fault.Is(err, fault.NotFound) {
		return invalid("target: there is no such fleet, alias or queue.")
	}
	return failed(ctx, err, NoFleet, conflict)
}

// candidates returns the locations to try, the best first: the configured one alone, or those with idle server
// processes in descending order, then those of unknown number.
func (g *Gateway) candidates(ctx context.Context, in *creation, t Target) ([]string, error) {
	if t.Location != "" {
		return []string{t.Location}, nil
	}
	locations, err := g.service.Locations(ctx, t)
	if err != nil {
		g.first.forget()
		return nil, in.failed(ctx, err, Internal)
	}
	locations = slices.DeleteFunc(slices.Clone(locations), func(l Location) bool { return l.Idle == 0 })
	slices.SortFunc(locations,
		func(a, b Location) int { return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.Name, b.Name)) })
	names := make([]string, len(locations))
	for i, l := range locations {
		names[i] = l.Name
	}
	return names, nil
}

// createAt creates the game session in one location. A call that was cut off may have succeeded, so its game session is
// on the undo list.
func (g *Gateway) createAt(ctx context.Context, ic *inflightCall, in *creation, t Target, location string,
	tok token) (*wire.GameSession, error) {
	input := &wire.CreateGameSessionInput{
		FleetId: t.FleetID, AliasId: t.AliasID, Location: location, Name: in.name,
		MaximumPlayerSessionCount: wire.Some(in.maximum),
		GameProperties:            in.gameProperties(), GameSessionData: in.data, IdempotencyToken: tok.String(),
	}
	var by time.Time
	if deadline, ok := ctx.Deadline(); ok {
		by = deadline.Add(confirmGrace)
	}
	s, err := g.service.CreateGameSession(ctx, Creation{Input: input, ConfirmBy: by, Fresh: in.key == ""})
	if err == nil {
		return s, nil
	}
	if fleet, ok := arn.ParseFleet(t.FleetID); ok && ctx.Err() != nil {
		ic.undo = append(ic.undo,
			func(ctx context.Context) { g.abandon(ctx, arn.GameSession(g.region, fleet, location, tok.String())) })
	}
	return nil, err
}

// abandon ends a game session that no client knows, unless it has a player. It may have ended already.
func (g *Gateway) abandon(ctx context.Context, id string) {
	s, err := g.service.DescribeGameSession(ctx, id)
	if err == nil {
		if ending(s) || s.CurrentPlayerSessionCount.Or(0) > 0 {
			return
		}
		err = g.terminate(ctx, id)
	}
	switch {
	case err == nil:
		g.log.Info("game session ended", "game_session", id, "reason", "creation failed")
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidGameSessionStatus): // it has ended
	default:
		g.log.Warn("game session cleanup failed", "game_session", id, "error", err)
	}
}

// terminate ends a game session through its server process, or else by force, because the process of one that never
// became ACTIVE may not respond.
func (g *Gateway) terminate(ctx context.Context, id string) (err error) {
	for _, mode := range []wire.TerminationMode{
		wire.TerminationModeTriggerOnProcessTerminate, wire.TerminationModeForceTerminate,
	} {
		_, err = g.service.TerminateGameSession(ctx,
			&wire.TerminateGameSessionInput{GameSessionId: id, TerminationMode: mode})
		if !fault.Is(err, fault.InvalidRequest) && !fault.Is(err, fault.InvalidGameSessionStatus) {
			break
		}
	}
	return err
}

// ending reports whether a game session has ended or is TERMINATING.
func ending(s *wire.GameSession) bool {
	return s.Status != wire.GameSessionStatusActive && s.Status != wire.GameSessionStatusActivating
}
