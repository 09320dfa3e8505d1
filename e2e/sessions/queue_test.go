package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/session"
)

// The names of the queue and the matchmaking configuration.
const (
	queue         = "Evening"
	configuration = "Duels"
)

func checkQueue(t *testing.T) {
	w := newWorld(t)
	w.arena()
	w.arena()
	w.addQueue()
	p := w.apiPlayer(w.HTTP, "ada")
	for name, create := range map[string]func(session.CreateSessionOnQueueRequest) (string, error){
		"waited-for": func(r session.CreateSessionOnQueueRequest) (string, error) {
			return p.CreateSessionOnQueue(t.Context(), r)
		},
		"async": func(r session.CreateSessionOnQueueRequest) (string, error) {
			done := p.complete(t.Context(), func(ctx context.Context) error {
				_, err := p.CreateSessionOnQueue(ctx, r)
				return err
			})
			id, _ := done.Result.(string)
			return id, done.Err
		},
	} {
		id, err := create(session.CreateSessionOnQueueRequest{
			QueueName: queue, PlacementID: name, SessionName: name, MaxPlayer: 2,
			SessionProperties: map[string]string{"mode": "ctf"},
		})
		if err != nil || id != name {
			t.Fatalf("%s: the placement's id is %q, %v", name, id, err)
		}
		w.wantPlaced(p, name)
	}
	_, err := p.CreateSessionOnQueue(t.Context(),
		session.CreateSessionOnQueueRequest{QueueName: "Morning", PlacementID: "p", MaxPlayer: 2})
	wantKind(t, "an unknown queue", err, session.ErrNotFound)
}

// addQueue makes a queue that leads to the fleet.
func (w *world) addQueue() {
	w.Helper()
	fleets, err := w.admin.DescribeFleetAttributes(w.Context(),
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{w.fleet}})
	must(w.T, err)
	_, err = w.admin.CreateGameSessionQueue(w.Context(), &gamelift.CreateGameSessionQueueInput{
		Name:         aws.String(queue),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleets.FleetAttributes[0].FleetArn}},
	})
	must(w.T, err)
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
	page, err := p.SearchSessions(w.Context(), session.SearchSessionsRequest{FleetID: w.fleet,
		FilterExpression: "gameSessionName='" + name + "'"})
	must(w.T, err)
	if len(page.SessionConfigs) != 1 {
		w.Fatalf("%d sessions are found", len(page.SessionConfigs))
	}
	if s := page.SessionConfigs[0]; s.SessionID != placed.SessionID || s.MaxPlayer != 2 ||
		s.SessionProperties["mode"] != "ctf" ||
		s.IPAddress != placed.IPAddress || s.Port != placed.Port {
		w.Errorf("the placement is %+v, found is %+v", placed, s)
	}
	must(w.T, p.JoinSession(w.Context(), session.JoinSessionRequest{SessionID: placed.SessionID, PlayerID: "ada"}))
	w.wantIn(p, placed.SessionID, "ada")
	must(w.T, p.LeaveSession(w.Context()))
}

func checkMatchmaking(t *testing.T) {
	for name, check := range map[string]func(*testing.T, *world, *player){
		"accepted": checkAccepted, "rejected": checkRejected, "failed": checkFailed, "stopped": checkStopped,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addQueue()
			check(t, w, w.apiPlayer(w.HTTP, "ada"))
		})
	}
}

// A matchmaker is a matchmaking configuration of a test.
type matchmaker struct {
	players int32 // of a match
	accept  bool
	timeout int32  // of a ticket, in seconds
	queue   string // ARN; "" for that of addQueue
}

