package sessions

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/session"
)

func checkQueue(t *testing.T) {
	w := newWorld(t)
	w.arena()
	w.arena()
	p := w.apiPlayer(w.double().URL, "ada")
	for name, create := range map[string]func(session.CreateSessionOnQueueRequest) (string, error){
		"waited-for": func(r session.CreateSessionOnQueueRequest) (string, error) {
			return p.CreateSessionOnQueue(t.Context(), r)
		},
		"async": func(r session.CreateSessionOnQueueRequest) (string, error) {
			done := wait[session.CreateSessionComplete](p, p.CreateSessionOnQueueAsync(t.Context(), r))
			return done.ID, done.Err
		},
	} {
		id, err := create(session.CreateSessionOnQueueRequest{
			QueueName: queue, PlacementID: name, SessionName: name, MaxPlayer: 2, SessionProperties: map[string]string{"mode": "ctf"},
		})
		if err != nil || id != name {
			t.Fatalf("%s: the placement's id is %q, %v", name, id, err)
		}
		w.wantPlaced(p, name)
	}
	_, err := p.CreateSessionOnQueue(t.Context(), session.CreateSessionOnQueueRequest{QueueName: "Morning", PlacementID: "p", MaxPlayer: 2})
	wantKind(t, "an unknown queue", err, session.ErrNotFound)
}

// wantPlaced waits until a placement is FULFILLED, finds its session by the name,
// and visits it.
func (w *world) wantPlaced(p *player, name string) {
	w.Helper()
	var placed session.Placement
	eventually(w.T, "the placement is FULFILLED", func() bool {
		var err error
		placed, err = p.Placement(w.Context(), name)
		must(w.T, err)
		return placed.Status == "FULFILLED"
	})
	page, err := p.SearchSessions(w.Context(), session.SearchSessionsRequest{FleetID: w.fleet, FilterExpression: "gameSessionName='" + name + "'"})
	must(w.T, err)
	if len(page.SessionConfigs) != 1 {
		w.Fatalf("%d sessions are found", len(page.SessionConfigs))
	}
	if s := page.SessionConfigs[0]; s.SessionID != placed.SessionID || s.MaxPlayer != 2 || s.SessionProperties["mode"] != "ctf" ||
		s.IPAddress != placed.IPAddress || s.Port != placed.Port {
		w.Errorf("the placement is %+v, found is %+v", placed, s)
	}
	must(w.T, p.JoinSession(w.Context(), session.JoinSessionRequest{SessionID: placed.SessionID, PlayerID: "ada"}))
	w.wantIn(p, placed.SessionID, "ada")
	must(w.T, p.LeaveSession(w.Context()))
}

func checkMatchmaking(t *testing.T) {
	for name, check := range map[string]func(*testing.T, *double, *player){
		"accepted": checkAccepted, "rejected": checkRejected, "failed": checkFailed, "stopped": checkStopped,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.double()
			check(t, d, w.apiPlayer(d.URL, "ada"))
		})
	}
}

// seek starts matchmaking for ada and bob, and tracks their ticket.
func (d *double) seek(p *player) (ticket string) {
	d.Helper()
	ticket, err := p.StartMatchmaking(d.Context(), session.StartMatchmakingRequest{ConfigurationName: configuration, Players: []session.Player{
		{PlayerID: "ada", Team: "red", LatencyInMS: map[string]int{"us-west-2": 20}, PlayerAttributes: map[string]json.RawMessage{"skill": json.RawMessage(`{"N": 23}`)}},
		{PlayerID: "bob"},
	}})
	if err != nil || ticket == "" {
		d.Fatalf("the ticket is %q, %v", ticket, err)
	}
	must(d.T, p.StartTracking(ticket, "ada"))
	return ticket
}

func checkAccepted(t *testing.T, d *double, p *player) {
	d.arena()
	ticket := d.seek(p)
	if ada := d.ticket(ticket).Players[0]; *ada.Team != "red" || ada.LatencyInMs["us-west-2"] != 20 || *ada.PlayerAttributes["skill"].N != 23 {
		t.Errorf("the service hears of %+v", ada)
	}
	d.set(ticket, types.MatchmakingConfigurationStatusRequiresAcceptance)
	if e := heardOf[session.MatchAcceptance](p); e.Ticket.TicketID != ticket || e.Ticket.Status != session.TicketRequiresAcceptance {
		t.Errorf("accepted shall be %+v", e.Ticket)
	}
	looks := p.wire.count("DescribeMatchmaking")
	eventually(t, "two more looks at the ticket", func() bool { return p.wire.count("DescribeMatchmaking") > looks+2 })
	for _, player := range []string{"ada", "bob"} {
		op := p.AcceptMatchAsync(t.Context(), session.AcceptMatchRequest{TicketID: ticket, AcceptMatch: true, PlayerIDs: []string{player}})
		must(t, wait[session.AcceptMatchComplete](p, op).Err)
	}
	e := heardOf[session.MatchComplete](p)
	if e.Ticket.TicketID != ticket || e.Ticket.Status != session.TicketCompleted || e.Reservation.PlayerID != "ada" {
		t.Errorf("the match is %+v", e)
	}
	d.wantIn(p, e.Reservation.SessionID, "ada")
	seat := e.Ticket.Reservations["bob"]
	bob, err := bot.Join(t.Context(), bot.Config{Server: seat.Address(), PlayerSession: seat.PlayerSessionID})
	must(t, err)
	d.wantPlayer(seat.PlayerSessionID, types.PlayerSessionStatusActive)
	must(t, bob.Leave())
	p.close()
	wantOutcome(t, p, 1, 1, 0)
}

