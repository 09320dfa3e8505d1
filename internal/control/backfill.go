package control

import (
	"context"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/ruleset"
	"github.com/muster-gg/muster/internal/wire"
)

// StartMatchBackfill opens a ticket for more players of a game session that a
// match has made. It replaces the one that the game session has.
func (p *Plane) StartMatchBackfill(ctx context.Context, in *wire.StartMatchBackfillInput) (*wire.StartMatchBackfillOutput, error) {
	t, err := p.startBackfill(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return &wire.StartMatchBackfillOutput{MatchmakingTicket: p.startedTicket(t)}, nil
}

// startBackfill starts a backfill ticket; host, if set, is the server process that
// asks, which must be that of the game session.
func (p *Plane) startBackfill(ctx context.Context, in *wire.StartMatchBackfillInput, host *linkKey) (*matchmaking.Ticket, error) {
	c, set, err := p.matchmaker(in.ConfigurationName)
	if err != nil {
		return nil, err
	}
	players, err := playersFrom(in.Players, maxBackfillPlayers, set)
	if err != nil {
		return nil, err
	}
	if err := inTeams(players, set); err != nil {
		return nil, err
	}
	if err := p.mayBackfill(ctx, c, in.GameSessionArn, host); err != nil {
		return nil, err
	}
	return p.startTicket(ctx, in.TicketId, matchmaking.Start{
		Configuration: configurationOf(c), Players: players, Timeout: c.RequestTimeout, Backfill: true, GameSession: in.GameSessionArn,
	})
}

// inTeams checks that the players of a backfill ticket are in teams of the rule set.
func inTeams(players []matchmaking.Player, set *ruleset.Set) error {
	for _, p := range players {
		known := slices.ContainsFunc(set.Teams, func(t ruleset.Team) bool { return t.Name == p.Team })
		switch {
		case p.Team == "":
			return fault.New(fault.InvalidRequest, "Player %s needs a Team: that in which the player is in the game session", p.ID)
		case !known:
			return fault.New(fault.InvalidRequest, "Player %s is in the team %s, which the rule set does not have", p.ID, p.Team)
		}
	}
	return nil
}

// mayBackfill checks the game session that is to be filled: it is ACTIVE, and a
// match has made it. With a STANDALONE configuration there is none.
func (p *Plane) mayBackfill(ctx context.Context, c *catalog.MatchmakingConfiguration, gameSessionArn string, host *linkKey) error {
	switch {
	case c.Standalone && gameSessionArn != "":
		return fault.New(fault.InvalidRequest, "GameSessionArn must not be given: matchmaking configuration %s is STANDALONE", c.Name)
	case c.Standalone:
		return nil
	case gameSessionArn == "":
		return fault.New(fault.InvalidRequest, "GameSessionArn is required: matchmaking configuration %s is WITH_QUEUE", c.Name)
	}
	room, id, err := p.gameSessionPlace(gameSessionArn)
	if err != nil {
		return err
	}
	var g *fleet.GameSession
	if _, err := p.read(ctx, room, func(r *fleet.Room) { g, _ = r.GameSession(id) }); err != nil {
		return err
	}
	switch {
	case host != nil && (g == nil || !host.hosts(room, g)): // it does not hear what exists elsewhere
		return notHosted(gameSessionArn, host)
	case g == nil:
		return closedSession(fault.NotFound, id)
	case g.Status != fleet.Active:
		return closedSession(fault.InvalidRequest, id)
	case g.MatchmakerData == "":
		return fault.New(fault.InvalidRequest, "Game session %s was not made by FlexMatch, so it cannot be backfilled", gameSessionArn)
	}
	return nil
}

// hosts reports whether a game session of a room is the process's own.
func (k *linkKey) hosts(room fleet.RoomID, g *fleet.GameSession) bool {
	return k.room == room && k.process == g.Host
}

func notHosted(gameSessionArn string, by *linkKey) error {
	return fault.New(fault.InvalidRequest, "Game session %s is not hosted by server process %s", gameSessionArn, by.process.ID)
}

// closedSession has the words of the managed service. Source: captures.
func closedSession(kind fault.Kind, id string) error {
	return fault.New(kind, "The game session %s was not found, or was in a state which wouldn't accept new player sessions.", id)
}

// A MatchBackfill is what a server process says when it asks for more players.
type MatchBackfill struct {
	GameSessionArn, ConfigurationArn, TicketID string // TicketID may be ""
	Players                                    []wire.Player
	Request                                    string // names the request: the same for its repetitions
}

// StartMatchBackfill opens a backfill ticket for the process's own game session.
func (l *link) StartMatchBackfill(b MatchBackfill, done func(ticket string, err error)) {
	l.beside(func(ctx context.Context) {
		ctx = WithCall(ctx, Call{Principal: l.principal(), Invocation: b.Request})
		in := &wire.StartMatchBackfillInput{
			ConfigurationName: b.ConfigurationArn, GameSessionArn: b.GameSessionArn, TicketId: b.TicketID, Players: b.Players,
		}
		t, err := l.startBackfill(ctx, in)
		if err != nil {
			done("", err)
			return
		}
		done(t.ID, nil)
	}, func(err error) { done("", err) })
}

func (l *link) startBackfill(ctx context.Context, in *wire.StartMatchBackfillInput) (*matchmaking.Ticket, error) {
	if err := wire.OpStartMatchBackfill.Check(in); err != nil { // it came past the door of the API
		return nil, err
	}
	return l.plane.startBackfill(ctx, in, &l.key)
}

// principal names the process among those who make calls. A slash stands in no
// access key.
func (l *link) principal() string {
	return string(l.key.room.Fleet) + "/" + l.key.room.Location + "/" + l.key.process.Compute + "/" + l.key.process.ID
}

// StopMatchBackfill cancels a backfill ticket of the process's own game session.
func (l *link) StopMatchBackfill(gameSessionArn, configurationArn, ticket string, done func(error)) {
	l.beside(func(ctx context.Context) { done(l.stopBackfill(ctx, gameSessionArn, configurationArn, ticket)) }, done)
}

func (l *link) stopBackfill(ctx context.Context, gameSessionArn, configurationArn, ticket string) error {
	room, id, err := l.plane.gameSessionPlace(gameSessionArn)
	if err != nil {
		return err
	}
	own := false
	_, err = l.plane.read(ctx, room, func(r *fleet.Room) {
		g, ok := r.GameSession(id)
		own = ok && l.key.hosts(room, g)
	})
	if err != nil {
		return err
	}
	if !own {
		return notHosted(gameSessionArn, &l.key)
	}
	c, err := l.plane.matchmakingConfiguration(configurationArn)
	if err != nil {
		return err
	}
	found, err := l.plane.findTickets(ctx, []string{ticket})
	if err != nil {
		return err
	}
	if t := found[0].ticket; t == nil || t.GameSession != gameSessionArn || t.Configuration.Name != c.Name {
		return fault.New(fault.NotFound, "Backfill ticket %s of game session %s not found", ticket, gameSessionArn)
	}
	return l.plane.StopMatchmaking(ctx, &wire.StopMatchmakingInput{TicketId: ticket})
}

// updated is the reason of an update that brings new players. Source: server SDK 5,
// UpdateReason.
const updated = "MATCHMAKING_DATA_UPDATED"

// updateReasons say how a backfill ticket ended without new players.
var updateReasons = map[matchmaking.Status]string{
	matchmaking.Failed: "BACKFILL_FAILED", matchmaking.TimedOut: "BACKFILL_TIMED_OUT", matchmaking.Cancelled: "BACKFILL_CANCELLED",
}

// tellProcess tells the process of a game session how its backfill ticket ended.
func (m *matching) tellProcess(ctx context.Context, gameSessionArn, ticket, reason string) {
	room, id, err := m.plane.gameSessionPlace(gameSessionArn)
	if err != nil {
		return // was checked when the ticket started
	}
	m.working.Go(func() {
		for {
			var g *fleet.GameSession
			_, err := m.plane.read(ctx, room, func(r *fleet.Room) { g, _ = r.GameSession(id) })
			if err == nil {
				if g != nil && !g.HasEnded() {
					m.updateProcess(room, g, ticket, reason)
				}
				return
			}
			if ctx.Err() != nil || !m.plane.pause(ctx, again) {
				return
			}
		}
	})
}

// updateProcess tells the process of a game session about a backfill ticket.
func (m *matching) updateProcess(room fleet.RoomID, g *fleet.GameSession, ticket, reason string) {
	key, update := linkKey{room, g.Host}, UpdateGameSessionPush{
		GameSession: m.plane.sessionPush(room, g), FleetID: string(room.Fleet), Location: room.Location,
		Status: string(g.Status), StatusReason: g.StatusReason, UpdateReason: reason, BackfillTicketID: ticket,
	}
	if !m.plane.followerOf(room).update(key, update) {
		m.plane.tellNodes(key, update)
	}
}

// update pushes what has become of a game session, or keeps it until the process
// has connected again. (When that is to another node, resumed forgets it here.) It reports whether the process has its socket here.
func (f *follower) update(key linkKey, push UpdateGameSessionPush) (here bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.links[key]; l != nil {
		l.push(push)
		return true
	}
	f.missed[key] = append(f.missed[key], push)
	return false
}

// missedUpdates are the updates that a process has yet to be told, which l tells it.
func (f *follower) missedUpdates(l *link) []UpdateGameSessionPush {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links[l.key] != l {
		return nil
	}
	missed := f.missed[l.key]
	delete(f.missed, l.key)
	return missed
}

// forgetUpdates lets go of what a process that has ended was not told.
func (f *follower) forgetUpdates(key linkKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.missed, key)
}

