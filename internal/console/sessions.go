package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A sessionsBody is the list of game sessions of a fleet.
type sessionsBody struct {
	Fleets   []fleetRow
	All      bool   // the person may see those of all fleets together
	Fleet    string // that is shown; "": all
	Filter   string // of SearchGameSessions
	Sort     string
	Ended    bool // those that have ended are shown, else those that have not
	Unlisted bool // the fleet that is shown is none of Fleets
	Sessions []sessionRow
	Next     string
	Problem  string // of the filter
	Columns  columns
	Choices  []columnChoice
	chosen   string // the columns in the query

	// Of the form that creates one in the fleet that is shown; of the form that was refused, what was typed.
	Locations []locationUse
	CreateIn  string // ARN of the fleet; "": all are shown
	New       newSession
}

func gameSessionsPage(v *visit) error { return v.gameSessions(nil) }

func (v *visit) gameSessions(refused error) error {
	if to := v.shortColumns("/console/game-sessions", sessionColumns); to != "" {
		return v.redirect(to)
	}
	rows, more, err := v.fleetsOf("")
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	b := sessionsBody{Fleets: rows, Fleet: v.form("fleet"), Filter: q.Get("filter"), Sort: q.Get("sort"),
		Ended: q.Get("show") == showEnded}
	b.chooseColumns(q.Get("columns"))
	if b.All = v.h.Access.PermitsSome(v.id, readSessions); b.Fleet == "" && !b.All && len(rows) > 0 {
		b.Fleet = rows[0].FleetId
	}
	if b.Fleet != "" || b.All {
		err := v.read(part{"Game sessions", func() error { return v.listSessions(&b, q.Get("next"), pageSize) }})
		if err != nil && !fault.Is(err, fault.InvalidRequest) {
			return err
		}
		if err != nil {
			b.Problem = fault.Of(err).Message
		}
	}
	b.nameFleets(more == "")
	p := page{Title: "Game sessions", Nav: "/console/game-sessions", Live: b.Problem == "" && refused == nil, Body: &b}
	if b.Ended {
		p.Every = endedPace
	} else if err := v.newSessionForm(&b); err != nil {
		return err
	}
	return v.refused("gamesessions", p, refused)
}

// searchSessions lists the game sessions that are not ended. A search finds ACTIVE ones only.
func (v *visit) searchSessions(b *sessionsBody, token string, rows int32) error {
	limit := wire.Some(rows)
	if b.Filter == "" && b.Sort == "" {
		out, err := call(v, wire.OpDescribeGameSessions, &wire.DescribeGameSessionsInput{FleetId: b.Fleet, Limit: limit,
			NextToken: token})
		if err == nil {
			b.Sessions, b.Next = describedRows(out.GameSessions), out.NextToken
		}
		return err
	}
	out, err := call(v, wire.OpSearchGameSessions, &wire.SearchGameSessionsInput{FleetId: b.Fleet, Limit: limit,
		NextToken: token, FilterExpression: b.Filter, SortExpression: b.Sort})
	if err == nil {
		b.Sessions, b.Next = describedRows(out.GameSessions), out.NextToken
	}
	return err
}

// readSessions is the action of the list of all fleets.
var readSessions, _ = policy.ActionOf("muster:GameSessionRead")

// A sessionBody is a game session with its players.
type sessionBody struct {
	wire.GameSession
	FleetName string // its id, if the person may not see the fleet, or it has no name
	Players   []playerRow
	Next      string
	Timeline  *timelineView // nil: the person may not see it
	Other     *timelineView // of the game session that it is compared with; nil: none
	Zoom      zoomView
	Placement string                 // id; "": it came from none, or that is not known
	Trail     []control.TimelineFact // of the placement
	JSON      string                 // as DescribeGameSessions returns it
}

// A playerRow is a player session.
type playerRow struct {
	wire.PlayerSession
	Left time.Duration // until a RESERVED one times out
}

