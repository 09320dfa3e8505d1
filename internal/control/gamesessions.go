package control

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxPlayers is the maximum number of players of a game session. Source: GameLift quotas, "Player sessions per game
// session".
const maxPlayers = 200

// CreateGameSession starts a game session on an idle process. In the answer it is ACTIVATING; the game server makes it
// ACTIVE.
//
// A call with an idempotency token returns the game session that the first call with it created. So does a retry of the
// AWS SDKs, which repeat a call with the same invocation id when its answer was lost.
func (p *Plane) CreateGameSession(ctx context.Context,
	in *wire.CreateGameSessionInput) (*wire.CreateGameSessionOutput, error) {
	g, err := p.startGameSession(ctx, in, start{})
	if err != nil {
		return nil, err
	}
	return &wire.CreateGameSessionOutput{GameSession: g}, nil
}

// start has the parameters of a creation that are not in its request.
type start struct {
	confirmWithin time.Duration // the game session ends by itself unless it is confirmed; 0: it stays
	fresh         bool          // the token was drawn for this request
}

func (p *Plane) startGameSession(ctx context.Context, in *wire.CreateGameSessionInput,
	how start) (*wire.GameSession, error) {
	if err := p.history.Admit(); err != nil {
		return nil, err
	}
	in, err := p.byWeight(ctx, in)
	if err != nil {
		return nil, err
	}
	f, room, err := p.placeGameSession(in)
	if err != nil {
		return nil, err
	}
	id, token, err := p.gameSessionID(ctx, room, in)
	if err != nil {
		return nil, err
	}
	command := fleet.CreateGameSession{
		ID: id, Name: in.Name, CreatorID: in.CreatorId, Data: in.GameSessionData,
		Maximum:           in.MaximumPlayerSessionCount.Or(0),
		Protection:        string(f.ProtectionPolicy),
		ActivationTimeout: f.ActivationTimeout(), MaxActivations: int(f.MaxConcurrentActivations()),
		ConfirmWithin: how.confirmWithin,
	}
	if command.Properties, err = propertiesFrom(in.GameProperties); err != nil {
		return nil, err
	}
	command.Fingerprint = fingerprint(command)
	if command.Build, err = versionBuild(f, command.Properties); err != nil {
		return nil, err
	}
	if command.Build != "" {
		command.Process = uuid.NewString()
		if command.ConfirmWithin > 0 {
			command.ConfirmWithin += hostLimit
		}
	}
	var g *fleet.GameSession
	if token && !how.fresh || f.CreationLimit != nil { // else the room finds it all the same
		g, err = p.createdBefore(ctx, room, command, token)
	}
	if g == nil && err == nil {
		g, err = p.createOnProcess(ctx, f, room, command)
		if fault.Is(err, fault.FleetCapacityExceeded) {
			p.scaleFromZero(ctx, room)
		}
	}
	if err == nil && command.Build != "" && g.Port == 0 && !g.HasEnded() {
		g, err = p.awaitHost(ctx, room, g)
	}
	if err != nil {
		return nil, err
	}
	return p.gameSession(room, g), nil
}

// placeGameSession returns the fleet and the location of a new game session.
func (p *Plane) placeGameSession(in *wire.CreateGameSessionInput) (*catalog.Fleet, fleet.RoomID, error) {
	f, err := p.target(in.FleetId, in.AliasId)
	switch {
	case err != nil:
		return nil, fleet.RoomID{}, err
	case f.Status != catalog.StatusActive:
		return nil, fleet.RoomID{}, fault.New(fault.InvalidFleetStatus, "Fleet %s is %s and must be ACTIVE",
			f.ID, f.Status)
	case in.MaximumPlayerSessionCount.Or(0) > maxPlayers:
		return nil, fleet.RoomID{}, invalid(
			"MaximumPlayerSessionCount is %d; the maximum is %d", in.MaximumPlayerSessionCount.Or(0), maxPlayers)
	}
	location := in.Location
	if location == "" {
		if location, err = p.onlyLocation(f); err != nil {
			return nil, fleet.RoomID{}, err
		}
	}
	if l, ok := p.Catalog().FleetLocation(f.ID, location); !ok || l.Status == catalog.StatusDeleting {
		return nil, fleet.RoomID{}, invalid("Fleet %s has no location %s", f.ID, location)
	}
	return f, fleet.RoomID{Fleet: fleet.ID(f.ID), Location: location}, nil
}

