package control

import (
	"cmp"
	"context"
	"crypto/rand"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// This file has what the session gateway needs beyond the API.

// CreateGameSessionFor is CreateGameSession for a caller who waits for the answer: unless ConfirmGameSession is called
// by the given time, or a player has joined, the game session is asked to end as soon as no player session is RESERVED.
// fresh: the request's token is a new random one, so that it cannot have been used before.
func (p *Plane) CreateGameSessionFor(ctx context.Context, in *wire.CreateGameSessionInput, by time.Time,
	fresh bool) (*wire.GameSession, error) {
	within := by.Sub(p.cfg.Clock.Now())
	if within <= 0 {
		return nil, context.DeadlineExceeded
	}
	return p.startGameSession(ctx, in, start{confirmWithin: within, fresh: fresh})
}

// ReservedPlayerSessions returns the player sessions of a player that are RESERVED, in all fleets. There are none in
// the history.
func (sr *sessionReader) ReservedPlayerSessions(ctx context.Context, player string) ([]wire.PlayerSession, error) {
	found := make([][]wire.PlayerSession, len(sr.Shards()))
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range sr.Shards() {
		group.Go(func() error {
			reserved, err := router.Look(ctx, s, func(m *region.Machine) (reserved []wire.PlayerSession) {
				for _, r := range m.Rooms() {
					r.PlayerSessionsOf(player, func(g *fleet.GameSession, s *fleet.PlayerSession) bool {
						if s.Status == fleet.Reserved {
							reserved = append(reserved, sr.describe(r.ID(), g, s))
						}
						return true
					})
				}
				return reserved
			})
			found[i] = reserved
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// ConfirmGameSession records that the creator of a game session has its answer, and returns when that is durable. It is
// no error if the game session does not exist.
func (p *Plane) ConfirmGameSession(ctx context.Context, gameSessionArn string) error {
	room, id, err := p.ParseGameSession(gameSessionArn)
	if err != nil {
		return err
	}
	_, err = router.AskRoom[any](ctx, p.Router, room, fleet.ConfirmGameSession{ID: id})
	return err
}

// A Claim is a request for an empty game session; see fleet.ClaimGameSession.
type Claim struct {
	FleetID, AliasID string // exactly one
	Location         string // "" for any
	Name             string
	Maximum          int32 // 1 to 200
	Properties       []wire.GameProperty
	PlayerID         string
}

// ClaimGameSession takes an empty game session of a fleet for a player, atomically. NotFoundException: there is none.
func (p *Plane) ClaimGameSession(ctx context.Context, c Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	if err := p.history.Admit(); err != nil {
		return nil, nil, err
	}
	f, err := p.target(c.FleetID, c.AliasID)
	if err != nil {
		return nil, nil, err
	}
	if c.Maximum < 1 || c.Maximum > maxPlayers {
		return nil, nil, invalid("MaximumPlayerSessionCount is %d; it must be 1 to %d", c.Maximum, maxPlayers)
	}
	command := fleet.ClaimGameSession{Name: c.Name, Maximum: c.Maximum, Player: fleet.NewPlayer{PlayerID: c.PlayerID}}
	if command.Properties, err = propertiesFrom(c.Properties); err != nil {
		return nil, nil, err
	}
	rand.Read(command.Player.Random[:])
	for _, l := range p.placesOf(f, c.Location) {
		r, err := router.AskRoom[fleet.Reservation](ctx, p.Router, l, command)
		switch {
		case fault.Is(err, fault.NotFound):
			continue
		case err != nil:
			return nil, nil, err
		}
		g := p.gameSession(l, r.GameSession)
		g.CurrentPlayerSessionCount = wire.Some(int32(len(r.Players))) // it was empty
		s := r.Players[0]
		player := playerSession(s.ID.String(), g.GameSessionId, g.FleetArn, l, r.GameSession, s)
		return g, &player, nil
	}
	return nil, nil, notFound("Fleet %s has no empty game session", f.ID)
}

// placesOf returns the rooms of a fleet's locations, or of one of them.
func (cr *catalogReader) placesOf(f *catalog.Fleet, location string) []fleet.RoomID {
	var rooms []fleet.RoomID
	for _, l := range cr.Catalog().FleetLocations(f.ID) {
		if l.Status != catalog.StatusDeleting && (location == "" || l.Location == location) {
			rooms = append(rooms, fleet.RoomID{Fleet: fleet.ID(f.ID), Location: l.Location})
		}
	}
	return rooms
}

// IdleProcesses counts the idle server processes of a fleet, given by its id or an alias, by location.
func (p *Plane) IdleProcesses(ctx context.Context, fleetID, aliasID string) (map[string]int, error) {
	f, err := p.target(fleetID, aliasID)
	if err != nil {
		return nil, err
	}
	idle := map[string]int{}
	for _, room := range p.placesOf(f, "") {
		if idle[room.Location], err = router.InRoom(ctx, p.Router, room, (*fleet.Room).WaitingProcesses); err != nil {
			return nil, err
		}
	}
	return idle, nil
}

// DefaultFleet returns the id of the oldest ACTIVE fleet that has server processes, or else of the oldest ACTIVE one.
// Processes with a game session count, so that the answer does not change while fleets fill up.
func (p *Plane) DefaultFleet(ctx context.Context) (string, error) {
	fleets, _ := p.Catalog().Fleets("", math.MaxInt)
	fleets = slices.DeleteFunc(slices.Clone(fleets),
		func(f *catalog.Fleet) bool { return f.Status != catalog.StatusActive })
	slices.SortStableFunc(fleets, func(a, b *catalog.Fleet) int { return cmp.Compare(a.Created, b.Created) })
	switch len(fleets) {
	case 0:
		return "", notFound("There is no ACTIVE fleet")
	case 1:
		return fleets[0].ID, nil
	}
	for _, f := range fleets {
		for _, room := range p.placesOf(f, "") {
			counts, err := router.InRoom(ctx, p.Router, room, (*fleet.Room).Counts)
			if err != nil {
				return "", err
			}
			if counts.Processes > 0 {
				return f.ID, nil
			}
		}
	}
	return fleets[0].ID, nil
}
