package control

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
)

// A PlayerQuery asks for what the region has of a player.
type PlayerQuery struct {
	PlayerID  string
	Hidden    func(fleetID string) bool // fleets whose player sessions are left out; nil: none
	Limit     int                       // player sessions on a page; at least 1
	NextToken string
}

// A Player is what the region has of a player. The first page has its tickets.
type Player struct {
	PlayerID       string             `json:"playerId"`
	PlayerSessions []PlayerSessionRow `json:"playerSessions"` // those in memory first, then those of the history
	Tickets        []TicketRow        `json:"tickets"`        // that have not ended
	NextToken      string             `json:"nextToken,omitempty"`
}

// A PlayerSessionRow is a player session with the address of its game session.
type PlayerSessionRow struct {
	PlayerSessionID string                    `json:"playerSessionId"`
	PlayerID        string                    `json:"playerId"`
	Status          fleet.PlayerSessionStatus `json:"status"`
	GameSessionArn  string                    `json:"gameSessionArn"`
	GameSessionName string                    `json:"gameSessionName,omitempty"`
	GameSession     fleet.GameSessionStatus   `json:"gameSessionStatus"`
	FleetID         string                    `json:"fleetId"`
	Location        string                    `json:"location"`
	IPAddress       string                    `json:"ipAddress,omitempty"`
	DNSName         string                    `json:"dnsName,omitempty"`
	Port            int32                     `json:"port"`
	CreationTime    time.Time                 `json:"creationTime"`
	AcceptTime      *time.Time                `json:"acceptTime,omitempty"` // when the player connected
	ExpireTime      *time.Time                `json:"expireTime,omitempty"` // when a RESERVED one times out
	EndTime         *time.Time                `json:"endTime,omitempty"`
}

func (sh shapes) playerRow(f foundPlayer) PlayerSessionRow {
	g, s := f.session, f.player
	return PlayerSessionRow{
		PlayerSessionID: s.ID.String(), PlayerID: s.PlayerID, Status: s.Status,
		GameSessionArn: sh.names.GameSessionARN(f.room, g.ID), GameSessionName: g.Name, GameSession: g.Status,
		FleetID: string(f.room.Fleet), Location: f.room.Location, IPAddress: g.IPAddress, DNSName: g.DNSName,
		Port: g.Port, CreationTime: s.Created.Time(), AcceptTime: momentTo(s.Accepted()),
		ExpireTime: momentTo(s.Expires), EndTime: momentTo(s.Ended),
	}
}

// Player returns the player sessions of a player in all fleets, in memory and in the history, and the tickets. A player
// that the region does not know has none.
func (p *Plane) Player(ctx context.Context, q PlayerQuery) (*Player, error) {
	if err := checkPlayerID(q.PlayerID); err != nil {
		return nil, err
	}
	visible := p.visibleFleets(q.Hidden)
	covered := func(id fleet.RoomID) bool { return visible == nil || visible[id.Fleet] }
	found, next, err := p.sessionsOfPlayer(ctx, q.PlayerID, allFleets, covered, p.secrets.Pages("Player", q.PlayerID),
		q.NextToken, q.Limit)
	if err != nil {
		return nil, err
	}
	out := &Player{PlayerID: q.PlayerID, PlayerSessions: []PlayerSessionRow{}, Tickets: []TicketRow{}, NextToken: next}
	for _, f := range found {
		out.PlayerSessions = append(out.PlayerSessions, p.playerRow(f))
	}
	if q.NextToken != "" {
		return out, nil
	}
	t, err := router.Look(ctx, p.TicketShard(), func(m *region.Machine) *TicketRow {
		if t, ok := m.Matchmaking().TicketOf(q.PlayerID); ok {
			row := ticketRow(t, p.Now())
			return &row
		}
		return nil
	})
	if t != nil {
		out.Tickets = append(out.Tickets, *t)
	}
	return out, err
}

// checkPlayerID checks the length of a player's id.
func checkPlayerID(id string) error {
	return wire.OpDescribePlayerSessions.Check(&wire.DescribePlayerSessionsInput{PlayerId: id})
}

// ReleasePlayerSession ends the reservation of a player before its time, and returns the player session, which is
// TIMEDOUT. Repeating it is no error. NotFoundException: the player has no such player session in memory.
// InvalidRequestException: it is ACTIVE or COMPLETED.
func (p *Plane) ReleasePlayerSession(ctx context.Context, player, id string) (*PlayerSessionRow, error) {
	f, err := p.playerSessionAt(ctx, player, id)
	if err != nil {
		return nil, err
	}
	f.player, err = router.AskRoom[*fleet.PlayerSession](ctx, p.Router, f.room,
		fleet.ReleasePlayer{GameSession: f.session.ID, PlayerSession: f.player.ID})
	if err != nil {
		return nil, err
	}
	row := p.playerRow(f)
	return &row, nil
}

// playerSessionAt finds a player session in memory.
func (p *Plane) playerSessionAt(ctx context.Context, player, text string) (f foundPlayer, err error) {
	id, err := fleet.ParsePlayerSessionID(text)
	if err != nil {
		return f, err
	}
	at, ordinal := id.Locate()
	if int(at.Shard) < len(p.Shards()) {
		f, err = router.Look(ctx, p.Shards()[at.Shard], func(m *region.Machine) (f foundPlayer) {
			r, ok := m.RoomAt(at.Room)
			if !ok {
				return f
			}
			f.room = r.ID()
			if f.session, ok = r.GameSessionAt(ordinal); ok {
				f.player, _ = f.session.PlayerSession(id)
			}
			return f
		})
	}
	if err == nil && (f.player == nil || f.player.PlayerID != player) {
		err = notFound("Player %.100q has no player session %s", player, text)
	}
	return f, err
}