// onlyLocation returns where a game session is created that names no location: at the home of an EC2-type fleet, and of
// an Anywhere fleet where there is nothing to choose.
func (p *Plane) onlyLocation(f *catalog.Fleet) (string, error) {
	if f.Managed != nil {
		return f.Managed.Home, nil
	}
	locations := p.Catalog().FleetLocations(f.ID)
	if len(locations) != 1 {
		return "", invalid("Location is required: fleet %s has %d locations", f.ID, len(locations))
	}
	return locations[0].Location, nil
}

// gameSessionID returns the last segment of the new game session's ARN: the caller's token, or an id that follows from
// the call, so that a retry has the same one.
func (p *Plane) gameSessionID(ctx context.Context, room fleet.RoomID,
	in *wire.CreateGameSessionInput) (id string, token bool, err error) {
	if in.IdempotencyToken != "" && in.GameSessionId != "" && in.IdempotencyToken != in.GameSessionId {
		return "", false, invalid(
			"IdempotencyToken and GameSessionId differ. GameSessionId is the older name of IdempotencyToken: " +
				"give one of them.")
	}
	if p.Verbatim != nil && in.GameSessionId != "" {
		id, err = p.legacy.verbatimID(ctx, room, in.GameSessionId)
		return id, true, err
	}
	if token := cmp.Or(in.IdempotencyToken, in.GameSessionId); token != "" {
		return token, true, nil
	}
	if call := callOf(ctx); call.Invocation != "" {
		return "gsess-" + p.secrets.CallID(call.Principal, call.Invocation), false, nil
	}
	return "gsess-" + uuid.NewString(), false, nil
}

// fingerprint distinguishes requests with different parameters.
func fingerprint(c fleet.CreateGameSession) []byte {
	text, err := json.Marshal([]any{c.Maximum, c.Name, c.Properties, c.CreatorID, c.Data})
	if err != nil {
		panic(err) // texts and numbers have a JSON form
	}
	sum := sha256.Sum256(text)
	return sum[:16]
}

// propertiesFrom converts game properties, whose keys must differ.
func propertiesFrom(in []wire.GameProperty) ([]fleet.Property, error) {
	var properties []fleet.Property
	seen := make(map[string]bool, len(in))
	for _, g := range in {
		if seen[g.Key] {
			return nil, invalid("GameProperties holds the key %s twice", g.Key)
		}
		seen[g.Key] = true
		properties = append(properties, fleet.Property{Key: g.Key, Value: g.Value})
	}
	return properties, nil
}

// createdBefore returns the game session that an earlier call created with the same id. A token is taken for as long as
// the history keeps the game session.
func (p *Plane) createdBefore(ctx context.Context, room fleet.RoomID, c fleet.CreateGameSession,
	token bool) (g *fleet.GameSession, err error) {
	if g, err = p.GameSession(ctx, room, c.ID); err != nil {
		return nil, err
	}
	if g == nil && token {
		g, err = p.history.GameSession(ctx, room, c.ID)
	}
	if g != nil && !bytes.Equal(g.Fingerprint, c.Fingerprint) {
		return nil, fault.New(fault.IdempotentParameterMismatch,
			"A game session with the id %s exists already and was created with other parameters", c.ID)
	}
	return g, err
}

// createGameSession counts the creation against the fleet's policy, if it has one, and sends the command to the room. A
// failed creation is not counted.
func (p *Plane) createGameSession(ctx context.Context, f *catalog.Fleet, room fleet.RoomID,
	c fleet.CreateGameSession) (*fleet.GameSession, error) {
	counted := catalog.ClaimCreation{Fleet: f.ID, Creator: c.CreatorID, At: p.Now()}
	if f.CreationLimit != nil {
		if err := p.Change(ctx, counted); err != nil {
			return nil, err
		}
	}
	g, err := router.AskRoom[*fleet.GameSession](ctx, p.Router, room, c)
	if err == nil {
		return g, nil
	}
	if f.CreationLimit != nil && !errors.Is(err, shard.ErrOutcomeUnknown) {
		err = joinFaults(err, p.Change(context.WithoutCancel(ctx), catalog.ReleaseCreation(counted)))
	}
	if fault.Is(err, fault.NotFound) { // no compute was ever registered there
		return nil, fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s.", f.ID)
	}
	return nil, err
}