// add makes the configuration, with a rule set of its own.
func (m matchmaker) add(w *world) {
	w.Helper()
	rules := fmt.Sprintf(`{"ruleLanguageVersion":"1.0",
		"playerAttributes":[{"name":"skill","type":"number","default":1}],
		"teams":[{"name":"red","minPlayers":%d,"maxPlayers":%[1]d}]}`, m.players)
	_, err := w.admin.CreateMatchmakingRuleSet(w.Context(),
		&gamelift.CreateMatchmakingRuleSetInput{Name: aws.String(configuration), RuleSetBody: &rules})
	must(w.T, err)
	if m.queue == "" {
		queues, err := w.admin.DescribeGameSessionQueues(w.Context(),
			&gamelift.DescribeGameSessionQueuesInput{Names: []string{queue}})
		must(w.T, err)
		m.queue = *queues.GameSessionQueues[0].GameSessionQueueArn
	}
	_, err = w.admin.CreateMatchmakingConfiguration(w.Context(), &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String(configuration), RuleSetName: aws.String(configuration),
		GameSessionQueueArns:  []string{m.queue},
		RequestTimeoutSeconds: aws.Int32(m.timeout), AcceptanceRequired: aws.Bool(m.accept),
	})
	must(w.T, err)
}

// seek starts matchmaking for ada and bob, and tracks their ticket.
func (w *world) seek(p *player) (ticket string) {
	w.Helper()
	ticket, err := p.StartMatchmaking(w.Context(),
		session.StartMatchmakingRequest{ConfigurationName: configuration, Players: []session.Player{
			{PlayerID: "ada", LatencyInMS: map[string]int{home: 20},
				PlayerAttributes: map[string]json.RawMessage{"skill": json.RawMessage(`{"N": 23}`)}},
			{PlayerID: "bob"},
		}})
	if err != nil || ticket == "" {
		w.Fatalf("the ticket is %q, %v", ticket, err)
	}
	must(w.T, p.StartTracking(ticket, "ada"))
	return ticket
}

func checkAccepted(t *testing.T, w *world, p *player) {
	matchmaker{players: 2, accept: true, timeout: 60}.add(w)
	w.arena()
	ticket := w.seek(p)
	if e := heardOf[session.MatchAcceptance](p); e.Ticket.TicketID != ticket ||
		e.Ticket.Status != session.TicketRequiresAcceptance {
		t.Errorf("accepted shall be %+v", e.Ticket)
	}
	out := call(t, w.admin.DescribeMatchmaking, &gamelift.DescribeMatchmakingInput{TicketIds: []string{ticket}})
	if ada := out.TicketList[0].Players[0]; *ada.Team != "red" || ada.LatencyInMs[home] != 20 ||
		*ada.PlayerAttributes["skill"].N != 23 {
		t.Errorf("the service knows of %+v", ada)
	}
	looks := p.wire.count("DescribeMatchmaking")
	eventually(t, "two more looks at the ticket", func() bool { return p.wire.count("DescribeMatchmaking") > looks+2 })
	for _, player := range []string{"ada", "bob"} {
		op := p.Async(t.Context(), func(ctx context.Context) error {
			return p.AcceptMatch(ctx, session.AcceptMatchRequest{TicketID: ticket, AcceptMatch: true,
				PlayerIDs: []string{player}})
		})
		must(t, p.wait(op).Err)
	}
	e := heardOf[session.MatchComplete](p)
	if e.Ticket.TicketID != ticket || e.Ticket.Status != session.TicketCompleted || e.Reservation.PlayerID != "ada" {
		t.Errorf("the match is %+v", e)
	}
	w.wantIn(p, e.Reservation.SessionID, "ada")
	seat := e.Ticket.Reservations["bob"]
	bob, err := bot.Join(t.Context(), bot.Config{Server: seat.Address(), PlayerSession: seat.PlayerSessionID})
	must(t, err)
	w.wantPlayer(seat.PlayerSessionID, types.PlayerSessionStatusActive)
	must(t, bob.Leave())
	p.close()
	wantOutcome(t, p, 1, 1, 0)
}

