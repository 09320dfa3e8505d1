package gameserver

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MatchmakerData is what the matchmaker says of the match that a game session was made for.
type MatchmakerData struct {
	MatchID                     string
	MatchmakingConfigurationARN string // of the matchmaker, which backfills are asked of
	Teams                       []Team // in the order of the rule set
	AutoBackfillMode            string // "AUTOMATIC", "MANUAL", or "" if not said
	AutoBackfillTicketID        string // of the backfill that the service has begun by itself; else ""
}

// A Team is one team of a match.
type Team struct {
	Name    string
	Players []Player // each with the name of the team, and no latency
}

// Player finds a player in the teams; false if the match does not have them.
func (d MatchmakerData) Player(playerID string) (Player, bool) {
	for _, team := range d.Teams {
		for _, p := range team.Players {
			if p.PlayerID == playerID {
				return p, true
			}
		}
	}
	return Player{}, false
}

// ParseMatchmakerData reads GameSession.MatchmakerData, also called the matchmaking data of a SessionConfig. The text
// must be a JSON object that has matchmakingConfigurationArn and teams; the error, which wraps ErrMatchmakerData, names
// what is wrong. Members that are not known here are ignored.
// Source: API reference, GameSession; O3DE AWSGameLift Gem.
func ParseMatchmakerData(text string) (MatchmakerData, error) {
	var w struct {
		MatchID              string          `json:"matchId"`
		Configuration        *string         `json:"matchmakingConfigurationArn"`
		Teams                json.RawMessage `json:"teams"`
		AutoBackfillMode     string          `json:"autoBackfillMode"`
		AutoBackfillTicketID string          `json:"autoBackfillTicketId"`
	}
	if text == "" {
		return MatchmakerData{}, fmt.Errorf("%w: there is none", ErrMatchmakerData)
	}
	err := json.Unmarshal([]byte(text), &w)
	switch {
	case err != nil:
	case w.Configuration == nil || *w.Configuration == "":
		err = errors.New("matchmakingConfigurationArn is missing")
	case isNull(w.Teams):
		err = errors.New("teams is missing")
	default:
		var teams []Team
		if teams, err = parseTeams(w.Teams); err == nil {
			return MatchmakerData{w.MatchID, *w.Configuration, teams, w.AutoBackfillMode, w.AutoBackfillTicketID}, nil
		}
	}
	return MatchmakerData{}, fmt.Errorf("%w: %w", ErrMatchmakerData, err)
}

// The teams of matchmaker data, as they are in the JSON.
type (
	wireTeam struct {
		Name    string         `json:"name"`
		Players []wireTeammate `json:"players"`
	}
	wireTeammate struct {
		PlayerID   string                   `json:"playerId"`
		Attributes map[string]wireAttribute `json:"attributes"`
	}
	wireAttribute struct {
		Type  string          `json:"attributeType"`
		Value json.RawMessage `json:"valueAttribute"`
	}
)

func parseTeams(data json.RawMessage) ([]Team, error) {
	var wire []wireTeam
	if err := json.Unmarshal(data, &wire); err != nil {
		return nil, err
	}
	teams := make([]Team, len(wire))
	for i, w := range wire {
		teams[i] = Team{Name: w.Name, Players: make([]Player, len(w.Players))}
		for j, p := range w.Players {
			attributes, err := parseAttributes(p.Attributes)
			if err != nil {
				return nil, fmt.Errorf("teams[%d].players[%d].attributes: %w", i, j, err)
			}
			teams[i].Players[j] = Player{PlayerID: p.PlayerID, Team: w.Name, Attributes: attributes}
		}
	}
	return teams, nil
}

func parseAttributes(wire map[string]wireAttribute) (map[string]AttributeValue, error) {
	attributes := make(map[string]AttributeValue, len(wire))
	for name, w := range wire {
		a, err := parseAttribute(w.Type, w.Value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		attributes[name] = a
	}
	return attributes, nil
}
