package console

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
)

// The parts of the page that have values of some columns.
const (
	useOfFleets   = "Use of the fleets"
	knownOfFleets = "Locations and aliases" // of GET /v1/fleets
)

// fleetColumns are those of a list of fleets.
var fleetColumns = columns{
	{Name: "name", Title: "Name"},
	{Name: "status", Title: "Status"},
	{Name: "type", Title: "Type"},
	{Name: "locations", Title: "Locations", part: knownOfFleets},
	{Name: "aliases", Title: "Aliases", part: knownOfFleets},
	{Name: "processes", Title: "Processes", Number: true, part: useOfFleets},
	{Name: "sessions", Title: "Game sessions", Number: true, part: useOfFleets},
	{Name: "players", Title: "Players", Number: true, part: useOfFleets},
	{Name: "used", Title: "Used", part: useOfFleets},
	{Name: "created", Title: "Created", Extra: true}, // the others fill a width of 1,280 px
}

// fleetOrders are the orders of a list of fleets, by the name of the column.
var fleetOrders = map[string]func(a, b *fleetRow) int{
	"name": func(a, b *fleetRow) int {
		return strings.Compare(strings.ToLower(a.label()), strings.ToLower(b.label()))
	},
	"status":   func(a, b *fleetRow) int { return cmp.Compare(a.Status, b.Status) },
	"sessions": byCount(func(u *wire.FleetUtilization) wire.Opt[int32] { return u.ActiveGameSessionCount }),
	"players":  byCount(func(u *wire.FleetUtilization) wire.Opt[int32] { return u.CurrentPlayerSessionCount }),
	"created":  func(a, b *fleetRow) int { return a.CreationTime.Compare(b.CreationTime) },
}

func byCount(count func(*wire.FleetUtilization) wire.Opt[int32]) func(a, b *fleetRow) int {
	return func(a, b *fleetRow) int { return cmp.Compare(count(&a.Use).Or(0), count(&b.Use).Or(0)) }
}

// sortable returns the names of the columns that can be sorted by.
func sortable() (names []string) {
	for _, c := range fleetColumns {
		if fleetOrders[c.Name] != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// sorting returns a column with the link that sorts by it: numbers and times with the highest first, and the other way
// round if the page is in that order.
func (v *visit) sorting(c column, sort string) column {
	if fleetOrders[c.Name] == nil {
		return c
	}
	next := c.Name
	if c.Number || c.Name == "created" {
		next = "-" + c.Name
	}
	switch sort {
	case c.Name:
		c.Sorted, next = "ascending", "-"+c.Name
	case "-" + c.Name:
		c.Sorted, next = "descending", c.Name
	}
	c.Href = v.listAddress("/console/fleets", "sort", next)
	return c
}

// fewOf is how many names a cell shows.
const fewOf = 3

// few returns the first names of a list, and how many others there are.
func few(names []string) string {
	if len(names) <= fewOf {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fewOf], ", "), len(names)-fewOf)
}
