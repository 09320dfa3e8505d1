package fleet

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ReservePlayers reserves slots in an ACTIVE game session: all of them or none. Repeating it changes nothing and
// returns the same player sessions, whatever their status.
type ReservePlayers struct {
	GameSession string      `cbor:"1,keyasint,omitzero"`
	Players     []NewPlayer `cbor:"2,keyasint,omitzero"`
}

// A NewPlayer is a player for whom a slot is reserved.
type NewPlayer struct {
	PlayerID string  `cbor:"1,keyasint,omitzero"`
	Data     string  `cbor:"2,keyasint,omitzero"`
	Random   [8]byte `cbor:"3,keyasint,omitzero"` // part of the id, so that nobody can guess it
}

func (c ReservePlayers) decide(r *Room, now event.Time) ([]any, error) {
	g, ok := r.session(c.GameSession)
	if !ok {
		return nil, r.noSession(c.GameSession)
	}
	slots := r.slots(c.Players, g.Ordinal)
	again, err := g.given(slots, now)
	switch {
	case err != nil || again:
		return nil, err
	case g.Status != Active:
		return nil, wrongStatus(g)
	case g.Policy == DenyAll:
		return nil, fault.New(fault.InvalidGameSessionStatus,
			"Game session %s does not accept new players: its player session creation policy is DENY_ALL", g.ID)
	case int(g.Free()) < len(c.Players):
		return nil, fault.New(fault.GameSessionFull,
			"Game session %s has %d free player slots of %d; %d were asked for",
			g.ID, g.Free(), g.Maximum, len(c.Players))
	}
	return []any{&PlayersReserved{
		Session: g.Ordinal, Players: slots, At: now, Expires: now.Add(r.settings.Reservation),
	}}, nil
}

// RepeatedWithin is how long after a command it may be repeated: longer than callers, and the nodes between them and
// the owner, wait for an answer.
const RepeatedWithin = 10 * time.Minute

// given reports whether a repeated command reserved these slots before. A command reserves all its slots at once, so
// the first one decides. It rejects ids that are used otherwise.
func (g *GameSession) given(slots []Slot, now event.Time) (again bool, err error) {
	if again = len(slots) > 0 && g.answeredLately(slots[0].ID, now); !again {
		return false, g.checkUnused(slots)
	}
	for i := range slots {
		if p, ok := g.find(slots[i].ID); !ok || p.PlayerID != slots[i].PlayerID {
			return false, takenID(slots[0].ID)
		}
	}
	return true, nil
}

