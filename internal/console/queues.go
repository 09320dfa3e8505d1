package console

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type queuesBody struct {
	Queues []wire.GameSessionQueue
	Next   string
	Fleets []fleetRow // that a new queue can have as destinations
	Name   string     // that was typed
}

func queuesPage(v *visit) error { return v.queues(nil) }

func (v *visit) queues(refused error) error {
	out, err := call(v, wire.OpDescribeGameSessionQueues, &wire.DescribeGameSessionQueuesInput{
		Limit: wire.Some[int32](pageSize), NextToken: v.r.URL.Query().Get("next")})
	if err != nil {
		return err
	}
	b := queuesBody{Queues: out.GameSessionQueues, Next: out.NextToken, Name: v.form("queue-name")}
	if v.may("gamelift:CreateGameSessionQueue", nil) {
		if b.Fleets, _, err = v.fleetsOf(""); err != nil && !fault.Is(err, fault.AccessDenied) {
			return err
		}
	}
	return v.refused("queues", page{Title: "Queues", Nav: "/console/queues", Live: refused == nil, Body: b}, refused)
}

func createQueue(v *visit) error {
	in := &wire.CreateGameSessionQueueInput{Name: v.form("queue-name")}
	seconds, err := v.number("timeout", "TimeoutInSeconds: type a number of seconds.")
	if err != nil {
		return v.queues(err)
	}
	in.TimeoutInSeconds = seconds
	for _, arn := range v.r.Form["destination"] {
		in.Destinations = append(in.Destinations, wire.GameSessionQueueDestination{DestinationArn: arn})
	}
	if _, err := call(v, wire.OpCreateGameSessionQueue, in); err != nil {
		return v.queues(err)
	}
	return v.redirect(queuePath(in.Name) + "?done=queue-created")
}

func queuePath(name string) string { return "/console/queues/" + url.PathEscape(name) }

// A queueBody is the page of a queue, with the form that tests it.
type queueBody struct {
	wire.GameSessionQueue
	Graphs       *graphsView // nil: not for this person
	Destinations []destination
	Placements   control.PlacementList // the ones that wait, and the newest
	State        *queueState           // nil: not for this person, or this is not the first page of placements
	Locations    []locationLatency     // of the destinations, for the form

	Placement, Players, SessionName string // that were typed
	MaxPlayers                      string
}

// A destination is where a queue places game sessions.
type destination struct {
	ARN, Alias string // an alias leads to the fleet; "": none
	FleetID    string // "": unknown, or the alias has none
	Name       string
	Status     wire.FleetStatus
	Use        wire.FleetUtilization
	Problem    string // why nothing is known about it
}

// Free is how many server processes can take a game session.
func (d destination) Free() int32 {
	return max(0, d.Use.ActiveServerProcessCount.Or(0)-d.Use.ActiveGameSessionCount.Or(0))
}

// A locationLatency is a field of the form.
type locationLatency struct{ Location, Milliseconds string }

// maxDestinations is of how many destinations a page asks the capacity.
const maxDestinations = 25

