package e2e

import (
	"slices"
	"testing"

	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/gameserver"
)

// TestQueuesAndMatchmaking goes, with every client, from a queue to a game session of
// it, and from tickets to a match whose free place is filled. It makes every call of
// queues, placements and matchmaking. The AWS CLI, which takes a second for a call,
// goes that way in TestMatchmakingScript.
func TestQueuesAndMatchmaking(t *testing.T) {
	t.Parallel()
	for name, open := range everyClient {
		if name == "AWS CLI" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			newMatchWalk(t, s, open(t, s)).whole()
		})
	}
}

// A matchWalk is a walk through queues and matchmaking.
type matchWalk struct {
	*walk
	hosts []*process
	game  string // the game session of the match
	host  *process
}

// newMatchWalk makes a fleet with two game servers to walk with.
func newMatchWalk(t *testing.T, s *service, client clients.Caller) *matchWalk {
	m := &matchWalk{walk: &walk{T: t, service: s, client: client}}
	m.fleetID = s.newFleet(t)
	compute := s.newCompute(t, m.fleetID, home, "pc")
	for range 2 {
		m.hosts = append(m.hosts, s.launch(t, compute, behaviour{}))
	}
	return m
}

// whole is the walk from its begin to its end.
func (m *matchWalk) whole() {
	m.queues()
	m.placements()
	m.ruleSets()
	m.configurations()
	m.match()
	m.backfill()
	m.withoutCapacity()
	m.rejection()
	m.deletions()
}

const (
	queueArn         = arnPrefix + "gamesessionqueue/arena"
	configurationArn = arnPrefix + "matchmakingconfiguration/duel"
	topicArn         = "arn:aws:sns:" + testRegion + ":" + testAccount + ":events"
)

// duelRules are for one against one, with a place for a third.
const duelRules = `{"name": "duel", "ruleLanguageVersion": "1.0",
	"playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
	"teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 2}],
	"rules": [{"name": "CloseSkill", "type": "distance", "maxDistance": 5,
		"measurements": ["max(flatten(teams[*].players.attributes[skill]))"],
		"referenceValue": "min(flatten(teams[*].players.attributes[skill]))"}]}`

// becomes repeats a call until a member of its answer has a value.
func (m *matchWalk) becomes(operation string, in params, path, want string) (a answer) {
	m.Helper()
	eventually(m, operation+": "+path+" is "+want, func() bool {
		a = m.do(operation, in)
		return a.at(path) == want
	})
	return a
}

func (m *matchWalk) ticketBecomes(id, status string) answer {
	m.Helper()
	return m.becomes("DescribeMatchmaking", params{"TicketIds": []string{id}}, "TicketList.0.Status", status)
}