// checkUnused rejects slots with ids that are in use.
func (g *GameSession) checkUnused(slots []Slot) error {
	var lows [16]uint64 // a set of the lowest random bits of the new ids: it excludes most others from the comparison
	for i := range slots {
		n := slots[i].ID.randomBits() % 1024
		lows[n/64] |= 1 << (n % 64)
	}
	for _, t := range g.randomBits {
		if n := t % 1024; lows[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		for i := range slots {
			if slots[i].ID.randomBits() == t {
				return takenID(slots[i].ID)
			}
		}
	}
	return nil
}

func takenID(id PlayerSessionID) error {
	return fault.New(fault.Conflict, "Player session %s exists already and was created with other players", id)
}

// answeredLately reports whether the player session exists and has not ended before RepeatedWithin. A game session may
// run for long and have many.
func (g *GameSession) answeredLately(id PlayerSessionID, now event.Time) bool {
	if slices.Contains(g.randomBits, id.randomBits()) {
		return true
	}
	for _, p := range slices.Backward(g.PastPlayers) { // in the order of their end
		if p.Ended < now.Add(-RepeatedWithin) {
			return false
		}
		if p.ID == id {
			return true
		}
	}
	return false
}

func (c ReservePlayers) answer(r *Room) any {
	g, _ := r.session(c.GameSession)
	answer := Reservation{GameSession: g.withoutPlayers(), Players: make([]*PlayerSession, len(c.Players))}
	newest := g.CurrentPlayers[max(0, len(g.CurrentPlayers)-len(c.Players)):]
	for i, p := range c.Players {
		id := newPlayerSessionID(r.address, g.Ordinal, p.Random)
		if i < len(newest) && newest[i].ID == id {
			answer.Players[i] = newest[i]
		} else { // repeated
			answer.Players[i], _ = g.find(id)
		}
	}
	return answer
}

// A Reservation is the answer to ReservePlayers: the game session without its lists of players, and the new player
// sessions in the order of the command.
type Reservation struct {
	GameSession *GameSession     `cbor:"1,keyasint,omitzero"`
	Players     []*PlayerSession `cbor:"2,keyasint,omitzero"`
}

func (e *PlayersReserved) apply(r *Room) {
	r.changeSession(e.Session, func(g *GameSession) {
		r.admit(g, newPlayerSessions(g, e.Players, e.At, e.Expires))
	})
	r.indexPlayers(e.Players, e.Session)
}

// indexPlayers adds new players to the index. Computing several entries before inserting them lets the processor load
// several places of memory at once.
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

// AcceptPlayer reports that the player of a reservation has connected. It can be repeated.
type AcceptPlayer struct {
	ProcessKey
	GameSession   string          `cbor:"3,keyasint,omitzero"`
	PlayerSession PlayerSessionID `cbor:"4,keyasint,omitzero"`
}

func (c AcceptPlayer) decide(r *Room, now event.Time) ([]any, error) {
	g, p, err := r.hostedPlayer(c.ProcessKey, c.GameSession, c.PlayerSession)
	switch {
	case err != nil:
		return nil, err
	case !g.playing():
		return nil, wrongStatus(g)
	case p.Status == InGame:
		return nil, nil
	case p.Status != Reserved:
		return nil, fault.New(fault.Conflict, "Player session %s is %s instead of RESERVED. The player needs a new "+
			"player session.", p.ID, p.Status)
	}
	return []any{&PlayerAccepted{Session: g.Ordinal, Index: p.Index, At: now}}, nil
}

func (AcceptPlayer) answer(*Room) any { return nil }

func (e *PlayerAccepted) apply(r *Room) {
	r.changeSession(e.Session, func(g *GameSession) {
		g.ConfirmBy = 0 // the player knows the game session
		if i, ok := g.slotOf(e.Index); ok {
			next := *g.CurrentPlayers[i]
			next.Status, next.Expires = InGame, 0
			next.accept(e.At)
			r.ownSlots(g)
			g.CurrentPlayers[i] = &next
		}
	})
}

// RemovePlayer reports that a player has left; the slot is free at once. It can be repeated.
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

func (e *PlayerRemoved) apply(r *Room) {
	r.changeSession(e.Session, func(g *GameSession) { r.freeSlots(g, Completed, e.At, e.Index) })
}

// ReleaseLevel is the feature level from which a reservation can be released.
const ReleaseLevel = 6

// ReleasePlayer ends the reservation of a player before its time: the player session is TIMEDOUT. Repeating it changes
// nothing. The answer is the *PlayerSession. NotFound; InvalidRequest if the player has connected.
type ReleasePlayer struct {
	GameSession   string          `cbor:"1,keyasint,omitzero"`
	PlayerSession PlayerSessionID `cbor:"2,keyasint,omitzero"`
}

func (c ReleasePlayer) decide(r *Room, now event.Time) ([]any, error) {
	g, p := c.find(r)
	switch {
	case p == nil:
		return nil, fault.New(fault.NotFound, "Player session %s not found", c.PlayerSession)
	case p.Status == TimedOut:
		return nil, nil
	case p.Status != Reserved:
		return nil, fault.New(fault.InvalidRequest, "Player session %s is %s: only a RESERVED one can be released. "+
			"The game server ends one that is ACTIVE, with RemovePlayerSession.", c.PlayerSession, p.Status)
	}
	return []any{&PlayersTimedOut{Session: g.Ordinal, Indexes: []uint32{p.Index}, At: now}}, nil
}

func (c ReleasePlayer) answer(r *Room) any {
	_, p := c.find(r)
	return p
}

// find returns the game session and the player session; nil if there is none.
func (c ReleasePlayer) find(r *Room) (*GameSession, *PlayerSession) {
	g, ok := r.session(c.GameSession)
	if !ok {
		return nil, nil
	}
	p, _ := g.PlayerSession(c.PlayerSession)
	return g, p
}

// expireReservations returns the event that ends the expired reservations.
func expireReservations(g *GameSession, now event.Time) []any {
	var late []uint32
	for _, p := range g.CurrentPlayers {
		if p.Expires != 0 && p.Expires <= now {
			late = append(late, p.Index)
		}
	}
	return []any{&PlayersTimedOut{Session: g.Ordinal, Indexes: late, At: now}}
}

func (e *PlayersTimedOut) apply(r *Room) {
	r.changeSession(e.Session, func(g *GameSession) { r.freeSlots(g, TimedOut, e.At, e.Indexes...) })
}

// admit appends players to the slots. Appending does not disturb readers of older copies: they read only up to their
// own length, and there is one writer.
func (r *Room) admit(g *GameSession, players []PlayerSession) {
	if n := len(g.CurrentPlayers) + len(players); n > cap(g.CurrentPlayers) || n > cap(g.randomBits) {
		room := max(n, min(int(g.Maximum), 4*n)) // most games fill up: avoid growing step by step
		g.CurrentPlayers = append(make([]*PlayerSession, 0, room), g.CurrentPlayers...)
		g.randomBits = append(make([]uint64, 0, room), g.randomBits...)
		g.slots = r.generation
	}
	for i := range players {
		g.CurrentPlayers = append(g.CurrentPlayers, &players[i])
		g.randomBits = append(g.randomBits, players[i].ID.randomBits())
	}
}

// freeSlots moves the players with the given indexes, which ascend, to the past players.
func (r *Room) freeSlots(g *GameSession, status PlayerSessionStatus, at event.Time, indexes ...uint32) {
	r.ownSlots(g)
	left := 0
	for i, p := range g.CurrentPlayers {
		if _, leaves := slices.BinarySearch(indexes, p.Index); leaves {
			g.PastPlayers = append(g.PastPlayers, p.ended(status, at))
			continue
		}
		if left != i { // in a full game session most keep their position
			g.CurrentPlayers[left], g.randomBits[left] = p, g.randomBits[i]
		}
		left++
	}
	clear(g.CurrentPlayers[left:])
	g.CurrentPlayers, g.randomBits = g.CurrentPlayers[:left], g.randomBits[:left]
}

func (p *PlayerSession) ended(status PlayerSessionStatus, at event.Time) *PlayerSession {
	next := *p
	next.Status, next.Expires, next.Ended = status, 0, at
	return &next
}

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

// PlayerSessionsOf calls visit with the player sessions of a player, by game session and age, until it returns false.
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
