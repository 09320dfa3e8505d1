package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type playersBody struct {
	ID       string
	Sessions []wire.PlayerSession
	Next     string // the address of the next page; "": none
}

// playersPage asks for a player, and leads to the page of one.
func playersPage(v *visit) error {
	id := v.form("id")
	if isSegment(id) {
		return v.permalink(playerPath(id))
	}
	return v.player(id)
}

func playerPage(v *visit) error { return v.player(v.r.PathValue("id")) }

// player shows the player sessions of a player; "": a form that asks for one.
func (v *visit) player(id string) error {
	b := playersBody{ID: id}
	if b.ID != "" {
		out, err := call(v, wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsInput{PlayerId: b.ID,
			Limit: wire.Some[int32](pageSize), NextToken: v.form("next")})
		if err != nil {
			return err
		}
		b.Sessions = out.PlayerSessions
		if out.NextToken != "" {
			b.Next = "?" + url.Values{"id": {id}, "next": {out.NextToken}}.Encode()
		}
	}
	return v.show("players", page{Title: "Players", Nav: "/console/players", Live: b.ID != "", Body: b})
}

// searchPage leads to what an id, an ARN or a player id is of.
func searchPage(v *visit) error {
	q := strings.TrimSpace(v.form("q"))
	to := ""
	switch {
	case q == "":
		to = Prefix
	case strings.Contains(q, ":gamesession/"):
		to = gameSessionPath(q)
	case strings.Contains(q, ":fleet/") || strings.HasPrefix(q, "fleet-"):
		to = "/console/fleets/" + url.PathEscape(q[strings.LastIndexByte(q, '/')+1:])
	case strings.Contains(q, ":gamesessionqueue/"):
		to = queuePath(q[strings.LastIndexByte(q, '/')+1:])
	case strings.Contains(q, ":matchmakingconfiguration/"):
		to = configurationPath(q[strings.LastIndexByte(q, '/')+1:])
	case strings.Contains(q, ":matchmakingruleset/"):
		to = ruleSetPath(q[strings.LastIndexByte(q, '/')+1:])
	case strings.HasPrefix(q, "custom-"):
		to = "/console/locations"
	case strings.HasPrefix(q, "psess-"):
		return v.playerSession(q)
	default:
		to = playerPath(q)
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// playerSession leads to the game session of a player session.
func (v *visit) playerSession(id string) error {
	out, err := call(v, wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsInput{PlayerSessionId: id})
	if err != nil {
		return err
	}
	if len(out.PlayerSessions) == 0 {
		return fault.New(fault.NotFound, "Player session %s does not exist.", id)
	}
	return v.redirect(gameSessionPath(out.PlayerSessions[0].GameSessionId))
}