func (m *matchWalk) queues() {
	destinations := []params{{"DestinationArn": arnPrefix + "fleet/" + m.fleetID}}
	create := params{
		"Name": "arena", "TimeoutInSeconds": 300, "Destinations": destinations, "CustomEventData": "blue",
		"NotificationTarget": topicArn,
		"PlayerLatencyPolicies": []params{
			{"MaximumIndividualPlayerLatencyMilliseconds": 200},
			{"MaximumIndividualPlayerLatencyMilliseconds": 100, "PolicyDurationSeconds": 60},
		},
		"FilterConfiguration":   params{"AllowedLocations": []string{home}},
		"PriorityConfiguration": params{"PriorityOrder": []string{"LOCATION", "COST"}, "LocationOrder": []string{home}},
		"Tags":                  []params{{"Key": "team", "Value": "blue"}},
	}
	m.do("CreateGameSessionQueue", create).is(map[string]any{
		"GameSessionQueue.Name": "arena", "GameSessionQueue.GameSessionQueueArn": queueArn,
		"GameSessionQueue.TimeoutInSeconds":                                                   300,
		"GameSessionQueue.PlayerLatencyPolicies.0.MaximumIndividualPlayerLatencyMilliseconds": 100, // by their caps
		"GameSessionQueue.CustomEventData":                                                    "blue",
		"GameSessionQueue.NotificationTarget":                                                 topicArn,
		"GameSessionQueue.FilterConfiguration.AllowedLocations.0":                             home,
		"GameSessionQueue.PriorityConfiguration.PriorityOrder.1":                              "COST",
	})
	m.refused("InvalidRequestException", "CreateGameSessionQueue", create)
	m.do("ListTagsForResource", params{"ResourceARN": queueArn}).is(map[string]any{"Tags.0.Value": "blue"})
	m.do("UpdateGameSessionQueue",
		params{"Name": queueArn, "TimeoutInSeconds": 200, "PriorityConfiguration": params{}}).is(map[string]any{
		"GameSessionQueue.TimeoutInSeconds":                                                   200,
		"GameSessionQueue.PlayerLatencyPolicies.1.MaximumIndividualPlayerLatencyMilliseconds": 200,
		"GameSessionQueue.PriorityConfiguration":                                              "", // cleared
	})
	m.do("CreateGameSessionQueue", params{"Name": "other"})
	expectSame(m, "queues by name", m.do("DescribeGameSessionQueues",
		params{"Names": []string{queueArn, "nowhere"}}).each("GameSessionQueues", "Name"), []string{"arena"})
	expectSame(m, "queues", m.do("DescribeGameSessionQueues", params{}).each("GameSessionQueues", "Name"),
		[]string{"arena", "other"})
	m.do("DeleteGameSessionQueue", params{"Name": "other"})
	m.refused("NotFoundException", "UpdateGameSessionQueue", params{"Name": "other"})
	m.refused("NotFoundException", "DeleteGameSessionQueue", params{"Name": "other"})
	m.refused("NotFoundException", "StartGameSessionPlacement",
		params{"PlacementId": "p", "GameSessionQueueName": "other", "MaximumPlayerSessionCount": 2})
}

func (m *matchWalk) placements() {
	start := params{
		"PlacementId": "first", "GameSessionQueueName": "arena", "MaximumPlayerSessionCount": 2,
		"GameSessionName": "First", "GameSessionData": "data",
		"GameProperties":        []params{{"Key": "map", "Value": "harbour"}},
		"PlayerLatencies":       []params{{"PlayerId": "ada", "RegionIdentifier": home, "LatencyInMilliseconds": 20.5}},
		"DesiredPlayerSessions": []params{{"PlayerId": "ada", "PlayerData": "red"}},
	}
	m.do("StartGameSessionPlacement", start).is(map[string]any{
		"GameSessionPlacement.Status": "PENDING", "GameSessionPlacement.GameSessionQueueName": "arena",
		"GameSessionPlacement.PlayerLatencies.0.LatencyInMilliseconds": 20.5,
	})
	placed := m.becomes("DescribeGameSessionPlacement", params{"PlacementId": "first"}, "GameSessionPlacement.Status",
		"FULFILLED")
	arn := "arn:aws:gamelift:" + testRegion + "::gamesession/" + m.fleetID + "/" + home + "/first"
	placed.is(map[string]any{
		"GameSessionPlacement.GameSessionArn": arn, "GameSessionPlacement.GameSessionId": arn,
		"GameSessionPlacement.GameSessionRegion": home,
		"GameSessionPlacement.IpAddress":         "127.0.0.1", "GameSessionPlacement.Port": 7777,
		"GameSessionPlacement.PlacedPlayerSessions.0.PlayerId": "ada",
		"GameSessionPlacement.GameProperties.0.Value":          "harbour",
		"GameSessionPlacement.GameSessionName":                 "First",
		"GameSessionPlacement.MatchmakerData":                  "",
	})
	host := m.hostOf(arn)
	if g := receive(m, "the game session", host.started); g.Name != "First" || g.GameSessionData != "data" ||
		g.GameProperties["map"] != "harbour" || g.MaximumPlayerSessionCount != 2 {
		m.Errorf("the game server was given %+v", g)
	}
	report(m, "accept", host.AcceptPlayerSession(m.Context(),
		placed.at("GameSessionPlacement.PlacedPlayerSessions.0.PlayerSessionId")))

	m.refused("InvalidRequestException", "StopGameSessionPlacement", params{"PlacementId": "first"})
	m.refused("NotFoundException", "DescribeGameSessionPlacement", params{"PlacementId": "second"})
	m.refused("NotFoundException", "StopGameSessionPlacement", params{"PlacementId": "second"})
}

