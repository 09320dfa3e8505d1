package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

var matchmakingProfile = Profile{
	Name: "matchmaking",
	Summary: "StartMatchmaking with waiting tickets (--waiting), 2 teams of " +
		"5 by skill and latency, placed by a queue",
	Unit:      "tickets",
	Pool:      3000,
	Locations: CrowdLocations,
	prepare:   prepareMatchmaking,
}

// prepareMatchmaking starts the tickets that wait when the work begins. Every match finds an idle process: ten tickets
// are started per process of the pool, and there are more processes for the waiting tickets.
func prepareMatchmaking(ctx context.Context, s *site) (func(int) operation, error) {
	set, err := ruleset.Parse(Fives)
	if err != nil {
		return nil, err
	}
	if err := s.makeQueue(ctx); err != nil {
		return nil, err
	}
	if err := s.startPool(ctx, s.cfg.Pool+s.cfg.Waiting/perMatch); err != nil {
		return nil, err
	}
	m := &matchmaking{site: s, lobby: newLobby(), crowd: NewCrowd(1, s.name+"-", s.cfg.Waiting, s.locations)}
	if err := m.configure(ctx); err != nil {
		return nil, err
	}
	m.listen(ctx)
	waiting := m.crowd.Waiting(set, time.Now())
	s.cfg.Note(fmt.Sprintf("starting %d waiting tickets", len(waiting)))
	err = s.each(ctx, len(waiting), func(ctx context.Context, c *conn, i int) error {
		_, err := m.start(ctx, c, nil, waiting[i])
		return err
	})
	if err == nil {
		err = m.lobby.settle(ctx)
	}
	s.observe = m.lobby.observe
	return m.worker, err
}

// matchmaking is a configuration with a queue, and the tickets of a run.
type matchmaking struct {
	site  *site
	lobby *lobby

	mu      sync.Mutex
	crowd   *Crowd
	started int // tickets, without the initial ones
}

// configure creates rule set and configuration, with the name of the run.
func (m *matchmaking) configure(ctx context.Context) error {
	err := m.make(ctx, "MatchmakingRuleSet", map[string]any{"RuleSetBody": Fives})
	if err != nil {
		return err
	}
	return m.make(ctx, "MatchmakingConfiguration", map[string]any{
		"RuleSetName": m.site.name, "GameSessionQueueArns": []string{m.site.queueArn}, "FlexMatchMode": "WITH_QUEUE",
		"AcceptanceRequired": false, "RequestTimeoutSeconds": ticketTimeout,
	})
}

// ticketTimeout is the maximum time-out of a ticket in seconds. Source: API reference, CreateMatchmakingConfiguration.
const ticketTimeout = 43200

// make creates a resource and schedules its deletion.
func (m *matchmaking) make(ctx context.Context, kind string, in map[string]any) error {
	in["Name"] = m.site.name
	if err := m.site.newConn().ask(ctx, "Create"+kind, in, nil); err != nil {
		return err
	}
	m.site.undo = append(m.site.undo, func(ctx context.Context, c *conn) error {
		return c.ask(ctx, "Delete"+kind, map[string]any{"Name": m.site.name}, nil)
	})
	return nil
}

// listen follows the event feed until the tickets are stopped.
func (m *matchmaking) listen(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	feed := m.site.unownedConn() // needed while the tickets are stopped
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.lobby.fail(fmt.Errorf("the event feed ended: %w", feed.follow(ctx, m.lobby.observeEvent)))
	}()
	m.site.undo = append(m.site.undo, func(tidy context.Context, _ *conn) error {
		defer func() {
			stop()
			<-ended
		}()
		return m.stopAll(tidy)
	})
}

// stopAll stops the waiting tickets, so that the configuration can be deleted.
func (m *matchmaking) stopAll(ctx context.Context) error {
	settled := m.lobby.settle(ctx)
	tickets := m.lobby.tickets()
	err := m.site.each(ctx, len(tickets), func(ctx context.Context, c *conn, i int) error {
		return c.ask(ctx, "StopMatchmaking", map[string]any{"TicketId": tickets[i]}, nil)
	})
	return errors.Join(settled, err)
}

// worker starts one ticket after the other.
func (m *matchmaking) worker(int) operation {
	c := m.site.newConn()
	var body []byte
	return func(ctx context.Context) (int, error) {
		t, ok := m.next()
		if !ok {
			return 0, errExhausted
		}
		var err error
		body, err = m.start(ctx, c, body, t)
		return 1, err
	}
}

// next returns the next ticket to start; false if the pool may not suffice for its match.
func (m *matchmaking) next() (*matcher.Ticket, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started == perMatch*m.site.cfg.Pool {
		return nil, false
	}
	m.started++
	return m.crowd.Ticket(time.Time{}), true
}

// start starts a ticket, and returns the buffer for the next one.
func (m *matchmaking) start(ctx context.Context, c *conn, body []byte, t *matcher.Ticket) ([]byte, error) {
	body = m.appendBody(body[:0], t)
	m.lobby.enter(t.ID)
	_, err := c.call(ctx, "StartMatchmaking", body)
	if err != nil {
		m.lobby.leave(t.ID)
	}
	return body, err
}

func (m *matchmaking) appendBody(b []byte, t *matcher.Ticket) []byte {
	player := &t.Players[0]
	b = appendField(append(b, '{'), "ConfigurationName", m.site.name)
	b = appendField(b, "TicketId", t.ID)
	b = append(b, `,"Players":[{`...)
	b = appendField(b, "PlayerId", player.ID)
	b = append(b, `,"PlayerAttributes":{"skill":{"N":`...)
	b = strconv.AppendFloat(b, player.Attributes["skill"].N, 'f', -1, 64)
	b = append(b, `}},"LatencyInMs":{`...)
	for i, location := range m.crowd.locations {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), location...), `":`...)
		b = appendNumber(b, player.Latency[location])
	}
	return append(b, `}}]}`...)
}
