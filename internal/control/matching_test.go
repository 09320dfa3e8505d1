package control

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// duelRules lets two players of the same mode play, one in each team.
const duelRules = `{"ruleLanguageVersion":"1.0",
	"playerAttributes":[{"name":"mmr","type":"number","default":1500},{"name":"mode","type":"string",
	"default":"casual"},
		{"name":"tags","type":"string_list","default":["none"]},{"name":"votes","type":"string_number_map",
		"default":{"keep":1}}],
	"teams":[{"name":"alpha","minPlayers":1,"maxPlayers":1},{"name":"omega","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"OneMode","type":"batchDistance","batchAttribute":"mode"}]}`

// crewRules lets two to four players play in one team.
const crewRules = `{"ruleLanguageVersion":"1.0","teams":[{"name":"crew","minPlayers":2,"maxPlayers":4}]}`

// An arcade is a world with matchmaking: configurations in front of a queue, and
// processes behind it.
type arcade struct {
	*world
	fleet   string
	sockets []*socket
}

// matchmakers makes a world with processes, the queue "games" and the configuration
// "duel" with the rule set duelRules.
func matchmakers(t testing.TB, processes int, options ...option) *arcade {
	t.Helper()
	w := newWorld(t, options...)
	a := &arcade{world: w}
	a.fleet, a.sockets = w.host(processes)
	w.queueOf("games", w.FleetARN(a.fleet))
	a.configure("duel", duelRules, nil)
	return a
}

// configure makes a configuration with a rule set of the same name.
func (a *arcade) configure(name, rules string, more object) {
	a.t.Helper()
	a.must("CreateMatchmakingRuleSet", object{"Name": name, "RuleSetBody": rules})
	in := object{"Name": name, "RuleSetName": name, "RequestTimeoutSeconds": 60, "AcceptanceRequired": false}
	for k, v := range more {
		in[k] = v
	}
	if in["FlexMatchMode"] != "STANDALONE" {
		in["GameSessionQueueArns"] = []string{arnOf("gamesessionqueue/games")}
	}
	a.must("CreateMatchmakingConfiguration", in)
}

func players(ids ...string) []object {
	var list []object
	for _, id := range ids {
		list = append(list, object{"PlayerId": id})
	}
	return list
}

// seek starts a ticket of players without attributes.
func (a *arcade) seek(configuration, ticket string, ids ...string) object {
	a.t.Helper()
	return a.must("StartMatchmaking", object{"ConfigurationName": configuration, "TicketId": ticket,
		"Players": players(ids...)})
}

// ticketNow is a ticket as it is.
func (a *arcade) ticketNow(id string) any {
	a.t.Helper()
	return at(a.must("DescribeMatchmaking", object{"TicketIds": []string{id}}), "TicketList", 0)
}

// becomes waits until tickets have a status.
func (a *arcade) becomes(status string, tickets ...string) {
	a.t.Helper()
	for _, id := range tickets {
		a.await(id+" to become "+status, func() bool { return text(a.ticketNow(id), "Status") == status })
	}
}

// remain checks that tickets keep their status.
func (a *arcade) remain(status string, tickets ...string) {
	a.t.Helper()
	for _, id := range tickets {
		if got := text(a.ticketNow(id), "Status"); got != status {
			a.t.Errorf("%s is %s, want %s", id, got, status)
		}
	}
}

// play makes the process that receives a new game session activate it, and returns it with the push.
func (a *arcade) play() (*socket, processes.CreateGameSessionPush) {
	a.t.Helper()
	var host *socket
	var push processes.Push
	a.await("a game session to start", func() bool {
		for _, s := range a.sockets {
			select {
			case push = <-s.pushes:
				host = s
				return true
			default:
			}
		}
		return false
	})
	start, ok := push.(processes.CreateGameSessionPush)
	if !ok {
		a.t.Fatalf("pushed %+v", push)
	}
	host.ok(host.activate(start.GameSessionID))
	return host, start
}

