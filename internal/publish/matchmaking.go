package publish

import (
	"cmp"
	"slices"

	"github.com/muster-gg/muster/internal/matchmaking"
)

// matchDetail is the detail of a matchmaking event. Its fields depend on the type; unknown values are omitted.
type matchDetail struct {
	Type               matchmaking.Type `json:"type"`
	Reason             string           `json:"reason,omitempty"`
	Message            string           `json:"message,omitempty"`
	MatchID            string           `json:"matchId,omitempty"`
	Acceptance         string           `json:"acceptance,omitempty"`
	AcceptanceRequired *bool            `json:"acceptanceRequired,omitempty"`
	AcceptanceTimeout  int32            `json:"acceptanceTimeout,omitempty"`   // seconds
	EstimatedWait      any              `json:"estimatedWaitMillis,omitempty"` // a number, or NOT_AVAILABLE
	Tickets            []ticket         `json:"tickets"`
	Metrics            []metric         `json:"ruleEvaluationMetrics,omitempty"`
	CustomEventData    string           `json:"customEventData,omitempty"`
	GameSession        gameSession      `json:"gameSessionInfo"`
}

type ticket struct {
	TicketID  string   `json:"ticketId"`
	StartTime string   `json:"startTime"`
	Players   []player `json:"players"`
}

type player struct {
	PlayerID        string `json:"playerId"`
	PlayerSessionID string `json:"playerSessionId,omitempty"`
	Team            string `json:"team,omitempty"`
	Accepted        *bool  `json:"accepted,omitempty"` // nil: no answer yet
}

type gameSession struct {
	GameSessionARN string   `json:"gameSessionArn,omitempty"`
	IPAddress      string   `json:"ipAddress,omitempty"`
	DNSName        string   `json:"dnsName,omitempty"`
	Port           int32    `json:"port,omitempty"` // a number; a string in placement events
	Players        []player `json:"players"`
}

type metric struct {
	RuleName string `json:"ruleName"`
	Passed   int    `json:"passedCount"`
	Failed   int    `json:"failedCount"`
}

// matchmaking returns the event of an announcement. A ticket that ends without ever having been in a match has zeros
// for the rules of its configuration.
func (o Origin) matchmaking(h head, a *matchmaking.Announcement,
	ruleNames func(matchmaking.Configuration) []string,
) ([]byte, error) {
	d := matchDetail{Type: a.Type, Reason: a.Reason, Message: a.Message, Acceptance: a.Acceptance,
		CustomEventData: h.custom}
	if a.Match != nil {
		d.MatchID = a.Match.ID
	}
	switch a.Type {
	case matchmaking.MatchmakingSearching:
		d.EstimatedWait = "NOT_AVAILABLE"
		if a.Wait > 0 {
			d.EstimatedWait = a.Wait
		}
	case matchmaking.PotentialMatchCreated:
		required := a.Match.Settings.Acceptance > 0
		d.AcceptanceRequired, d.AcceptanceTimeout = &required, a.Match.Settings.Acceptance
		d.Metrics = metrics(a.Match.Metrics)
	case matchmaking.MatchmakingTimedOut, matchmaking.MatchmakingCancelled:
		d.Metrics = metrics(a.Tickets[0].Metrics)
		if len(d.Metrics) == 0 {
			for _, name := range ruleNames(a.Configuration) {
				d.Metrics = append(d.Metrics, metric{RuleName: name})
			}
		}
	case matchmaking.MatchmakingFailed:
		if !a.Tickets[0].Backfill { // the details in the ticket's message are for DescribeMatchmaking
			d.Message = matchmaking.MessageUnexpected
		}
	case matchmaking.MatchmakingSucceeded:
		if c := a.Connection; c != nil {
			d.GameSession = gameSession{GameSessionARN: c.GameSession,
				IPAddress: c.IPAddress, DNSName: c.DNSName, Port: c.Port}
		}
	}
	d.Tickets = tickets(a)
	d.GameSession.Players = []player{}
	for _, t := range d.Tickets {
		d.GameSession.Players = append(d.GameSession.Players, t.Players...)
	}
	return o.envelope(h, matchmakingDetailType, format(a.At, milliseconds), d)
}

func tickets(a *matchmaking.Announcement) []ticket {
	list := make([]ticket, 0, len(a.Tickets))
	for _, t := range a.Tickets {
		shown := ticket{TicketID: t.ID, StartTime: format(t.Started, milliseconds), Players: make([]player, 0,
			len(t.Players))}
		for _, p := range t.Players {
			shown.Players = append(shown.Players, player{
				PlayerID: p.ID, Team: p.Team, PlayerSessionID: playerSession(a, p.ID), Accepted: answer(a, p.ID),
			})
		}
		list = append(list, shown)
	}
	return list
}

// playerSession returns the id of a player's player session; "" before the match has a game session.
func playerSession(a *matchmaking.Announcement, id string) string {
	if a.Connection == nil {
		return ""
	}
	for _, p := range a.Connection.Players {
		if p.PlayerID == id {
			return p.PlayerSession.String()
		}
	}
	return ""
}

// answer reports whether a player has accepted the match; nil for no answer, and in events without answers.
func answer(a *matchmaking.Announcement, id string) *bool {
	if a.Type != matchmaking.AcceptMatch && a.Type != matchmaking.AcceptMatchCompleted {
		return nil
	}
	byPlayer := func(x matchmaking.Answer, id string) int { return cmp.Compare(x.PlayerID, id) }
	i, ok := slices.BinarySearchFunc(a.Match.Answers, id, byPlayer)
	if !ok {
		return nil
	}
	return &a.Match.Answers[i].Accepted
}

func metrics(list []matchmaking.Metric) []metric {
	shown := make([]metric, len(list))
	for i, m := range list {
		shown[i] = metric{m.Rule, m.Passed, m.Failed}
	}
	return shown
}