func (v *visit) showSession(b *sessionBody, refused error) error {
	title := b.Name
	if title == "" {
		title = b.GameSessionId[strings.LastIndexByte(b.GameSessionId, '/')+1:]
	}
	p := page{Title: title, Nav: "/console/game-sessions", Live: refused == nil, Body: b, Crumbs: []link{
		{"Game sessions", "/console/game-sessions?fleet=" + url.QueryEscape(b.FleetId)}}}
	return v.refused("gamesession", p, refused)
}

func (v *visit) gameSession(id string) (*sessionBody, error) {
	out, err := call(v, wire.OpDescribeGameSessions, &wire.DescribeGameSessionsInput{GameSessionId: id})
	if err != nil {
		return nil, err
	}
	if len(out.GameSessions) == 0 {
		return nil, fault.New(fault.NotFound, "Game session %s does not exist.", id)
	}
	b := &sessionBody{GameSession: out.GameSessions[0]}
	b.JSON = formatted(string(wire.OpDescribeGameSessions.Append(nil, wire.JSON, out)))
	b.FleetName = v.fleetName(b.FleetId, b.FleetArn)
	return b, v.read(
		part{"Players", func() error { return v.playersOf(b) }},
		part{"Timeline", func() error { return v.timelines(b) }},
	)
}

// playersOf reads a page of the players of a game session.
func (v *visit) playersOf(b *sessionBody) error {
	players, err := call(v, wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsInput{
		GameSessionId: b.GameSessionId, Limit: wire.Some[int32](pageSize), NextToken: v.form("next")})
	if err != nil {
		return err
	}
	now := v.h.Clock.Now()
	for _, p := range players.PlayerSessions {
		row := playerRow{PlayerSession: p}
		if p.Status == wire.PlayerSessionStatusReserved {
			row.Left = max(0, p.CreationTime.Add(v.h.Reservation).Sub(now)).Truncate(time.Second)
		}
		b.Players = append(b.Players, row)
	}
	b.Next = players.NextToken
	return nil
}

// fleetName returns the name of a fleet; its id, if it has none, or the person may not see it.
func (v *visit) fleetName(id, arn string) string {
	if !v.may("gamelift:DescribeFleetAttributes", []string{arn}) {
		return id
	}
	out, err := call(v, wire.OpDescribeFleetAttributes, &wire.DescribeFleetAttributesInput{FleetIds: []string{id}})
	if err != nil || len(out.FleetAttributes) == 0 || out.FleetAttributes[0].Name == "" {
		return id
	}
	return out.FleetAttributes[0].Name
}

func createGameSession(v *visit) error {
	b, err := v.fleet("sessions")
	if err != nil {
		return err
	}
	most, err := strconv.ParseInt(v.form("players"), 10, 32)
	if err != nil {
		return v.showFleet(b, invalid("MaximumPlayerSessionCount: type a number of players."))
	}
	out, err := call(v, wire.OpCreateGameSession, &wire.CreateGameSessionInput{FleetId: b.FleetId,
		Name:                      v.form("session-name"),
		MaximumPlayerSessionCount: wire.Some(int32(most)), Location: v.form("location")})
	if err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect(gameSessionPath(out.GameSession.GameSessionId) + "&done=session-created")
}

func terminateGameSession(v *visit) error {
	id := v.form("id")
	mode := wire.TerminationModeTriggerOnProcessTerminate
	if v.form("mode") == string(wire.TerminationModeForceTerminate) {
		mode = wire.TerminationModeForceTerminate
	}
	in := &wire.TerminateGameSessionInput{GameSessionId: id, TerminationMode: mode}
	if _, err := call(v, wire.OpTerminateGameSession, in); err != nil {
		b, failed := v.gameSession(id)
		if failed != nil {
			return failed
		}
		return v.showSession(b, err)
	}
	return v.redirect(gameSessionPath(id) + "&done=session-terminated")
}