// L1 without acceptance: two tickets make a match, are placed, and play.
func TestMatchIsPlaced(t *testing.T) {
	a := matchmakers(t, 1)
	in := object{"ConfigurationName": "duel", "TicketId": "t1", "Players": []object{{
		"PlayerId": "p1", "Team": "omega", "LatencyInMs": object{"custom-a": 20},
		"PlayerAttributes": object{"mmr": object{"N": 5}, "mode": object{"S": "casual"},
			"tags": object{"SL": []string{"x", "y", "x"}}, "votes": object{"SDM": object{"keep": 9}}},
	}}}
	same(t, a.must("StartMatchmaking", in), `{"MatchmakingTicket":{"TicketId":"t1","ConfigurationName":"duel",
		"ConfigurationArn":%q,"Status":"QUEUED","StartTime":%f,
		"Players":[{"PlayerId":"p1","LatencyInMs":{"custom-a":20},"PlayerAttributes":{"mmr":{"N":5},
		"mode":{"S":"casual"},"tags":{"SL":["x","y"]},"votes":{"SDM":{"keep":9}}}}]}}`,
		arnOf("matchmakingconfiguration/duel"), a.seconds())
	a.remain("SEARCHING", "t1")
	tags := object{"tags": object{"SL": []string{"z"}}, "votes": object{"SDM": object{}}, "extra": object{"S": "<é>"}}
	a.must("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t2",
		"Players": []object{{"PlayerId": "p2", "LatencyInMs": object{}, "PlayerAttributes": tags}}})
	a.becomes("PLACING", "t1", "t2")
	s, push := a.play()
	a.becomes("COMPLETED", "t1", "t2")

	one, two := a.ticketNow("t1"), a.ticketNow("t2")
	same(t, at(one, "GameSessionConnectionInfo"), `{"GameSessionArn":%q,"IpAddress":"10.0.0.1","DnsName":"c1.example",
		"Port":7777,"PlayerGatewayStatus":"DISABLED",
		"MatchedPlayerSessions":[{"PlayerId":"p1",
		"PlayerSessionId":%q}]}`, push.GameSessionID,
		text(one, "GameSessionConnectionInfo", "MatchedPlayerSessions", 0, "PlayerSessionId"))
	if at(one, "EndTime") == nil || text(one, "Players", 0, "Team") == "" ||
		text(one, "Players", 0, "Team") == text(two, "Players", 0, "Team") {
		t.Errorf("the tickets are %v and %v", one, two)
	}
	for i, ticket := range []any{one, two} {
		seat := text(ticket, "GameSessionConnectionInfo", "MatchedPlayerSessions", 0, "PlayerSessionId")
		s.ok(s.accept(push.GameSessionID, seat))
		got := text(a.must("DescribePlayerSessions", object{"PlayerSessionId": seat}), "PlayerSessions", 0, "PlayerId")
		if got != fmt.Sprintf("p%d", i+1) {
			t.Errorf("the seat of p%d is %s's", i+1, got)
		}
	}
	checkMatchmakerData(t, a, push, text(one, "Players", 0, "Team"))
}

