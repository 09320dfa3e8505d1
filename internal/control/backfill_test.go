package control

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// crewGame is a game session with room for two more players, made by a match of p1
// and p2.
func crewGame(t testing.TB, more object) (a *arcade, host *socket, session string) {
	t.Helper()
	a = matchmakers(t, 1)
	a.configure("crew", crewRules, more)
	a.must("StartMatchmaking", object{"ConfigurationName": "crew", "TicketId": "first", "Players": players("p1", "p2")})
	host, push := a.play()
	a.becomes("COMPLETED", "first")
	return a, host, push.GameSessionID
}

func crew(ids ...string) []object {
	list := players(ids...)
	for _, p := range list {
		p["Team"] = "crew"
	}
	return list
}

func (a *arcade) backfill(ticket, session string, ids ...string) object {
	a.t.Helper()
	return a.must("StartMatchBackfill", object{"ConfigurationName": "crew", "TicketId": ticket,
		"GameSessionArn": session, "Players": crew(ids...)})
}

// told waits for an update of the game session.
func (s *socket) told(reason, ticket string) processes.UpdateGameSessionPush {
	s.w.t.Helper()
	push, ok := s.next().(processes.UpdateGameSessionPush)
	if !ok || push.UpdateReason != reason || push.BackfillTicketID != ticket {
		s.w.t.Fatalf("told %+v, want %s of %s", push, reason, ticket)
	}
	return push
}

// inMatch lists the players in the matchmaker data.
func inMatch(t testing.TB, data string) (ids []string, automatic string) {
	t.Helper()
	var d struct {
		Teams []struct {
			Players []struct{ PlayerID string }
		}
		AutoBackfillMode, AutoBackfillTicketID string
	}
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	for _, team := range d.Teams {
		for _, p := range team.Players {
			ids = append(ids, p.PlayerID)
		}
	}
	return ids, d.AutoBackfillTicketID
}

// New players come into a game session that asks for them.
func TestBackfill(t *testing.T) {
	a, host, session := crewGame(t, nil)
	out := a.backfill("b1", session, "p1", "p2")
	same(t, at(out, "MatchmakingTicket", "GameSessionConnectionInfo"), `{"GameSessionArn":%q}`, session)
	same(t, at(out, "MatchmakingTicket", "Status"), `"QUEUED"`)
	a.seek("crew", "t3", "p3")
	a.becomes("COMPLETED", "b1", "t3")
	push := host.told("MATCHMAKING_DATA_UPDATED", "b1")
	ids, automatic := inMatch(t, push.GameSession.MatchmakerData)
	if fmt.Sprint(ids) != "[p1 p2 p3]" || automatic != "" || push.GameSession.GameSessionID != session ||
		push.FleetID != a.fleet || push.Status != "ACTIVE" {
		t.Errorf("told %+v", push)
	}
	seat := at(a.ticketNow("t3"), "GameSessionConnectionInfo")
	if text(seat, "GameSessionArn") != session || text(seat, "MatchedPlayerSessions", 0, "PlayerId") != "p3" {
		t.Errorf("p3 plays at %v", seat)
	}
	host.ok(host.accept(session, text(seat, "MatchedPlayerSessions", 0, "PlayerSessionId")))
	g := at(a.must("DescribeGameSessions", object{"GameSessionId": session}), "GameSessions", 0)
	if text(g, "MatchmakerData") != push.GameSession.MatchmakerData {
		t.Errorf("the game session has %v", g)
	}
}

// The process also receives how a backfill ticket ends without new players.
func TestBackfillThatFails(t *testing.T) {
	a, host, session := crewGame(t, nil)
	a.backfill("b1", session, "p1", "p2")
	a.backfill("b2", session, "p1", "p2") // replaces it
	a.remain("CANCELLED", "b1")
	host.told("BACKFILL_CANCELLED", "b1")
	a.must("StopMatchmaking", object{"TicketId": "b2"})
	host.told("BACKFILL_CANCELLED", "b2")
	a.backfill("b3", session, "p1", "p2")
	a.elapse(60 * time.Second)
	a.becomes("TIMED_OUT", "b3")
	host.told("BACKFILL_TIMED_OUT", "b3")

	host.ok(host.policy(session, "DENY_ALL"))
	a.backfill("b4", session, "p1", "p2")
	a.seek("crew", "t3", "p3")
	a.becomes("FAILED", "b4")
	host.told("BACKFILL_FAILED", "b4")
	a.remain("SEARCHING", "t3")
	if one := a.ticketNow("b4"); text(one, "StatusMessage") == "" {
		t.Errorf("the ticket is %v", one)
	}
}

