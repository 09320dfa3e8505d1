package control

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// CreatePlayerSession reserves a slot in a game session for a player.
func (p *Plane) CreatePlayerSession(ctx context.Context,
	in *wire.CreatePlayerSessionInput) (*wire.CreatePlayerSessionOutput, error) {
	sessions, err := p.reserve(ctx, in.GameSessionId, []fleet.NewPlayer{{PlayerID: in.PlayerId, Data: in.PlayerData}})
	if err != nil {
		return nil, err
	}
	return &wire.CreatePlayerSessionOutput{PlayerSession: &sessions[0]}, nil
}

// CreatePlayerSessions reserves slots for several players: for all or for none, in the order of the request. Data of
// players who are not in the list is ignored.
func (p *Plane) CreatePlayerSessions(ctx context.Context,
	in *wire.CreatePlayerSessionsInput) (*wire.CreatePlayerSessionsOutput, error) {
	players := make([]fleet.NewPlayer, len(in.PlayerIds))
	seen := make(map[string]bool, len(in.PlayerIds))
	for i, id := range in.PlayerIds {
		if seen[id] {
			return nil, fault.New(fault.InvalidRequest, "PlayerIds holds a player twice, at position %d", i+1)
		}
		seen[id] = true
		players[i] = fleet.NewPlayer{PlayerID: id, Data: in.PlayerDataMap[id]}
	}
	sessions, err := p.reserve(ctx, in.GameSessionId, players)
	if err != nil {
		return nil, err
	}
	return &wire.CreatePlayerSessionsOutput{PlayerSessions: sessions}, nil
}

func (p *Plane) reserve(ctx context.Context, gameSessionArn string,
	players []fleet.NewPlayer) ([]wire.PlayerSession, error) {
	if err := p.history.Admit(); err != nil {
		return nil, err
	}
	room, id, err := p.ParseGameSession(gameSessionArn)
	if err != nil {
		return nil, err
	}
	random := make([]byte, len(players)*len(fleet.NewPlayer{}.Random)) // drawn at once, because each draw takes time
	rand.Read(random)
	for i := range players {
		n := copy(players[i].Random[:], random)
		random = random[n:]
	}
	r, err := router.AskRoom[fleet.Reservation](ctx, p.Router, room,
		fleet.ReservePlayers{GameSession: id, Players: players})
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, p.notInMemory(ctx, room, id)
	case err != nil:
		return nil, err
	}
	sessions := make([]wire.PlayerSession, len(r.Players))
	ids := idTexts(r.Players)
	gameSessionArn, fleetArn := p.GameSessionARN(room, id), p.FleetARN(string(room.Fleet))
	for i, s := range r.Players {
		sessions[i] = playerSession(ids[i*fleet.PlayerSessionIDLength:][:fleet.PlayerSessionIDLength], gameSessionArn,
			fleetArn, room, r.GameSession, s)
	}
	return sessions, nil
}

// idTexts returns the ids of player sessions, one after the other: one string for all.
func idTexts(players []*fleet.PlayerSession) string {
	var text strings.Builder
	text.Grow(len(players) * fleet.PlayerSessionIDLength)
	var id [fleet.PlayerSessionIDLength]byte
	for _, s := range players {
		text.Write(s.ID.AppendTo(id[:0]))
	}
	return text.String()
}

// DescribePlayerSessions describes player sessions by exactly one of the three ids, including those in the history.
func (sr *sessionReader) DescribePlayerSessions(ctx context.Context,
	in *wire.DescribePlayerSessionsInput) (*wire.DescribePlayerSessionsOutput, error) {
	return sr.describePlayerSessions(ctx, in, allFleets)
}

// allFleets sets no limit to describePlayerSessions.
const allFleets fleet.ID = ""

