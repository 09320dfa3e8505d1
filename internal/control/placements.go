package control

import (
	"context"
	"math"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxPending is the maximum number of PENDING placements. Each ends within its queue's time-out, so that only a region
// that is far too small reaches it.
const maxPending = 100_000

// StartGameSessionPlacement requests a game session from a queue. In the answer the placement is PENDING; it is
// FULFILLED when a game session is ACTIVE.
//
// A PlacementId is taken for as long as the history has it. A retry of the AWS SDKs, which repeat a call with the same
// invocation id when its answer was lost, returns the placement that the call has started.
func (p *Plane) StartGameSessionPlacement(ctx context.Context,
	in *wire.StartGameSessionPlacementInput) (*wire.StartGameSessionPlacementOutput, error) {
	q, err := p.queue(in.GameSessionQueueName)
	if err != nil {
		return nil, err
	}
	r, err := placementRequest(in, q)
	if err != nil {
		return nil, err
	}
	if call := callOf(ctx); call.Invocation != "" {
		r.Call = p.secrets.CallID(call.Principal, call.Invocation)
	}
	started, err := p.startPlacement(ctx, q, r)
	if err != nil {
		return nil, err
	}
	return &wire.StartGameSessionPlacementOutput{GameSessionPlacement: p.placement(started, nil)}, nil
}

// placementRequest converts a request, without what depends on its queue.
func placementRequest(in *wire.StartGameSessionPlacementInput, q *catalog.Queue) (r placement.Request, err error) {
	r = placement.Request{
		ID: in.PlacementId, Queue: q.Name, QueueID: q.ID, Maximum: in.MaximumPlayerSessionCount.Or(0),
		Name: in.GameSessionName, Data: in.GameSessionData,
	}
	switch {
	case r.Maximum > maxPlayers:
		return r, invalid("MaximumPlayerSessionCount is %d; the maximum is %d", r.Maximum, maxPlayers)
	case len(in.DesiredPlayerSessions) > int(r.Maximum):
		return r, invalid(
			"DesiredPlayerSessions has %d players, more than MaximumPlayerSessionCount, which is %d",
			len(in.DesiredPlayerSessions), r.Maximum)
	}
	if r.Properties, err = propertiesFrom(in.GameProperties); err != nil {
		return r, err
	}
	if r.Players, err = desiredFrom(in.DesiredPlayerSessions); err != nil {
		return r, err
	}
	if r.Latencies, err = latenciesFrom(in.PlayerLatencies); err != nil {
		return r, err
	}
	if o := in.PriorityConfigurationOverride; o != nil {
		listOnly := o.PlacementFallbackStrategy == wire.PlacementFallbackStrategyNone
		r.Override = &placement.Override{LocationOrder: o.LocationOrder, ListOnly: listOnly}
	}
	return r, nil
}

func desiredFrom(in []wire.DesiredPlayerSession) ([]placement.Player, error) {
	var players []placement.Player
	seen := make(map[string]bool, len(in))
	for i, d := range in {
		switch {
		case d.PlayerId == "":
			return nil, invalid("DesiredPlayerSessions needs a PlayerId at position %d", i+1)
		case seen[d.PlayerId]:
			return nil, invalid("DesiredPlayerSessions holds a player twice, at position %d", i+1)
		}
		seen[d.PlayerId] = true
		players = append(players, placement.Player{PlayerID: d.PlayerId, Data: d.PlayerData})
	}
	return players, nil
}

func latenciesFrom(in []wire.PlayerLatency) ([]placement.Latency, error) {
	var latencies []placement.Latency
	for i, l := range in {
		ms, given := l.LatencyInMilliseconds.Get()
		switch {
		case l.PlayerId == "" || l.RegionIdentifier == "" || !given:
			return nil, invalid(
				"PlayerLatencies needs a PlayerId, a RegionIdentifier and LatencyInMilliseconds at position %d", i+1)
		case !(ms >= 0 && ms <= math.MaxInt32): // nor NaN
			return nil, invalid("PlayerLatencies has a LatencyInMilliseconds that is no latency at position %d", i+1)
		}
		latencies = append(latencies, placement.Latency{
			PlayerID: l.PlayerId, Location: l.RegionIdentifier, Milliseconds: float64(ms),
		})
	}
	return latencies, nil
}

// startPlacement starts a placement in a queue, or returns the one that the same call, or the same match, has started
// before, from memory or the history. Its request names the queue. InvalidRequest: the id is taken, or the queue does
// not allow the request's override.
func (p *Plane) startPlacement(ctx context.Context, q *catalog.Queue,
	r placement.Request) (*placement.Placement, error) {
	if err := p.history.Admit(); err != nil {
		return nil, err
	}
	if err := p.legacy.supply(ctx, q); err != nil {
		return nil, err
	}
	queue, pending := p.drivers.Admit(q)
	if err := queue.Check(&r); err != nil {
		return p.repeated(ctx, &r, err)
	}
	past, err := p.history.Placement(ctx, r.ID)
	switch {
	case err != nil:
		return nil, err
	case past != nil && past.IsRequest(&r):
		return past, nil
	case past != nil:
		return nil, invalid("Placement %s exists already: a PlacementId is used once, so choose another one", r.ID)
	case pending >= maxPending:
		return nil, fault.New(fault.Throttling,
			"%d placements wait for game sessions. Try again later, with fewer placements or more server processes.",
			pending)
	}
	r.Topic, r.EventData = q.NotificationTarget, q.CustomEventData // for its event, if the queue is deleted meanwhile
	if queue.Weighted() {
		r.Turn = int32(p.turns.take("queue/"+q.Name)) + 1 //nolint:gosec // at most catalog.WeightSum
	}
	choice := queue.Choose(&r, 0)
	first := p.drivers.FirstRoom(&choice)
	if fleet.VersionOf(r.Properties) != "" {
		first = nil // it may need a process of another build, of which nothing is known here
	}
	return askPlacement(ctx, p, r.ID, placement.Start{
		Request: r, Timeout: q.Timeout, Room: first,
		Trail: placement.Trail{Candidates: choice.Considered, Omitted: choice.Omitted},
	})
}

// repeated returns the placement that the same call, or the same match, has started before the queue refused its
// request: the fleets of the queue may have lost the build version since. Without one the error is refused.
func (p *Plane) repeated(ctx context.Context, r *placement.Request, refused error) (*placement.Placement, error) {
	found, err := p.findPlacement(ctx, r.ID)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return nil, err
	case err != nil || !found.IsRequest(r):
		return nil, refused
	}
	return found, nil
}