// A process that was disconnected is notified when it has reconnected.
func TestBackfillToldLater(t *testing.T) {
	a, host, session := crewGame(t, nil)
	a.backfill("b1", session, "p1", "p2")
	host.Disconnected()
	a.seek("crew", "t3", "p3")
	a.becomes("COMPLETED", "b1", "t3")
	host.quiet()
	again := a.mustDial(host.connect)
	again.told("MATCHMAKING_DATA_UPDATED", "b1")
	again.quiet()
}

// The end of a game session ends its backfill ticket, also one that starts at that
// moment, or was waiting through a restart.
func TestBackfillOfASessionThatEnds(t *testing.T) {
	a, host, session := crewGame(t, nil)
	a.backfill("b1", session, "p1", "p2")
	a.restart()
	host = a.mustDial(host.connect)
	a.remain("SEARCHING", "b1")
	host.ok(host.end())
	a.becomes("CANCELLED", "b1")
	_, err := a.call("StartMatchBackfill", object{"ConfigurationName": "crew", "GameSessionArn": session,
		"Players": crew("p1")})
	wantKind(t, "backfill of the past", err, fault.InvalidRequest)
	in := &wire.StartMatchBackfillInput{ConfigurationName: "crew",
		Players: []wire.Player{{PlayerId: "p1", Team: "crew"}}}
	c, set, err := a.matchmaker(in.ConfigurationName)
	if err != nil {
		t.Fatal(err)
	}
	list, err := playersFrom(in.Players, maxBackfillPlayers, set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.startTicket(a.ctx, "late", startOf(c, list, session)); err != nil {
		t.Fatal(err)
	}
	a.becomes("CANCELLED", "late")
}

// Automatic backfill continues until the game session is full.
func TestAutomaticBackfill(t *testing.T) {
	a, host, session := crewGame(t, object{"BackfillMode": "AUTOMATIC"})
	g := at(a.must("DescribeGameSessions", object{"GameSessionId": session}), "GameSessions", 0)
	_, ticket := inMatch(t, text(g, "MatchmakerData"))
	a.becomes("SEARCHING", ticket)
	same(t, at(a.ticketNow(ticket), "GameSessionConnectionInfo"), `{"GameSessionArn":%q}`, session)

	a.elapse(60 * time.Second) // no player joined: the next one follows
	a.becomes("TIMED_OUT", ticket)
	host.told("BACKFILL_TIMED_OUT", ticket)
	second := ticket + "-2"
	a.becomes("SEARCHING", second)

	a.seek("crew", "t3", "p3")
	a.becomes("COMPLETED", second, "t3")
	ids, third := inMatch(t, host.told("MATCHMAKING_DATA_UPDATED", second).GameSession.MatchmakerData)
	a.becomes("SEARCHING", third)
	if len(ids) != 3 || third == ticket {
		t.Errorf("with %v seated the next ticket is %s", ids, third)
	}
	a.seek("crew", "t4", "p4")
	a.becomes("COMPLETED", third, "t4")
	ids, fourth := inMatch(t, host.told("MATCHMAKING_DATA_UPDATED", third).GameSession.MatchmakerData)
	if len(ids) != 4 || fourth != "" {
		t.Errorf("with %v seated the next ticket is %q", ids, fourth)
	}
}

// After a process stops the automatic ticket, no other one follows.
func TestAutomaticBackfillIsStopped(t *testing.T) {
	a, host, session := crewGame(t, object{"BackfillMode": "AUTOMATIC"})
	g := at(a.must("DescribeGameSessions", object{"GameSessionId": session}), "GameSessions", 0)
	_, ticket := inMatch(t, text(g, "MatchmakerData"))
	a.becomes("SEARCHING", ticket)
	a.must("StopMatchmaking", object{"TicketId": ticket})
	host.told("BACKFILL_CANCELLED", ticket)
	a.elapse(2 * time.Minute)
	if next := a.ticketNow(ticket + "-2"); next != nil {
		t.Errorf("there is %v", next)
	}
}

func TestBackfillsThatAreRefused(t *testing.T) {
	a, _, session := crewGame(t, nil)
	a.configure("plain", crewRules, object{"FlexMatchMode": "STANDALONE"})
	in := func(more object) object {
		o := object{"ConfigurationName": "crew", "GameSessionArn": session, "Players": crew("p1")}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	many := []object{}
	for i := range 200 {
		many = append(many, object{"PlayerId": fmt.Sprint("p", i), "Team": "crew"})
	}
	fleet2, sockets := a.host(1)
	unmatched := a.active(fleet2, nil, sockets...)
	for name, tt := range map[string]struct {
		in   object
		kind fault.Kind
	}{
		"no configuration": {in(object{"ConfigurationName": "none"}), fault.NotFound},
		"no team":          {in(object{"Players": players("p1")}), fault.InvalidRequest},
		"unknown team": {in(object{"Players": []object{{"PlayerId": "p1", "Team": "alpha"}}}),
			fault.InvalidRequest},
		"nobody":            {in(object{"Players": []object{}}), fault.InvalidRequest},
		"a crowd":           {in(object{"Players": many}), fault.InvalidRequest},
		"no session":        {object{"ConfigurationName": "crew", "Players": crew("p1")}, fault.InvalidRequest},
		"unknown session":   {in(object{"GameSessionArn": session + "0"}), fault.NotFound},
		"no ARN":            {in(object{"GameSessionArn": "abc"}), fault.InvalidRequest},
		"session unmatched": {in(object{"GameSessionArn": unmatched}), fault.InvalidRequest},
		"standalone":        {in(object{"ConfigurationName": "plain"}), fault.InvalidRequest},
	} {
		_, err := a.call("StartMatchBackfill", tt.in)
		wantKind(t, name, err, tt.kind)
	}
}

// Game servers ask for players themselves.
func TestBackfillByTheServer(t *testing.T) {
	a, host, session := crewGame(t, nil)
	arn := arnOf("matchmakingconfiguration/crew")
	start := func(s *socket, b processes.MatchBackfill) (string, error) {
		var ticket string
		err := wait(func(done func(error)) {
			s.StartMatchBackfill(b, func(id string, err error) { ticket = id; done(err) })
		})
		return ticket, err
	}
	stop := func(s *socket, ticket string) error {
		return wait(func(done func(error)) { s.StopMatchBackfill(session, arn, ticket, done) })
	}
	list := []wire.Player{{PlayerId: "p1", Team: "crew"}, {PlayerId: "p2", Team: "crew"}}
	b := processes.MatchBackfill{GameSessionArn: session, ConfigurationArn: arn, Players: list, Request: "r1"}
	ticket, err := start(host, b)
	host.ok(err)
	again, err := start(host, b)
	if err != nil || again != ticket || len(ticket) != 36 {
		t.Errorf("the request gave %q, its repetition %q, %v", ticket, again, err)
	}
	host.ok(stop(host, ticket))
	host.told("BACKFILL_CANCELLED", ticket)
	wantKind(t, "stopped again", stop(host, ticket), fault.InvalidRequest)
	wantKind(t, "no ticket", stop(host, "none"), fault.NotFound)

	named := b
	named.Request, named.TicketID = "r2", "mine"
	if ticket, err = start(host, named); err != nil || ticket != "mine" {
		t.Errorf("the named ticket is %q, %v", ticket, err)
	}
	unknown, wrong := b, b
	unknown.Request, unknown.ConfigurationArn = "r3", arnOf("matchmakingconfiguration/none")
	_, err = start(host, unknown)
	wantKind(t, "no configuration", err, fault.NotFound)
	wrong.Request, wrong.Players = "r4", []wire.Player{{PlayerId: "p1", Team: "crew",
		LatencyInMs: map[string]int32{"custom-a": -1}}}
	_, err = start(host, wrong)
	wantKind(t, "an odd latency", err, fault.InvalidRequest)

	other := a.process(a.fleet, "c1", a.token(a.fleet, "c1"), "other")
	wantKind(t, "another process stops it", stop(other, ticket), fault.InvalidRequest)
	b.Request = "r5"
	_, err = start(other, b)
	wantKind(t, "another process", err, fault.InvalidRequest)
	b.GameSessionArn, b.Request = session+"0", "r6"
	_, err = start(other, b) // whether it exists is not for this process to know
	wantKind(t, "a game session that does not exist", err, fault.InvalidRequest)
}

func startOf(c *catalog.MatchmakingConfiguration, list []matchmaking.Player, session string) matchmaking.Start {
	return matchmaking.Start{Configuration: configurationOf(c), Players: list, Timeout: c.RequestTimeout,
		Backfill: true, GameSession: session}
}