// describePlayerSessions is DescribePlayerSessions within one fleet, or within all: those of other fleets are treated
// as if they did not exist.
func (sr *sessionReader) describePlayerSessions(
	ctx context.Context, in *wire.DescribePlayerSessionsInput, within fleet.ID,
) (*wire.DescribePlayerSessionsOutput, error) {
	if given := one(in.GameSessionId) + one(in.PlayerId) + one(in.PlayerSessionId); given != 1 {
		return nil, fault.New(fault.InvalidRequest, "Give exactly one of GameSessionId, PlayerId and PlayerSessionId")
	}
	switch fleet.PlayerSessionStatus(in.PlayerSessionStatusFilter) {
	case "", fleet.Reserved, fleet.InGame, fleet.Completed, fleet.TimedOut:
	default:
		return nil, fault.New(fault.InvalidRequest,
			"PlayerSessionStatusFilter %s is not one of RESERVED, ACTIVE, COMPLETED and TIMEDOUT",
			in.PlayerSessionStatusFilter)
	}
	switch {
	case in.PlayerSessionId != "":
		return sr.describePlayerSession(ctx, in.PlayerSessionId, within)
	case in.GameSessionId != "":
		return sr.describePlayersIn(ctx, in, within)
	default:
		return sr.describePlayer(ctx, in, within)
	}
}

// describePlayerSession describes one player session; its id contains its place.
func (sr *sessionReader) describePlayerSession(ctx context.Context, text string,
	within fleet.ID) (*wire.DescribePlayerSessionsOutput, error) {
	notFound := fault.New(fault.NotFound, "Player session %s not found", text)
	id, err := fleet.ParsePlayerSessionID(text)
	if err != nil {
		return nil, err
	}
	at, ordinal := id.Locate()
	if int(at.Shard) >= len(sr.Shards()) {
		return nil, notFound
	}
	found, err := router.Look(ctx, sr.Shards()[at.Shard], func(m *region.Machine) (found foundSession) {
		if r, ok := m.RoomAt(at.Room); ok {
			found.room = r.ID()
			found.session, _ = r.GameSessionAt(ordinal)
		}
		return found
	})
	room, g := found.room, found.session
	if err == nil && g == nil {
		room, g, err = sr.history.GameSessionAt(ctx, at, ordinal)
	}
	if err != nil {
		return nil, err
	}
	if g == nil || !covers(within, room) {
		return nil, notFound
	}
	s, ok := g.PlayerSession(id)
	if !ok {
		if s, err = sr.history.PlayerSession(ctx, g, id); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, notFound
	}
	return &wire.DescribePlayerSessionsOutput{PlayerSessions: []wire.PlayerSession{sr.describe(room, g, s)}}, nil
}

// covers reports whether a room belongs to a fleet, or the fleet is allFleets.
func covers(within fleet.ID, room fleet.RoomID) bool {
	return within == allFleets || within == room.Fleet
}

func (sh shapes) describe(room fleet.RoomID, g *fleet.GameSession, s *fleet.PlayerSession) wire.PlayerSession {
	return playerSession(s.ID.String(), sh.names.GameSessionARN(room, g.ID),
		sh.names.FleetARN(string(room.Fleet)), room, g, s)
}

// playerPosition is the last player session of a page: those in memory by their place, then those in the history.
type playerPosition struct {
	Shard   uint8  `json:"h,omitempty"`
	Room    uint16 `json:"r,omitempty"`
	Session uint64 `json:"g,omitempty"` // ordinal of the game session
	Index   uint32 `json:"i,omitempty"` // order of creation in the game session
	Past    bool   `json:"p,omitempty"`
	Seq     uint64 `json:"s,omitempty"`
	Of      int    `json:"o,omitempty"` // how many of the entry behind Seq were shown
}

// before orders positions in memory.
func (a playerPosition) before(b playerPosition) bool {
	return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Session, b.Session),
		cmp.Compare(a.Index, b.Index)) < 0
}

// foundPlayer is a player session with its game session and room.
type foundPlayer struct {
	room    fleet.RoomID
	session *fleet.GameSession
	player  *fleet.PlayerSession
}

