package console

import (
	"net/url"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A fleetBody is the page of a fleet. What a tab does not show is empty.
type fleetBody struct {
	fleetRow
	Tab       string
	Tabs      []link
	Locations []locationUse
	Sessions  []wire.GameSession
	Computes  []wire.Compute
	Events    []wire.Event
	Tags      []wire.Tag
	Graphs    *graphsView // nil: not for this person
	Location  string      // of the graphs; "": all
	Next      string

	// Of the dialog that adds a compute: what was typed, and the compute with the command that starts a server on it.
	ComputeName, ComputeIP, ComputeLocation string
	Added                                   *addedCompute
}

type locationUse struct {
	wire.LocationState
	Use wire.FleetUtilization
}

// An addedCompute has what a game server needs to connect.
type addedCompute struct {
	wire.Compute
	Token   string
	Expires time.Time
	Command string
}

var fleetTabs = []string{"overview", "metrics", "sessions", "computes", "events", "tags"}

var tabTitles = map[string]string{"overview": "Overview", "metrics": "Metrics", "sessions": "Game sessions",
	"computes": "Computes", "events": "Events", "tags": "Tags"}

func fleetPage(v *visit) error {
	b, err := v.fleet(v.r.URL.Query().Get("tab"))
	if err != nil {
		return err
	}
	return v.showFleet(b, nil)
}

func (v *visit) showFleet(b *fleetBody, refused error) error {
	p := page{Title: b.Name, Nav: "/console/fleets", Crumbs: []link{{"Fleets", "/console/fleets"}},
		Live: b.Added == nil && refused == nil, Body: b}
	if b.Tab == "metrics" {
		p.Every = graphPace
	}
	return v.refused("fleet", p, refused)
}

// fleet reads a fleet and what a tab shows of it.
func (v *visit) fleet(tab string) (*fleetBody, error) {
	id := v.r.PathValue("fleet")
	if !slices.Contains(fleetTabs, tab) {
		tab = fleetTabs[0]
	}
	ids := []string{id}
	out, err := call(v, wire.OpDescribeFleetAttributes, &wire.DescribeFleetAttributesInput{FleetIds: ids})
	if err != nil {
		return nil, err
	}
	if len(out.FleetAttributes) == 0 {
		return nil, fault.New(fault.NotFound, "Fleet %s does not exist.", id)
	}
	use, err := call(v, wire.OpDescribeFleetUtilization, &wire.DescribeFleetUtilizationInput{FleetIds: ids})
	if err != nil {
		return nil, err
	}
	b := &fleetBody{fleetRow: fleetRow{FleetAttributes: &out.FleetAttributes[0]}, Tab: tab}
	if len(use.FleetUtilization) > 0 {
		b.Use = use.FleetUtilization[0]
	}
	for _, t := range fleetTabs {
		b.Tabs = append(b.Tabs, link{tabTitles[t], t})
	}
	return b, v.fleetTab(b)
}

// fleetTab reads what the tab shows.
func (v *visit) fleetTab(b *fleetBody) (err error) {
	switch b.Tab {
	case "metrics":
		b.Location = v.form("location")
		b.Graphs, err = v.graphs(fleetGraphs, v.fleetDimensions(b.FleetId)...)
	case "sessions":
		err = v.fleetSessions(b)
	case "computes":
		err = v.fleetComputes(b)
	case "events":
		return v.fleetEvents(b)
	case "tags":
		return v.fleetTags(b)
	}
	if err == nil { // to choose from, in the forms of the tabs
		b.Locations, err = v.locationsOf(b.FleetId)
	}
	return err
}

func (v *visit) fleetSessions(b *fleetBody) error {
	out, err := call(v, wire.OpDescribeGameSessions, &wire.DescribeGameSessionsInput{FleetId: b.FleetId,
		Limit: wire.Some[int32](pageSize), NextToken: v.r.URL.Query().Get("next")})
	if err == nil {
		b.Sessions, b.Next = out.GameSessions, out.NextToken
	}
	return err
}

func (v *visit) fleetComputes(b *fleetBody) error {
	out, err := call(v, wire.OpListCompute, &wire.ListComputeInput{FleetId: b.FleetId,
		Limit: wire.Some[int32](pageSize), NextToken: v.r.URL.Query().Get("next")})
	if err == nil {
		b.Computes, b.Next = out.ComputeList, out.NextToken
	}
	return err
}

func (v *visit) fleetEvents(b *fleetBody) error {
	out, err := call(v, wire.OpDescribeFleetEvents, &wire.DescribeFleetEventsInput{FleetId: b.FleetId,
		Limit: wire.Some[int32](pageSize), NextToken: v.r.URL.Query().Get("next")})
	if err == nil {
		b.Events, b.Next = out.Events, out.NextToken
	}
	return err
}

func (v *visit) fleetTags(b *fleetBody) error {
	out, err := call(v, wire.OpListTagsForResource, &wire.ListTagsForResourceRequest{ResourceARN: b.FleetArn})
	if err == nil {
		b.Tags = out.Tags
	}
	return err
}

// locationsOf returns the locations of a fleet with what is used of each.
func (v *visit) locationsOf(id string) (all []locationUse, err error) {
	out, err := call(v, wire.OpDescribeFleetLocationAttributes, &wire.DescribeFleetLocationAttributesInput{
		FleetId: id, Limit: wire.Some[int32](pageSize)})
	if err != nil {
		return nil, err
	}
	for _, l := range out.LocationAttributes {
		use, err := call(v, wire.OpDescribeFleetLocationUtilization, &wire.DescribeFleetLocationUtilizationInput{
			FleetId: id, Location: l.LocationState.Location})
		if err != nil {
			return nil, err
		}
		one := locationUse{LocationState: *l.LocationState}
		if use.FleetUtilization != nil {
			one.Use = *use.FleetUtilization
		}
		all = append(all, one)
	}
	return all, nil
}

func deleteFleet(v *visit) error {
	b, err := v.fleet("")
	if err != nil {
		return err
	}
	if v.form("confirm") != b.Name {
		return v.showFleet(b, invalid("Name: type the name of the fleet, %s, to delete it.", b.Name))
	}
	if _, err := call(v, wire.OpDeleteFleet, &wire.DeleteFleetInput{FleetId: b.FleetId}); err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets?done=fleet-deleted")
}

// addCompute registers a compute, and shows the command that starts a game server on it.
func addCompute(v *visit) error {
	b, err := v.fleet("computes")
	if err != nil {
		return err
	}
	b.ComputeName, b.ComputeIP, b.ComputeLocation = v.form("compute-name"), v.form("ip"), v.form("location")
	out, err := call(v, wire.OpRegisterCompute, &wire.RegisterComputeInput{FleetId: b.FleetId,
		ComputeName: b.ComputeName, IpAddress: b.ComputeIP, Location: b.ComputeLocation})
	if err != nil {
		return v.showFleet(b, err)
	}
	token, err := call(v, wire.OpGetComputeAuthToken, &wire.GetComputeAuthTokenInput{FleetId: b.FleetId,
		ComputeName: b.ComputeName})
	if err != nil {
		return v.showFleet(b, err)
	}
	if err := v.fleetTab(b); err != nil {
		return err
	}
	b.Added = &addedCompute{Compute: *out.Compute, Token: token.AuthToken, Expires: token.ExpirationTimestamp,
		Command: v.serverCommand(out.Compute, token.AuthToken)}
	return v.showFleet(b, nil)
}

// serverCommand sets the variables that the server SDKs read, and starts a game server. The CA is for those that use
// OpenSSL, and for Go.
// Source: server SDK 5, "GAMELIFT_SDK_…" of InitSDK.
func (v *visit) serverCommand(c *wire.Compute, token string) string {
	ca := ""
	if v.h.CA != "" {
		ca = "SSL_CERT_FILE=" + quote(v.h.CA) + " \\\n  "
	}
	return ca + "GAMELIFT_SDK_WEBSOCKET_URL=" + quote(c.GameLiftServiceSdkEndpoint) +
		" \\\n  GAMELIFT_SDK_FLEET_ID=" + quote(c.FleetId) +
		" \\\n  GAMELIFT_SDK_HOST_ID=" + quote(c.ComputeName) +
		" \\\n  GAMELIFT_SDK_PROCESS_ID=$(uuidgen)" +
		" \\\n  GAMELIFT_SDK_AUTH_TOKEN=" + quote(token) +
		" \\\n  ./your-game-server"
}

func deregisterCompute(v *visit) error {
	b, err := v.fleet("computes")
	if err != nil {
		return err
	}
	in := &wire.DeregisterComputeInput{FleetId: b.FleetId, ComputeName: v.form("compute-name")}
	if _, err := call(v, wire.OpDeregisterCompute, in); err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets/" + url.PathEscape(b.FleetId) + "?tab=computes&done=compute-deregistered")
}