func checkMatchmakerData(t *testing.T, a *arcade, push processes.CreateGameSessionPush, first string) {
	t.Helper()
	var data struct{ MatchID string }
	if err := json.Unmarshal([]byte(push.MatchmakerData), &data); err != nil {
		t.Fatal(err)
	}
	p1 := `{"playerId":"p1","attributes":{"mmr":{"attributeType":"DOUBLE","valueAttribute":5.0},` +
		`"mode":{"attributeType":"STRING","valueAttribute":"casual"},` +
		`"tags":{"attributeType":"STRING_LIST","valueAttribute":["x","y"]},` +
		`"votes":{"attributeType":"STRING_DOUBLE_MAP","valueAttribute":{"keep":9.0}}}}`
	p2 := `{"playerId":"p2","attributes":{"extra":{"attributeType":"STRING","valueAttribute":"<é>"},` +
		`"mmr":{"attributeType":"DOUBLE","valueAttribute":1500.0},` +
		`"mode":{"attributeType":"STRING","valueAttribute":"casual"},"tags":{"attributeType":"STRING_LIST",` +
		`"valueAttribute":["z"]},"votes":{"attributeType":"STRING_DOUBLE_MAP","valueAttribute":{}}}}`
	if first == "omega" {
		p1, p2 = p2, p1
	}
	want := fmt.Sprintf(`{"matchId":%q,"matchmakingConfigurationArn":%q,"teams":[{"name":"alpha","players":[%s]},`+
		`{"name":"omega","players":[%s]}],`+
		`"autoBackfillMode":null,"autoBackfillTicketId":null}`, data.MatchID, arnOf("matchmakingconfiguration/duel"),
		p1, p2)
	if push.MatchmakerData != want {
		t.Errorf("the game server is told\n %s\nwant\n %s", push.MatchmakerData, want)
	}
	if push.MaximumPlayerSessionCount != 2 {
		t.Errorf("the game session is for %d players", push.MaximumPlayerSessionCount)
	}
	g := at(a.must("DescribeGameSessions", object{"GameSessionId": push.GameSessionID}), "GameSessions", 0)
	if text(g, "MatchmakerData") != want {
		t.Errorf("the game session has %v", g)
	}
}

// answer lets players say yes or no.
func (a *arcade) answer(ticket, verdict string, ids ...string) {
	a.t.Helper()
	a.must("AcceptMatch", object{"TicketId": ticket, "PlayerIds": ids, "AcceptanceType": verdict})
}

// careful is the configuration "careful", whose players have 30 seconds to accept.
func careful(t testing.TB, processes int, options ...option) *arcade {
	a := matchmakers(t, processes, options...)
	a.configure("careful", duelRules, object{"AcceptanceRequired": true, "AcceptanceTimeoutSeconds": 30})
	return a
}

