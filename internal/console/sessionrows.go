package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// showEnded is the value of the query's member "show" that selects game sessions that have ended.
const showEnded = "ended"

// endedPace is how many seconds a page of ended game sessions is shown at least before it is read again: it comes from
// the history, on disk.
const endedPace = 10

// A sessionRow is a game session in a list.
type sessionRow struct {
	wire.GameSession
	FleetName  string // its id, if it has none
	NoFleet    bool   // the fleet has no page: it is deleted, or the person may not see it
	Matchmaker string // name of the configuration; "": it came from no match
}

// Lasted is the time from the creation of an ended game session to its end.
func (r sessionRow) Lasted() string { return span(r.TerminationTime.Sub(r.CreationTime)) }

// ShortID is the begin of the last part of the id.
func (r sessionRow) ShortID() string {
	const most = 14
	id := []rune(r.GameSessionId[strings.LastIndexByte(r.GameSessionId, '/')+1:])
	if len(id) <= most {
		return string(id)
	}
	return string(id[:most-1]) + "…"
}

// describedRows returns the rows of game sessions as the API describes them.
func describedRows(sessions []wire.GameSession) (rows []sessionRow) {
	for _, s := range sessions {
		rows = append(rows, sessionRow{GameSession: s, FleetName: s.FleetId,
			Matchmaker: control.ConfigurationOf(s.MatchmakerData)})
	}
	return rows
}

// listedRow returns the row of a game session of the list of the region.
func listedRow(s *control.ListedSession) sessionRow {
	row := sessionRow{FleetName: s.FleetID, Matchmaker: s.Configuration, GameSession: wire.GameSession{
		GameSessionId: s.GameSessionArn, FleetId: s.FleetID, Name: s.Name, Status: wire.GameSessionStatus(s.Status),
		StatusReason: wire.GameSessionStatusReason(s.Reason), Location: s.Location, IpAddress: s.IPAddress,
		Port: wire.Some(s.Port), CurrentPlayerSessionCount: wire.Some(s.Players),
		MaximumPlayerSessionCount: wire.Some(s.Maximum), CreatorId: s.CreatorID, CreationTime: s.CreationTime,
	}}
	if s.EndTime != nil {
		row.TerminationTime = *s.EndTime
	}
	return row
}

// listSessions reads a page of the game sessions that the query selects.
func (v *visit) listSessions(b *sessionsBody, token string, rows int32) error {
	if b.Ended || b.Fleet == "" {
		return v.regionSessions(b, token, rows)
	}
	return v.searchSessions(b, token, rows)
}

// regionSessions lists the game sessions of all fleets that are not ended; or those that have, those that ended last
// first. The history keeps them for 30 days.
func (v *visit) regionSessions(b *sessionsBody, token string, rows int32) error {
	members := map[string]string{"q": b.Filter, "sort": b.Sort, "after": token}
	if b.Ended {
		members = map[string]string{"q": b.Filter, "fleet": b.Fleet, "status": "TERMINATED", "after": token}
	}
	q := url.Values{"limit": {strconv.Itoa(int(rows))}}
	for name, value := range members {
		if value != "" {
			q.Set(name, value)
		}
	}
	var list control.SessionList
	if err := v.request("GET", "/v1/game-sessions?"+q.Encode(), nil, &list); err != nil {
		return err
	}
	b.Next = list.NextToken
	v.partial("Game sessions", list.Partial)
	for i := range list.GameSessions {
		b.Sessions = append(b.Sessions, listedRow(&list.GameSessions[i]))
	}
	return nil
}

// nameFleets sets the names of the rows' fleets, of those that are known; complete: these are all.
func (b *sessionsBody) nameFleets(complete bool) {
	known := map[string]string{}
	for _, f := range b.Fleets {
		known[f.FleetId] = f.label()
	}
	for i := range b.Sessions {
		row := &b.Sessions[i]
		name, ok := known[row.FleetId]
		if ok {
			row.FleetName = name
		}
		row.NoFleet = complete && !ok
	}
	_, ok := known[b.Fleet]
	b.Unlisted = b.Fleet != "" && !ok
}

// address returns that of a page or file with the choices of the form.
func (b *sessionsBody) address(path string, ended bool, more ...string) string {
	q := url.Values{}
	for name, value := range map[string]string{"fleet": b.Fleet, "filter": b.Filter, "sort": b.Sort,
		"columns": b.chosen} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if ended {
		q.Set("show", showEnded)
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return path + "?" + q.Encode()
}

// CSV is the address of the file with all that match.
func (b *sessionsBody) CSV() string { return b.address("/console/game-sessions.csv", b.Ended) }

// Turned is the address of the list with the other choice of "show".
func (b *sessionsBody) Turned() string { return b.address("/console/game-sessions", !b.Ended) }

// NextPage is the address of the next page; "": there is none.
func (b *sessionsBody) NextPage() string {
	if b.Next == "" {
		return ""
	}
	return b.address("/console/game-sessions", b.Ended, "next", b.Next)
}

// gameSessionsFile has the game sessions that the list shows, of all its pages. It is cut off if a shard does not
// answer: a file does not show what is missing.
func gameSessionsFile(v *visit) error {
	b := sessionsBody{Fleet: v.form("fleet"), Filter: v.form("filter"), Sort: v.form("sort"),
		Ended: v.form("show") == showEnded}
	header := []string{"id", "name", "status", "fleet", "location", "address", "port", "players", "places", "creator",
		"created_utc", "ended_utc", "reason", "matchmaker"}
	name := "game-sessions"
	if b.Ended {
		name = "ended-" + name
	}
	return v.download(name, header, func(token string) (rows [][]string, next string, err error) {
		b.Sessions, b.Next = nil, ""
		if err = v.listSessions(&b, token, csvPage); err == nil && len(v.lacks.all) > 0 {
			err = fault.New(fault.ServiceUnavailable, "%s. Try again.", v.lacks.all[0].Text)
		}
		for _, s := range b.Sessions {
			rows = append(rows, []string{s.GameSessionId, s.Name, string(s.Status), s.FleetId, s.Location, s.IpAddress,
				decimal(s.Port), decimal(s.CurrentPlayerSessionCount), decimal(s.MaximumPlayerSessionCount),
				s.CreatorId, instant(s.CreationTime), instant(s.TerminationTime), string(s.StatusReason), s.Matchmaker})
		}
		return rows, b.Next, err
	})
}

// age is how long something has existed.
func age(now, t time.Time) string { return span(max(0, now.Sub(t))) }