// askPlacement sends a command for a placement to its shard, and returns the placement after it.
func askPlacement(ctx context.Context, p *Plane, id string, c placement.Command) (*placement.Placement, error) {
	return router.Ask[*placement.Placement](ctx, p.PlacementShard(id), region.PlacementCommand{Command: c})
}

// findPlacement returns a placement from memory or the history.
func (p *Plane) findPlacement(ctx context.Context, id string) (*placement.Placement, error) {
	found, err := router.Look(ctx, p.PlacementShard(id), func(m *region.Machine) *placement.Placement {
		r, _ := m.Placements().Placement(id)
		return r
	})
	if err == nil && found == nil {
		found, err = p.history.Placement(ctx, id)
	}
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, notFound("Placement %s not found", id)
	}
	return found, nil
}

// DescribeGameSessionPlacement describes a placement, also one in the history. During an attempt it shows the game
// session of the attempt, which may not be the last one.
func (p *Plane) DescribeGameSessionPlacement(ctx context.Context,
	in *wire.DescribeGameSessionPlacementInput) (*wire.DescribeGameSessionPlacementOutput, error) {
	found, err := p.findPlacement(ctx, in.PlacementId)
	if err != nil {
		return nil, err
	}
	g, err := p.tried(ctx, found)
	if err != nil {
		return nil, err
	}
	return &wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: p.placement(found, g)}, nil
}

// tried returns the game session of the current attempt; nil if there is none.
func (p *Plane) tried(ctx context.Context, found *placement.Placement) (*fleet.GameSession, error) {
	if !found.AttemptRunning() {
		return nil, nil
	}
	return p.GameSession(ctx, found.Attempt.Room, placement.SessionID(found.ID, found.Attempt.Number))
}

// StopGameSessionPlacement cancels a placement for which no game session is being started.
func (p *Plane) StopGameSessionPlacement(ctx context.Context,
	in *wire.StopGameSessionPlacementInput) (*wire.StopGameSessionPlacementOutput, error) {
	stopped, err := p.stopPlacement(ctx, in.PlacementId)
	if fault.Is(err, fault.NotFound) {
		var past *placement.Placement
		if past, err = p.findPlacement(ctx, in.PlacementId); err == nil {
			err = invalid("Placement %s is %s: only a PENDING placement can be stopped", past.ID, past.Status)
		}
	}
	if err != nil {
		return nil, err
	}
	return &wire.StopGameSessionPlacementOutput{GameSessionPlacement: p.placement(stopped, nil)}, nil
}

