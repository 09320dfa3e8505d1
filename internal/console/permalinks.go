package console

import (
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// gameSessionPath returns the address of the page of a game session: /console/game-sessions/PART?fleet=F&location=L,
// with the last part of its id. The location is left out for the home Region. It always has a query. An id that is no
// ARN, as those of game servers on server SDK 3 and 4, is in the query as a whole.
func gameSessionPath(id string) string {
	_, rest, isARN := strings.Cut(id, "::gamesession/")
	parts := strings.Split(rest, "/")
	if !isARN || len(parts) < 2 || len(parts) > 3 || !isSegment(parts[len(parts)-1]) {
		return "/console/game-session?id=" + url.QueryEscape(id)
	}
	to := "/console/game-sessions/" + url.PathEscape(parts[len(parts)-1]) + "?fleet=" + url.QueryEscape(parts[0])
	if len(parts) == 3 {
		to += "&location=" + url.QueryEscape(parts[1])
	}
	return to
}

// isSegment reports whether a text can be a segment of a path: browsers and servers remove dots.
func isSegment(text string) bool { return text != "" && text != "." && text != ".." }

// playerPath returns the address of the page of a player.
func playerPath(id string) string {
	if !isSegment(id) {
		return "/console/players?id=" + url.QueryEscape(id)
	}
	return "/console/players/" + url.PathEscape(id)
}

// permalink leads from an address of an earlier release to one of now, and keeps the other members of the query.
func (v *visit) permalink(to string) error {
	q := v.r.URL.Query()
	q.Del("id")
	if more := q.Encode(); more != "" {
		separator := "?"
		if strings.Contains(to, "?") {
			separator = "&"
		}
		to += separator + more
	}
	return v.redirect(to)
}

// gameSessionPage shows the game session of a path that gameSessionPath returns.
func gameSessionPage(v *visit) error {
	b, err := v.namedSession(v.r.PathValue("id"), v.form("fleet"), v.form("location"))
	if err != nil {
		return err
	}
	return v.showSession(b, nil)
}

// gameSessionByID shows the game session with an id that is in the query.
func gameSessionByID(v *visit) error {
	id := v.form("id")
	if to := gameSessionPath(id); !strings.HasPrefix(to, "/console/game-session?") {
		return v.permalink(to)
	}
	b, err := v.gameSession(id)
	if err != nil {
		return err
	}
	return v.showSession(b, nil)
}

// namedSession returns a game session by the last part of its id and its fleet. The location may be missing.
func (v *visit) namedSession(part, fleetID, location string) (*sessionBody, error) {
	if fleetID == "" {
		return nil, invalid("fleet: add ?fleet= with the id of the fleet to the address.")
	}
	b, err := v.gameSession(arn.GameSession(v.h.RegionName, fleetID, location, part))
	if location != "" || !fault.Is(err, fault.NotFound) {
		return b, err
	}
	places, failed := call(v, wire.OpDescribeFleetLocationAttributes, &wire.DescribeFleetLocationAttributesInput{
		FleetId: fleetID, Limit: wire.Some[int32](pageSize)})
	if failed != nil {
		return nil, failed
	}
	for _, l := range places.LocationAttributes {
		b, err = v.gameSession(arn.GameSession(v.h.RegionName, fleetID, l.LocationState.Location, part))
		if !fault.Is(err, fault.NotFound) {
			break
		}
	}
	return b, err
}