// hostOf is the process that hosts a game session.
func (m *matchWalk) hostOf(session string) *process {
	m.Helper()
	i := slices.IndexFunc(m.hosts, func(p *process) bool { return p.GameSessionID() == session })
	if i < 0 {
		m.Fatalf("no process hosts %s", session)
	}
	return m.hosts[i]
}

func (m *matchWalk) ruleSets() {
	m.do("ValidateMatchmakingRuleSet", params{"RuleSetBody": duelRules}).is(map[string]any{"Valid": true})
	m.refused("InvalidRequestException", "ValidateMatchmakingRuleSet",
		params{"RuleSetBody": `{"ruleLanguageVersion": "1.0"}`})
	create := params{"Name": "duel", "RuleSetBody": duelRules}
	m.do("CreateMatchmakingRuleSet", create).is(map[string]any{
		"RuleSet.RuleSetName": "duel", "RuleSet.RuleSetArn": arnPrefix + "matchmakingruleset/duel",
		"RuleSet.RuleSetBody": duelRules,
	})
	m.refused("InvalidRequestException", "CreateMatchmakingRuleSet", create)
	m.refused("InvalidRequestException", "CreateMatchmakingRuleSet", params{"Name": "bad", "RuleSetBody": "{"})
	expectSame(m, "rule sets", m.do("DescribeMatchmakingRuleSets", params{"Names": []string{"duel"}}).each("RuleSets",
		"RuleSetName"), []string{"duel"})
	m.refused("NotFoundException", "DescribeMatchmakingRuleSets", params{"Names": []string{"nothing"}})
}

func (m *matchWalk) configurations() {
	create := params{
		"Name": "duel", "RuleSetName": "duel", "RequestTimeoutSeconds": 900, "AcceptanceRequired": true,
		"AcceptanceTimeoutSeconds": 300,
		"GameSessionQueueArns":     []string{queueArn}, "GameProperties": []params{{"Key": "mode", "Value": "duel"}},
		"GameSessionData": "data",
		"BackfillMode":    "MANUAL", "FlexMatchMode": "WITH_QUEUE", "CustomEventData": "blue",
		"NotificationTarget": topicArn, "Description": "one against one",
	}
	m.do("CreateMatchmakingConfiguration", create).is(map[string]any{
		"Configuration.Name": "duel", "Configuration.ConfigurationArn": configurationArn,
		"Configuration.RuleSetArn":               arnPrefix + "matchmakingruleset/duel",
		"Configuration.AcceptanceTimeoutSeconds": 300, "Configuration.GameSessionQueueArns.0": queueArn,
		"Configuration.BackfillMode": "MANUAL",
	})
	m.refused("InvalidRequestException", "CreateMatchmakingConfiguration", create)
	m.refused("NotFoundException", "CreateMatchmakingConfiguration", params{
		"Name": "other", "RuleSetName": "nothing", "RequestTimeoutSeconds": 900, "AcceptanceRequired": false,
		"GameSessionQueueArns": []string{queueArn},
	})
	m.do("UpdateMatchmakingConfiguration", params{"Name": configurationArn, "Description": "two of " +
		"them"}).is(map[string]any{
		"Configuration.Description": "two of them", "Configuration.AcceptanceRequired": true,
	})
	m.refused("NotFoundException", "UpdateMatchmakingConfiguration", params{"Name": "other"})
	for what, in := range map[string]params{
		"by name": {"Names": []string{"duel", "other"}}, "by rule set": {"RuleSetName": "duel"},
	} {
		expectSame(m, "configurations "+what, m.do("DescribeMatchmakingConfigurations", in).each("Configurations",
			"Name"), []string{"duel"})
	}
	m.refused("InvalidRequestException", "DeleteMatchmakingRuleSet", params{"Name": "duel"}) // it is in use
}

