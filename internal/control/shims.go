package control

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// The older names of what package router has, for the files that still use them.

type regionShard = router.Shard

func (p *Plane) catalog() *catalog.State                             { return p.Catalog() }
func (p *Plane) change(ctx context.Context, c catalog.Command) error { return p.Change(ctx, c) }
func (p *Plane) now() event.Time                                     { return p.Now() }
func (p *Plane) ticketShard() *router.Shard                          { return p.TicketShard() }
func (p *Plane) elsewhere(nameOrArn string) bool                     { return p.Elsewhere(nameOrArn) }
func (p *Plane) queueArn(name string) string                         { return p.QueueARN(name) }
func (p *Plane) fleetArn(id string) string                           { return p.FleetARN(id) }
func (p *Plane) configurationArn(name string) string                 { return p.ConfigurationARN(name) }
func (p *Plane) gameSessionArn(room fleet.RoomID, id string) string {
	return p.GameSessionARN(room, id)
}
func (p *Plane) gameSessionPlace(a string) (fleet.RoomID, string, error) {
	return p.ParseGameSession(a)
}
func (p *Plane) pause(ctx context.Context, d time.Duration) bool { return p.Pause(ctx, d) }

func (p *Plane) logUnless(fine bool, message string, args ...any) {
	p.WarnUnless(fine, message, args...)
}

func (p *Plane) read(ctx context.Context, id fleet.RoomID, look func(*fleet.Room)) (bool, error) {
	return router.InRoom(ctx, p.Router, id, func(r *fleet.Room) bool { look(r); return true })
}

func ask[A any](ctx context.Context, p *Plane, c region.RoomCommand) (A, error) {
	return router.Ask[A](ctx, p.RoomShard(c.Room), c)
}

func askTickets[A any](ctx context.Context, p *Plane, c matchmaking.Command) (A, error) {
	return router.Ask[A](ctx, p.TicketShard(), region.MatchmakingCommand{Command: c})
}

type watches[K comparable] struct{ router.Watches[K] }

func (w *watches[K]) tell(key K) { w.Notify(key) }

func (w *watches[K]) any() bool { return w.Any() }

func wake(c chan struct{}) { router.Wake(c) }
