package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A ticketBody is a matchmaking ticket, with why it has no match.
type ticketBody struct {
	wire.MatchmakingTicket
	Players []ticketPlayer
	Reasons []control.Reason // empty: it has ended
	Hidden  bool             // the person may not see the reasons
	Search  *searchProgress  // nil: it is not SEARCHING, or hidden
	Waits   bool
	// Placement is the id of the placement of its match; "": none has begun.
	Placement string
}

// A ticketPlayer is a player of a ticket with what matches it.
type ticketPlayer struct {
	wire.Player
	Attributes, Latencies []pair
}

type pair struct{ Key, Value string }

// findTicket leads to a ticket that was typed.
func findTicket(v *visit) error {
	return v.redirect("/console/tickets/" + url.PathEscape(strings.TrimSpace(v.form("id"))))
}

func ticketPage(v *visit) error { return v.ticket(v.r.PathValue("id"), nil) }

func (v *visit) ticket(id string, refused error) error {
	out, err := call(v, wire.OpDescribeMatchmaking, &wire.DescribeMatchmakingInput{TicketIds: []string{id}})
	if err != nil {
		return err
	}
	if len(out.TicketList) == 0 {
		return fault.New(fault.NotFound, "Ticket %s does not exist.", id)
	}
	b := ticketBody{MatchmakingTicket: out.TicketList[0]}
	b.Waits = b.EndTime.IsZero()
	for _, p := range b.MatchmakingTicket.Players {
		b.Players = append(b.Players, ticketPlayer{p, attributes(p.PlayerAttributes), latencyPairs(p.LatencyInMs)})
	}
	if b.Waits {
		if err := v.read(part{"Why it waits", func() error { return v.explain(&b) }}); err != nil {
			return err
		}
	}
	return v.refused("ticket", page{Title: b.TicketId, Nav: "/console/matchmaking", Live: refused == nil && b.Waits,
		Body: b, Crumbs: []link{{"Matchmaking", "/console/matchmaking"},
			{b.ConfigurationName, configurationPath(b.ConfigurationName)}}}, refused)
}

// explain adds why a ticket has no match yet. It may end meanwhile.
func (v *visit) explain(b *ticketBody) error {
	if b.Hidden = !v.may("muster:TicketExplain", []string{"ticket/" + b.TicketId}); b.Hidden {
		return nil
	}
	var x control.TicketExplanation
	err := v.request("GET", in("tickets", b.TicketId, "explain"), nil, &x)
	if fault.Is(err, fault.InvalidRequest) {
		return nil
	}
	b.Reasons = x.Reasons()
	b.Search = progressOf(&x, v.h.Clock.Now())
	if x.Placement != nil {
		b.Placement = x.Placement.PlacementID
	}
	return err
}

func attributes(values map[string]wire.AttributeValue) (all []pair) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a := values[name]
		text := a.S
		switch {
		case a.N.IsSet():
			text = strconv.FormatFloat(a.N.Or(0), 'g', -1, 64)
		case a.SL != nil:
			text = strings.Join(a.SL, ", ")
		case a.SDM != nil:
			var parts []string
			for _, key := range slices.Sorted(maps.Keys(a.SDM)) {
				parts = append(parts, fmt.Sprintf("%s %g", key, a.SDM[key]))
			}
			text = strings.Join(parts, ", ")
		}
		all = append(all, pair{name, text})
	}
	return all
}

func latencyPairs(ms map[string]int32) (all []pair) {
	for _, name := range slices.Sorted(maps.Keys(ms)) {
		all = append(all, pair{name, fmt.Sprintf("%d ms", ms[name])})
	}
	return all
}

func stopTicket(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := call(v, wire.OpStopMatchmaking, &wire.StopMatchmakingInput{TicketId: id}); err != nil {
		return v.ticket(id, err)
	}
	return v.redirect("/console/tickets/" + url.PathEscape(id) + "?done=ticket-stopped")
}
