package control

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestPlayer(t *testing.T) {
	a := matchmakers(t, 1)
	game := a.active(a.fleet, object{"MaximumPlayerSessionCount": 4}, a.sockets...)
	reserve := func() string {
		return text(a.must("CreatePlayerSession", object{"GameSessionId": game, "PlayerId": "anna"}), "PlayerSession",
			"PlayerSessionId")
	}
	first := reserve()
	a.sockets[0].ok(a.sockets[0].accept(game, first))
	a.sockets[0].ok(a.sockets[0].remove(game, first))
	second := reserve()
	a.must("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t", "Players": players("anna", "ben")})
	a.elapse(time.Second)

	p, err := a.Player(a.ctx, PlayerQuery{PlayerID: "anna", Limit: 1})
	if err != nil || len(p.PlayerSessions) != 1 || len(p.Tickets) != 1 || p.NextToken == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	if s := p.PlayerSessions[0]; s.PlayerSessionID != first || s.Status != fleet.Completed || s.AcceptTime == nil ||
		s.EndTime == nil || s.ExpireTime != nil || s.GameSessionArn != game || s.Location != "custom-a" {
		t.Errorf("%+v", s)
	}
	if k := p.Tickets[0]; k.TicketID != "t" || k.Configuration != "duel" || k.AgeMS != 1000 ||
		!slices.Equal(k.Players, []string{"anna", "ben"}) {
		t.Errorf("%+v", k)
	}
	p, err = a.Player(a.ctx, PlayerQuery{PlayerID: "anna", Limit: 1, NextToken: p.NextToken})
	if err != nil || len(p.PlayerSessions) != 1 || len(p.Tickets) != 0 || p.NextToken != "" ||
		p.PlayerSessions[0].PlayerSessionID != second || p.PlayerSessions[0].ExpireTime == nil {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = a.Player(a.ctx, PlayerQuery{PlayerID: "anna", Limit: 10, Hidden: func(string) bool { return true }})
	if err != nil || len(p.PlayerSessions) != 0 {
		t.Errorf("hidden: %+v, %v", p, err)
	}
	if p, err = a.Player(a.ctx, PlayerQuery{PlayerID: "nobody", Limit: 10}); err != nil || p.PlayerSessions == nil ||
		p.Tickets == nil {
		t.Errorf("nobody: %+v, %v", p, err)
	}
	if _, err = a.Player(a.ctx, PlayerQuery{PlayerID: string(make([]byte, 1025)), Limit: 10}); !fault.Is(err,
		fault.InvalidRequest) {
		t.Errorf("a long id: %v", err)
	}
	a.archivedPlayer(game)
	if p, err = a.Player(a.ctx, PlayerQuery{PlayerID: "anna", Limit: 10}); err != nil || len(p.PlayerSessions) != 2 {
		t.Errorf("from the history: %+v, %v", p, err)
	}
}

// archivedPlayer ends a game session and waits until the history has it.
func (a *arcade) archivedPlayer(game string) {
	a.t.Helper()
	a.sockets[0].ok(a.sockets[0].end())
	a.archived(game)
}

