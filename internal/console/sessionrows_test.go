package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
)

// endedWorld has a fleet, and pages of ended game sessions of it and of a deleted one. It returns the queries.
func endedWorld(t *testing.T, pages ...control.SessionList) (w *world, asked *[]url.Values) {
	t.Helper()
	w = newWorld(t)
	w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: []string{"fleet-1"}}
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{
		FleetAttributes: []wire.FleetAttributes{{FleetId: "fleet-1", Name: "arena"}}}
	asked = new([]url.Values)
	w.answers["GET /v1/game-sessions"] = func(r *http.Request) any {
		*asked = append(*asked, r.URL.Query())
		return pages[min(len(*asked), len(pages))-1]
	}
	return w, asked
}

func endedSession(now time.Time, fleetID, id string) control.ListedSession {
	end := now.Add(-time.Hour)
	return control.ListedSession{GameSessionArn: "arn:aws:gamelift:eu-west-1::gamesession/" + fleetID + "/" + id,
		FleetID: fleetID, Location: "custom-fra", Name: "cup " + id, Status: fleet.Terminated,
		Reason: "TRIGGERED_ON_PROCESS_TERMINATE", IPAddress: "192.0.2.9", Port: 7777, CreatorID: "ada",
		Configuration: "duel", CreationTime: end.Add(-90 * time.Second), EndTime: &end}
}

// TestEndedSessions: the list of ended game sessions has its filters in all its addresses.
func TestEndedSessions(t *testing.T) {
	now := newWorld(t).clock.Now()
	w, asked := endedWorld(t, control.SessionList{NextToken: "a b", GameSessions: []control.ListedSession{
		endedSession(now, "fleet-1", "gsess-0123456789abcdef"), endedSession(now, "fleet-gone", "g2")}})
	body := w.shows("GET", "/console/game-sessions?show=ended&filter=x%3D1&sort=y&next=t", nil, 200,
		`<option value="ended" selected>`, `data-copy="192.0.2.9:7777"`, "1 h 0 m ago", "1 m 30 s",
		"TRIGGERED_ON_PROCESS_TERMINATE", `<a href="/console/fleets/fleet-1">arena</a>`, "<td>fleet-gone</td>",
		`data-watch="10"`,
		`/console/game-sessions.csv?filter=x%3D1&amp;show=ended&amp;sort=y`,
		`/console/game-sessions?filter=x%3D1&amp;next=a&#43;b&amp;show=ended&amp;sort=y`,
		`href="/console/game-sessions/g2?fleet=fleet-gone"`)
	if strings.Contains(body, `name="sort"`) || strings.Contains(body, "Create game session") {
		t.Error("the list has an order, or creates game sessions")
	}
	w.shows("GET", "/console/game-sessions?show=ended&fleet=fleet-gone", nil, 200,
		`<option value="fleet-gone" selected>`)
	for i, want := range []string{"after=t&limit=50&q=x%3D1&status=TERMINATED",
		"fleet=fleet-gone&limit=50&status=TERMINATED"} {
		if got := (*asked)[i].Encode(); got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
	}
	w.fails["GET /v1/game-sessions"] = denied
	w.shows("GET", "/console/game-sessions?show=ended&fleet=fleet-1", nil, 403, "AccessDenied")
	w.fails["muster:GameSessionRead"] = denied
	w.answers["DescribeGameSessions"] = &wire.DescribeGameSessionsOutput{}
	if body = w.shows("GET", "/console/game-sessions", nil, 200); strings.Contains(body, `<option value="ended"`) {
		t.Error("a person who may not see ended game sessions can choose them")
	}
}

// TestNoSessions: an empty list names what else to look at.
func TestNoSessions(t *testing.T) {
	for path, c := range map[string]struct{ next, want string }{
		"?show=ended":                {"", `<a href="/console/game-sessions?">Show the running ones`},
		"?show=ended&fleet=fleet-1":  {"", "of this fleet that ended in the last 30 days is known"},
		"?show=ended&filter=x%3D1":   {"", "in the last 30 days matches the filter"},
		"?show=ended&filter=x%3D1&a": {"t", "None of the game sessions that were read"},
		"":                           {"", `<a href="/console/game-sessions?show=ended">Show those that ended`},
	} {
		w, _ := endedWorld(t, control.SessionList{NextToken: c.next})
		w.shows("GET", "/console/game-sessions"+path, nil, 200, c.want)
	}
}

// TestEndedCSV: a file has the rows of all pages; it is refused if a shard is missing.
func TestEndedCSV(t *testing.T) {
	now := newWorld(t).clock.Now()
	w, asked := endedWorld(t, control.SessionList{NextToken: "t"},
		control.SessionList{GameSessions: []control.ListedSession{endedSession(now, "fleet-1", "g1")}})
	const path = "/console/game-sessions.csv?show=ended"
	w.shows("GET", path, nil, 200, ",TERMINATED,fleet-1,", ",TRIGGERED_ON_PROCESS_TERMINATE,duel\r\n")
	if len(*asked) != 2 || (*asked)[1].Get("after") != "t" {
		t.Errorf("asked for %v", *asked)
	}
	w, _ = endedWorld(t, control.SessionList{Partial: control.Partial{MissingShards: []int{3}}})
	w.shows("GET", path, nil, 503, "shard 3 did not answer")
}

// TestSessionNodes: a page of 100 game sessions has less than 3,000 elements.
func TestSessionNodes(t *testing.T) {
	var all []string
	for _, c := range sessionColumns {
		all = append(all, c.Name)
	}
	for _, show := range []string{"", showEnded} {
		path := "/console/game-sessions?show=" + show + "&columns=" + strings.Join(all, ",")
		var list control.SessionList
		for i := range 100 {
			list.GameSessions = append(list.GameSessions, endedSession(time.Now(), "fleet-1", fmt.Sprint("g", i)))
		}
		w, _ := endedWorld(t, list)
		body := w.shows("GET", path, nil, 200)
		if n := strings.Count(body, "<") - strings.Count(body, "</"); n >= 3000 || n < 1500 {
			t.Errorf("%s: %d elements", path, n)
		}
	}
}
