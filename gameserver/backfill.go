package gameserver

import (
	"context"
	"encoding/json"
	"regexp"
)

const (
	startBackfill = "StartMatchBackfill"
	stopBackfill  = "StopMatchBackfill"
)

// A Player takes part in matchmaking.
type Player struct {
	PlayerID    string
	Team        string // by its name in the rule set
	Attributes  map[string]AttributeValue
	LatencyInMS map[string]int // by region, in milliseconds; nil if not measured
}

// A MatchBackfill asks the matchmaker for more players for the game session that this process hosts.
type MatchBackfill struct {
	MatchmakingConfigurationARN string // of the matchmaker, see MatchmakerData
	// TicketID is to be the ticket's id, up to 128 of A–Z, a–z, 0–9, "-" and "."; "" lets the service choose.
	TicketID string
	// Players are all players of the game session, one or more.
	Players []Player
}

// ticketID is the form of the id of a matchmaking ticket.
// Source: server SDK 5, Go edition, validation of StartMatchBackfillRequest.
var ticketID = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,128}$`)

// StartMatchBackfill asks the matchmaker to find players for the free slots, and returns the id of the ticket. The
// result arrives as OnUpdateGameSession.
func (s *Server) StartMatchBackfill(ctx context.Context, b MatchBackfill) (string, error) {
	switch {
	case b.MatchmakingConfigurationARN == "":
		return "", invalid(startBackfill, "MatchmakingConfigurationARN must be given")
	case b.TicketID != "" && !ticketID.MatchString(b.TicketID):
		return "", invalid(startBackfill, "TicketID must be up to 128 letters, digits, dots and dashes, or empty")
	case len(b.Players) == 0:
		return "", invalid(startBackfill, "Players must not be empty")
	}
	session := s.GameSessionID()
	if session == "" {
		return "", failed(startBackfill, ErrNoGameSession)
	}
	players, err := encodePlayers(b.Players)
	if err != nil {
		return "", err
	}
	data, err := s.call(ctx, startBackfill, requestLimit, struct {
		GameSessionArn, MatchmakingConfigurationArn, TicketId string
		Players                                               []wirePlayer
	}{session, b.MatchmakingConfigurationARN, b.TicketID, players})
	if err != nil {
		return "", err
	}
	var reply struct{ TicketId string }
	if err := json.Unmarshal(data, &reply); err != nil {
		return "", failed(startBackfill, err)
	}
	return reply.TicketId, nil
}

// StopMatchBackfill cancels the backfill with the configuration and the ticket of b. The Players of b are not used.
func (s *Server) StopMatchBackfill(ctx context.Context, b MatchBackfill) error {
	switch {
	case b.MatchmakingConfigurationARN == "":
		return invalid(stopBackfill, "MatchmakingConfigurationARN must be given")
	case !ticketID.MatchString(b.TicketID):
		return invalid(stopBackfill, "TicketID must be 1 to 128 letters, digits, dots and dashes")
	}
	session := s.GameSessionID()
	if session == "" {
		return failed(stopBackfill, ErrNoGameSession)
	}
	_, err := s.call(ctx, stopBackfill, requestLimit, struct {
		GameSessionArn, MatchmakingConfigurationArn, TicketId string
	}{session, b.MatchmakingConfigurationARN, b.TicketID})
	return err
}

// A wirePlayer is a Player as it is on the wire.
type wirePlayer struct {
	PlayerId         string
	Team             string
	PlayerAttributes map[string]AttributeValue
	LatencyInMs      map[string]int
}

func encodePlayers(players []Player) ([]wirePlayer, error) {
	out := make([]wirePlayer, len(players))
	for i, p := range players {
		if p.PlayerID == "" {
			return nil, invalid(startBackfill, "Players[%d].PlayerID must be given", i)
		}
		for name, a := range p.Attributes {
			if _, err := a.MarshalJSON(); err != nil {
				return nil, invalid(startBackfill, "Players[%d].Attributes[%q]: %v", i, name, err)
			}
		}
		out[i] = wirePlayer{p.PlayerID, p.Team, p.Attributes, p.LatencyInMS}
	}
	return out, nil
}
