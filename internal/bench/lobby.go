package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// A lobby tracks, from the event feed, the tickets of a run without a match and the matches without a game session.
type lobby struct {
	mu      sync.Mutex
	waiting map[string]*waitingTicket // by id
	unheard int                       // waiting tickets that are not in the feed yet
	placing map[string]bool           // matches by id
	times   Histogram                 // of the matches
	heard   time.Time                 // last change
	failure error                     // of the feed
}

// A waitingTicket is a ticket without a match.
type waitingTicket struct {
	sent  time.Time // time of its call
	heard bool      // in the feed
}

func newLobby() *lobby {
	return &lobby{waiting: map[string]*waitingTicket{}, placing: map[string]bool{}}
}

// enter adds a ticket before its call is sent.
func (l *lobby) enter(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[id] = &waitingTicket{sent: time.Now()}
	l.unheard++
}

func (l *lobby) leave(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(id)
}

// remove returns when the call of the ticket was sent; false if there is no such ticket.
func (l *lobby) remove(id string) (sent time.Time, was bool) {
	t, was := l.waiting[id]
	if !was {
		return time.Time{}, false
	}
	delete(l.waiting, id)
	if !t.heard {
		l.unheard--
	}
	return t.sent, true
}

// The events that a lobby handles.
// Source: FlexMatch developer guide, FlexMatch matchmaking events.
var (
	ticketSearches = []byte(`"type":"MatchmakingSearching"`)
	matchMade      = []byte(`"type":"PotentialMatchCreated"`)
	matchPlaced    = []byte(`"type":"MatchmakingSucceeded"`)
)

// observeEvent handles an event of the feed. Tickets of other runs are ignored.
func (l *lobby) observeEvent(line []byte) {
	now := time.Now()
	switch {
	case bytes.Contains(line, ticketSearches):
		l.searches(textMember(line, "ticketId"))
	case bytes.Contains(line, matchPlaced):
		l.placed(textMember(line, "matchId"))
	case bytes.Contains(line, matchMade):
		l.made(now, line)
	}
}

// made records a match. It became possible with its newest ticket.
func (l *lobby) made(now time.Time, line []byte) {
	var match struct {
		Event struct {
			Detail struct {
				MatchID string
				Tickets []struct{ TicketID string }
			}
		}
	}
	if err := json.Unmarshal(line, &match); err != nil {
		l.fail(err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var newest time.Time
	for _, t := range match.Event.Detail.Tickets {
		if sent, was := l.remove(t.TicketID); was && sent.After(newest) {
			newest = sent
		}
	}
	if !newest.IsZero() {
		l.times.Record(now.Sub(newest))
		l.placing[match.Event.Detail.MatchID] = true
		l.heard = now
	}
}

func (l *lobby) searches(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.waiting[id]; ok && !t.heard {
		t.heard = true
		l.unheard--
		l.heard = time.Now()
	}
}

func (l *lobby) placed(match string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.placing[match] {
		delete(l.placing, match)
		l.heard = time.Now()
	}
}

// fail records the first error of the feed.
func (l *lobby) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = err
	}
}

// tickets returns the ids of waiting tickets.
func (l *lobby) tickets() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]string, 0, len(l.waiting))
	for id := range l.waiting {
		ids = append(ids, id)
	}
	return ids
}

// observe begins a round; the result ends it when all its events have been received.
func (l *lobby) observe() func(context.Context, *Result) {
	before := len(l.tickets())
	l.mu.Lock()
	l.times = Histogram{}
	l.mu.Unlock()
	return func(ctx context.Context, r *Result) {
		m := &Matchmaking{WaitingBefore: before, WaitingAfter: len(l.tickets())}
		if err := l.settle(ctx); err != nil {
			r.Errors[err.Error()]++
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		m.Matches, m.Latency = int64(l.times.total), latencyOf(&l.times)
		r.Matchmaking = m
	}
}

const (
	settleLimit = 20 * time.Second       // for tickets and placements in progress to end
	quietTime   = 100 * time.Millisecond // without events, after which no more are expected
)

// errUnsettled is returned when expected events are missing.
var errUnsettled = errors.New("tickets or placements missing in the event feed")

// settle waits until the feed has all tickets, every match is placed, and no further one is made.
func (l *lobby) settle(ctx context.Context) error {
	limit, look := time.NewTimer(settleLimit), time.NewTicker(quietTime/10)
	defer limit.Stop()
	defer look.Stop()
	for {
		if quiet, err := l.quiet(); quiet || err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-limit.C:
			return errUnsettled
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lobby) quiet() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unheard == 0 && len(l.placing) == 0 && time.Since(l.heard) > quietTime, l.failure
}
