package server

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// changes logs what happens to the game sessions, players, server processes, placements and tickets of a shard, at
// level Debug; muster dev shows these lines. Only the commit goroutine of the shard uses it.
type changes struct {
	log      *slog.Logger
	owned    bool                         // this node owns the shard; other nodes follow it, and log nothing
	sessions map[loggedKey]*loggedSession // that have not ended
	starting map[fleet.ProcessKey]bool    // processes that have connected, and are not ready
}

type loggedKey struct {
	room    uint32
	ordinal uint64
}

// A loggedSession is what the events of a game session do not repeat.
type loggedSession struct {
	fleet    fleet.ID
	id, name string
	maximum  int32
	created  event.Time
	players  map[uint32]loggedPlayer // RESERVED and ACTIVE, by index
	next     uint32                  // index of the next player session
	joined   int
}

type loggedPlayer struct {
	id     string
	joined event.Time // 0: RESERVED
}

// newChanges returns one for each shard.
func newChanges(log *slog.Logger, shards int) []*changes {
	all := make([]*changes, shards)
	for i := range all {
		all[i] = &changes{log: log, sessions: map[loggedKey]*loggedSession{}, starting: map[fleet.ProcessKey]bool{}}
	}
	return all
}

// observe logs the facts of a commit.
func (c *changes) observe(commit *router.Commit, owned bool) {
	if !c.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	c.owned = owned
	if commit.Recovered {
		c.recover(commit.View)
	}
	for i, f := range commit.Facts {
		switch f.Room {
		case region.PlacementsRoom:
			c.placement(f.Body)
		case region.MatchmakingRoom:
			c.matchmaking(f.Body)
		default:
			c.process(commit.Rooms[i], f.Body)
			c.session(f.Room, commit.Rooms[i], f.Body)
			c.player(f.Room, f.Body)
		}
	}
}

// recover replaces what is known of the state. Recovery comes before the facts of the same commit, which the view
// already has; those are about deadlines alone.
func (c *changes) recover(view *region.Machine) {
	clear(c.sessions)
	for _, r := range view.Rooms() {
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.HasEnded() {
				return true
			}
			s := &loggedSession{fleet: r.ID().Fleet, id: g.ID, name: g.Name, maximum: g.Maximum, created: g.Created,
				players: map[uint32]loggedPlayer{},
				next:    g.Archived + uint32(len(g.CurrentPlayers)+len(g.PastPlayers))} //nolint:gosec // few
			for _, p := range g.CurrentPlayers {
				s.players[p.Index] = loggedPlayer{p.PlayerID, p.Accepted()}
				if p.Status == fleet.InGame {
					s.joined++
				}
			}
			c.sessions[loggedKey{uint32(r.Address().Room), g.Ordinal}] = s
			return true
		})
	}
}

// attributes are those of all lines about a game session.
func (s *loggedSession) attributes() []any {
	return []any{"fleet", s.fleet, "game_session", s.id, "name", s.name}
}

func (c *changes) about(s *loggedSession, message string, more ...any) {
	c.line(message, append(s.attributes(), more...)...)
}

func (c *changes) line(message string, attributes ...any) {
	if c.owned {
		c.log.Debug(message, attributes...)
	}
}

func (c *changes) session(room uint32, in fleet.RoomID, body any) {
	if e, ok := body.(*fleet.GameSessionCreated); ok {
		s := &loggedSession{fleet: in.Fleet, id: e.ID, name: e.Name, maximum: e.Maximum, created: e.At,
			players: map[uint32]loggedPlayer{}}
		c.sessions[loggedKey{room, e.Ordinal}] = s
		c.about(s, "game session created", "location", in.Location, "compute", e.Host.Compute,
			"max_players", e.Maximum, "address", net.JoinHostPort(e.IPAddress, strconv.Itoa(int(e.Port))))
		return
	}
	switch e := body.(type) {
	case *fleet.GameSessionActivated:
		if s := c.sessions[loggedKey{room, e.Ordinal}]; s != nil {
			c.about(s, "game session active", "took", e.At.Sub(s.created))
			c.reserve(s, e.Slots)
		}
	case *fleet.GameSessionBackfilled:
		if s := c.sessions[loggedKey{room, e.Ordinal}]; s != nil {
			c.reserve(s, e.Slots)
		}
	case *fleet.GameSessionUpdated:
		if s := c.sessions[loggedKey{room, e.Ordinal}]; s != nil && e.Maximum != nil {
			s.maximum = *e.Maximum
		}
	case *fleet.GameSessionEnded:
		if s := c.sessions[loggedKey{room, e.Ordinal}]; s != nil {
			delete(c.sessions, loggedKey{room, e.Ordinal})
			c.about(s, "game session ended", "took", e.At.Sub(s.created), "reason", e.Reason)
		}
	}
}

