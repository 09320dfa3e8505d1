package publish

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

var (
	origin  = Origin{Region: "eu-west-1", Account: "000000000000"}
	started = event.At(time.Date(2031, 4, 5, 6, 7, 5, 120e6, time.UTC))
	ended   = event.At(time.Date(2031, 4, 5, 6, 7, 9, 4e6, time.UTC))
	room    = fleet.RoomID{Fleet: "fleet-0a1b", Location: "custom-dock"}
)

// compare holds an event to the text that is wanted, white space aside.
func compare(t *testing.T, name string, got []byte, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var compact []byte
	if compact, err = compactJSON(want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if string(got) != string(compact) {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, compact)
	}
}

// compactJSON keeps the order of keys.
func compactJSON(text string) ([]byte, error) {
	return json.Marshal(json.RawMessage(text))
}

// TestPlacement holds the events to captured ones.
// Source: spec of queues, section 9.
func TestPlacement(t *testing.T) {
	head := head{id: "6f0c3a0e-2d1b-4b7e-9a55-0f2b9c1d7e10",
		resource: "arn:aws:gamelift:eu-west-1:000000000000:gamesessionqueue/harbor", custom: "blue"}
	p := &placement.Placement{
		Request: placement.Request{ID: "place-17", Queue: "harbor"}, Status: placement.Fulfilled, Started: started,
		Ended: ended,
		Session: &placement.Session{
			Room: room, ID: "place-17", IPAddress: "192.0.2.10", DNSName: "dock.example.net", Port: 7777,
			Players: []placement.PlacedPlayer{{PlayerID: "p1"}},
		},
	}
	envelope := `{"version":"0","id":"6f0c3a0e-2d1b-4b7e-9a55-0f2b9c1d7e10",
		"detail-type":"GameLift Queue Placement Event",
		"source":"aws.gamelift","account":"000000000000","time":"2031-04-05T06:07:09Z","region":"eu-west-1",
		"resources":["arn:aws:gamelift:eu-west-1:000000000000:gamesessionqueue/harbor"],`
	got, err := origin.placement(head, p)
	compare(t, "fulfilled", got, err, envelope+`"detail":{"type":"PlacementFulfilled","placementId":"place-17",
		"port":"7777",
		"gameSessionArn":"arn:aws:gamelift:eu-west-1::gamesession/fleet-0a1b/custom-dock/place-17",
		"ipAddress":"192.0.2.10","dnsName":"dock.example.net",
		"startTime":"2031-04-05T06:07:05.120Z","endTime":"2031-04-05T06:07:09.004Z","gameSessionRegion":"custom-dock",
			"customEventData":"blue",
		"placedPlayerSessions":[{"playerId":"p1","playerSessionId":"psess-00000000-0000-0000-0000-000000000000"}]}}`)
	for status, kind := range map[placement.Status]string{
		placement.Cancelled: "PlacementCancelled", placement.TimedOut: "PlacementTimedOut",
		placement.Failed: "PlacementFailed",
	} {
		p.Status = status
		got, err := origin.placement(head, p)
		compare(t, kind, got, err, envelope+`"detail":{"type":"`+kind+`","placementId":"place-17",
			"startTime":"2031-04-05T06:07:05.120Z","endTime":"2031-04-05T06:07:09.004Z","customEventData":"blue"}}`)
	}
}

