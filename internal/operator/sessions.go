package operator

import (
	"cmp"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxRows is the number of rows on a page of a list: the default, and the maximum.
const maxRows = 100

// gameSessions lists the game sessions of the region that the caller may read.
func (d *Handler) gameSessions(c *call) (*control.SessionList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	since, err := optional(values, "since", timeOf)
	if err != nil || !since.IsZero() && (since.Year() < 1970 || since.Year() > 2200) {
		return nil, fault.New(fault.InvalidRequest, "Parameter since is %.100q: it must be a time from 1970 to 2200 "+
			"like 2026-01-31T12:00:00Z.", values["since"])
	}
	limit, err := rowLimit(values)
	if err != nil {
		return nil, err
	}
	return d.Region.ListSessions(c.Context(), control.SessionQuery{
		FleetID: values["fleet"], Location: values["location"], Status: fleet.GameSessionStatus(values["status"]),
		Filter: values["q"], Sort: values["sort"], Since: since, Hidden: d.hidden(c), Limit: limit,
		NextToken: values["after"],
	})
}

// rowLimit returns the parameter limit of a list.
func rowLimit(values map[string]string) (int, error) {
	n, err := optional(values, "limit", limitOf)
	if err != nil || n > maxRows {
		return 0, fault.New(fault.InvalidRequest, "Parameter limit is %.100q: it must be a number from 1 to %d.",
			values["limit"], maxRows)
	}
	return cmp.Or(n, maxRows), nil
}

// hidden reports for a fleet whether a policy denies the caller its game sessions; nil: none does. A caller who may
// read all fleets but one must not find the game sessions of that one in lists.
func (d *Handler) hidden(c *call) func(fleetID string) bool {
	read := action("GameSessionRead")
	if d.Access.AllowsAll(c.id, read) {
		return nil
	}
	return func(fleetID string) bool {
		return !d.Access.Permits(c.id, c.from, read, d.resource("fleet/"+fleetID))
	}
}

func (d *Handler) computes(c *call) (*control.ComputeList, error) {
	q, err := rowQuery(c)
	if err != nil {
		return nil, err
	}
	return d.Region.ComputeRows(c.Context(), control.ComputeQuery{FleetID: c.PathValue("fleet"), Limit: q.Limit,
		NextToken: q.NextToken})
}

// player returns the player sessions and tickets of a player, without those in fleets that the caller may not read.
func (d *Handler) player(c *call) (*control.Player, error) {
	q, err := rowQuery(c)
	if err != nil {
		return nil, err
	}
	return d.Region.Player(c.Context(), control.PlayerQuery{PlayerID: c.PathValue("player"), Hidden: d.hidden(c),
		Limit: q.Limit, NextToken: q.NextToken})
}

func (d *Handler) releasePlayer(c *call) (*control.PlayerSessionRow, error) {
	return d.Region.ReleasePlayerSession(c.Context(), c.PathValue("player"), c.PathValue("session"))
}

func (d *Handler) placements(c *call) (*control.PlacementList, error) {
	q, err := rowQuery(c)
	if err != nil {
		return nil, err
	}
	return d.Region.QueuePlacements(c.Context(), q)
}

// anyQueue is the name of the queue in the resource of a request that is about all of them.
const anyQueue = "*"

func (d *Handler) latency(c *call) (*control.LatencyList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	return d.Region.Latencies(values["queue"])
}

func (d *Handler) tickets(c *call) (*control.TicketList, error) {
	q, err := rowQuery(c)
	if err != nil {
		return nil, err
	}
	return d.Region.ConfigurationTickets(c.Context(), q)
}

// rowQuery returns the parameters of a list.
func rowQuery(c *call) (control.RowQuery, error) {
	values, err := c.parameters()
	if err != nil {
		return control.RowQuery{}, err
	}
	limit, err := rowLimit(values)
	return control.RowQuery{Name: c.PathValue("name"), Status: values["status"], Limit: limit,
		NextToken: values["after"]}, err
}
