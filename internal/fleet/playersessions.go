package fleet

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
)

// ReservePlayers takes places in an ACTIVE game session: all of them or none. Repeating it
// changes nothing and gives the same player sessions, whatever has become of them.
type ReservePlayers struct {
	GameSession string      `cbor:"1,keyasint,omitzero"`
	Players     []NewPlayer `cbor:"2,keyasint,omitzero"`
}

// A NewPlayer is one player of ReservePlayers.
type NewPlayer struct {
	PlayerID string  `cbor:"1,keyasint,omitzero"`
	Data     string  `cbor:"2,keyasint,omitzero"`
	Random   [8]byte `cbor:"3,keyasint,omitzero"` // makes the id a ticket that cannot be guessed
}

func (c ReservePlayers) decide(r *Room, now event.Time) ([]any, error) {
	g, ok := r.session(c.GameSession)
	if !ok {
		return nil, r.noSession(c.GameSession)
	}
	seats := r.slots(c.Players, g.Ordinal)
	again, err := g.given(seats, now)
	switch {
	case err != nil || again:
		return nil, err
	case g.Status != Active:
		return nil, wrongStatus(g)
	case g.Policy == DenyAll:
		return nil, fault.New(fault.InvalidGameSessionStatus, "Game session %s does not accept new players: its player session creation policy is DENY_ALL", g.ID)
	case int(g.Free()) < len(c.Players):
		return nil, fault.New(fault.GameSessionFull, "Game session %s has %d free player slots of %d; %d were asked for", g.ID, g.Free(), g.Maximum, len(c.Players))
	}
	return []any{&PlayersReserved{
		Session: g.Ordinal, Players: seats, At: now, Expires: now.Add(r.settings.Reservation),
	}}, nil
}

// RepeatedWithin is how long after a command its repetition may come: longer than callers, and
// the nodes between them and the owner, wait for an answer.
const RepeatedWithin = 10 * time.Minute

// given reports whether these seats are those of a command that was carried out before. All seats
// of a command are given at once, so the first one tells. Ids that are in use otherwise are refused.
func (g *GameSession) given(seats []Slot, now event.Time) (again bool, err error) {
	if again = len(seats) > 0 && g.answeredLately(seats[0].ID, now); !again {
		return false, g.checkUnused(seats)
	}
	for i := range seats {
		if p, ok := g.find(seats[i].ID); !ok || p.PlayerID != seats[i].PlayerID {
			return false, takenID(seats[0].ID)
		}
	}
	return true, nil
}

// checkUnused refuses seats with ids that are in use.
func (g *GameSession) checkUnused(seats []Slot) error {
	var lows [16]uint64 // a set of the lowest bits of the seats' tickets: it leaves few of the others to compare
	for i := range seats {
		n := seats[i].ID.randomBits() % 1024
		lows[n/64] |= 1 << (n % 64)
	}
	for _, t := range g.randomBits {
		if n := t % 1024; lows[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		for i := range seats {
			if seats[i].ID.randomBits() == t {
				return takenID(seats[i].ID)
			}
		}
	}
	return nil
}

func takenID(id PlayerSessionID) error {
	return fault.New(fault.Conflict, "Player session %s exists already and was created with other players", id)
}

// gaveLately reports whether a player session has been created that was not over long ago: many
// may be in the long life of a game session.
func (g *GameSession) answeredLately(id PlayerSessionID, now event.Time) bool {
	if slices.Contains(g.randomBits, id.randomBits()) {
		return true
	}
	for _, p := range slices.Backward(g.PastPlayers) { // in the order they went
		if p.Ended < now.Add(-RepeatedWithin) {
			return false
		}
		if p.ID == id {
			return true
		}
	}
	return false
}

// answer is a Reservation.
func (c ReservePlayers) answer(r *Room) any {
	g, _ := r.session(c.GameSession)
	answer := Reservation{GameSession: g.withoutPlayers(), Players: make([]*PlayerSession, len(c.Players))}
	newest := g.CurrentPlayers[max(0, len(g.CurrentPlayers)-len(c.Players)):]
	for i, p := range c.Players {
		id := newPlayerSessionID(r.address, g.Ordinal, p.Random)
		if i < len(newest) && newest[i].ID == id {
			answer.Players[i] = newest[i]
		} else { // a repetition
			answer.Players[i], _ = g.find(id)
		}
	}
	return answer
}

// A Reservation is the answer to ReservePlayers: the game session, without the
// lists of its players, and the new player sessions, in the order of the command.
type Reservation struct {
	GameSession *GameSession     `cbor:"1,keyasint,omitzero"`
	Players     []*PlayerSession `cbor:"2,keyasint,omitzero"`
}

func (r *Room) applyPlayersReserved(e *PlayersReserved) {
	r.changeSession(e.Session, func(g *GameSession) {
		r.admit(g, newPlayerSessions(g, e.Players, e.At, e.Expires))
	})
	r.indexPlayers(e.Players, e.Session)
}

// indexPlayers lets a game session be found by new players of it. The entries
// come first, for many: then the processor can look for several of their places
// in memory at once.
func (r *Room) indexPlayers(players []Slot, ordinal uint64) {
	var entries [32]uint64
	for chunk := range slices.Chunk(players, len(entries)) {
		for i := range chunk {
			entries[i] = entryOf(chunk[i].PlayerID, ordinal)
		}
		for _, e := range entries[:len(chunk)] {
			r.byPlayer.insert(e)
		}
	}
}

// AcceptPlayer is the process's word that the player of a reservation has
// come. Repeating it changes nothing.
type AcceptPlayer struct {
	ProcessKey
	GameSession   string          `cbor:"3,keyasint,omitzero"`
	PlayerSession PlayerSessionID `cbor:"4,keyasint,omitzero"`
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
		g.ConfirmBy = 0 // who has come knows of it
		if i, ok := g.seat(e.Index); ok {
			next := *g.CurrentPlayers[i]
			next.Status, next.Expires = InGame, 0
			r.ownSlots(g)
			g.CurrentPlayers[i] = &next
		}
	})
}