// enter starts a ticket.
func (m *matchWalk) enter(player string, skill float64) {
	m.Helper()
	m.do("StartMatchmaking", params{"ConfigurationName": "duel", "TicketId": "ticket-" + player, "Players": []params{{
		"PlayerId": player, "PlayerAttributes": params{"skill": params{"N": skill}}, "LatencyInMs": params{home: 20},
	}}}).is(map[string]any{
		"MatchmakingTicket.Status": "QUEUED", "MatchmakingTicket.ConfigurationArn": configurationArn,
		"MatchmakingTicket.Players.0.PlayerAttributes.skill.N": skill,
	})
}

// reply answers a proposed match.
func (m *matchWalk) reply(player, answer string) {
	m.Helper()
	m.ticketBecomes("ticket-"+player, "REQUIRES_ACCEPTANCE")
	m.do("AcceptMatch", params{"TicketId": "ticket-" + player, "PlayerIds": []string{player}, "AcceptanceType": answer})
}

func (m *matchWalk) match() {
	m.refused("NotFoundException", "StartMatchmaking",
		params{"ConfigurationName": "other", "Players": []params{{"PlayerId": "ada"}}})
	m.enter("ada", 10)
	m.enter("grace", 12)
	for _, player := range []string{"ada", "grace"} {
		m.reply(player, "ACCEPT")
	}
	completed := m.ticketBecomes("ticket-ada", "COMPLETED")
	m.game = completed.at("TicketList.0.GameSessionConnectionInfo.GameSessionArn")
	completed.is(map[string]any{
		"TicketList.0.GameSessionConnectionInfo.IpAddress":                        "127.0.0.1",
		"TicketList.0.GameSessionConnectionInfo.Port":                             7777,
		"TicketList.0.GameSessionConnectionInfo.MatchedPlayerSessions.0.PlayerId": "ada",
	})
	completed.like(map[string]string{"TicketList.0.Players.0.Team": "red|blue"})
	m.ticketBecomes("ticket-grace",
		"COMPLETED").is(map[string]any{"TicketList.0.GameSessionConnectionInfo.GameSessionArn": m.game})
	m.refused("InvalidRequestException", "StopMatchmaking", params{"TicketId": "ticket-ada"})

	m.host = m.hostOf(m.game)
	g := receive(m, "the game session", m.host.started)
	expectSame(m, "players of the match", matched(m, g), []string{"ada", "grace"})
	if g.MaximumPlayerSessionCount != 3 || g.GameProperties["mode"] != "duel" || g.GameSessionData != "data" {
		m.Errorf("the game server was given %+v", g)
	}
	report(m, "accept", m.host.AcceptPlayerSession(m.Context(),
		completed.at("TicketList.0.GameSessionConnectionInfo.MatchedPlayerSessions.0.PlayerSessionId")))
}

// matched is the players that the data of a game session names.
func matched(t testing.TB, g gameserver.GameSession) (players []string) {
	t.Helper()
	data, err := gameserver.ParseMatchmakerData(g.MatchmakerData)
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range data.Teams {
		for _, p := range team.Players {
			players = append(players, p.PlayerID)
		}
	}
	return players
}

