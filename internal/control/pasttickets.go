package control

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
)

// Tickets that are over leave memory for the history, where Describe still finds
// them and where their ids stay taken. The entries are t.<ticket id>.

// ticketSubject names a ticket in the history. Ids may hold dots, which divide
// subjects, and never underscores.
func ticketSubject(id string) string { return "t." + strings.ReplaceAll(id, ".", "_") }

// archiveTickets moves tickets that have been over for long enough into the
// history: first they are durable there, then the machine forgets them.
func (p *Plane) archiveTickets(ctx context.Context) error {
	refused := map[string]bool{}
	for {
		var over []*matchmaking.Ticket
		before := event.At(p.cfg.Clock.Now().Add(-p.cfg.SessionMemory))
		err := p.ticketShard().Read(ctx, func(m *region.Machine) { over = m.Matchmaking().EndedBefore(before, archiveBatch+len(refused)) })
		if err != nil {
			return err
		}
		ids, err := rememberAll(p, over, refused, func(t *matchmaking.Ticket) string { return t.ID },
			func(t *matchmaking.Ticket) error { return p.rememberTicket(ctx, t) })
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := askTickets[any](ctx, p, matchmaking.Forget{IDs: ids}); err != nil {
			return err
		}
	}
}

func (p *Plane) rememberTicket(ctx context.Context, t *matchmaking.Ticket) error {
	var data bytes.Buffer
	if err := region.Events.Append(&data, event.Fact{Room: region.MatchmakingRoom, Body: t}); err != nil {
		return err
	}
	return p.cfg.History.Put(ctx, ticketSubject(t.ID), data.Bytes())
}

// pastTicket finds a ticket in the history; nil when it is not there.
func (p *Plane) pastTicket(ctx context.Context, id string) (*matchmaking.Ticket, error) {
	if id == "" {
		return nil, nil
	}
	data, ok, err := p.cfg.History.Get(ctx, ticketSubject(id))
	if err != nil || !ok {
		return nil, err
	}
	fact, _, err := region.Events.Next(data)
	if err != nil {
		return nil, fmt.Errorf("history entry of ticket %s: %w", id, err)
	}
	t, ok := fact.Body.(*matchmaking.Ticket)
	if !ok {
		return nil, fmt.Errorf("history entry of ticket %s is not a ticket", id)
	}
	return t, nil
}
