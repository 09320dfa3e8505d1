package gateway

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire"
)

// Limits of /v1/ that differ from the API's. The gateway reserves two of the API's sixteen game properties.
const (
	maxProperties    = 14
	maxPropertyKey   = 32
	maxPropertyValue = 96
	maxData          = 32 << 10
	maxLatency       = 60_000
	maxLatencies     = 20
	maxKey           = 255
	maxTarget        = 512
	maxLocation      = 64

	minBuild, maxBuild = math.MinInt32, math.MaxInt32
)

// A createdView is the answer to createSession.
type createdView struct {
	Session  *sessionView `json:"session"`
	Player   *playerView  `json:"player,omitempty"`
	Replayed bool         `json:"replayed"`
}

// createSession answers POST /v1/sessions.
func createSession(c *call) (answer, error) {
	in, err := c.creation()
	if err != nil {
		return answer{}, err
	}
	out, err := c.create(in)
	if err != nil {
		return answer{}, err
	}
	if out.placement != nil {
		view := viewPlacement(out.placement, c.g.subject(c.r))
		return answer{status: http.StatusAccepted, location: "/v1/placements/" + view.ID,
			body: map[string]any{"placement": view}}, nil
	}
	view, err := c.createdView(out)
	if err != nil {
		return answer{}, err
	}
	status := http.StatusCreated
	if out.replayed {
		status = http.StatusOK
	}
	a := answer{status: status, body: view, location: "/v1/sessions/" + url.PathEscape(out.sessionID)}
	if in.player != "" { // otherwise it is confirmed already
		a.written = func() { c.g.confirm(out.sessionID) }
	}
	return a, nil
}

// viewTime limits the description of a created game session; the deadline of the request may have passed.
const viewTime = 2 * time.Second

// createdView returns the answer for a creation, with the current game session.
func (c *call) createdView(out *created) (*createdView, error) {
	ctx, cancel := WithTimeout(c.r.Context(), c.g.clock, viewTime)
	defer cancel()
	s, err := c.g.service.DescribeGameSession(ctx, out.sessionID)
	if err != nil {
		if s = out.session; s == nil {
			return nil, failed(ctx, err, SessionNotFound, Internal)
		}
	}
	view := &createdView{Session: viewSession(s), Replayed: out.replayed}
	if out.player != nil {
		view.Player = viewPlayer(out.player)
	}
	return view, nil
}

// creation reads and checks the request.
func (c *call) creation() (*creation, error) {
	o, err := c.object()
	if err != nil {
		return nil, err
	}
	in := &creation{
		name: o.text("name", 1, maxName), maximum: o.integer("maxPlayers", 1, maxPlayers), build: o.build(),
		data: o.optionalText("data", 1, maxData), async: !o.boolean("wait", true),
		properties: o.properties("properties"),
	}
	if p := o.object("player"); p != nil {
		player := p.newPlayer()
		in.player, in.playerData = player.id, player.data
	}
	in.latencies = latenciesOf(in.player, o.latencies("latencies"))
	if t := o.object("target"); t != nil {
		in.target = t.target()
	}
	if *o.problem == nil {
		*o.problem = c.checkCreation(in)
	}
	return in, *o.problem
}

// checkCreation checks the header and the combination of fields.
func (c *call) checkCreation(in *creation) error {
	if keys := c.r.Header.Values("Idempotency-Key"); len(keys) > 0 {
		if in.key = keys[0]; len(keys) > 1 || in.key == "" || len(in.key) > maxKey || !utf8.ValidString(in.key) {
			return invalid("Idempotency-Key must be one text of 1 to %d bytes.", maxKey)
		}
	}
	if in.latencies != nil && in.player == "" {
		return invalid("latencies are those of player, which is missing.")
	}
	if in.target != (Target{}) {
		if !c.g.allowTarget {
			return fail(Forbidden, "This gateway decides itself where to create: leave target out.")
		}
		if in.target.Queue != "" && c.g.queues == nil {
			return fail(NotSupported, "There are no queues behind this gateway.")
		}
		if err := in.target.Validate(true); err != nil {
			return invalid("target: %v.", err)
		}
	}
	if in.player == "" { // an authenticated player must create for itself
		if c.g.subject(c.r) != "" {
			return fail(WrongPlayer, "player is missing: it must be the authenticated player.")
		}
		return nil
	}
	return c.mayActFor(in.player)
}

func (o *object) build() wire.Opt[int32] {
	return o.optionalInteger("buildId", minBuild, maxBuild)
}

func (o *object) newPlayer() newPlayer {
	return newPlayer{id: o.text("id", 1, maxPlayerID), data: o.optionalText("data", 1, maxPlayerData)}
}

// target reads a target; Target.validate checks it.
func (o *object) target() Target {
	return Target{
		FleetID: o.optionalText("fleetId", 1, maxTarget), AliasID: o.optionalText("aliasId", 1, maxTarget),
		Queue: o.optionalText("queue", 1, maxTarget), Location: o.optionalText("location", 1, maxLocation),
	}
}

// properties reads game properties and sorts them by key.
func (o *object) properties(name string) []wire.GameProperty {
	in := o.object(name)
	if in == nil {
		return nil
	}
	if len(in.members) > maxProperties {
		o.wrong(name, "must have at most "+strconv.Itoa(maxProperties)+" members")
	}
	list := make([]wire.GameProperty, 0, len(in.members))
	for key := range in.members {
		if n := utf8.RuneCountInString(key); n == 0 || n > maxPropertyKey || key == buildProperty || key == marker {
			o.wrong(name, "has a key that is too long or the gateway's own: "+key)
		}
		list = append(list, wire.GameProperty{Key: key, Value: in.text(key, 0, maxPropertyValue)})
	}
	slices.SortFunc(list, func(a, b wire.GameProperty) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// latencies reads milliseconds by Region or location; nil if they are absent.
func (o *object) latencies(name string) map[string]int32 {
	in := o.object(name)
	if in == nil {
		return nil
	}
	if len(in.members) > maxLatencies {
		o.wrong(name, "must have at most "+strconv.Itoa(maxLatencies)+" members")
	}
	all := make(map[string]int32, len(in.members))
	for place := range in.members {
		all[place] = in.integer(place, 1, maxLatency)
	}
	return all
}

// latenciesOf returns a player's latencies in the form of a placement.
func latenciesOf(player string, all map[string]int32) []wire.PlayerLatency {
	var list []wire.PlayerLatency
	for place, ms := range all {
		list = append(list, wire.PlayerLatency{PlayerId: player, RegionIdentifier: place,
			LatencyInMilliseconds: wire.Some(float32(ms))})
	}
	slices.SortFunc(list, func(a, b wire.PlayerLatency) int {
		return cmp.Compare(a.RegionIdentifier, b.RegionIdentifier)
	})
	return list
}
