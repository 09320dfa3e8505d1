package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/ruleset"
	"github.com/muster-gg/muster/internal/shard"
)

// Matching is done here, beside the shard that holds the tickets: for each
// matchmaking configuration a goroutine searches its pool (see matchmaker) and
// proposes what it finds; for each match that is accepted a goroutine sees to its
// game session (see matchinggames.go). Everything they know comes from the facts
// of the shard, in order, so what they believe may be late and is never wrong for
// long: the machine refuses a proposal that is out of date.
//
// After a recovery of the shard they begin anew from its state. All that they do
// can be done twice.

// again is how long a step of the driver that failed is not tried again.
const again = time.Second

// matching drives FlexMatch. Its fields below inbox belong to the goroutine of run.
type matching struct {
	plane    *Plane
	sets     ruleSets
	watches  watches[string] // of tickets, by id
	sessions filledSessions
	carried  matchSet       // matches that a goroutine sees to
	working  sync.WaitGroup // goroutines of matches and configurations
	inbox    inbox

	tickets map[string]*seeker     // those that are not over
	matches map[string][]string    // the tickets of those that something is to be done about
	makers  map[string]*matchmaker // by the id of the configuration
}

// A seeker is a ticket that is not over. It never changes.
type seeker struct {
	ticket        *matcher.Ticket
	configuration matchmaking.Configuration
	session       string // that a backfill ticket is for: its ARN
	round         int
}

func newMatching(p *Plane) *matching {
	m := &matching{plane: p, inbox: inbox{wake: make(chan struct{}, 1)}}
	m.begin()
	return m
}

// begin forgets everything, before driving begins on this node.
func (m *matching) begin() {
	m.forget()
	m.makers = map[string]*matchmaker{}
	m.sessions.all()
	m.inbox.take()
}

// forget empties what is known of tickets.
func (m *matching) forget() {
	m.tickets, m.matches = map[string]*seeker{}, map[string][]string{}
}

// An inbox holds what the driver has to look at, in order. It takes everything at
// once, because a shard waits for those who put something in.
type inbox struct {
	wake chan struct{}

	mu    sync.Mutex
	items []any
}

// The items of the inbox, besides the facts of tickets and matches.
type (
	ticketsBegin   struct{ state *matchmaking.State } // what was known before does not count
	catalogChanged struct{}
	sessionsMissed struct{} // the ends of game sessions may have been missed
	// answered is the answer to a proposal, behind the facts that it led to.
	answered struct {
		maker   *matchmaker
		tickets []matchmaking.Proposed
		err     error
	}
)

func (i *inbox) put(items ...any) {
	if len(items) == 0 {
		return
	}
	i.mu.Lock()
	i.items = append(i.items, items...)
	i.mu.Unlock()
	wake(i.wake)
}

func (i *inbox) take() []any {
	i.mu.Lock()
	defer i.mu.Unlock()
	items := i.items
	i.items = nil
	return items
}

// observe notes what has become durable in a shard. It runs on the shard's commit
// goroutine.
func (m *matching) observe(c *router.Commit, drives bool) {
	tickets := c.Shard == region.MatchmakingShard(len(m.plane.Shards()))
	of := func(f event.Fact) bool { return f.Room == region.MatchmakingRoom }
	if tickets && (c.Recovered || !drives && slices.ContainsFunc(c.Facts, of)) { // else the driver notifies
		m.watches.NotifyAll()
	}
	if !drives {
		return
	}
	if c.Recovered || c.Refresh {
		if tickets {
			m.inbox.put(ticketsBegin{c.View.Matchmaking()})
		}
		m.inbox.put(sessionsMissed{})
	}
	var news []any
	if c.HasView && c.Shard == region.CatalogShard {
		news = append(news, catalogChanged{})
	}
	for i, fact := range c.Facts {
		if fact.Room == region.MatchmakingRoom && !c.Recovered { // else the view has it
			news = append(news, fact.Body)
		}
		if e, ok := fact.Body.(*fleet.GameSessionEnded); ok {
			m.sessions.over(sessionKey{c.Rooms[i], e.Ordinal}, m.inbox.put)
		}
	}
	m.inbox.put(news...)
}