// briefAttempts is the maximum number of attempts without an idle server process that a cancellation waits for.
const briefAttempts = 20

// stopPlacement stops a placement. An attempt that finds no idle server process is no reason to refuse, because there
// is no game session that the caller could terminate instead.
func (p *Plane) stopPlacement(ctx context.Context, id string) (stopped *placement.Placement, err error) {
	for range briefAttempts {
		stopped, err = askPlacement(ctx, p, id, placement.Stop{ID: id})
		if !fault.Is(err, fault.InvalidRequest) {
			return stopped, err
		}
		found, failed := p.findPlacement(ctx, id)
		if failed != nil || !found.AttemptRunning() {
			continue // it may wait now, or have ended
		}
		// The room has received the attempt's request before, so its answer to this one comes after that.
		if g, failed := p.tried(ctx, found); failed != nil || g != nil {
			return stopped, err
		}
	}
	return stopped, err
}

// AwaitPlacement returns a placement as soon as it is not PENDING any more.
func (p *Plane) AwaitPlacement(ctx context.Context, id string) (*wire.GameSessionPlacement, error) {
	over, err := p.awaitPlacement(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.placement(over, nil), nil
}

func (p *Plane) awaitPlacement(ctx context.Context, id string) (*placement.Placement, error) {
	news, end := p.drivers.WatchPlacement(id)
	defer end()
	for {
		found, err := p.findPlacement(ctx, id)
		if err != nil || found.HasEnded() {
			return found, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// placement converts a record to its shape of the API. g is the game session of the current attempt, if it exists
// already. The desired players are never shown. Source: API reference, GameSessionPlacement.
func (sh shapes) placement(from *placement.Placement, g *fleet.GameSession) *wire.GameSessionPlacement {
	to := &wire.GameSessionPlacement{
		PlacementId: from.ID, GameSessionQueueName: from.Queue, Status: wire.GameSessionPlacementState(from.Status),
		GameProperties: propertiesTo(from.Properties), MaximumPlayerSessionCount: wire.Some(from.Maximum),
		GameSessionName: from.Name, GameSessionData: from.Data, MatchmakerData: from.MatchmakerData,
		PlayerLatencies:               latenciesTo(from.Latencies),
		PriorityConfigurationOverride: overrideTo(from.Override), PlayerGatewayStatus: wire.PlayerGatewayStatusDisabled,
		StartTime: from.Started.Time(), EndTime: from.Ended.Time(),
	}
	switch {
	case from.Session != nil:
		s := from.Session
		sh.showSession(to, s.Room, s.ID, s.IPAddress, s.DNSName, s.Port)
		for _, player := range s.Players {
			to.PlacedPlayerSessions = append(to.PlacedPlayerSessions, wire.PlacedPlayerSession{
				PlayerId: player.PlayerID, PlayerSessionId: player.PlayerSession.String(),
			})
		}
	case from.AttemptRunning() && g != nil:
		sh.showSession(to, from.Attempt.Room, g.ID, g.IPAddress, g.DNSName, g.Port)
	case from.Status == placement.Failed && from.Attempt != nil:
		to.GameSessionId = sh.names.GameSessionARN(from.Attempt.Room, placement.SessionID(from.ID, from.Attempt.Number))
		to.GameSessionArn = to.GameSessionId
	}
	return to
}

// showSession adds the game session of a placement. The Region of an Anywhere location is the location.
func (sh shapes) showSession(to *wire.GameSessionPlacement, room fleet.RoomID, id, ip, dns string, port int32) {
	to.GameSessionArn = sh.names.GameSessionARN(room, id)
	to.GameSessionId, to.GameSessionRegion = to.GameSessionArn, room.Location
	to.IpAddress, to.DnsName, to.Port = ip, dns, portTo(port)
}

func latenciesTo(from []placement.Latency) []wire.PlayerLatency {
	if len(from) == 0 {
		return nil
	}
	to := make([]wire.PlayerLatency, len(from))
	for i, l := range from {
		ms := wire.Some(float32(l.Milliseconds))
		to[i] = wire.PlayerLatency{PlayerId: l.PlayerID, RegionIdentifier: l.Location, LatencyInMilliseconds: ms}
	}
	return to
}

func overrideTo(from *placement.Override) *wire.PriorityConfigurationOverride {
	if from == nil {
		return nil
	}
	strategy := wire.PlacementFallbackStrategyDefaultAfterSinglePass
	if from.ListOnly {
		strategy = wire.PlacementFallbackStrategyNone
	}
	return &wire.PriorityConfigurationOverride{LocationOrder: from.LocationOrder, PlacementFallbackStrategy: strategy}
}
