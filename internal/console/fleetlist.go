package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// maxIDs is how many fleets a call describes. Source: control, which refuses more.
const maxIDs = 100

// A fleetQuery is which fleets a list has, in which order. It is the query string of the page.
type fleetQuery struct {
	Text     string // that the name, the id or the description contains, in any case
	Status   string
	Type     string
	Location string
	Sort     string // the name of a column, after "-" if the order is descending; "": by id
}

// Statuses and Types are what can be chosen.
func (fleetQuery) Statuses() []wire.FleetStatus {
	return []wire.FleetStatus{wire.FleetStatusActive, wire.FleetStatusNew, wire.FleetStatusDownloading,
		wire.FleetStatusValidating, wire.FleetStatusBuilding, wire.FleetStatusActivating, wire.FleetStatusDeleting,
		wire.FleetStatusError}
}

func (fleetQuery) Types() []wire.ComputeType {
	return []wire.ComputeType{wire.ComputeTypeAnywhere, wire.ComputeTypeEc2}
}

// fleetQuery reads the query string. Values that no form sends are refused, since the page could not show them.
func (v *visit) fleetQuery() (q fleetQuery, err error) {
	q = fleetQuery{Text: strings.TrimSpace(v.form("text")), Status: v.form("status"), Type: v.form("type"),
		Location: v.form("location"), Sort: v.form("sort")}
	switch {
	case q.Status != "" && !slices.Contains(q.Statuses(), wire.FleetStatus(q.Status)):
		return q, invalid("status: choose one of the list, not %.100q.", q.Status)
	case q.Type != "" && !slices.Contains(q.Types(), wire.ComputeType(q.Type)):
		return q, invalid("type: choose one of the list, not %.100q.", q.Type)
	case q.Sort != "" && q.order() == nil:
		return q, invalid("sort: %.100q is no column that can be sorted by. Choose one of %s.", q.Sort,
			strings.Join(sortable(), ", "))
	}
	return q, nil
}

// Filters reports whether fleets are left out.
func (q fleetQuery) Filters() bool { return q.Text+q.Status+q.Type+q.Location != "" }

// Words say what the fleets must have.
func (q fleetQuery) Words() string {
	var words []string
	for _, one := range []struct{ value, format string }{
		{q.Text, "“" + q.Text + "” in its name, id or description"}, {q.Status, "the status " + q.Status},
		{q.Type, "the type " + q.Type}, {q.Location, "the location " + q.Location},
	} {
		if one.value != "" {
			words = append(words, one.format)
		}
	}
	return strings.Join(words, ", and ")
}

// order compares two fleets; nil: the column is unknown.
func (q fleetQuery) order() func(a, b fleetRow) int {
	name, descending := strings.CutPrefix(q.Sort, "-")
	order := fleetOrders[name]
	if order == nil {
		return nil
	}
	return func(a, b fleetRow) int {
		n := order(&a, &b)
		if descending {
			n = -n
		}
		return cmp.Or(n, strings.Compare(a.FleetId, b.FleetId))
	}
}

// byUse reports whether the order is that of what is used of the fleets.
func (q fleetQuery) byUse() bool {
	i := fleetColumns.index(strings.TrimPrefix(q.Sort, "-"))
	return i >= 0 && fleetColumns[i].part == useOfFleets
}

func (q fleetQuery) matches(f *fleetRow) bool {
	text := strings.ToLower(q.Text)
	contains := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return (contains(f.Name) || contains(f.FleetId) || contains(f.Description)) &&
		(q.Status == "" || q.Status == string(f.Status)) && (q.Type == "" || q.Type == string(f.ComputeType)) &&
		(q.Location == "" || f.Known != nil && slices.Contains(f.Known.Locations, q.Location))
}

// A fleetLister reads the fleets of a query, page by page.
type fleetLister struct {
	*visit
	query fleetQuery
	known map[string]*control.FleetRow // by id; nil: the person may not see them, or they were not read
	rows  []fleetRow                   // all that match, in order; nil: not read

	tolerant bool // what is used may be missing
}

// readKnown reads the locations and aliases of all fleets in one request, if the person may see them. Without that
// permission, a filter of locations is refused.
func (l *fleetLister) readKnown() error {
	if l.query.Location == "" && !l.may("muster:OverviewRead", nil) {
		return nil
	}
	var list control.FleetList
	if err := l.request("GET", "/v1/fleets?limit=1000", nil, &list); err != nil {
		return err
	}
	if list.Omitted > 0 {
		l.lacks.add(knownOfFleets, "those of "+plural(list.Omitted, "fleet")+" are not known")
	}
	l.known = map[string]*control.FleetRow{}
	for i := range list.Fleets {
		l.known[list.Fleets[i].FleetID] = &list.Fleets[i]
	}
	return nil
}

