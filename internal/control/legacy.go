package control

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Legacy configures game servers on server SDK 3 and 4, which name no fleet.
type Legacy struct {
	Fleet   string // which they join; it is created with the region as its location, unless it exists
	Address string // IP address or host name of game servers on this machine, for players

	// AnyFleet has the rules of GameLift Local: any fleet exists, and any idle process serves it; a GameSessionId in
	// CreateGameSession is the whole id of the game session.
	AnyFleet bool
}

// legacyServers finds the fleets of game servers on server SDK 3 and 4.
type legacyServers struct {
	Legacy
	plane *Plane

	mu     sync.Mutex
	fleet  string // which new processes join: with AnyFleet the one that was used last
	moving sync.Mutex
}

// legacyLimit is the time-out of what happens within a call that has no context.
const legacyLimit = 10 * time.Second

// newLegacyServers returns nil if there are none.
func newLegacyServers(p *Plane, c *Legacy) *legacyServers {
	if c == nil {
		return nil
	}
	l := &legacyServers{Legacy: *c, plane: p, fleet: c.Fleet}
	if c.AnyFleet {
		p.names.Verbatim, p.firstUse = l.verbatim, l.firstUse
	}
	return l
}

// LegacyServers returns the connector for the endpoint of server SDK 3 and 4.
func (p *Plane) LegacyServers() processes.LegacyConnector { return p.legacy }

// OpenLegacyFleet creates the fleet of game servers on server SDK 3 and 4, unless it exists.
func (p *Plane) OpenLegacyFleet(ctx context.Context) error {
	if p.legacy == nil {
		return nil
	}
	return p.legacy.openFleet(ctx, p.legacy.Fleet)
}

// LegacyFleet returns the fleet that new game servers on server SDK 3 and 4 join.
func (p *Plane) LegacyFleet() string { return string(p.legacy.joined().Fleet) }

func (l *legacyServers) room(fleetID string) fleet.RoomID {
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: l.plane.cfg.Region}
}

// joined returns the room that new processes join.
func (l *legacyServers) joined() fleet.RoomID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.room(l.fleet)
}

// use records that a fleet is used, so that new processes join it.
func (l *legacyServers) use(fleetID string) {
	if l == nil || !l.AnyFleet {
		return
	}
	if _, ok := l.plane.Catalog().FleetLocation(fleetID, l.plane.cfg.Region); !ok {
		return // of other game servers
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fleet = fleetID
}

// rooms returns the rooms that may have old processes, first the one that new ones join.
func (l *legacyServers) rooms() []fleet.RoomID {
	first := l.joined()
	rooms := []fleet.RoomID{first}
	if !l.AnyFleet {
		return rooms
	}
	view, after := l.plane.Catalog(), ""
	for more := true; more; {
		var fleets []*catalog.Fleet
		fleets, more = view.Fleets(after, maxIDs)
		for _, f := range fleets {
			after = f.ID
			room := l.room(f.ID)
			if _, ok := view.FleetLocation(f.ID, room.Location); ok && room != first {
				rooms = append(rooms, room)
			}
		}
	}
	return rooms
}

// openFleet creates a fleet with the region as its location, unless it exists.
func (l *legacyServers) openFleet(ctx context.Context, id string) error {
	if _, known := l.plane.Catalog().Fleet(id); known {
		return nil
	}
	command := catalog.CreateFleet{
		ID: id, ComputeType: string(wire.ComputeTypeAnywhere), Home: true, Locations: []string{l.plane.cfg.Region},
		Attributes: catalog.Attributes{Name: id, Description: "Game servers on server SDK 3 and 4"},
	}
	command.EventIDs = newIDs(command.EventCount())
	return l.plane.Change(ctx, command)
}

// firstUse creates a fleet that a request names.
func (l *legacyServers) firstUse(id string) (*catalog.Fleet, error) {
	if parsed, ok := arn.ParseFleet(id); !ok || !strings.HasPrefix(parsed, "fleet-") {
		return nil, notFound("Fleet %s not found", id)
	}
	ctx, cancel := context.WithTimeout(context.Background(), legacyLimit)
	defer cancel()
	if err := l.openFleet(ctx, id); err != nil {
		return nil, err
	}
	return l.plane.Catalog().LiveFleet(id)
}

// ConnectLegacy implements processes.LegacyConnector.
func (l *legacyServers) ConnectLegacy(ctx context.Context,
	r processes.LegacyRequest) (processes.LegacyConnection, error) {
	name, shown := l.compute(r.Address)
	key := processes.Key{Process: fleet.ProcessKey{Compute: name, ID: r.ProcessID}}
	known, err := l.find(ctx, key.Process)
	if err != nil {
		return nil, err
	}
	switch hosting := known.alive() && known.process.Status == fleet.ProcessHosting; {
	case r.HostingOnly && !hosting:
		return nil, notFound("Server process %s has no connection for pushes. Start it again.", r.ProcessID)
	case known.alive():
		key.Room = known.room
	default:
		key.Room = l.joined()
		if err := l.openCompute(ctx, key.Room, name, shown); err != nil {
			return nil, err
		}
	}
	attached, err := l.plane.processes.Attach(ctx, &r, key, known.past())
	if moved := known.moved(); err == nil && moved != nil {
		err = attached.BecomeReady(ctx, moved)
	}
	if err != nil {
		return nil, err
	}
	return attached, nil
}

// compute returns the name of the compute that stands for a machine, and its address for players.
func (l *legacyServers) compute(address string) (name, shown string) {
	shown = address
	if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().IsLoopback() {
		shown = l.Address
	}
	letter := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}
	return "local-" + strings.Map(letter, shown), shown
}

