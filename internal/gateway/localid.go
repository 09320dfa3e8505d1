package gateway

import (
	"regexp"
	"strings"
)

// GameLift Local has one fleet and no Region. Source: its answers.
const localPrefix = "arn:aws:gamelift:local::gamesession/"

// localSession is the id of a game session in GameLift Local, of any fleet.
var localSession = regexp.MustCompile(`^arn:aws:gamelift:local::gamesession/fleet-\S+/([a-zA-Z0-9-]+)$`)

// localStyle reports whether answers have ids in the form of GameLift Local.
func (c *call) localStyle() bool { return c.local && c.g.legacyIDs }

// localID returns the local form of a game session's id.
func (g *Gateway) localID(id string) string {
	return localPrefix + g.localFleet + "/" + lastPart(id)
}

// lastPart returns the part of an id after its last slash.
func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// realID resolves an id in the local form and returns any other unchanged.
func (c *call) realID(id string) (string, error) {
	if !strings.HasPrefix(id, localPrefix) {
		return id, nil
	}
	m := localSession.FindStringSubmatch(id)
	if m == nil {
		return "", invalid("GameSessionId must be %s<fleet>/<id>, or the id of a game session.", localPrefix)
	}
	targets, err := c.g.searched(c.ctx)
	if err != nil {
		return "", err
	}
	for _, t := range targets {
		s, err := c.g.lookUp(c.ctx, t, m[1])
		if err != nil {
			return "", failed(c.ctx, err, SessionNotFound, Internal)
		}
		if s != nil {
			return s.GameSessionId, nil
		}
	}
	return "", &failure{code: SessionNotFound}
}