func TestReleasePlayerSession(t *testing.T) {
	w := newWorld(t)
	of, sockets := w.host(1)
	game := w.active(of, object{"MaximumPlayerSessionCount": 2}, sockets...)
	reserve := func(player string) string {
		return text(w.must("CreatePlayerSession", object{"GameSessionId": game, "PlayerId": player}), "PlayerSession",
			"PlayerSessionId")
	}
	anna, ben := reserve("anna"), reserve("ben")
	sockets[0].ok(sockets[0].accept(game, ben))
	w.refused(fault.GameSessionFull, "CreatePlayerSession", object{"GameSessionId": game, "PlayerId": "cleo"})
	for range 2 {
		s, err := w.ReleasePlayerSession(w.ctx, "anna", anna)
		if err != nil || s.Status != fleet.TimedOut || s.EndTime == nil || s.ExpireTime != nil {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if err := sockets[0].accept(game, anna); err == nil {
		t.Error("a released player session was accepted")
	}
	reserve("cleo")
	w.restart()
	for _, c := range []struct {
		player, session string
		kind            fault.Kind
	}{
		{"ben", ben, fault.InvalidRequest}, // ACTIVE
		{"anna", ben, fault.NotFound},
		{"anna", "psess-1", fault.NotFound},
		{"anna", "psess-00000000-0000-0000-0000-000000000000", fault.NotFound},
	} {
		if _, err := w.ReleasePlayerSession(w.ctx, c.player, c.session); !fault.Is(err, c.kind) {
			t.Errorf("%s, %s: %v, want %s", c.player, c.session, err, c.kind)
		}
	}
}

func TestQueuePlacements(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 0, "custom-a")
	w.addQueue("q", object{"TimeoutInSeconds": 60}, p)
	w.queueOf("other", p.arn())
	var want []string
	for i := range 12 {
		id := fmt.Sprintf("p-%d", i)
		w.must("StartGameSessionPlacement", placementOfQ(id, nil))
		want = slices.Insert(want, 0, id+" PENDING")
		w.elapse(time.Millisecond)
	}
	w.must("StartGameSessionPlacement", object{"PlacementId": "x", "GameSessionQueueName": "other",
		"MaximumPlayerSessionCount": 1})
	rows := func(q RowQuery) (list []string) {
		for {
			page, err := w.QueuePlacements(w.ctx, q)
			if err != nil || len(page.Placements) > q.Limit {
				t.Fatalf("%+v, %v", page, err)
			}
			for _, r := range page.Placements {
				list = append(list, r.PlacementID+" "+string(r.Status))
			}
			if q.NextToken = page.NextToken; q.NextToken == "" {
				return list
			}
		}
	}
	check := func(status string, want []string) {
		t.Helper()
		for _, limit := range []int{1, 5, 12, 100} {
			if got := rows(RowQuery{Name: "q", Status: status, Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("%q in pages of %d: %q, want %q", status, limit, got, want)
			}
		}
	}
	check("", want)
	check("FAILED", nil)
	for _, i := range []int{3, 7} {
		w.must("StopGameSessionPlacement", object{"PlacementId": fmt.Sprintf("p-%d", i)})
		w.elapse(time.Millisecond)
	}
	check("CANCELLED", []string{"p-7 CANCELLED", "p-3 CANCELLED"})
	want = slices.DeleteFunc(want, func(row string) bool { return row == "p-3 PENDING" || row == "p-7 PENDING" })
	check("PENDING", want)
	check("", append(want, "p-7 CANCELLED", "p-3 CANCELLED"))
	check("CANCELLED,PENDING", append(want, "p-7 CANCELLED", "p-3 CANCELLED"))
	check("PENDING,PENDING", want)
	check("FAILED,CANCELLED", []string{"p-7 CANCELLED", "p-3 CANCELLED"})
	if _, err := w.QueuePlacements(w.ctx, RowQuery{Name: "none", Limit: 1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no queue: %v", err)
	}
	for _, status := range []string{"LOST", "FAILED,", "FAILED,LOST"} {
		if _, err := w.QueuePlacements(w.ctx, RowQuery{Name: "q", Status: status, Limit: 1}); !fault.Is(err,
			fault.InvalidRequest) {
			t.Errorf("status %q: %v", status, err)
		}
	}
	w.elapse(2 * time.Minute)
	for _, status := range []string{"TIMED_OUT", "CANCELLED"} {
		page, err := w.QueuePlacements(w.ctx, RowQuery{Name: "q", Status: status, Limit: 1})
		if err != nil || len(page.Placements) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		step := page.Placements[0].LastStep
		if has := step != nil && step.Kind == placement.StepWaiting; has != (status == "TIMED_OUT") {
			t.Errorf("%s: the last step is %+v", status, step)
		}
	}
}

func TestLastStep(t *testing.T) {
	waiting := placement.Step{Kind: placement.StepWaiting, Text: "full"}
	refused := placement.Step{Kind: placement.StepRefused, Text: "ended"}
	timedOut := placement.Step{Kind: placement.StepTimedOut}
	far := []placement.Considered{{Room: fleet.RoomID{Location: "custom-a"}, Dropped: "too far"}}
	for want, trail := range map[string]placement.Trail{ // by the kind and the text of the step
		"REFUSED ended":                          {Steps: []placement.Step{waiting, refused, timedOut}},
		"WAITING full":                           {Steps: []placement.Step{refused, waiting, timedOut}},
		"WAITING custom-a was left out: too far": {Steps: []placement.Step{timedOut}, Candidates: far},
		"":                                       {Steps: []placement.Step{timedOut}},
	} {
		got := ""
		if step := lastStep(&trail); step != nil {
			got = string(step.Kind) + " " + step.Text
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", trail, got, want)
		}
	}
}

func TestConfigurationTickets(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("accepted", duelRules, object{"AcceptanceRequired": true, "AcceptanceTimeoutSeconds": 30})
	start := func(i int, configuration string) {
		id := fmt.Sprint("t", i)
		a.must("StartMatchmaking", object{"ConfigurationName": configuration, "TicketId": id, "Players": players(id)})
		a.elapse(time.Millisecond)
	}
	for i := range 5 { // two matches and a ticket that waits
		start(i, "accepted")
	}
	start(5, "duel")
	a.must("StopMatchmaking", object{"TicketId": "t4"})
	start(6, "accepted")
	rows := func(q RowQuery) (list []string) {
		for {
			page, err := a.ConfigurationTickets(a.ctx, q)
			if err != nil || len(page.Tickets) > q.Limit {
				t.Fatalf("%+v, %v", page, err)
			}
			for _, r := range page.Tickets {
				list = append(list, r.TicketID+" "+string(r.Status))
			}
			if q.NextToken = page.NextToken; q.NextToken == "" {
				return list
			}
		}
	}
	a.await("two matches", func() bool {
		return len(rows(RowQuery{Name: "accepted", Status: "REQUIRES_ACCEPTANCE", Limit: 9})) == 4
	})
	want := []string{"t6 SEARCHING", "t3 REQUIRES_ACCEPTANCE", "t2 REQUIRES_ACCEPTANCE", "t1 REQUIRES_ACCEPTANCE",
		"t0 REQUIRES_ACCEPTANCE", "t4 CANCELLED"}
	for _, limit := range []int{1, 2, 5, 100} {
		for status, want := range map[string][]string{"": want, "SEARCHING": want[:1], "CANCELLED": want[5:],
			"REQUIRES_ACCEPTANCE": want[1:5]} {
			if got := rows(RowQuery{Name: "accepted", Status: status, Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("%q in pages of %d: %q, want %q", status, limit, got, want)
			}
		}
	}
	a.elapse(7 * time.Second)
	for _, c := range []struct {
		RowQuery
		want string
	}{
		{RowQuery{Name: "accepted", Limit: 1}, "1 [0 1 0 0 0 0 0 0]"},
		{RowQuery{Name: "accepted", Status: "SEARCHING", Limit: 1}, "1 [0 1 0 0 0 0 0 0]"},
		{RowQuery{Name: "accepted", Status: "CANCELLED", Limit: 1}, "not counted"},
	} {
		page, err := a.ConfigurationTickets(a.ctx, c.RowQuery)
		if err != nil || agesText(page.Searching) != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.RowQuery, agesText(page.Searching), err, c.want)
		}
		c.NextToken = page.NextToken
		page, err = a.ConfigurationTickets(a.ctx, c.RowQuery)
		if c.NextToken != "" && (err != nil || page.Searching != nil) {
			t.Errorf("page 2 of %+v: %+v, %v", c.RowQuery, page, err)
		}
	}
	if _, err := a.ConfigurationTickets(a.ctx, RowQuery{Name: "none", Limit: 1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no configuration: %v", err)
	}
	if _, err := a.ConfigurationTickets(a.ctx, RowQuery{Name: "duel", Status: "LOST", Limit: 1}); !fault.Is(err,
		fault.InvalidRequest) {
		t.Errorf("no status: %v", err)
	}
}