// filledSessions are the game sessions that have or had a backfill ticket, until
// they end.
type filledSessions struct {
	mu sync.Mutex
	of map[watchKey]string // their ARNs
}

// sessionOver says that a game session has ended.
type sessionOver struct{ arn string }

func (s *filledSessions) add(key watchKey, arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[watchKey]string{}
	}
	s.of[key] = arn
}

// over forgets a game session that has ended, and puts it out if it was there.
func (s *filledSessions) over(key watchKey, put func(...any)) {
	s.mu.Lock()
	arn, ok := s.of[key]
	delete(s.of, key)
	s.mu.Unlock()
	if ok {
		put(sessionOver{arn})
	}
}

// all forgets all game sessions and lists them.
func (s *filledSessions) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var arns []string
	for _, arn := range s.of {
		arns = append(arns, arn)
	}
	s.of = nil
	return arns
}

// guard sees that the end of game sessions is noticed.
func (m *matching) guard(ctx context.Context, arns ...string) {
	if len(arns) == 0 {
		return
	}
	m.working.Go(func() {
		for _, arn := range arns {
			for ctx.Err() == nil && m.guardOne(ctx, arn) != nil {
				m.plane.pause(ctx, again)
			}
		}
	})
}

// guardOne looks at a game session on the loop of its shard, so that an end behind
// the look is a fact that the follower sees.
func (m *matching) guardOne(ctx context.Context, arn string) error {
	room, id, err := m.plane.gameSessionPlace(arn)
	if err != nil {
		return nil // was checked when the ticket started
	}
	lives := false
	_, err = m.plane.read(ctx, room, func(r *fleet.Room) {
		var g *fleet.GameSession
		if g, lives = r.GameSession(id); lives {
			if lives = !g.HasEnded(); lives {
				m.sessions.add(watchKey{room, g.Ordinal}, arn)
			}
		}
	})
	if err == nil && !lives {
		m.insist(ctx, matchmaking.GameSessionEnded{GameSession: arn})
	}
	return err
}

// lookAtSessions looks whether game sessions have ended unnoticed.
func (m *matching) lookAtSessions(ctx context.Context) { m.guard(ctx, m.sessions.all()...) }
