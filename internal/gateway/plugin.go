package gateway

import (
	"regexp"
	"strings"
)

// Limits of requests. Source: API reference, CreateGameSession and CreatePlayerSessions; GameLift quotas, "Player
// sessions per game session".
const (
	maxName       = 1024
	maxPlayerID   = 1024
	maxPlayers    = 200
	maxSessionID  = 512
	maxJoin       = 25
	maxPlayerData = 2048
)

// sessionID is the form of a game session's id. Source: API reference.
var sessionID = regexp.MustCompile(`^[a-zA-Z0-9:/-]{1,512}$`)

func local(serve func(*call) (answer, error)) func(*call) (answer, error) {
	return func(c *call) (answer, error) {
		c.local = true
		return serve(c)
	}
}

// pluginCreate answers POST /create_session.
func pluginCreate(c *call) (answer, error) {
	o, err := c.object()
	if err != nil {
		return answer{}, err
	}
	in := &creation{
		name: o.text("session_name", 1, maxName), player: o.text("uuid", 1, maxPlayerID),
		maximum: o.integer("num_connections", 1, maxPlayers), build: o.optionalInteger("build_id", minBuild, maxBuild),
	}
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	if err := c.mayActFor(in.player); err != nil {
		return answer{}, err
	}
	out, err := c.create(in)
	if err != nil {
		return answer{}, err
	}
	return answer{body: c.playerObject(out.player), written: func() { c.g.confirm(out.sessionID) }}, nil
}

// pluginJoin answers POST /join_session.
func pluginJoin(c *call) (answer, error) {
	o, err := c.object()
	if err != nil {
		return answer{}, err
	}
	id, player := o.text("GameSessionId", 1, maxSessionID), o.text("uuid", 1, maxPlayerID)
	build := o.optionalInteger("build_id", minBuild, maxBuild)
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	if err := c.mayActFor(player); err != nil {
		return answer{}, err
	}
	if c.local {
		if id, err = c.realID(id); err != nil {
			return answer{}, err
		}
	}
	if !sessionID.MatchString(id) {
		return answer{}, invalid("GameSessionId may have letters, digits and :/- only.")
	}
	if err := c.checkBuild(id, build); err != nil {
		return answer{}, err
	}
	slot, err := c.g.join(c.ctx, id, newPlayer{id: player, origin: c.origin(player)})
	if err != nil {
		return answer{}, err
	}
	return answer{body: c.playerObject(slot)}, nil
}

// pluginFind answers GET /find_session.
func pluginFind(c *call) (answer, error) {
	q, err := c.query()
	if err != nil {
		return answer{}, err
	}
	build := q.integer("build_id", minBuild, maxBuild)
	if q.problem != nil {
		return answer{}, q.problem
	}
	sessions, err := c.g.openSessions(c.ctx, build)
	if err != nil {
		return answer{}, err
	}
	list := make([]any, len(sessions))
	for i := range sessions {
		list[i] = c.sessionObject(&sessions[i])
	}
	return answer{body: list}, nil
}

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
