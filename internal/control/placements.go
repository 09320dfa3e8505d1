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

// maxPending is how many placements may be PENDING at a time. Each leaves within its
// queue's time-out, so that only a region that is far too small comes near it.
const maxPending = 100_000

// StartGameSessionPlacement asks a queue for a game session. The answer says PENDING;
// the placement is FULFILLED when a game session is ACTIVE.
//
// A PlacementId is taken for as long as the history knows it. A retry of the AWS SDKs,
// which repeat a call with the same invocation id when its answer got lost, gives the
// placement that the call has made.
func (p *Plane) StartGameSessionPlacement(ctx context.Context, in *wire.StartGameSessionPlacementInput) (
	*wire.StartGameSessionPlacementOutput, error,
) {
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

// placementRequest takes a request apart, as far as its queue does not matter.
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

// startPlacement begins a placement in a queue, and returns it as it is in memory or
// in the history when the same call, or the same match, has begun it before. Its
// request names the queue. InvalidRequest: the id is taken, or the queue leaves no room
// for the request's override.
func (p *Plane) startPlacement(ctx context.Context, q *catalog.Queue, r placement.Request) (
	*placement.Placement, error,
) {
	queue, pending := p.drivers.Admit(q)
	if err := queue.Check(&r); err != nil {
		return nil, err
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
	choice := queue.Choose(&r, 0)
	return askPlacement(ctx, p, r.ID, placement.Start{
		Request: r, Timeout: q.Timeout, Room: p.drivers.FirstRoom(&choice),
		Trail: placement.Trail{Candidates: choice.Considered, Omitted: choice.Omitted},
	})
}

// askPlacement has the shard of a placement carry out a command, and returns the
// placement as it is then.
func askPlacement(ctx context.Context, p *Plane, id string, c placement.Command) (*placement.Placement, error) {
	return router.Ask[*placement.Placement](ctx, p.PlacementShard(id), region.PlacementCommand{Command: c})
}

// findPlacement finds a placement in memory or in the history.
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

// DescribeGameSessionPlacement describes a placement, also one in the history. While an
// attempt runs it shows the game session of the attempt, which may not be the last one.
func (p *Plane) DescribeGameSessionPlacement(ctx context.Context, in *wire.DescribeGameSessionPlacementInput) (
	*wire.DescribeGameSessionPlacementOutput, error,
) {
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

// tried is the game session of the attempt that runs; nil if there is none.
func (p *Plane) tried(ctx context.Context, found *placement.Placement) (*fleet.GameSession, error) {
	if !found.AttemptRunning() {
		return nil, nil
	}
	return p.GameSession(ctx, found.Attempt.Room, placement.SessionID(found.ID, found.Attempt.Number))
}

// StopGameSessionPlacement cancels a placement for which no game session is being
// started.
func (p *Plane) StopGameSessionPlacement(ctx context.Context, in *wire.StopGameSessionPlacementInput) (
	*wire.StopGameSessionPlacementOutput, error,
) {
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

// briefAttempts is how many attempts of a placement are waited for that find no
// server process.
const briefAttempts = 20

// stopPlacement stops a placement. An attempt that is about to find out that there is
// no free server process is no reason to refuse: there is no game session that the
// caller could end instead.
func (p *Plane) stopPlacement(ctx context.Context, id string) (stopped *placement.Placement, err error) {
	for range briefAttempts {
		stopped, err = askPlacement(ctx, p, id, placement.Stop{ID: id})
		if !fault.Is(err, fault.InvalidRequest) {
			return stopped, err
		}
		found, failed := p.findPlacement(ctx, id)
		if failed != nil || !found.AttemptRunning() {
			continue // it may wait now, or be over
		}
		// The room was asked before: whoever asks it now is answered behind that.
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

// placement turns a record into its shape of the API. g is the game session of an
// attempt that runs, if there is one already. The players that are desired are never
// shown. Source: API reference, GameSessionPlacement.
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

// showSession shows the game session of a placement. The Region of an Anywhere
// location is taken to be the location.
func (sh shapes) showSession(to *wire.GameSessionPlacement, room fleet.RoomID, id, ip, dns string, port int32) {
	to.GameSessionArn = sh.names.GameSessionARN(room, id)
	to.GameSessionId, to.GameSessionRegion = to.GameSessionArn, room.Location
	to.IpAddress, to.DnsName, to.Port = ip, dns, wire.Some(port)
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