func queuePage(v *visit) error {
	b, err := v.queue(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	b.Placement, b.MaxPlayers = uuid.NewString(), "4"
	return v.showQueue(b, nil)
}

func (v *visit) showQueue(b *queueBody, refused error) error {
	return v.refused("queue", page{Title: b.Name, Nav: "/console/queues", Live: refused == nil, Body: b,
		Crumbs: []link{{"Queues", "/console/queues"}}}, refused)
}

func (v *visit) queue(name string) (*queueBody, error) {
	out, err := call(v, wire.OpDescribeGameSessionQueues, &wire.DescribeGameSessionQueuesInput{Names: []string{name}})
	if err != nil {
		return nil, err
	}
	if len(out.GameSessionQueues) == 0 {
		return nil, fault.New(fault.NotFound, "Queue %s does not exist.", name)
	}
	b := &queueBody{GameSessionQueue: out.GameSessionQueues[0]}
	return b, v.read(
		part{"Destinations", func() error { v.destinations(b); return nil }},
		part{"Placements", func() error { return v.placementsOf(b) }},
		part{"Metrics", func() (err error) {
			b.Graphs, err = v.graphs(queueGraphs, metrics.Dimension{Name: "QueueName", Value: name})
			return err
		}},
	)
}

// destinations reads what is known about the destinations of a queue.
func (v *visit) destinations(b *queueBody) {
	locations := map[string]bool{}
	for i, d := range b.GameSessionQueue.Destinations {
		one := destination{ARN: d.DestinationArn}
		if i < maxDestinations {
			v.destination(&one, func(location string) {
				if !locations[location] {
					b.Locations = append(b.Locations, locationLatency{location, v.form("latency-" + location)})
				}
				locations[location] = true
			})
		}
		b.Destinations = append(b.Destinations, one)
	}
}

func (v *visit) placementsOf(b *queueBody) error {
	if !v.may("muster:PlacementRead", []string{"queue/" + b.Name}) {
		return nil
	}
	err := v.request("GET", v.rowsOf("queues", b.Name, "placements"), nil, &b.Placements)
	v.partial("Placements", b.Placements.Partial)
	if err == nil && v.form("next") == "" {
		b.State, err = v.queueState(b.Name, &b.Placements)
	}
	return err
}

// destination reads what is known about a destination. A person may see a queue and not all of its fleets.
func (v *visit) destination(d *destination, location func(string)) {
	err := v.readDestination(d, location)
	if reason := v.unanswered(err); reason != "" {
		d.Problem = sentence(reason)
	} else if err != nil {
		d.Problem = fault.Of(err).Message
	}
}

func (v *visit) readDestination(d *destination, location func(string)) error {
	d.FleetID = d.ARN[strings.LastIndexByte(d.ARN, '/')+1:]
	if strings.Contains(d.ARN, ":alias/") {
		d.Alias = d.FleetID
		d.FleetID = ""
		out, err := call(v, wire.OpResolveAlias, &wire.ResolveAliasInput{AliasId: d.Alias})
		if err != nil {
			return err
		}
		d.FleetID = out.FleetId
	}
	ids := []string{d.FleetID}
	attributes, err := call(v, wire.OpDescribeFleetAttributes, &wire.DescribeFleetAttributesInput{FleetIds: ids})
	if err != nil {
		return err
	}
	if len(attributes.FleetAttributes) == 0 {
		return fault.New(fault.NotFound, "The fleet was deleted.")
	}
	d.Name, d.Status = attributes.FleetAttributes[0].Name, attributes.FleetAttributes[0].Status
	use, err := call(v, wire.OpDescribeFleetUtilization, &wire.DescribeFleetUtilizationInput{FleetIds: ids})
	if err != nil {
		return err
	}
	if len(use.FleetUtilization) > 0 {
		d.Use = use.FleetUtilization[0]
	}
	places, err := call(v, wire.OpDescribeFleetLocationAttributes, &wire.DescribeFleetLocationAttributesInput{
		FleetId: d.FleetID, Limit: wire.Some[int32](pageSize)})
	if err != nil {
		return err
	}
	for _, l := range places.LocationAttributes {
		location(l.LocationState.Location)
	}
	return nil
}

func deleteQueue(v *visit) error {
	b, err := v.queue(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	if _, err := call(v, wire.OpDeleteGameSessionQueue, &wire.DeleteGameSessionQueueInput{Name: b.Name}); err != nil {
		return v.showQueue(b, err)
	}
	return v.redirect("/console/queues?done=queue-deleted")
}

// startPlacement tests a queue, and shows the trail of the placement.
func startPlacement(v *visit) error {
	b, err := v.queue(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	b.Placement, b.Players, b.SessionName = v.form("placement"), v.form("players"), v.form("session-name")
	b.MaxPlayers = v.form("max-players")
	in, err := v.newPlacement(b)
	if err == nil {
		_, err = call(v, wire.OpStartGameSessionPlacement, in)
	}
	if err != nil {
		return v.showQueue(b, err)
	}
	return v.redirect("/console/placements/" + url.PathEscape(in.PlacementId) + "?done=placement-started")
}

func (v *visit) newPlacement(b *queueBody) (*wire.StartGameSessionPlacementInput, error) {
	most, err := v.number("max-players", "MaximumPlayerSessionCount: type a number of players.")
	if err != nil {
		return nil, err
	}
	in := &wire.StartGameSessionPlacementInput{PlacementId: b.Placement, GameSessionQueueName: b.Name,
		MaximumPlayerSessionCount: most, GameSessionName: b.SessionName}
	players := strings.FieldsFunc(b.Players, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' })
	for _, p := range players {
		in.DesiredPlayerSessions = append(in.DesiredPlayerSessions,
			wire.DesiredPlayerSession{PlayerId: strings.TrimSpace(p)})
	}
	if len(in.DesiredPlayerSessions) == 0 { // latencies are those of somebody
		players = []string{"test-player"}
	}
	for _, l := range b.Locations {
		if l.Milliseconds == "" {
			continue
		}
		ms, err := strconv.ParseFloat(l.Milliseconds, 32)
		if err != nil {
			return nil, invalid("PlayerLatencies: %.20q is not a number of milliseconds.", l.Milliseconds)
		}
		for _, p := range players {
			in.PlayerLatencies = append(in.PlayerLatencies, wire.PlayerLatency{PlayerId: strings.TrimSpace(p),
				RegionIdentifier: l.Location, LatencyInMilliseconds: wire.Some(float32(ms))})
		}
	}
	return in, nil
}

// number returns a number of a form; not set: an empty field.
func (v *visit) number(name, otherwise string) (n wire.Opt[int32], err error) {
	text := strings.TrimSpace(v.form(name))
	if text == "" {
		return n, nil
	}
	parsed, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return n, invalid("%s", otherwise)
	}
	return wire.Some(int32(parsed)), nil
}