func checkRejected(t *testing.T, w *world, p *player) {
	matchmaker{players: 2, accept: true, timeout: 60}.add(w)
	ticket := w.seek(p)
	heardOf[session.MatchAcceptance](p)
	must(t, p.AcceptMatch(t.Context(), session.AcceptMatchRequest{TicketID: ticket, PlayerIDs: []string{"ada"}}))
	w.wantFailure(p, ticket, session.TicketCancelled)
	p.close()
	wantOutcome(t, p, 1, 0, 1)
}

// checkFailed hears of a match that no queue can place, and of a time-out.
func checkFailed(t *testing.T, w *world, p *player) {
	matchmaker{players: 2, timeout: 60, queue: "arn:aws:gamelift:eu-west-1::gamesessionqueue/Far"}.add(w)
	w.wantFailure(p, w.seek(p), session.TicketFailed)
	rules := `{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":3,"maxPlayers":3}]}`
	_, err := w.admin.CreateMatchmakingRuleSet(t.Context(),
		&gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("Three"), RuleSetBody: &rules})
	must(t, err)
	_, err = w.admin.UpdateMatchmakingConfiguration(t.Context(), &gamelift.UpdateMatchmakingConfigurationInput{
		Name: aws.String(configuration), RuleSetName: aws.String("Three"), RequestTimeoutSeconds: aws.Int32(1),
	})
	must(t, err)
	w.wantFailure(p, w.seek(p), session.TicketTimedOut)
	p.close()
	wantOutcome(t, p, 0, 0, 2)
}

func checkStopped(t *testing.T, w *world, p *player) {
	matchmaker{players: 3, timeout: 60}.add(w)
	ticket := w.seek(p)
	must(t, p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: ticket}))
	w.wantFailure(p, ticket, session.TicketCancelled)
	ticket = w.seek(p)
	op := p.Async(t.Context(), func(ctx context.Context) error {
		return p.StopMatchmaking(ctx, session.StopMatchmakingRequest{TicketID: ticket})
	})
	must(t, p.wait(op).Err)
	w.wantFailure(p, ticket, session.TicketCancelled)
	p.close()
	wantOutcome(t, p, 0, 0, 2)
}

// wantFailure waits for the event of a ticket that has come to nothing.
func (w *world) wantFailure(p *player, ticket string, status session.TicketStatus) {
	w.Helper()
	eventually(w.T, "the failure of the ticket", func() bool {
		for _, e := range p.events() {
			if failure, ok := e.(session.MatchFailure); ok && failure.Ticket.TicketID == ticket {
				if failure.Ticket.Status != status {
					w.Errorf("the ticket is %s, want %s", failure.Ticket.Status, status)
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
	got := [...]int{count[session.MatchAcceptance](p), count[session.MatchComplete](p), count[session.MatchFailure](p),
		count[session.MatchError](p)}
	if want := [...]int{acceptances, complete, failures, 0}; got != want {
		t.Errorf("there were %d acceptances, completions, failures and errors, want %d", got, want)
	}
}

// TestUnknownTickets hears from the service itself, in the API and in the gateway, what
// it does not know.
func TestUnknownTickets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *muster.Config) { c.Gateway.AllowTarget = "on" })
	for name, p := range map[string]*player{"API": w.apiPlayer(w.HTTP, "ada"), "gateway": w.gatewayPlayer("ada")} {
		t.Run(name, func(t *testing.T) {
			ticket, err := p.StartMatchmaking(t.Context(), session.StartMatchmakingRequest{
				ConfigurationName: configuration, Players: []session.Player{{PlayerID: "ada"}},
			})
			wantKind(t, "StartMatchmaking", err, session.ErrNotFound)
			wantKind(t, "StopMatchmaking", p.StopMatchmaking(t.Context(),
				session.StopMatchmakingRequest{TicketID: "ticket-1"}), session.ErrNotFound)
			answer := session.AcceptMatchRequest{TicketID: "ticket-1", PlayerIDs: []string{"ada"}}
			wantKind(t, "AcceptMatch", p.AcceptMatch(t.Context(), answer), session.ErrNotFound)
			if ticket != "" {
				t.Errorf("there is a ticket %q", ticket)
			}
		})
	}
}
