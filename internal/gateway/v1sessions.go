package gateway

import "net/http"

// sessionID checks the id in the path.
func (c *call) sessionID() (string, error) {
	if !sessionID.MatchString(c.id) {
		return "", invalid("The id of a game session has 1 to %d letters, digits and :/- only.", maxSessionID)
	}
	return c.id, nil
}

// getSession answers GET /v1/sessions/{id}.
func getSession(c *call) (answer, error) {
	id, err := c.sessionID()
	if err != nil {
		return answer{}, err
	}
	s, err := c.g.service.DescribeGameSession(c.ctx, id)
	if err != nil {
		return answer{}, failed(c.ctx, err, SessionNotFound, Internal)
	}
	return answer{body: viewSession(s)}, nil
}

// joinSession answers POST /v1/sessions/{id}/players.
func joinSession(c *call) (answer, error) {
	id, err := c.sessionID()
	if err != nil {
		return answer{}, err
	}
	o, err := c.object()
	if err != nil {
		return answer{}, err
	}
	players, build := o.newPlayers("players", maxJoin), o.build()
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	for i := range players {
		p := &players[i]
		if err := c.mayActFor(p.id); err != nil {
			return answer{}, err
		}
		p.origin = c.origin(p.id)
	}
	if err := c.checkBuild(id, build); err != nil {
		return answer{}, err
	}
	reserved, err := c.g.joinAll(c.ctx, id, players)
	if err != nil {
		return answer{}, err
	}
	views := make([]*playerView, len(reserved))
	for i := range reserved {
		views[i] = viewPlayer(&reserved[i])
	}
	return answer{status: http.StatusCreated, body: map[string]any{"players": views}}, nil
}

// newPlayers reads players, who must differ.
func (o *object) newPlayers(name string, most int) []newPlayer {
	var players []newPlayer
	seen := make(map[string]bool)
	for i, text := range o.list(name, 1, most) {
		p := o.objectOf(element(name, i), text).newPlayer()
		if seen[p.id] {
			o.wrong(name, "names a player twice")
		}
		seen[p.id] = true
		players = append(players, p)
	}
	return players
}
