package gateway

import (
	"regexp"
	"strings"
)

// The local test tool for game servers knew one fleet and no Region.
// Source: GameLift Local, its answers.
const localPrefix = "arn:aws:gamelift:local::gamesession/"

// localSession is a game session's id of the local test tool. Its fleet is any.
var localSession = regexp.MustCompile(`^arn:aws:gamelift:local::gamesession/fleet-\S+/([a-zA-Z0-9-]+)$`)

// localStyle says whether ids are to look like those of the local test tool.
func (c *call) localStyle() bool { return c.local && c.g.legacyIDs }

// localID is the local form of a game session's id.
func (g *Gateway) localID(id string) string {
	return localPrefix + g.localFleet + "/" + lastPart(id)
}

// lastPart is what stands behind the last slash of an id.
func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// realID is the game session's id behind one that may have the local form.
func (c *call) realID(id string) (string, *failure) {
	if !strings.HasPrefix(id, localPrefix) {
		return id, nil
	}
	m := localSession.FindStringSubmatch(id)
	if m == nil {
		return "", invalid("GameSessionId must be %s<fleet>/<id>, or the id of a game session.", localPrefix)
	}
	targets, f := c.g.searched(c.ctx)
	if f != nil {
		return "", f
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
