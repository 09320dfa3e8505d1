package gateway

import (
	"regexp"
)

// Limits of requests. Source: API reference, CreateGameSession and
// CreatePlayerSessions; GameLift quotas, "Player sessions per game session".
const (
	maxName       = 1024
	maxPlayerID   = 1024
	maxPlayers    = 200
	maxSessionID  = 512
	maxJoin       = 25
	maxPlayerData = 2048
)

// sessionID is what the API takes for a game session's id.
var sessionID = regexp.MustCompile(`^[a-zA-Z0-9:/-]{1,512}$`)

// local makes the _local form of an operation.
func local(serve func(*call) (answer, error)) func(*call) (answer, error) {
	return func(c *call) (answer, error) {
		c.local = true
		return serve(c)
	}
}

// pluginCreate answers POST /create_session.
func pluginCreate(c *call) (answer, error) {
	o, f := c.object()
	if f != nil {
		return answer{}, f
	}
	in := &creation{
		name: o.text("session_name", 1, maxName), player: o.text("uuid", 1, maxPlayerID),
		maximum: o.integer("num_connections", 1, maxPlayers), build: o.optionalInteger("build_id", minBuild, maxBuild),
	}
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	if f := c.mayActFor(in.player); f != nil {
		return answer{}, f
	}
	out, f := c.create(in)
	if f != nil {
		return answer{}, f
	}
	return answer{body: c.playerObject(out.player), written: func() { c.g.handOver(out.sessionID) }}, nil
}

// pluginJoin answers POST /join_session.
func pluginJoin(c *call) (answer, error) {
	o, f := c.object()
	if f != nil {
		return answer{}, f
	}
	id, player := o.text("GameSessionId", 1, maxSessionID), o.text("uuid", 1, maxPlayerID)
	build := o.optionalInteger("build_id", minBuild, maxBuild)
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	if f := c.mayActFor(player); f != nil {
		return answer{}, f
	}
	if c.local {
		if id, f = c.realID(id); f != nil {
			return answer{}, f
		}
	}
	if !sessionID.MatchString(id) {
		return answer{}, invalid("GameSessionId may have letters, digits and :/- only.")
	}
	if f := c.checkBuild(id, build); f != nil {
		return answer{}, f
	}
	place, f := c.g.join(c.ctx, id, newPlayer{id: player, origin: c.origin(player)})
	if f != nil {
		return answer{}, f
	}
	return answer{body: c.playerObject(place)}, nil
}

// pluginFind answers GET /find_session.
func pluginFind(c *call) (answer, error) {
	q, f := c.query()
	if f != nil {
		return answer{}, f
	}
	build := q.integer("build_id", minBuild, maxBuild)
	if q.problem != nil {
		return answer{}, q.problem
	}
	sessions, f := c.g.openSessions(c.ctx, build)
	if f != nil {
		return answer{}, f
	}
	list := make([]any, len(sessions))
	for i := range sessions {
		list[i] = c.sessionObject(&sessions[i])
	}
	return answer{body: list}, nil
}
