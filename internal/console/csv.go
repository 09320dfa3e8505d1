package console

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// writeTime is the time limit for writing a part of a download, in real time.
const writeTime = 10 * time.Second

// csvPage is how many rows are read at once for a file.
const csvPage = 100

// csvTime is the form of times in files, which spreadsheets read.
const csvTime = "2006-01-02 15:04:05"

// download answers with a file of comma-separated values of all rows (RFC 4180), which it reads page by page: memory
// does not grow with their number. A failure after the first page cuts the answer off, which browsers show.
func (v *visit) download(name string, header []string,
	read func(token string) (rows [][]string, next string, err error)) error {
	v.ctx = v.r.Context() // it may take longer than a page
	rows, next, err := read("")
	if err != nil {
		return err
	}
	head := v.w.Header()
	head.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	head.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name+".csv"))
	control := http.NewResponseController(v.w)
	out := csv.NewWriter(v.w)
	out.UseCRLF = true
	_ = out.Write(header)
	for {
		for _, row := range rows {
			for i, cell := range row {
				row[i] = defused(cell)
			}
			_ = out.Write(row)
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // limits a browser that does not read
		if out.Flush(); out.Error() != nil || next == "" {
			return nil // complete, or the browser has gone
		}
		if rows, next, err = read(next); err != nil {
			v.h.Log.Warn("download cut off", "file", name, "err", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// defused returns a cell that no spreadsheet takes for a formula. Source: OWASP, "CSV Injection".
func defused(cell string) string {
	if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
		return "'" + cell
	}
	return cell
}

// decimal formats an optional number of a file.
func decimal(n wire.Opt[int32]) string { return fmt.Sprint(n.Or(0)) }

// instant formats a time of a file.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(csvTime)
}

// ended formats when something ended; nil: it has not.
func ended(t *time.Time) string {
	if t == nil {
		return ""
	}
	return instant(*t)
}

// fleetsFile has the fleets that the list with the same query has.
func fleetsFile(v *visit) error {
	header := []string{"id", "name", "status", "type", "processes", "game_sessions", "players", "places", "created_utc",
		"locations", "aliases"}
	q, err := v.fleetQuery()
	if err != nil {
		return err
	}
	v.ctx = v.r.Context() // as download
	list := &fleetLister{visit: v, query: q}
	if err := list.readKnown(); err != nil {
		return err
	}
	return v.download("fleets", header, func(token string) (rows [][]string, next string, err error) {
		fleets, next, err := list.page(token)
		for _, f := range fleets {
			row := []string{f.FleetId, f.Name, string(f.Status), string(f.ComputeType),
				decimal(f.Use.ActiveServerProcessCount), decimal(f.Use.ActiveGameSessionCount),
				decimal(f.Use.CurrentPlayerSessionCount), decimal(f.Use.MaximumPlayerSessionCount),
				instant(f.CreationTime), "", ""}
			if f.Known != nil {
				row[9], row[10] = strings.Join(f.Known.Locations, ", "), strings.Join(f.Known.Aliases, ", ")
			}
			rows = append(rows, row)
		}
		return rows, next, err
	})
}

// playersFile has the player sessions of a player, or of a game session.
func playersFile(v *visit) error {
	header := []string{"player", "player_session", "status", "game_session", "address", "port", "reserved_utc",
		"ended_utc"}
	return v.download("player-sessions", header, func(token string) (rows [][]string, next string, err error) {
		out, err := call(v, wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsInput{PlayerId: v.form("id"),
			GameSessionId: v.form("game-session"), Limit: wire.Some[int32](csvPage), NextToken: token})
		if err != nil {
			return nil, "", err
		}
		for _, p := range out.PlayerSessions {
			rows = append(rows, []string{p.PlayerId, p.PlayerSessionId, string(p.Status), p.GameSessionId, p.IpAddress,
				decimal(p.Port), instant(p.CreationTime), instant(p.TerminationTime)})
		}
		return rows, out.NextToken, nil
	})
}

// rowsFile reads a page of a list of operators for a file, of those in the status of the query if it has one.
func (v *visit) rowsFile(token string, answer any, elements ...string) error {
	q := url.Values{"limit": {strconv.Itoa(csvPage)}}
	for name, value := range map[string]string{"after": token, "status": v.form("status")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return v.request(http.MethodGet, in(elements...)+"?"+q.Encode(), nil, answer)
}

// placementsFile has the placements of a queue.
func placementsFile(v *visit) error {
	header := []string{"id", "status", "started_utc", "ended_utc", "age_ms", "reason", "attempts", "fleet", "location",
		"game_session", "match"}
	name := v.r.PathValue("name")
	return v.download("placements-"+name, header, func(token string) (rows [][]string, next string, err error) {
		var list control.PlacementList
		err = v.rowsFile(token, &list, "queues", name, "placements")
		for _, p := range list.Placements {
			rows = append(rows, []string{p.PlacementID, string(p.Status), instant(p.StartTime), ended(p.EndTime),
				fmt.Sprint(p.AgeMS), p.Reason, fmt.Sprint(p.Attempt), p.FleetID, p.Location, p.GameSession, p.Match})
		}
		return rows, list.NextToken, err
	})
}

// ticketsFile has the tickets of a matchmaking configuration. The ids of a ticket's players are in one cell.
func ticketsFile(v *visit) error {
	header := []string{"id", "status", "started_utc", "ended_utc", "age_ms", "reason", "message", "players", "backfill",
		"automatic", "match", "game_session"}
	name := v.r.PathValue("name")
	return v.download("tickets-"+name, header, func(token string) (rows [][]string, next string, err error) {
		var list control.TicketList
		err = v.rowsFile(token, &list, "configurations", name, "tickets")
		for _, t := range list.Tickets {
			rows = append(rows, []string{t.TicketID, string(t.Status), instant(t.StartTime), ended(t.EndTime),
				fmt.Sprint(t.AgeMS), t.Reason, t.Message, strings.Join(t.Players, " "), fmt.Sprint(t.Backfill),
				fmt.Sprint(t.Automatic), t.Match, t.GameSession})
		}
		return rows, list.NextToken, err
	})
}