// reserve adds player sessions.
func (c *changes) reserve(s *loggedSession, slots []fleet.Slot) {
	for _, slot := range slots {
		s.players[s.next] = loggedPlayer{id: slot.PlayerID}
		s.next++
		c.about(s, "player slot reserved", "player", slot.PlayerID)
	}
}

func (c *changes) player(room uint32, body any) {
	switch e := body.(type) {
	case *fleet.PlayersReserved:
		if s := c.sessions[loggedKey{room, e.Session}]; s != nil {
			c.reserve(s, e.Players)
		}
	case *fleet.PlayerAccepted:
		if s := c.sessions[loggedKey{room, e.Session}]; s != nil {
			p := s.players[e.Index]
			s.players[e.Index] = loggedPlayer{p.id, e.At}
			s.joined++
			c.about(s, "player joined", "player", p.id, "players", s.joined, "max_players", s.maximum)
		}
	case *fleet.PlayerRemoved:
		if s := c.sessions[loggedKey{room, e.Session}]; s != nil {
			p := s.players[e.Index]
			delete(s.players, e.Index)
			s.joined--
			c.about(s, "player left", "player", p.id, "players", s.joined, "max_players", s.maximum,
				"took", e.At.Sub(p.joined))
		}
	case *fleet.PlayersTimedOut:
		if s := c.sessions[loggedKey{room, e.Session}]; s != nil {
			for _, i := range e.Indexes {
				c.about(s, "player slot timed out", "player", s.players[i].id)
				delete(s.players, i)
			}
		}
	}
}

// endings are the reasons for the end of a server process.
var endings = map[fleet.EndReason]string{
	fleet.EndedItself: "it reported its end", fleet.EndedCrashed: "it crashed",
	fleet.EndedUnhealthy: "it was unhealthy", fleet.EndedNeverReady: "it never became ready",
	fleet.EndedByForce:     "it was forced to end",
	fleet.EndedWithCompute: "its compute was deregistered",
}

func (c *changes) process(in fleet.RoomID, body any) {
	line := func(message string, k fleet.ProcessKey, more ...any) {
		c.line(message, append([]any{"fleet", in.Fleet, "location", in.Location, "compute", k.Compute,
			"process", k.ID}, more...)...)
	}
	switch e := body.(type) {
	case *fleet.ProcessConnected:
		c.starting[e.ProcessKey] = true
	case *fleet.ProcessBecameReady:
		delete(c.starting, e.ProcessKey)
		line("server process ready", e.ProcessKey, "port", e.Port)
	case *fleet.ProcessLost:
		line("server process lost", e.ProcessKey, "reconnect_by", e.ReconnectBy.Time().Local().Format(time.TimeOnly))
	case *fleet.ProcessResumed:
		if e.SDKVersion == "" { // not the first connection
			line("server process resumed", e.ProcessKey)
		}
	case *fleet.ProcessHasEnded:
		reason := endings[e.Reason]
		failed := e.Reason == fleet.EndedCrashed || e.Reason == fleet.EndedUnhealthy ||
			e.Reason == fleet.EndedNeverReady
		if c.starting[e.ProcessKey] && e.Reason == fleet.EndedItself {
			reason, failed = "it reported its end before it was ready", true
		}
		delete(c.starting, e.ProcessKey)
		if reason != "" {
			line("server process ended", e.ProcessKey, "reason", reason, "failed", failed)
		}
	}
}

func (c *changes) placement(body any) {
	switch e := body.(type) {
	case *placement.PlacementStarted:
		c.line("placement started", "placement", e.ID, "queue", e.Queue)
	case *placement.PlacementFulfilled:
		c.line("placement fulfilled", "placement", e.ID)
	case *placement.PlacementEnded:
		c.line("placement ended", "placement", e.ID, "status", e.Status, "reason", e.Reason)
	}
}

func (c *changes) matchmaking(body any) {
	switch e := body.(type) {
	case *matchmaking.TicketStarted:
		c.line("ticket started", "ticket", e.ID, "configuration", e.Configuration.Name,
			"players", len(e.Players))
	case *matchmaking.TicketEnded:
		c.ticketEnded(e.ID, e.Status, e.Reason)
	case *matchmaking.MatchProposed:
		c.line("match found", "match", e.ID, "tickets", len(e.Tickets))
	case *matchmaking.MatchDropped:
		for _, t := range e.Ended {
			c.ticketEnded(t.ID, t.Status, t.Reason)
		}
	case *matchmaking.MatchCompleted:
		c.line("match completed", "match", e.ID)
	}
}

func (c *changes) ticketEnded(id string, status matchmaking.Status, reason string) {
	c.line("ticket ended", "ticket", id, "status", status, "reason", reason)
}
