package router

import (
	"strings"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Names builds and reads the ARNs of a region's resources.
type Names struct {
	Region  string // for example us-west-2
	Account string // 12 digits

	// Verbatim finds a game session by an id that is no ARN. nil: there are no such ids.
	Verbatim func(given string) (room fleet.RoomID, id string, ok bool)
}

// FleetARN returns the ARN of a fleet.
func (n Names) FleetARN(id string) string { return arn.Fleet(n.Region, n.Account, id) }

// QueueARN returns the ARN of a queue.
func (n Names) QueueARN(name string) string { return arn.Queue(n.Region, n.Account, name) }

// ConfigurationARN returns the ARN of a matchmaking configuration.
func (n Names) ConfigurationARN(name string) string {
	return arn.MatchmakingConfiguration(n.Region, n.Account, name)
}

// GameSessionARN returns the ARN of a game session.
func (n Names) GameSessionARN(room fleet.RoomID, id string) string {
	return arn.GameSession(n.Region, string(room.Fleet), room.Location, id)
}

// ParseGameSession parses the ARN of a game session, or finds one by an id that is no ARN.
func (n Names) ParseGameSession(gameSessionArn string) (room fleet.RoomID, id string, err error) {
	if n.Verbatim != nil && !strings.HasPrefix(gameSessionArn, "arn:") {
		if room, id, ok := n.Verbatim(gameSessionArn); ok {
			return room, id, nil
		}
		return fleet.RoomID{}, "", fault.New(fault.NotFound, "Game session %s not found", gameSessionArn)
	}
	region, fleetID, location, id, ok := arn.ParseGameSession(gameSessionArn)
	switch {
	case !ok:
		return fleet.RoomID{}, "", fault.New(fault.InvalidRequest,
			"GameSessionId %s is not the ARN of a game session: "+
				"arn:aws:gamelift:<region>::gamesession/<fleet>/<location>/<id>", gameSessionArn)
	case region != n.Region:
		return fleet.RoomID{}, "", fault.New(fault.NotFound,
			"Game session %s not found: this is Region %s", gameSessionArn, n.Region)
	}
	return fleet.RoomID{Fleet: fleet.ID(fleetID), Location: location}, id, nil
}

// Elsewhere reports whether a text is an ARN of another Region. Names are not unique across Regions, so such an ARN
// never names a resource of this one.
func (n Names) Elsewhere(nameOrArn string) bool {
	a, ok := arn.Parse(nameOrArn)
	return ok && a.Region != n.Region
}

// Local returns the name in a name or an ARN, which parse extracts. ok is false if that is no name of this Region.
func (n Names) Local(nameOrArn string, parse func(string) (string, bool)) (name string, ok bool) {
	if n.Elsewhere(nameOrArn) {
		return "", false
	}
	return parse(nameOrArn)
}
