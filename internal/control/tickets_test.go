package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestTicketsThatAreRefused(t *testing.T) {
	a := matchmakers(t, 0)
	many := func(n int) map[string]object {
		attributes := map[string]object{}
		for i := range n {
			attributes[fmt.Sprint("a", i)] = object{"N": 1}
		}
		return attributes
	}
	numbers := object{}
	for i := range 11 {
		numbers[fmt.Sprint("k", i)] = i
	}
	with := func(name string, value object) []object {
		return []object{{"PlayerId": "p1", "PlayerAttributes": object{name: value}}}
	}
	long := object{"SL": repeated(strings.Repeat("x", 90), 99)}
	for i := range long["SL"].([]string) {
		long["SL"].([]string)[i] += fmt.Sprint(i)
	}
	heavy := object{}
	for i := range 10 {
		heavy[fmt.Sprint("a", i)] = long
	}
	pings := func(n int) object {
		all := object{}
		for i := range n {
			all[fmt.Sprint("custom-", i)] = 20
		}
		return all
	}
	crowd := []object{}
	for i := range 10 {
		crowd = append(crowd, object{"PlayerId": fmt.Sprint("p", i), "PlayerAttributes": heavy})
	}
	for name, tt := range map[string]struct {
		players any
		says    string
	}{
		"nobody": {[]object{}, "Players has 0 entries; a ticket has 1 to 10"},
		"too many": {players("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"),
			"Players has 11 entries"},
		"twice":      {players("p1", "p2", "p1"), "Players holds the player p1 twice"},
		"without id": {[]object{{"Team": "alpha"}}, "Players holds a player without PlayerId"},
		"many attributes": {[]object{{"PlayerId": "p1", "PlayerAttributes": many(11)}},
			"Player p1 has 11 PlayerAttributes; the maximum is 10"},
		"wrong type": {with("mmr", object{"S": "high"}),
			"Player p1: player attribute mmr is declared as number in the rule set: give N, not S"},
		"no value": {with("x", object{}),
			"Player p1: the attribute x must have exactly one of S, N, SL and SDM"},
		"two values": {with("x", object{"S": "a", "N": 1}),
			"Player p1: the attribute x must have exactly one of S, N, SL and SDM"},
		"long list": {with("x", object{"SL": repeated("y", 101)}),
			"Player p1: the attribute x has more than 100 strings"},
		"large map": {with("x", object{"SDM": numbers}),
			"Player p1: the attribute x has more than 10 entries"},
		"many locations": {[]object{{"PlayerId": "p1", "LatencyInMs": pings(101)}},
			"Player p1 has 101 entries in LatencyInMs; the maximum is 100"},
		"latency of nothing": {[]object{{"PlayerId": "p1", "LatencyInMs": object{"custom-a": 0}}}, "latencyInMs"},
		"too much in all":    {crowd, "bytes with all attributes and latencies; a ticket may have 400000"},
	} {
		_, err := a.call("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t1",
			"Players": tt.players})
		wantKind(t, name, err, fault.InvalidRequest)
		if f := fault.Of(err); f != nil && !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %v, want %s", name, f, tt.says)
		}
	}
	a.refused(fault.NotFound, "StartMatchmaking", object{"ConfigurationName": "none", "Players": players("p1")})
	a.refused(fault.NotFound, "StartMatchmaking",
		object{"ConfigurationName": "arn:aws:gamelift:eu-west-1::matchmakingconfiguration/duel",
			"Players": players("p1")})
	same(t, a.must("DescribeMatchmaking", object{"TicketIds": []string{"t1", ""}}), `{"TicketList":[]}`)
	a.refused(fault.InvalidRequest, "DescribeMatchmaking", object{"TicketIds": repeated("t", 11)})
	in := object{"ConfigurationName": arnOf("matchmakingconfiguration/duel"), "Players": players("p1")}
	if out := a.must("StartMatchmaking", in); len(text(out, "MatchmakingTicket", "TicketId")) != 36 {
		t.Errorf("the service's own id is not a UUID: %v", out)
	}
}