func checkRejected(t *testing.T, d *double, p *player) {
	ticket := d.seek(p)
	d.set(ticket, types.MatchmakingConfigurationStatusRequiresAcceptance)
	heardOf[session.MatchAcceptance](p)
	must(t, p.AcceptMatch(t.Context(), session.AcceptMatchRequest{TicketID: ticket, PlayerIDs: []string{"ada"}}))
	d.wantFailure(p, ticket, session.TicketCancelled)
	p.close()
	wantOutcome(t, p, 1, 0, 1)
}

func checkFailed(t *testing.T, d *double, p *player) {
	statuses := []types.MatchmakingConfigurationStatus{types.MatchmakingConfigurationStatusFailed, types.MatchmakingConfigurationStatusTimedOut}
	for _, status := range statuses {
		ticket := d.seek(p)
		d.set(ticket, types.MatchmakingConfigurationStatusSearching)
		d.set(ticket, status)
		d.wantFailure(p, ticket, session.TicketStatus(status))
	}
	p.close()
	wantOutcome(t, p, 0, 0, len(statuses))
}

func checkStopped(t *testing.T, d *double, p *player) {
	ticket := d.seek(p)
	must(t, p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: ticket}))
	d.wantFailure(p, ticket, session.TicketCancelled)
	ticket = d.seek(p)
	op := p.StopMatchmakingAsync(t.Context(), session.StopMatchmakingRequest{TicketID: ticket})
	must(t, wait[session.StopMatchmakingComplete](p, op).Err)
	d.wantFailure(p, ticket, session.TicketCancelled)
	p.close()
	wantOutcome(t, p, 0, 0, 2)
}

// wantFailure waits for the event of a ticket that has come to nothing.
func (d *double) wantFailure(p *player, ticket string, status session.TicketStatus) {
	d.Helper()
	eventually(d.T, "the failure of the ticket", func() bool {
		for _, e := range p.events() {
			if failure, ok := e.(session.MatchFailure); ok && failure.Ticket.TicketID == ticket {
				if failure.Ticket.Status != status {
					d.Errorf("the ticket is %s, want %s", failure.Ticket.Status, status)
				}
				return true
			}
		}
		return false
	})
}

// wantOutcome checks how many events of a kind there were.
func wantOutcome(t *testing.T, p *player, acceptances, complete, failures int) {
	t.Helper()
	got := [...]int{count[session.MatchAcceptance](p), count[session.MatchComplete](p), count[session.MatchFailure](p), count[session.MatchError](p)}
	if want := [...]int{acceptances, complete, failures, 0}; got != want {
		t.Errorf("there were %d acceptances, completions, failures and errors, want %d", got, want)
	}
}

// TestNoQueuesYet hears from the service itself that it has no queues and no
// matchmaking, in the API and in the gateway.
func TestNoQueuesYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *muster.Config) { c.Gateway.AllowTarget = "on" })
	for name, p := range map[string]*player{"API": w.apiPlayer(w.HTTP, "ada"), "gateway": w.gatewayPlayer("ada")} {
		t.Run(name, func(t *testing.T) {
			id, err := p.CreateSessionOnQueue(t.Context(), session.CreateSessionOnQueueRequest{QueueName: queue, PlacementID: "placement-1", MaxPlayer: 2})
			wantKind(t, "CreateSessionOnQueue", err, session.ErrUnsupported)
			ticket, err := p.StartMatchmaking(t.Context(), session.StartMatchmakingRequest{
				ConfigurationName: configuration, Players: []session.Player{{PlayerID: "ada"}},
			})
			wantKind(t, "StartMatchmaking", err, session.ErrUnsupported)
			wantKind(t, "StopMatchmaking", p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: "ticket-1"}), session.ErrUnsupported)
			answer := session.AcceptMatchRequest{TicketID: "ticket-1", PlayerIDs: []string{"ada"}}
			wantKind(t, "AcceptMatch", p.AcceptMatch(t.Context(), answer), session.ErrUnsupported)
			if id != "" || ticket != "" {
				t.Errorf("there are a placement %q and a ticket %q", id, ticket)
			}
		})
	}
}
