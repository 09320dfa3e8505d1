package gameserver

import (
	"context"
	"errors"
)

// playersPage is how many player sessions are asked for at a time. Source: O3DE AWSGameLift Gem,
// AWSGameLiftDescribePlayerSessionsPageSize.
const playersPage = 30

// StartMatchBackfill asks the matchmaker that made the game session for more players, and returns the id of the ticket,
// which the service chooses if ticketID is "". Without players, it sends those of the match who are in the game
// session: the ACTIVE player sessions, with the teams and attributes of the matchmaker data, and without latencies. A
// player who joined without the matchmaker is left out.
//
// It fails with ErrNotConnected before Init, and with ErrMatchmakerData when the game session was not made by a
// matchmaker.
// Source: O3DE AWSGameLift Gem, StartMatchBackfill.
func (h *Host) StartMatchBackfill(ctx context.Context, ticketID string, players []Player) (string, error) {
	session, data, err := h.match(startBackfill)
	if err != nil {
		return "", err
	}
	if len(players) == 0 {
		if players, err = h.activePlayers(ctx, session, data); err != nil {
			return "", as(startBackfill, err)
		}
	}
	return h.server.StartMatchBackfill(ctx, MatchBackfill{
		MatchmakingConfigurationARN: data.MatchmakingConfigurationARN, TicketID: ticketID, Players: players,
	})
}

// StopMatchBackfill cancels the backfill of a ticket. It fails as StartMatchBackfill does.
func (h *Host) StopMatchBackfill(ctx context.Context, ticketID string) error {
	_, data, err := h.match(stopBackfill)
	if err != nil {
		return err
	}
	return h.server.StopMatchBackfill(ctx, MatchBackfill{
		MatchmakingConfigurationARN: data.MatchmakingConfigurationARN, TicketID: ticketID,
	})
}

func (h *Host) match(action string) (session string, data MatchmakerData, err error) {
	if !h.isInitialized() {
		return "", data, failed(action, ErrNotConnected)
	}
	config, ok := h.SessionConfig()
	if !ok {
		return "", data, failed(action, ErrNoGameSession)
	}
	if data, err = ParseMatchmakerData(config.MatchmakingData); err != nil {
		return "", data, failed(action, err)
	}
	return config.SessionID, data, nil
}

// activePlayers are the players of the match who are in the game session now.
func (h *Host) activePlayers(ctx context.Context, session string, data MatchmakerData) ([]Player, error) {
	var players []Player
	err := h.eachPlayerSession(ctx, session, PlayerSessionActive, func(ps PlayerSession) bool {
		if p, ok := data.Player(ps.PlayerID); ok {
			players = append(players, p)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if len(players) == 0 {
		return nil, invalid(startBackfill, "no player of the match is in the game session: name the players")
	}
	return players, nil
}

// eachPlayerSession calls each for the player sessions of a game session with a status, until it returns false.
func (h *Host) eachPlayerSession(ctx context.Context, session string, status PlayerSessionStatus,
	each func(PlayerSession) (more bool)) error {
	query := PlayerSessionQuery{GameSessionID: session, Status: status, Limit: playersPage}
	for {
		page, err := h.server.DescribePlayerSessions(ctx, query)
		if err != nil {
			return err
		}
		for _, ps := range page.PlayerSessions {
			if !each(ps) {
				return nil
			}
		}
		if page.NextToken == "" {
			return nil
		}
		if page.NextToken == query.NextToken {
			return failed(describePlayers, errSamePage)
		}
		query.NextToken = page.NextToken
	}
}

var errSamePage = errors.New("the service gives the same page again and again")