// run drives matchmaking until ctx is done.
func (m *matching) run(ctx context.Context) error {
	defer m.working.Wait()
	for {
		for _, item := range m.inbox.take() {
			m.handle(ctx, item)
		}
		select {
		case <-m.inbox.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *matching) handle(ctx context.Context, item any) {
	switch e := item.(type) {
	case ticketsBegin:
		m.recover(ctx, e.state)
	case catalogChanged:
		m.lookAtCatalog(ctx)
	case sessionsMissed:
		m.lookAtSessions(ctx)
	case sessionOver:
		m.tell(ctx, matchmaking.GameSessionEnded{GameSession: e.arn})
	case answered:
		e.maker.settle(e.tickets, e.err)
	case question:
		m.pass(e)
	case *matchmaking.TicketStarted:
		m.enter(ctx, startedSeeker(e))
	case *matchmaking.TicketEnded:
		m.end(ctx, e.ID, e.Status)
	case *matchmaking.MatchProposed:
		m.propose(e.ID, e.Tickets)
	case *matchmaking.MatchAnswered:
		m.changed(e.ID)
	case *matchmaking.MatchAccepted:
		m.changed(e.ID)
		m.carry(ctx, e.ID, e.Stage)
	case *matchmaking.MatchDropped:
		m.drop(ctx, e)
	case *matchmaking.MatchCompleted:
		m.complete(e.ID)
	}
}

// recover begins anew from the state of the shard.
func (m *matching) recover(ctx context.Context, s *matchmaking.State) {
	m.tellMissed(ctx, s)
	m.forget()
	for _, k := range m.makers {
		k.begin()
	}
	s.Searching(func(t *matchmaking.Ticket) bool {
		m.admit(ctx, newSeeker(t))
		return true
	})
	s.Matches(func(match *matchmaking.Match) bool {
		for _, id := range match.Tickets {
			if t, ok := s.Ticket(id); ok {
				m.know(ctx, newSeeker(t))
			}
		}
		m.matches[match.ID] = match.Tickets
		m.carry(ctx, match.ID, match.Stage)
		return true
	})
	m.discard(ctx)
}

// tellMissed tells game servers of backfill tickets that ended unnoticed.
func (m *matching) tellMissed(ctx context.Context, s *matchmaking.State) {
	for id, known := range m.tickets {
		if t, ok := s.Ticket(id); known.session != "" && ok && t.HasEnded() {
			m.end(ctx, id, t.Status)
		}
	}
}

// discard ends the tickets of configurations that are gone.
func (m *matching) discard(ctx context.Context) {
	gone := map[matchmaking.Configuration]bool{}
	for _, s := range m.tickets {
		if m.makers[s.configuration.ID] == nil {
			gone[s.configuration] = true
		}
	}
	for c := range gone {
		m.tell(ctx, matchmaking.Discard{Configuration: c})
	}
}

// know notes a ticket and gives its matchmaker, nil if its configuration is gone.
func (m *matching) know(ctx context.Context, s *seeker) *matchmaker {
	m.tickets[s.ticket.ID] = s
	if s.session != "" {
		m.guard(ctx, s.session)
	}
	return m.maker(ctx, s.configuration)
}

// admit puts a ticket into its pool; false if its configuration is gone.
func (m *matching) admit(ctx context.Context, s *seeker) bool {
	k := m.know(ctx, s)
	if k != nil {
		k.enter(s)
	}
	return k != nil
}

// enter puts a ticket into its pool, or ends it when its configuration is gone.
func (m *matching) enter(ctx context.Context, s *seeker) {
	if !m.admit(ctx, s) {
		m.tell(ctx, matchmaking.Discard{Configuration: s.configuration})
	}
	m.watches.tell(s.ticket.ID)
}

// leave takes a ticket out of its pool.
func (m *matching) leave(s *seeker) {
	if k := m.makers[s.configuration.ID]; k != nil {
		k.leave(s.ticket.ID)
	}
}

// end forgets a ticket that is over.
func (m *matching) end(ctx context.Context, id string, status matchmaking.Status) {
	s, ok := m.tickets[id]
	if !ok {
		return
	}
	delete(m.tickets, id)
	m.leave(s)
	if s.session != "" && status != matchmaking.Completed {
		m.tellProcess(ctx, s.session, id, updateReasons[status])
	}
	m.watches.tell(id)
}

func (m *matching) propose(match string, tickets []string) {
	m.matches[match] = tickets
	for _, id := range tickets {
		if s, ok := m.tickets[id]; ok {
			m.leave(s)
		}
		m.watches.tell(id)
	}
}

// drop ends a match that came to nothing: its tickets search again, unless they
// ended with it.
func (m *matching) drop(ctx context.Context, e *matchmaking.MatchDropped) {
	ended := make(map[string]matchmaking.Status, len(e.Ended))
	for _, t := range e.Ended {
		ended[t.ID] = t.Status
	}
	for _, id := range m.take(e.ID) {
		if status, over := ended[id]; over {
			m.end(ctx, id, status)
		} else if s, ok := m.tickets[id]; ok {
			next := *s
			next.round++
			m.enter(ctx, &next)
		}
	}
	if e.Cancel {
		m.carry(ctx, e.ID, matchmaking.StageCancelling)
	}
}

func (m *matching) complete(match string) {
	for _, id := range m.take(match) {
		delete(m.tickets, id)
		m.watches.tell(id)
	}
}

// take forgets a match and lists its tickets.
func (m *matching) take(match string) []string {
	tickets := m.matches[match]
	delete(m.matches, match)
	return tickets
}

// changed wakes those who watch a ticket of a match.
func (m *matching) changed(match string) {
	for _, id := range m.matches[match] {
		m.watches.tell(id)
	}
}

// maker is the matchmaker of a configuration, which begins with its first ticket;
// nil when the configuration is gone.
func (m *matching) maker(ctx context.Context, c matchmaking.Configuration) *matchmaker {
	if k := m.makers[c.ID]; k != nil {
		return k
	}
	seen, ok := m.configuration(c)
	if !ok {
		return nil
	}
	k := startMatchmaker(ctx, m, c)
	k.seen = seen
	m.makers[c.ID] = k
	return k
}

// configuration finds a configuration that is still the one of that id.
func (m *matching) configuration(c matchmaking.Configuration) (*catalog.MatchmakingConfiguration, bool) {
	found, ok := m.plane.catalog().MatchmakingConfiguration(c.Name)
	return found, ok && found.ID == c.ID
}

// lookAtCatalog follows changes of configurations and rule sets.
func (m *matching) lookAtCatalog(ctx context.Context) {
	for id, k := range m.makers {
		if c, ok := m.configuration(k.configuration); ok {
			if c != k.seen { // a rule set in use stays as it is
				k.seen = c
				k.reload()
			}
			continue
		}
		k.stop()
		delete(m.makers, id)
		m.tell(ctx, matchmaking.Discard{Configuration: k.configuration})
	}
	m.sets.tidy(m.plane.catalog())
}

// tell has the machine of the tickets note what has happened. It is not refused
// but for good reason, and so is tried until it arrives.
func (m *matching) tell(ctx context.Context, c matchmaking.Command) {
	m.working.Go(func() { m.insist(ctx, c) })
}

// insist is tell for those who can wait.
func (m *matching) insist(ctx context.Context, c matchmaking.Command) {
	for {
		more, err := askTickets[any](ctx, m.plane, c)
		if _, discard := c.(matchmaking.Discard); discard && more == true { // it has ended only some of them
			continue
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		m.plane.cfg.Log.Warn("matchmaking was not told; trying again", "command", fmt.Sprintf("%T", c), "err", err)
		if !passing(err) || !m.plane.pause(ctx, again) {
			return
		}
	}
}

// passing reports whether an error says nothing about the request itself, so that
// the same may work a little later.
func passing(err error) bool {
	// A command whose events fit in no record would throw the shard away each time.
	return !fault.Is(err, fault.InvalidRequest) && (errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown))
}

// startedSeeker is a ticket that was just started.
func startedSeeker(e *matchmaking.TicketStarted) *seeker {
	return newSeeker(&matchmaking.Ticket{
		ID: e.ID, Configuration: e.Configuration, Players: e.Players, Backfill: e.Backfill, GameSession: e.GameSession, Started: e.At,
	})
}

func newSeeker(t *matchmaking.Ticket) *seeker {
	s := &seeker{
		ticket:        &matcher.Ticket{ID: t.ID, Start: t.Started.Time(), Backfill: t.Backfill, Players: make([]matcher.Player, len(t.Players))},
		configuration: t.Configuration, session: t.GameSession, round: t.Round,
	}
	for i := range t.Players {
		s.ticket.Players[i] = seekingPlayer(&t.Players[i], t.Backfill)
	}
	return s
}

func seekingPlayer(p *matchmaking.Player, backfill bool) matcher.Player {
	out := matcher.Player{ID: p.ID, Attributes: make(map[string]ruleset.Value, len(p.Attributes))}
	for _, a := range p.Attributes {
		out.Attributes[a.Name] = a.Value
	}
	if len(p.Latencies) > 0 {
		out.Latency = make(map[string]int, len(p.Latencies))
		for _, l := range p.Latencies {
			out.Latency[l.Location] = int(l.Milliseconds)
		}
	}
	if backfill { // a new ticket may still have the team of a match that came to nothing
		out.Team = p.Team
	}
	return out
}