// joinFaults keeps the first of two errors, either of which may be nil, for the caller and the other for the log.
func joinFaults(err, also error) error {
	switch {
	case also == nil:
		return err
	case err == nil:
		return also
	}
	f := *fault.Of(err)
	f.Err = also
	return &f
}

// UpdateGameSession changes the members that are given of an ACTIVE game session.
func (p *Plane) UpdateGameSession(ctx context.Context,
	in *wire.UpdateGameSessionInput) (*wire.UpdateGameSessionOutput, error) {
	room, id, err := p.ParseGameSession(in.GameSessionId)
	if err != nil {
		return nil, err
	}
	command := fleet.UpdateGameSession{
		ID: id, Name: in.Name, Policy: fleet.Policy(in.PlayerSessionCreationPolicy),
		Protection: string(in.ProtectionPolicy),
	}
	if command.Properties, err = propertiesFrom(in.GameProperties); err != nil {
		return nil, err
	}
	if n, ok := in.MaximumPlayerSessionCount.Get(); ok {
		if n > maxPlayers {
			return nil, invalid("MaximumPlayerSessionCount is %d; the maximum is %d", n, maxPlayers)
		}
		command.Maximum = &n
	}
	g, err := p.changeGameSession(ctx, room, id, command)
	if err != nil {
		return nil, err
	}
	return &wire.UpdateGameSessionOutput{GameSession: g}, nil
}

// TerminateGameSession requests that the process ends, or has its agent end it at once: FORCE_TERMINATE needs control
// of the process, which the service only has where an agent runs. Source: API reference, TerminateGameSession.
func (p *Plane) TerminateGameSession(ctx context.Context,
	in *wire.TerminateGameSessionInput) (*wire.TerminateGameSessionOutput, error) {
	room, id, err := p.ParseGameSession(in.GameSessionId)
	if err != nil {
		return nil, err
	}
	var command fleet.Command = fleet.TerminateGameSession{ID: id}
	if in.TerminationMode == wire.TerminationModeForceTerminate {
		command = fleet.ForceTerminateGameSession{ID: id}
	}
	g, err := p.changeGameSession(ctx, room, id, command)
	if err != nil {
		return nil, err
	}
	return &wire.TerminateGameSessionOutput{GameSession: g}, nil
}

// changeGameSession sends a command for a game session to its room, and returns the changed one. A game session that is
// in the history only has ended.
func (p *Plane) changeGameSession(ctx context.Context, room fleet.RoomID, id string,
	c fleet.Command) (*wire.GameSession, error) {
	g, err := router.AskRoom[*fleet.GameSession](ctx, p.Router, room, c)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, p.notInMemory(ctx, room, id)
	case err != nil:
		return nil, err
	}
	return p.gameSession(room, g), nil
}

// notInMemory returns the error for a game session that its room does not have: InvalidGameSessionStatus if it is in
// the history.
func (p *Plane) notInMemory(ctx context.Context, room fleet.RoomID, id string) error {
	past, err := p.history.GameSession(ctx, room, id)
	switch {
	case err != nil:
		return err
	case past != nil:
		return fault.New(fault.InvalidGameSessionStatus, "Game session %s is %s", id, past.Status)
	}
	return notFound("Game session %s not found", p.GameSessionARN(room, id))
}

// GetPlayerConnectionDetails returns the address of the game server for each player. There is no player gateway, so
// there are no gateway tokens.
func (p *Plane) GetPlayerConnectionDetails(ctx context.Context,
	in *wire.GetPlayerConnectionDetailsInput) (*wire.GetPlayerConnectionDetailsOutput, error) {
	_, g, err := p.findSession(ctx, in.GameSessionId)
	switch {
	case err != nil:
		return nil, err
	case g.Status != fleet.Active:
		return nil, fault.New(fault.InvalidGameSessionStatus, "Game session %s is %s", g.ID, g.Status)
	}
	out := &wire.GetPlayerConnectionDetailsOutput{GameSessionId: in.GameSessionId}
	for _, player := range in.PlayerIds {
		out.PlayerConnectionDetails = append(out.PlayerConnectionDetails, wire.PlayerConnectionDetail{
			PlayerId: player, Endpoints: []wire.PlayerConnectionEndpoint{{IpAddress: g.IPAddress,
				Port: wire.Some(g.Port)}},
		})
	}
	return out, nil
}