// L1: everybody accepts.
func TestMatchIsAccepted(t *testing.T) {
	a := careful(t, 1)
	a.seek("careful", "t1", "p1")
	a.seek("careful", "t2", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t2")
	if team := text(a.ticketNow("t1"), "Players", 0, "Team"); team == "" {
		t.Error("the proposed team is not shown")
	}
	a.answer("t1", "ACCEPT", "p1")
	a.answer("t1", "ACCEPT", "p1")
	a.remain("REQUIRES_ACCEPTANCE", "t1", "t2")
	a.refused(fault.InvalidRequest, "AcceptMatch",
		object{"TicketId": "t2", "PlayerIds": []string{"p1"}, "AcceptanceType": "ACCEPT"})
	a.refused(fault.InvalidRequest, "AcceptMatch",
		object{"TicketId": "t2", "PlayerIds": []string{}, "AcceptanceType": "ACCEPT"})
	a.answer("t2", "ACCEPT", "p2")
	a.becomes("PLACING", "t1", "t2")
	a.play()
	a.becomes("COMPLETED", "t1", "t2")
	a.refused(fault.InvalidRequest, "AcceptMatch",
		object{"TicketId": "t1", "PlayerIds": []string{"p1"}, "AcceptanceType": "REJECT"})
}

// L2: who rejects, and who has not answered by then, is out; who accepted searches on
// and finds another match.
func TestMatchIsRejected(t *testing.T) {
	a := careful(t, 1)
	a.seek("careful", "t1", "p1")
	a.seek("careful", "t2", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t2")
	a.answer("t1", "ACCEPT", "p1")
	a.answer("t2", "REJECT", "p2")
	a.remain("CANCELLED", "t2")
	a.remain("SEARCHING", "t1")
	if one := a.ticketNow("t1"); text(one, "StatusReason") != "AcceptanceFailed" ||
		text(one, "Players", 0, "Team") != "" {
		t.Errorf("the ticket that searches on is %v", one)
	}
	a.seek("careful", "t3", "p3")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t3")
	a.answer("t1", "REJECT", "p1")
	a.remain("CANCELLED", "t1", "t3")
}

// L3: who is silent is out like who rejects.
func TestMatchIsNotAnswered(t *testing.T) {
	a := careful(t, 1)
	a.seek("careful", "t1", "p1")
	a.seek("careful", "t2", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t2")
	a.answer("t1", "ACCEPT", "p1")
	a.elapse(30 * time.Second)
	a.becomes("CANCELLED", "t2")
	a.remain("SEARCHING", "t1")
	a.elapse(30 * time.Second)
	a.becomes("TIMED_OUT", "t1")
	same(t, at(a.ticketNow("t1"), "StatusMessage"), `"Removed from matchmaking due to timing out."`)
}

// L4, and what StopMatchmaking does in every status.
func TestStopInEveryStatus(t *testing.T) {
	a := careful(t, 1)
	stop := func(ticket string) object { return object{"TicketId": ticket} }
	a.seek("careful", "t1", "p1")
	a.refused(fault.InvalidRequest, "AcceptMatch",
		object{"TicketId": "t1", "PlayerIds": []string{"p1"}, "AcceptanceType": "ACCEPT"})
	same(t, a.must("StopMatchmaking", stop("t1")), `{}`)
	a.remain("CANCELLED", "t1")

	a.seek("careful", "t2", "p2")
	a.seek("careful", "t3", "p3")
	a.becomes("REQUIRES_ACCEPTANCE", "t2", "t3")
	a.must("StopMatchmaking", stop("t2"))
	a.remain("CANCELLED", "t2")
	a.remain("SEARCHING", "t3")

	a.seek("duel", "t4", "p4")
	a.seek("duel", "t5", "p5")
	a.becomes("PLACING", "t4", "t5")
	stopped := func(ticket, status string) {
		t.Helper()
		_, err := a.call("StopMatchmaking", stop(ticket))
		wantKind(t, ticket, err, fault.InvalidRequest)
		want := "Matchmaking ticket is in " + status + " status and cannot be canceled."
		if fault.Of(err).Message != want {
			t.Errorf("%s: %v", ticket, err)
		}
	}
	stopped("t4", "PLACING")
	a.play()
	a.becomes("COMPLETED", "t4", "t5")
	stopped("t4", "COMPLETED")
	stopped("t2", "CANCELLED")
	a.refused(fault.NotFound, "StopMatchmaking", stop("none"))
	a.refused(fault.NotFound, "AcceptMatch", object{"TicketId": "none", "PlayerIds": []string{"p"},
		"AcceptanceType": "ACCEPT"})

	a.elapse(60 * time.Second)
	a.becomes("TIMED_OUT", "t3")
	stopped("t3", "TIMED_OUT")
}

// L5: a player has one active ticket, the newest, whatever the configuration.
func TestPlayerHasOneTicket(t *testing.T) {
	a := careful(t, 1)
	a.seek("duel", "t1", "p1")
	a.seek("careful", "t9", "p1")
	a.remain("CANCELLED", "t1")
	a.remain("SEARCHING", "t9")
	a.seek("duel", "t2", "p2")
	a.remain("SEARCHING", "t2") // with nobody: t1 has left
	a.seek("duel", "t3", "p3")
	a.becomes("PLACING", "t2", "t3")
}

// L6: after a placement that comes to nothing the players search on, for as long as
// they have.
func TestPlacementTimesOut(t *testing.T) {
	a := matchmakers(t, 0)
	a.must("UpdateGameSessionQueue", object{"Name": "games", "TimeoutInSeconds": 20})
	a.seek("duel", "t1", "p1")
	a.seek("duel", "t2", "p2")
	a.becomes("PLACING", "t1", "t2")
	started := at(a.ticketNow("t1"), "StartTime")
	searched := func() bool { return a.round("t1") > 0 && a.round("t2") > 0 }
	a.placed("t1")
	a.elapse(20 * time.Second)
	a.await("the tickets to have searched again", searched)
	a.becomes("PLACING", "t1", "t2") // together again
	a.placed("t1")
	if at(a.ticketNow("t1"), "StartTime") != started {
		t.Error("the ticket begins anew")
	}
	a.elapse(20 * time.Second)
	a.await("the next round", func() bool { return a.round("t1") > 1 })
	a.becomes("PLACING", "t1", "t2")
	a.placed("t1")
	a.elapse(20 * time.Second) // their own time has passed, too
	a.becomes("TIMED_OUT", "t1", "t2")
}

// placed returns when the match of a ticket has its placement, whose time runs.
func (a *arcade) placed(ticket string) {
	a.t.Helper()
	a.await("the placement of "+ticket, func() bool {
		found, err := a.findTickets(a.ctx, []string{ticket})
		if err != nil || found[0].ticket == nil {
			a.t.Fatalf("ticket %s: %v", ticket, err)
		}
		_, err = a.findPlacement(a.ctx, found[0].ticket.Match)
		return err == nil
	})
}

// round is how often a ticket has returned to its pool.
func (a *arcade) round(ticket string) int {
	a.t.Helper()
	found, err := a.findTickets(a.ctx, []string{ticket})
	if err != nil || found[0].ticket == nil {
		a.t.Fatal(ticket, err)
	}
	return found[0].ticket.Round
}

// Without a queue in this Region there is no game.
func TestNoQueueToPlaceIn(t *testing.T) {
	a := matchmakers(t, 1)
	a.must("UpdateMatchmakingConfiguration", object{"Name": "duel",
		"GameSessionQueueArns": []string{"arn:aws:gamelift:eu-west-1::gamesessionqueue/games"}})
	a.seek("duel", "t1", "p1")
	a.seek("duel", "t2", "p2")
	a.becomes("FAILED", "t1", "t2")
	if one := a.ticketNow("t1"); text(one, "StatusReason") != "UNEXPECTED_ERROR" || text(one, "StatusMessage") == "" {
		t.Errorf("the ticket is %v", one)
	}
}

// L7: backfill tickets do not match one another.
func TestBackfillTicketsAlone(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("match", crewRules, object{"FlexMatchMode": "STANDALONE"})
	for i := range 2 {
		a.must("StartMatchBackfill", object{"ConfigurationName": "match", "TicketId": fmt.Sprint("b", i),
			"Players": []object{{"PlayerId": fmt.Sprint("p", i), "Team": "crew"}}})
	}
	a.elapse(59 * time.Second)
	a.remain("SEARCHING", "b0", "b1")
	a.seek("match", "t1", "p9")
	a.becomes("COMPLETED", "t1")
	if one := a.ticketNow("t1"); text(one, "Players", 0, "Team") != "crew" ||
		at(one, "GameSessionConnectionInfo") != nil {
		t.Errorf("the ticket is %v", one)
	}
	a.elapse(time.Second)
	done := map[string]int{}
	for _, id := range []string{"b0", "b1"} {
		done[text(a.ticketNow(id), "Status")]++
	}
	if done["COMPLETED"] != 1 || done["TIMED_OUT"] != 1 {
		t.Errorf("the backfill tickets are %v", done)
	}
}

// STANDALONE makes matches and no games, with acceptance too.
func TestStandalone(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("plain", duelRules, object{"FlexMatchMode": "STANDALONE"})
	a.configure("asked", duelRules, object{"FlexMatchMode": "STANDALONE", "AcceptanceRequired": true,
		"AcceptanceTimeoutSeconds": 10})
	a.seek("plain", "t1", "p1")
	a.seek("plain", "t2", "p2")
	a.becomes("COMPLETED", "t1", "t2")
	a.seek("asked", "t3", "p1")
	a.seek("asked", "t4", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t3", "t4")
	a.answer("t3", "ACCEPT", "p1")
	a.answer("t4", "ACCEPT", "p2")
	a.remain("COMPLETED", "t3", "t4")
}

// An expansion begins without anybody's help.
func TestExpansionIsAwaited(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("wide", `{"ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":3,"maxPlayers":3}],
		"expansions":[{"target":"teams[all].minPlayers","steps":[{"waitTimeSeconds":10,
		"value":2}]}]}`, object{"FlexMatchMode": "STANDALONE"})
	a.seek("wide", "t1", "p1")
	a.seek("wide", "t2", "p2")
	a.remain("SEARCHING", "t1", "t2")
	a.advance("the expansion", 10*time.Second, func() bool { return text(a.ticketNow("t1"), "Status") == "COMPLETED" })
}

// A change of the configuration or its rule set counts for those who wait.
func TestConfigurationChanges(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("moving", `{"ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":3,"maxPlayers":3}]}`,
		object{"FlexMatchMode": "STANDALONE"})
	a.seek("moving", "t1", "p1")
	a.seek("moving", "t2", "p2")
	a.elapse(time.Second)
	a.remain("SEARCHING", "t1", "t2")
	a.must("UpdateMatchmakingConfiguration", object{"Name": "moving", "RuleSetName": "duel"})
	a.becomes("COMPLETED", "t1", "t2")

	a.refused(fault.InvalidRequest, "DeleteMatchmakingRuleSet", object{"Name": "duel"})
	a.seek("moving", "t3", "p3")
	a.refused(fault.InvalidRequest, "DeleteMatchmakingConfiguration", object{"Name": "moving"})
	// As if t3 came at that moment.
	if err := a.Change(a.ctx, catalog.DeleteMatchmakingConfiguration{Name: "moving"}); err != nil {
		t.Fatal(err)
	}
	a.becomes("FAILED", "t3")
	a.refused(fault.NotFound, "StartMatchmaking", object{"ConfigurationName": "moving", "Players": players("p4")})
	a.must("CreateMatchmakingConfiguration", object{"Name": "moving", "RuleSetName": "duel",
		"RequestTimeoutSeconds": 60, "AcceptanceRequired": false, "FlexMatchMode": "STANDALONE"})
	a.seek("moving", "t4", "p4")
	a.seek("moving", "t5", "p5")
	a.becomes("COMPLETED", "t4", "t5")
	a.remain("FAILED", "t3")
}

// Places that AdditionalPlayerCount leaves open can be taken later.
func TestAdditionalPlayers(t *testing.T) {
	a := matchmakers(t, 1)
	a.configure("roomy", `{"ruleLanguageVersion":"1.0","teams":[{"name":"crew","minPlayers":1,"maxPlayers":3}]}`,
		object{"AdditionalPlayerCount": 1, "GameSessionData": "data",
			"GameProperties": []object{{"Key": "k", "Value": "v"}}})
	a.must("StartMatchmaking", object{"ConfigurationName": "roomy", "Players": players("p1", "p2")})
	_, push := a.play()
	if push.MaximumPlayerSessionCount != 3 || push.GameSessionData != "data" || push.GameProperties["k"] != "v" {
		t.Errorf("the game server is told %+v", push)
	}
}

// Many tickets that start concurrently are matched exactly once.
func TestCrowd(t *testing.T) {
	const crowd = 600
	a := matchmakers(t, 0)
	a.configure("fair", duelRules, object{"FlexMatchMode": "STANDALONE"})
	var group sync.WaitGroup
	for i := range crowd {
		group.Go(func() {
			ticket := object{"ConfigurationName": "fair", "TicketId": fmt.Sprint("t", i),
				"Players": players(fmt.Sprint("p", i))}
			if _, err := a.callAs(a.ctx, "StartMatchmaking", ticket); err != nil {
				t.Errorf("t%d: %v", i, err)
			}
		})
	}
	group.Wait()
	matches := map[string][]string{}
	for i := range crowd {
		id := fmt.Sprint("t", i)
		a.becomes("COMPLETED", id)
		found, err := a.findTickets(a.ctx, []string{id})
		if err != nil {
			t.Fatal(err)
		}
		matches[found[0].ticket.Match] = append(matches[found[0].ticket.Match], id)
	}
	if len(matches) != crowd/2 {
		t.Errorf("%d tickets made %d matches", crowd, len(matches))
	}
	for id, tickets := range matches {
		if len(tickets) != 2 || id == "" {
			t.Errorf("match %q has the tickets %v", id, tickets)
		}
	}
}