func (m *matchWalk) backfill() {
	var players []params
	for _, player := range []string{"ada", "grace"} {
		ticket := m.do("DescribeMatchmaking", params{"TicketIds": []string{"ticket-" + player}})
		players = append(players, params{"PlayerId": player, "Team": ticket.at("TicketList.0.Players.0.Team"),
			"PlayerAttributes": params{"skill": params{"N": 11}}})
	}
	start := params{"ConfigurationName": "duel", "GameSessionArn": m.game, "Players": players, "TicketId": "stopped"}
	m.do("StartMatchBackfill", start).is(map[string]any{"MatchmakingTicket.Status": "QUEUED"})
	m.do("StopMatchmaking", params{"TicketId": "stopped"})
	m.ticketBecomes("stopped", "CANCELLED")
	if u := receive(m, "the end of the first backfill", m.host.updated); u.Reason != gameserver.BackfillCancelled ||
		u.BackfillTicketID != "stopped" {
		m.Errorf("the game server heard %+v", u)
	}

	start["TicketId"] = "backfill"
	m.do("StartMatchBackfill",
		start).is(map[string]any{"MatchmakingTicket.GameSessionConnectionInfo.GameSessionArn": m.game})
	m.enter("linus", 11)
	m.reply("linus", "ACCEPT")
	m.ticketBecomes("ticket-linus", "COMPLETED").is(map[string]any{
		"TicketList.0.GameSessionConnectionInfo.GameSessionArn": m.game, "TicketList.0.Players.0.Team": "blue",
	})
	m.ticketBecomes("backfill", "COMPLETED")
	u := receive(m, "the backfill", m.host.updated)
	if u.Reason != gameserver.MatchmakingDataUpdated || u.BackfillTicketID != "backfill" {
		m.Errorf("the game server heard %+v", u)
	}
	expectSame(m, "players of the match", matched(m, u.GameSession), []string{"ada", "grace", "linus"})
}

// withoutCapacity starts a placement for which there is no process, and stops it.
func (m *matchWalk) withoutCapacity() {
	m.do("StartGameSessionPlacement", params{"PlacementId": "second", "GameSessionQueueName": queueArn,
		"MaximumPlayerSessionCount": 2})
	// It is refused for the moment in which a process is looked for.
	eventually(m, "the placement is stopped", func() bool {
		return m.client.Call("StopGameSessionPlacement", params{"PlacementId": "second"}, nil) == nil
	})
	m.do("DescribeGameSessionPlacement",
		params{"PlacementId": "second"}).is(map[string]any{"GameSessionPlacement.Status": "CANCELLED"})
	m.refused("InvalidRequestException", "StopGameSessionPlacement", params{"PlacementId": "second"})
	m.refused("InvalidRequestException", "StartGameSessionPlacement",
		params{"PlacementId": "second", "GameSessionQueueName": "arena", "MaximumPlayerSessionCount": 2})
}

func (m *matchWalk) rejection() {
	m.enter("ken", 1)
	m.enter("dennis", 2)
	m.reply("ken", "ACCEPT")
	m.reply("dennis", "REJECT")
	m.ticketBecomes("ticket-dennis", "CANCELLED")
	m.ticketBecomes("ticket-ken", "SEARCHING").is(map[string]any{"TicketList.0.StatusReason": "AcceptanceFailed"})
	accept := params{"TicketId": "ticket-ken", "PlayerIds": []string{"ken"}, "AcceptanceType": "ACCEPT"}
	m.refused("InvalidRequestException", "AcceptMatch", accept)
	m.do("StopMatchmaking", params{"TicketId": "ticket-ken"})
	m.ticketBecomes("ticket-ken", "CANCELLED")
	accept["TicketId"] = "nothing"
	m.refused("NotFoundException", "AcceptMatch", accept)
	m.refused("NotFoundException", "StopMatchmaking", params{"TicketId": "nothing"})
	expectSame(m, "tickets", m.do("DescribeMatchmaking",
		params{"TicketIds": []string{"nothing", "ticket-ken"}}).each("TicketList", "TicketId"), []string{"ticket-ken"})
}

func (m *matchWalk) deletions() {
	m.do("DeleteMatchmakingConfiguration", params{"Name": "duel"})
	m.do("DeleteMatchmakingRuleSet", params{"Name": "duel"})
	m.do("DeleteGameSessionQueue", params{"Name": "arena"})
	for operation, name := range map[string]string{
		"DeleteMatchmakingConfiguration": "duel", "DeleteMatchmakingRuleSet": "duel", "DeleteGameSessionQueue": "arena",
	} {
		m.refused("NotFoundException", operation, params{"Name": name})
	}
}