// TestMatchmaking holds the events to captured ones.
// Source: spec of FlexMatch, section 13.
func TestMatchmaking(t *testing.T) {
	head := head{id: "0c5f", resource: "arn:aws:gamelift:eu-west-1:000000000000:matchmakingconfiguration/ladder"}
	one := &matchmaking.Ticket{ID: "t-1", Started: started, Players: []matchmaking.Player{{ID: "p1", Team: "alpha"}},
		Metrics: []matchmaking.Metric{{Rule: "CloseMmr", Failed: 3}}}
	two := &matchmaking.Ticket{ID: "t-2", Started: started, Players: []matchmaking.Player{{ID: "p2", Team: "omega"}}}
	both := []*matchmaking.Ticket{one, two}
	match := &matchmaking.Match{
		ID: "5a7d", Settings: matchmaking.MatchSettings{Acceptance: 45},
		Metrics: []matchmaking.Metric{{Rule: "CloseMmr", Passed: 2}},
		Answers: []matchmaking.Answer{{PlayerID: "p1", Accepted: true}},
	}
	free := &matchmaking.Match{ID: "5a7d"}
	connection := &matchmaking.Connection{
		GameSession: "arn:s", IPAddress: "192.0.2.10", DNSName: "dock.example.net", Port: 7777,
		Players: []matchmaking.MatchedPlayer{{PlayerID: "p1"}, {PlayerID: "p2"}},
	}
	const (
		ticket = `{"ticketId":"t-1","startTime":"2031-04-05T06:07:05.120Z","players":[{"playerId":"p1",` +
			`"team":"alpha"}]}`
		other = `{"ticketId":"t-2","startTime":"2031-04-05T06:07:05.120Z","players":[{"playerId":"p2",` +
			`"team":"omega"}]}`
		none = "00000000-0000-0000-0000-000000000000"
	)
	for _, c := range []struct {
		a      *matchmaking.Announcement
		custom string
		detail string
	}{
		{&matchmaking.Announcement{Type: matchmaking.MatchmakingSearching, Tickets: both[:1]}, "",
			`{"type":"MatchmakingSearching","estimatedWaitMillis":"NOT_AVAILABLE","tickets":[` + ticket + `],
				"gameSessionInfo":{"players":[{"playerId":"p1","team":"alpha"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.MatchmakingSearching, Tickets: both[:1], Wait: 1500}, "",
			`{"type":"MatchmakingSearching","estimatedWaitMillis":1500,"tickets":[` + ticket + `],
				"gameSessionInfo":{"players":[{"playerId":"p1","team":"alpha"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.PotentialMatchCreated, Tickets: both, Match: match}, "",
			`{"type":"PotentialMatchCreated","matchId":"5a7d","acceptanceRequired":true,"acceptanceTimeout":45,` +
				`"tickets":[` +
				ticket + `,` + other + `],
			"ruleEvaluationMetrics":[{"ruleName":"CloseMmr","passedCount":2,"failedCount":0}],
			"gameSessionInfo":{"players":[{"playerId":"p1","team":"alpha"},{"playerId":"p2","team":"omega"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.PotentialMatchCreated, Tickets: both[:1], Match: free}, "",
			`{"type":"PotentialMatchCreated","matchId":"5a7d","acceptanceRequired":false,"tickets":[` + ticket + `],
				"gameSessionInfo":{"players":[{"playerId":"p1","team":"alpha"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.AcceptMatch, Tickets: both, Match: match}, "",
			`{"type":"AcceptMatch","matchId":"5a7d","tickets":[{"ticketId":"t-1","startTime":"2031-04-05T06:07:05.120Z",
				"players":[{"playerId":"p1","team":"alpha","accepted":true}]},` + other + `],
			"gameSessionInfo":{"players":[{"playerId":"p1","team":"alpha","accepted":true},{"playerId":"p2",
			"team":"omega"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.AcceptMatchCompleted, Tickets: both[1:], Match: match,
			Acceptance: "Rejected"}, "",
			`{"type":"AcceptMatchCompleted","matchId":"5a7d","acceptance":"Rejected","tickets":[` + other + `],
				"gameSessionInfo":{"players":[{"playerId":"p2","team":"omega"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.MatchmakingSucceeded, Tickets: both[:1], Match: match,
			Connection: connection}, "",
			`{"type":"MatchmakingSucceeded","matchId":"5a7d","tickets":[{"ticketId":"t-1",
				"startTime":"2031-04-05T06:07:05.120Z",
			"players":[{"playerId":"p1","playerSessionId":"psess-` + none + `","team":"alpha"}]}],
			"gameSessionInfo":{"gameSessionArn":"arn:s","ipAddress":"192.0.2.10","dnsName":"dock.example.net",
			"port":7777,
			"players":[{"playerId":"p1","playerSessionId":"psess-` + none + `","team":"alpha"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.MatchmakingTimedOut, Tickets: both[:1],
			Reason: matchmaking.ReasonTimedOut, Message: matchmaking.MessageTimedOut}, "",
			`{"type":"MatchmakingTimedOut","reason":"TimedOut","message":"Removed from matchmaking due to timing out.",
				"tickets":[` + ticket + `],
			"ruleEvaluationMetrics":[{"ruleName":"CloseMmr","passedCount":0,"failedCount":3}],
				"gameSessionInfo":{"players":[{"playerId":"p1","team":"alpha"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.MatchmakingCancelled, Tickets: both[1:], Match: free,
			Reason: matchmaking.ReasonCancelled, Message: matchmaking.MessageCancelled}, "",
			`{"type":"MatchmakingCancelled","reason":"Cancelled","message":"Cancelled by request.","matchId":"5a7d",
				"tickets":[` + other + `],
			"ruleEvaluationMetrics":[{"ruleName":"Rule","passedCount":0,"failedCount":0}],
				"gameSessionInfo":{"players":[{"playerId":"p2","team":"omega"}]}}`},
		{&matchmaking.Announcement{Type: matchmaking.MatchmakingFailed, Tickets: both[1:], Match: free,
			Reason: matchmaking.ReasonUnexpected, Message: "There is no queue."}, "blue",
			`{"type":"MatchmakingFailed","reason":"UNEXPECTED_ERROR",
				"message":"An unexpected error was encountered during match placing.","matchId":"5a7d",
			"tickets":[` + other + `],"customEventData":"blue","gameSessionInfo":{"players":[{"playerId":"p2",
				"team":"omega"}]}}`},
	} {
		c.a.At = ended
		head.custom = c.custom
		got, err := origin.matchmaking(head, c.a, func(matchmaking.Configuration) []string { return []string{"Rule"} })
		compare(t, string(c.a.Type), got, err, `{"version":"0","id":"0c5f","detail-type":"GameLift Matchmaking Event",
			"source":"aws.gamelift","account":"000000000000",
			"time":"2031-04-05T06:07:09.004Z","region":"eu-west-1",
				"resources":["arn:aws:gamelift:eu-west-1:000000000000:matchmakingconfiguration/ladder"],
				"detail":`+c.detail+`}`)
	}
}