// describePlayer lists the player sessions of a player. Such a request has no id that contains a place, so it reads
// every shard.
func (sr *sessionReader) describePlayer(ctx context.Context, in *wire.DescribePlayerSessionsInput,
	within fleet.ID) (*wire.DescribePlayerSessionsOutput, error) {
	covered := func(id fleet.RoomID) bool { return covers(within, id) }
	pages := sr.secrets.Pages("DescribePlayerSessions", "player"+string(within), in.PlayerId)
	found, next, err := sr.sessionsOfPlayer(ctx, in.PlayerId, within, covered, pages, in.NextToken, pageSize(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &wire.DescribePlayerSessionsOutput{PlayerSessions: []wire.PlayerSession{}, NextToken: next}
	for _, f := range found {
		out.PlayerSessions = append(out.PlayerSessions, sr.describe(f.room, f.session, f.player))
	}
	return out, nil
}

// sessionsOfPlayer lists the player sessions of a player in rooms of a fleet, or of all, in memory and in the history.
func (sr *sessionReader) sessionsOfPlayer(
	ctx context.Context, player string, within fleet.ID, covered func(fleet.RoomID) bool, pages credentials.Pages,
	token string, limit int,
) (found []foundPlayer, next string, err error) {
	var at playerPosition
	if err := pages.Read(token, &at); err != nil {
		return nil, "", err
	}
	if !at.Past {
		inMemory, last, more, err := sr.playerInMemory(ctx, player, covered, at, limit)
		if err != nil {
			return nil, "", err
		}
		if more {
			return inMemory, pages.Token(last), nil
		}
		found, at = inMemory, playerPosition{Past: true}
	}
	past, last, more, err := sr.playerInPast(ctx, player, within, covered, at, limit-len(found))
	if err != nil {
		return nil, "", err
	}
	past = slices.DeleteFunc(past, func(p foundPlayer) bool { // being moved from memory
		return slices.ContainsFunc(found, func(o foundPlayer) bool { return o.player.ID == p.player.ID })
	})
	if more {
		next = pages.Token(last)
	}
	return append(found, past...), next, nil
}

// playerInMemory lists player sessions of a player after a position; more reports that there are further ones than fit
// on the page.
func (sr *sessionReader) playerInMemory(
	ctx context.Context, player string, covered func(fleet.RoomID) bool, at playerPosition, limit int,
) (found []foundPlayer, last playerPosition, more bool, err error) {
	for _, s := range sr.Shards()[min(int(at.Shard), len(sr.Shards())):] {
		view, err := router.Look(ctx, s, (*region.Machine).Freeze)
		if err != nil {
			return nil, last, false, err
		}
		for _, r := range view.Rooms() {
			if !covered(r.ID()) {
				continue
			}
			r.PlayerSessionsOf(player, func(g *fleet.GameSession, s *fleet.PlayerSession) bool {
				here := playerPosition{Shard: r.Address().Shard, Room: r.Address().Room, Session: g.Ordinal,
					Index: s.Index}
				if !at.before(here) {
					return true
				}
				if more = len(found) == limit; more {
					return false
				}
				found, last = append(found, foundPlayer{r.ID(), g, s}), here
				return true
			})
			if more {
				return found, last, true, nil
			}
		}
	}
	return found, last, false, nil
}

// playerInPast lists player sessions of a player that are in the history.
func (sr *sessionReader) playerInPast(
	ctx context.Context, player string, within fleet.ID, covered func(fleet.RoomID) bool, at playerPosition, limit int,
) (found []foundPlayer, next playerPosition, more bool, err error) {
	next = playerPosition{Past: true, Seq: at.Seq, Of: at.Of}
	var entries []history.Entry
	err = sr.history.OfPlayer(ctx, player, within, at.Seq, func(e history.Entry) bool {
		entries = append(entries, e)
		return len(entries) <= limit
	})
	if err != nil {
		return nil, next, false, err
	}
	for _, e := range entries {
		sessions, err := sr.playerInEntry(ctx, e, player)
		if err != nil {
			return nil, next, false, err
		}
		if !covered(e.Room) {
			sessions = nil
		}
		for _, s := range sessions[min(next.Of, len(sessions)):] {
			if len(found) == limit {
				return found, next, true, nil
			}
			found = append(found, s)
			next.Of++
		}
		next = playerPosition{Past: true, Seq: e.Seq}
	}
	return found, next, len(entries) > limit, nil // more of them, though some of these are being moved
}

// playerInEntry lists the player sessions of a player in one entry of the history.
func (sr *sessionReader) playerInEntry(ctx context.Context, e history.Entry,
	player string) ([]foundPlayer, error) {
	g, err := sr.GameSession(ctx, e.Room, e.Session.ID)
	if err != nil || g != nil && (!e.Departed || g.Archived <= e.Session.Archived) {
		return nil, err // it is being moved, and was listed from memory
	}
	var sessions []foundPlayer
	for _, s := range e.Session.PlayerSessions() {
		if s.PlayerID == player {
			sessions = append(sessions, foundPlayer{e.Room, e.Session, s})
		}
	}
	return sessions, nil
}