// openCompute registers a compute, unless it is registered.
func (l *legacyServers) openCompute(ctx context.Context, room fleet.RoomID, name, shown string) error {
	if err := l.openFleet(ctx, string(room.Fleet)); err != nil {
		return err
	}
	in := &wire.RegisterComputeInput{FleetId: string(room.Fleet), ComputeName: name, Location: room.Location}
	if ip, err := netip.ParseAddr(shown); err != nil {
		in.DnsName = shown
	} else if in.IpAddress = shown; ip.IsLoopback() {
		in.DnsName = "localhost" // as GameLift Local answers
	}
	_, err := l.plane.RegisterCompute(ctx, in)
	return err
}

// A knownProcess is what the rooms have of a process.
type knownProcess struct {
	room    fleet.RoomID
	process *fleet.Process // that is alive, else the one that ended last; nil: none
	left    *fleet.Process // that ended last because it moved to another room; nil: none
}

func (k knownProcess) alive() bool { return k.process != nil && k.process.Status != fleet.ProcessEnded }

// moved returns the record that the process left in its room if the service stopped while it moved: before it was
// connected to the other room, or before it was ready there. Else it is nil.
func (k knownProcess) moved() *fleet.Process {
	switch {
	case k.left == nil:
		return nil
	case k.process == k.left:
		return k.left
	case k.process.Status == fleet.ProcessInitializing && k.process.Created < k.left.Ended.Add(legacyLimit):
		return k.left // later it is another process with the same id
	}
	return nil
}

func (k knownProcess) past() (past processes.LegacyPast) {
	if k.moved() != nil {
		return processes.LegacyPast{Ready: true}
	}
	if k.process == nil || k.process.Ready == 0 {
		return past
	}
	past.Ready = k.alive()
	past.Ended = !past.Ready && k.process.End != fleet.EndedItself
	return past
}

// find returns what the rooms have of a process.
func (l *legacyServers) find(ctx context.Context, key fleet.ProcessKey) (known knownProcess, err error) {
	for _, room := range l.rooms() {
		p, err := router.InRoom(ctx, l.plane.Router, room, func(r *fleet.Room) *fleet.Process {
			p, _ := r.Process(key)
			return p
		})
		if err != nil {
			return known, err
		}
		if p == nil {
			continue
		}
		if p.End == fleet.EndedByMove && (known.left == nil || known.left.Ended < p.Ended) {
			known.left = p
		}
		alive := p.Status != fleet.ProcessEnded
		if known.process == nil || alive || !known.alive() && known.process.Ended < p.Ended {
			known.room, known.process = room, p
		}
	}
	return known, nil
}