// locations are those of all fleets.
func (l *fleetLister) locations() []string {
	names := map[string]bool{}
	if l.query.Location != "" {
		names[l.query.Location] = true // so that the form shows it
	}
	for _, f := range l.known {
		for _, name := range f.Locations {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// page returns a page of the fleets. Without a filter and an order it reads no more than the page, whose token is that
// of ListFleets.
func (l *fleetLister) page(token string) (rows []fleetRow, next string, err error) {
	if !l.query.Filters() && l.query.Sort == "" {
		if rows, next, err = l.fleetsOf(token); err != nil {
			return nil, "", err
		}
		l.addKnown(rows)
		return rows, next, l.readUse(rows)
	}
	from, err := strconv.Atoi(cmp.Or(token, "0"))
	if err != nil || from < 0 {
		return nil, "", invalid("next: %.100q is no row of this list. Begin with the first page.", token)
	}
	if l.rows == nil {
		if err := l.readAll(); err != nil {
			return nil, "", err
		}
	}
	from = min(from, len(l.rows))
	to := min(from+pageSize, len(l.rows))
	if to < len(l.rows) {
		next = strconv.Itoa(to)
	}
	rows = l.rows[from:to]
	if !l.query.byUse() {
		err = l.readUse(rows)
	}
	return rows, next, err
}

// readAll reads all fleets and keeps those that match, in order.
func (l *fleetLister) readAll() error {
	in := &wire.DescribeFleetAttributesInput{Limit: wire.Some[int32](maxIDs)}
	l.rows = []fleetRow{}
	for more := true; more; more = in.NextToken != "" {
		out, err := call(l.visit, wire.OpDescribeFleetAttributes, in)
		if err != nil {
			return err
		}
		for i := range out.FleetAttributes {
			one := []fleetRow{{FleetAttributes: &out.FleetAttributes[i]}}
			if l.addKnown(one); l.query.matches(&one[0]) {
				l.rows = append(l.rows, one[0])
			}
		}
		in = &wire.DescribeFleetAttributesInput{Limit: in.Limit, NextToken: out.NextToken}
	}
	if l.query.byUse() {
		if err := l.readUse(l.rows); err != nil {
			return err
		}
	}
	if order := l.query.order(); order != nil {
		slices.SortFunc(l.rows, order)
	}
	return nil
}

// readUse adds what is used of fleets.
func (l *fleetLister) readUse(rows []fleetRow) error {
	read := func() error {
		for some := range slices.Chunk(rows, maxIDs) {
			if err := l.addUse(some); err != nil {
				return err
			}
		}
		return nil
	}
	if l.tolerant {
		return l.read(part{useOfFleets, read})
	}
	return read()
}

func (l *fleetLister) addKnown(rows []fleetRow) {
	for i := range rows {
		rows[i].Known = l.known[rows[i].FleetId]
	}
}

// fleetsPage shows a list of fleets.
func fleetsPage(v *visit) error {
	if to := v.shortColumns("/console/fleets", fleetColumns); to != "" {
		return v.redirect(to)
	}
	q, err := v.fleetQuery()
	if err != nil {
		return err
	}
	list := &fleetLister{visit: v, query: q, tolerant: true}
	if q.Location != "" {
		err = list.readKnown() // else it is not known what matches
	} else {
		err = v.read(part{knownOfFleets, list.readKnown})
	}
	if err != nil {
		return err
	}
	rows, next, err := list.page(v.form("next"))
	if err != nil {
		return err
	}
	b := fleetsBody{Fleets: rows, Query: q, Locations: list.locations(), Later: v.form("next") != "",
		File: v.listAddress("/console/fleets.csv"), First: v.listAddress("/console/fleets"),
		Clear: v.listAddress("/console/fleets", "text", "", "status", "", "type", "", "location", "")}
	if next != "" {
		b.Next = v.listAddress("/console/fleets", "next", next)
	}
	var missing []string
	if list.known == nil {
		missing = append(missing, knownOfFleets)
	}
	b.Columns, b.Choices = fleetColumns.choose(v.form("columns"), missing...)
	for i, c := range b.Columns {
		b.Columns[i] = v.sorting(c, q.Sort)
	}
	return v.show("fleets", page{Title: "Fleets", Nav: "/console/fleets", Live: true, Body: b})
}

// listAddress returns an address with the query of the page, but for some values and from the first row on.
func (v *visit) listAddress(path string, pairs ...string) string {
	q := v.r.URL.Query()
	q.Del("next")
	q.Del("done")
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	for name, values := range q {
		if strings.Join(values, "") == "" {
			q.Del(name)
		}
	}
	return (&url.URL{Path: path, RawQuery: q.Encode()}).String()
}