func repeated(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

// Tickets are described in the order of the request, those that there are.
func TestDescribeMatchmaking(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("plain", duelRules, object{"FlexMatchMode": "STANDALONE"})
	a.seek("duel", "t2", "p2")
	a.seek("plain", "t.1", "p1")
	out := a.must("DescribeMatchmaking", object{"TicketIds": []string{"t.1", "none", "t2"}})
	if got := fmt.Sprint(texts(out["TicketList"], "TicketId")); got != "[t.1 t2]" {
		t.Errorf("described are %s", got)
	}
	if wait := at(out, "TicketList", 0, "EstimatedWaitTime"); wait != nil {
		t.Errorf("the wait is estimated as %v before anybody was matched", wait)
	}
	a.elapse(10 * time.Second)
	a.seek("plain", "t3", "p3")
	a.becomes("COMPLETED", "t.1", "t3")
	a.seek("plain", "t4", "p4")
	if wait := at(a.ticketNow("t4"), "EstimatedWaitTime"); wait == nil {
		t.Error("the wait is not estimated")
	}
	if wait := at(a.ticketNow("t3"), "EstimatedWaitTime"); wait != nil {
		t.Errorf("the wait of a ticket that is over is estimated as %v", wait)
	}
}

// A retry of an AWS SDK gets the ticket that its call made.
func TestTicketOfARetry(t *testing.T) {
	a := matchmakers(t, 0)
	start := func(invocation, ticket, player string) (string, error) {
		in := object{"ConfigurationName": "duel", "Players": players(player)}
		if ticket != "" {
			in["TicketId"] = ticket
		}
		out, err := a.callAs(WithCall(a.ctx, Call{Principal: "AKIA1", Invocation: invocation}), "StartMatchmaking", in)
		return text(out, "MatchmakingTicket", "TicketId"), err
	}
	first, err := start("0001", "", "p1")
	if again, err2 := start("0001", "", "p1"); err != nil || err2 != nil || again != first || len(first) != 36 {
		t.Errorf("the retry got %s beside %s: %v, %v", again, first, err, err2)
	}
	a.remain("SEARCHING", first)
	for range 2 {
		if named, err := start("0002", "mine", "p2"); err != nil || named != "mine" {
			t.Errorf("the named ticket is %s: %v", named, err)
		}
	}
	_, err = start("0003", "mine", "p2")
	wantKind(t, "the id again", err, fault.InvalidRequest)
	_, err = start("", "mine", "p2")
	wantKind(t, "the id again, without invocation", err, fault.InvalidRequest)
}

// Tickets that are over leave memory; Describe finds them, and their ids stay taken.
func TestTicketsInTheHistory(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("plain", duelRules, object{"FlexMatchMode": "STANDALONE"})
	a.seek("plain", "t.1", "p1")
	a.seek("plain", "t2", "p2")
	a.becomes("COMPLETED", "t.1", "t2")
	before := a.ticketNow("t.1")
	a.advance("the tickets to leave memory", time.Hour, func() bool {
		inMemory := false
		err := a.TicketShard().Read(a.ctx, func(m *region.Machine) { _, inMemory = m.Matchmaking().Ticket("t.1") })
		return err == nil && !inMemory
	})
	if after := a.ticketNow("t.1"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the history says %v, memory said %v", after, before)
	}
	a.refused(fault.InvalidRequest, "StartMatchmaking",
		object{"ConfigurationName": "plain", "TicketId": "t.1", "Players": players("p9")})
	_, err := a.call("StopMatchmaking", object{"TicketId": "t.1"})
	if f := fault.Of(err); f == nil ||
		f.Message != "Matchmaking ticket is in COMPLETED status and cannot be canceled." {
		t.Errorf("StopMatchmaking: %v", err)
	}
	a.refused(fault.InvalidRequest, "AcceptMatch",
		object{"TicketId": "t.1", "PlayerIds": []string{"p1"}, "AcceptanceType": "ACCEPT"})
	shown := 0
	if err := a.WatchTicket(a.ctx, "t.1", func(*wire.MatchmakingTicket) error { shown++; return nil }); err != nil ||
		shown != 1 {
		t.Errorf("watched %d times: %v", shown, err)
	}
	a.restart()
	a.remain("COMPLETED", "t.1")
}

// A watch of a ticket receives how it ends, and every status that lasts.
func TestWatchTicket(t *testing.T) {
	a := careful(t, 1)
	a.seek("careful", "t1", "p1")
	var seen []string
	steps := map[string]func(){
		"SEARCHING":           func() { a.seek("careful", "t2", "p2") },
		"REQUIRES_ACCEPTANCE": func() { a.answer("t1", "ACCEPT", "p1"); a.answer("t2", "ACCEPT", "p2") },
		"PLACING":             func() { a.play() },
	}
	err := a.WatchTicket(a.ctx, "t1", func(ticket *wire.MatchmakingTicket) error {
		status := string(ticket.Status)
		if len(seen) > 0 && seen[len(seen)-1] == status {
			return nil
		}
		seen = append(seen, status)
		if step := steps[status]; step != nil {
			step()
		}
		return nil
	})
	if got := strings.Join(seen, " "); err != nil || got != "SEARCHING REQUIRES_ACCEPTANCE PLACING COMPLETED" {
		t.Errorf("seen %s: %v", got, err)
	}
	wantKind(t, "WatchTicket", a.WatchTicket(a.ctx, "none", nil), fault.NotFound)
	_, err = a.DescribeTicket(a.ctx, "none")
	wantKind(t, "DescribeTicket", err, fault.NotFound)
}

// ExplainTicket asks the pool that the ticket waits in.
func TestExplainTicket(t *testing.T) {
	a := matchmakers(t, 0)
	a.seek("duel", "t1", "p1")
	e, err := a.ExplainTicket(a.ctx, "t1")
	if err != nil || e.Ticket != "t1" || e.Pool != 1 {
		t.Errorf("the explanation is %+v, %v", e, err)
	}
	a.must("StopMatchmaking", object{"TicketId": "t1"})
	_, err = a.ExplainTicket(a.ctx, "t1")
	wantKind(t, "a ticket that has ended", err, fault.InvalidRequest)
	if !strings.Contains(fmt.Sprint(err), string(matchmaking.Cancelled)) {
		t.Errorf("it says %v", err)
	}
	_, err = a.ExplainTicket(a.ctx, "none")
	wantKind(t, "no ticket", err, fault.NotFound)
}

// A ticket that is asked to accept, or that is being placed, is explained by its match
// and the placement behind it.
func TestExplainTicketInMatch(t *testing.T) {
	a := careful(t, 0)
	a.must("UpdateGameSessionQueue", object{"Name": "games", "Destinations": []object{}})
	a.seek("careful", "t1", "p1")
	a.elapse(20 * time.Second)
	a.seek("careful", "t2", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t2")
	a.answer("t1", "ACCEPT", "p1")
	e, err := a.ExplainTicket(a.ctx, "t1")
	if err != nil || e.Status != matchmaking.RequiresAcceptance || e.Explanation != nil || e.AgeSeconds != 20 ||
		e.TimeoutSeconds != 40 {
		t.Fatalf("the explanation is %+v, %v", e, err)
	}
	if m := e.Match; m == nil || !slices.Equal(m.Accepted, []string{"p1"}) ||
		!slices.Equal(m.Unanswered, []string{"p2"}) || m.AcceptanceSeconds != 30 {
		t.Errorf("the match is %+v", m)
	}
	a.answer("t2", "ACCEPT", "p2")
	a.becomes("PLACING", "t1", "t2")
	a.placed("t1")
	e, err = a.ExplainTicket(a.ctx, "t2")
	if err != nil || e.Status != matchmaking.Placing || e.Match == nil || !slices.Contains(e.Match.Tickets, "t1") {
		t.Fatalf("the explanation is %+v, %v", e, err)
	}
	if p := e.Placement; p == nil || p.Match != e.Match.ID || p.Steps[0].Text != "the queue has no destinations" {
		t.Errorf("the placement is %+v", p)
	}
	shown, err := json.Marshal(e)
	if err != nil || bytes.Contains(shown, []byte("poolSize")) || !bytes.Contains(shown, []byte(`"placementId"`)) {
		t.Errorf("it is shown as %s, %v", shown, err)
	}
}