// RemovePlayer is the process's word that a player has left; the place is free
// at once. Repeating it changes nothing.
type RemovePlayer struct {
	ProcessKey
	GameSession   string          `cbor:"3,keyasint,omitzero"`
	PlayerSession PlayerSessionID `cbor:"4,keyasint,omitzero"`
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
	r.changeSession(e.Session, func(g *GameSession) { r.freeSlot(g, Completed, e.At, e.Index) })
}

// expireReservations gives the event that frees the places of players who did
// not come in time.
func expireReservations(g *GameSession, now event.Time) []any {
	var late []uint32
	for _, p := range g.CurrentPlayers {
		if p.Expires != 0 && p.Expires <= now {
			late = append(late, p.Index)
		}
	}
	return []any{&PlayersTimedOut{Session: g.Ordinal, Indexes: late, At: now}}
}

func (r *Room) applyPlayersTimedOut(e *PlayersTimedOut) {
	r.changeSession(e.Session, func(g *GameSession) { r.freeSlot(g, TimedOut, e.At, e.Indexes...) })
}

// admit gives players the next places. Appending is safe beside the readers of
// older copies: they see no further than their own length, and nobody appends
// to a list but the one writer.
func (r *Room) admit(g *GameSession, players []PlayerSession) {
	if n := len(g.CurrentPlayers) + len(players); n > cap(g.CurrentPlayers) || n > cap(g.randomBits) {
		room := max(n, min(int(g.Maximum), 4*n)) // most games fill, so they need not grow step by step
		g.CurrentPlayers = append(make([]*PlayerSession, 0, room), g.CurrentPlayers...)
		g.randomBits = append(make([]uint64, 0, room), g.randomBits...)
		g.slots = r.generation
	}
	for i := range players {
		g.CurrentPlayers = append(g.CurrentPlayers, &players[i])
		g.randomBits = append(g.randomBits, players[i].ID.randomBits())
	}
}

// unseat takes players off their places: those with the given indexes, which ascend.
func (r *Room) freeSlot(g *GameSession, status PlayerSessionStatus, at event.Time, indexes ...uint32) {
	r.ownSlots(g)
	left := 0
	for i, p := range g.CurrentPlayers {
		if _, leaves := slices.BinarySearch(indexes, p.Index); leaves {
			g.PastPlayers = append(g.PastPlayers, p.hasEnded(status, at))
			continue
		}
		if left != i { // for a full game session, most stay where they are
			g.CurrentPlayers[left], g.randomBits[left] = p, g.randomBits[i]
		}
		left++
	}
	clear(g.CurrentPlayers[left:])
	g.CurrentPlayers, g.randomBits = g.CurrentPlayers[:left], g.randomBits[:left]
}

// gone is the player session after its end.
func (p *PlayerSession) hasEnded(status PlayerSessionStatus, at event.Time) *PlayerSession {
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
	p, ok := g.find(id)
	if !ok {
		return nil, nil, fault.New(fault.NotFound, "Player session %s not found in game session %s", id, session)
	}
	return g, p, nil
}

// PlayerSessionsOf calls visit with the player sessions of a player, by game
// session and in each the oldest first, until it returns false.
func (r *Room) PlayerSessionsOf(player string, visit func(*GameSession, *PlayerSession) bool) {
	ordinals := r.byPlayer.appendTo(nil, player)
	slices.Sort(ordinals)
	for _, ordinal := range slices.Compact(ordinals) {
		g, ok := r.GameSessionAt(ordinal)
		if !ok {
			continue
		}
		for _, p := range g.PlayerSessions() {
			if p.PlayerID == player && !visit(g, p) {
				return
			}
		}
	}
}
