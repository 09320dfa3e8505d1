package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// ReservePlayers takes places in an ACTIVE game session: all of them or none.
type ReservePlayers struct {
	GameSession string
	Players     []NewPlayer
}

// A NewPlayer is one player of ReservePlayers.
type NewPlayer struct {
	PlayerID string
	Data     string
	Random   [8]byte // makes the id a ticket that cannot be guessed
}

func (c ReservePlayers) decide(r *Room, now event.Time) ([]any, error) {
	g, err := r.activeSession(c.GameSession)
	switch {
	case err != nil:
		return nil, err
	case g.Policy == DenyAll:
		return nil, fault.New(fault.InvalidGameSessionStatus, "Game session %s does not accept new players: its player session creation policy is DENY_ALL", g.ID)
	case int(g.Free()) < len(c.Players):
		return nil, fault.New(fault.GameSessionFull, "Game session %s has %d free player slots of %d; %d were asked for", g.ID, g.Free(), g.Maximum, len(c.Players))
	}
	e := &PlayersReserved{Session: g.Ordinal, Players: make([]Seat, len(c.Players)), At: now, Expires: now.Add(r.settings.Reservation)}
	for i, p := range c.Players {
		e.Players[i] = Seat{ID: newPlayerSessionID(r.address, g.Ordinal, p.Random), PlayerID: p.PlayerID, Data: p.Data}
	}
	return []any{e}, nil
}

// answer is a Reservation.
func (c ReservePlayers) answer(r *Room) any {
	g, _ := r.GameSession(c.GameSession)
	return Reservation{GameSession: g, Players: g.Seated[len(g.Seated)-len(c.Players):]}
}

// A Reservation is the answer to ReservePlayers: the game session and the new
// player sessions, in the order of the command.
type Reservation struct {
	GameSession *GameSession
	Players     []*PlayerSession
}

func (r *Room) applyPlayersReserved(e *PlayersReserved) {
	seats := make([]PlayerSession, len(e.Players)) // one allocation for all
	r.changeSession(e.Session, func(g *GameSession) {
		next := uint32(len(g.Seated) + len(g.Gone))
		seated := make([]*PlayerSession, len(g.Seated), len(g.Seated)+len(seats))
		copy(seated, g.Seated)
		for i, s := range e.Players {
			seats[i] = PlayerSession{
				ID: s.ID, Index: next + uint32(i), PlayerID: s.PlayerID, Data: s.Data,
				Status: Reserved, Created: e.At, Expires: e.Expires,
			}
			seated = append(seated, &seats[i])
		}
		g.Seated = seated
	})
	for _, s := range e.Players {
		r.byPlayer.Set(playerEntry{s.PlayerID, e.Session})
	}
}

// AcceptPlayer is the process's word that the player of a reservation has
// come. Repeating it changes nothing.
type AcceptPlayer struct {
	ProcessKey
	GameSession   string
	PlayerSession PlayerSessionID
}

func (c AcceptPlayer) decide(r *Room, _ event.Time) ([]any, error) {
	g, p, err := r.hostedPlayer(c.ProcessKey, c.GameSession, c.PlayerSession)
	switch {
	case err != nil:
		return nil, err
	case !g.playing():
		return nil, wrongStatus(g)
	case p.Status == InGame:
		return nil, nil
	case p.Status != Reserved:
		return nil, fault.New(fault.Conflict, "Player session %s is %s instead of RESERVED. The player needs a new player session.", p.ID, p.Status)
	}
	return []any{&PlayerAccepted{Session: g.Ordinal, Index: p.Index}}, nil
}

func (AcceptPlayer) answer(*Room) any { return nil }

func (r *Room) applyPlayerAccepted(e *PlayerAccepted) {
	r.changeSession(e.Session, func(g *GameSession) {
		if i, ok := g.seat(e.Index); ok {
			next := *g.Seated[i]
			next.Status, next.Expires = InGame, 0
			g.Seated = slices.Clone(g.Seated)
			g.Seated[i] = &next
		}
	})
}

// RemovePlayer is the process's word that a player has left; the place is free
// at once. Repeating it changes nothing.
type RemovePlayer struct {
	ProcessKey
	GameSession   string
	PlayerSession PlayerSessionID
}

func (c RemovePlayer) decide(r *Room, now event.Time) ([]any, error) {
	g, p, err := r.hostedPlayer(c.ProcessKey, c.GameSession, c.PlayerSession)
	switch {
	case err != nil:
		return nil, err
	case p.Ended != 0:
		return nil, nil
	}
	return []any{&PlayerRemoved{Session: g.Ordinal, Index: p.Index, At: now}}, nil
}

func (RemovePlayer) answer(*Room) any { return nil }

func (r *Room) applyPlayerRemoved(e *PlayerRemoved) {
	r.changeSession(e.Session, func(g *GameSession) { g.unseat(Completed, e.At, e.Index) })
}

// expireReservations gives the event that frees the places of players who did
// not come in time.
func expireReservations(g *GameSession, now event.Time) []any {
	var late []uint32
	for _, p := range g.Seated {
		if p.Expires != 0 && p.Expires <= now {
			late = append(late, p.Index)
		}
	}
	return []any{&PlayersTimedOut{Session: g.Ordinal, Indexes: late, At: now}}
}

func (r *Room) applyPlayersTimedOut(e *PlayersTimedOut) {
	r.changeSession(e.Session, func(g *GameSession) { g.unseat(TimedOut, e.At, e.Indexes...) })
}

// unseat takes players off their places. It is for a copy that is not yet
// stored. Appending to Gone is safe beside the readers of older copies: they
// see no further than their own length, and one writer only ever appends.
func (g *GameSession) unseat(status PlayerSessionStatus, at event.Time, indexes ...uint32) {
	seated := make([]*PlayerSession, 0, len(g.Seated))
	for _, p := range g.Seated {
		if slices.Contains(indexes, p.Index) {
			g.Gone = append(g.Gone, p.gone(status, at))
		} else {
			seated = append(seated, p)
		}
	}
	g.Seated = seated
}

// gone is the player session after its end.
func (p *PlayerSession) gone(status PlayerSessionStatus, at event.Time) *PlayerSession {
	next := *p
	next.Status, next.Expires, next.Ended = status, 0, at
	return &next
}

// hostedPlayer finds a player session of the game session that a process hosts.
func (r *Room) hostedPlayer(key ProcessKey, session string, id PlayerSessionID) (*GameSession, *PlayerSession, error) {
	g, err := r.hosted(key, session)
	if err != nil {
		return nil, nil, err
	}
	p, ok := g.PlayerSession(id)
	if !ok {
		return nil, nil, fault.New(fault.NotFound, "Player session %s not found in game session %s", id, session)
	}
	return g, p, nil
}

// PlayerSessionsOf calls visit with the player sessions of a player, by game
// session and in each the oldest first, until it returns false.
func (r *Room) PlayerSessionsOf(player string, visit func(*GameSession, *PlayerSession) bool) {
	r.byPlayer.Ascend(playerEntry{player: player}, func(e playerEntry) bool {
		if e.player != player {
			return false
		}
		g, ok := r.sessions.Get(e.session)
		if !ok {
			return true
		}
		for _, p := range g.PlayerSessions() {
			if p.PlayerID == player && !visit(g, p) {
				return false
			}
		}
		return true
	})
}