// LegacyState implements processes.LegacyConnector.
func (l *legacyServers) LegacyState(ctx context.Context, key processes.Key) (state processes.LegacyState) {
	state, _ = router.InRoom(ctx, l.plane.Router, key.Room, func(r *fleet.Room) (s processes.LegacyState) {
		p, ok := r.Process(key.Process)
		if !ok {
			return s
		}
		s.Status, s.Connected = p.Status, p.Connected
		if g, ok := r.GameSessionAt(p.Session); ok {
			s.GameSession, s.Session = l.plane.GameSessionARN(key.Room, g.ID), g.Status
		}
		return s
	})
	return state
}

// bring moves an idle process into a room, and reports whether it has.
func (l *legacyServers) bring(ctx context.Context, to fleet.RoomID) (bool, error) {
	if l == nil || !l.AnyFleet || to.Location != l.plane.cfg.Region {
		return false, nil
	}
	l.moving.Lock()
	defer l.moving.Unlock()
	from := slices.DeleteFunc(l.rooms(), func(room fleet.RoomID) bool { return room == to })
	return l.plane.processes.Bring(ctx, to, from, func(c *fleet.Compute) error {
		return l.openCompute(ctx, to, c.Name, cmp.Or(c.IPAddress, c.DNSName))
	})
}

// createOnProcess is createGameSession. If an old process hosts the game session, it waits until the process has
// accepted it.
func (p *Plane) createOnProcess(ctx context.Context, f *catalog.Fleet, room fleet.RoomID,
	c fleet.CreateGameSession) (*fleet.GameSession, error) {
	if p.legacy == nil {
		return p.createGameSession(ctx, f, room, c)
	}
	p.legacy.use(f.ID)
	start := p.processes.ExpectStart(p.GameSessionARN(room, c.ID))
	defer start.End()
	g, err := p.createGameSession(ctx, f, room, c)
	if fault.Is(err, fault.FleetCapacityExceeded) && c.Build == "" {
		if brought, failed := p.legacy.bring(ctx, room); failed != nil {
			return nil, failed
		} else if brought {
			g, err = p.createGameSession(ctx, f, room, c)
		}
	}
	if err == nil {
		err = start.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	if now, err := p.GameSession(ctx, room, c.ID); err == nil && now != nil {
		g = now // it may be ACTIVE already
	}
	return g, nil
}

// destination returns the fleet of a queue's destination.
func (cr *catalogReader) destination(fleetOrAliasArn string) (*catalog.Fleet, error) {
	if id, ok := arn.ParseFleet(fleetOrAliasArn); ok {
		return cr.liveFleet(id)
	}
	return cr.target("", fleetOrAliasArn)
}

// supply moves an idle process to a destination of a queue if none of them has one.
func (l *legacyServers) supply(ctx context.Context, q *catalog.Queue) error {
	if l == nil || !l.AnyFleet {
		return nil
	}
	var first *fleet.RoomID
	for _, d := range q.Destinations {
		f, err := l.plane.destination(d)
		if err != nil {
			continue // the trail of the placement has the reason
		}
		idle, err := l.plane.IdleProcesses(ctx, f.ID, "")
		if err != nil {
			return err
		}
		for _, n := range idle {
			if n > 0 {
				return nil
			}
		}
		if room := l.room(f.ID); first == nil {
			first = &room
		}
	}
	if first == nil {
		return nil
	}
	l.use(string(first.Fleet))
	_, err := l.bring(ctx, *first)
	return err
}

// verbatimID returns the id part for a game session with the whole id that a client gave: that of a running one, or a
// new one.
func (l *legacyServers) verbatimID(ctx context.Context, room fleet.RoomID, given string) (string, error) {
	for use := 1; ; use++ {
		id := arn.Verbatim(given, use)
		g, err := l.plane.sessionIn(ctx, room, id)
		if err != nil {
			return "", err
		}
		if g == nil || !g.HasEnded() {
			return id, nil
		}
	}
}

// verbatim finds the newest game session with the whole id that a client gave; one that runs comes first.
func (l *legacyServers) verbatim(given string) (room fleet.RoomID, id string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), legacyLimit)
	defer cancel()
	for _, in := range l.rooms() {
		for use := 1; ; use++ {
			part := arn.Verbatim(given, use)
			g, err := l.plane.sessionIn(ctx, in, part)
			if err != nil || g == nil {
				break
			}
			if room, id, ok = in, part, true; !g.HasEnded() {
				return room, id, true
			}
		}
	}
	return room, id, ok
}
