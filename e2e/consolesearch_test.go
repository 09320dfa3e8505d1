package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
)

// TestConsoleSearch: each id of a region, pasted into the search of the console as it is, as
// an ARN, or as its beginning, leads to its page, or to a list with it.
func TestConsoleSearch(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "pc-attic"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	reservation := s.join(t, session, "PlayerOne")
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	call(t, s.client().StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
		PlacementId: new("placement-first"), GameSessionQueueName: new("duel"),
		MaximumPlayerSessionCount: new(int32(2)),
	})
	s.seek(t, "ticket-first")
	found := s.session(t, session)
	part := session[strings.LastIndexByte(session, '/')+1:]
	const (
		console = "/console/"
		list    = console + "search"
	)
	sessionPage := console + "game-sessions/" + part
	for text, want := range map[string]string{
		fleet: console + "fleets/" + fleet, *found.FleetArn: console + "fleets/" + fleet,
		fleet[:len("fleet-")+8]: list, strings.TrimPrefix(fleet, "fleet-")[:8]: list,
		"Arena":    console + "fleets/" + fleet,
		"pc-attic": console + "fleets/" + fleet, arnPrefix + "compute/pc-attic": console + "fleets/" + fleet,
		session: sessionPage, part: sessionPage, strings.TrimPrefix(part, "gsess-"): sessionPage,
		part[:8]: list, *found.IpAddress + ":7777": sessionPage,
		reservation: console + "players/PlayerOne", "PlayerOne": console + "players/PlayerOne",
		"placement-first": console + "placements/placement-first", "placemen": list,
		"ticket-first": console + "tickets/ticket-first", "ticket-f": list,
		arnPrefix + "location/" + home:      console + "locations",
		home:                                console + "locations",
		arnPrefix + "gamesessionqueue/duel": console + "queues/duel",
		arnPrefix + "matchmakingconfiguration/duel":     console + "matchmaking/duel",
		arnPrefix + "matchmakingruleset/duel":           console + "rule-sets/duel",
		"duel":                                          list, // all three
		"fleet-00000000-0000-0000-0000-000000000000":    list, // nothing
		arnPrefix + "gamesessionqueue/another":          list,
		"arn:aws:gamelift:us-west-2::gamesession/x/y/z": list,
	} {
		status, at, body := s.visit(t, list+"?q="+url.QueryEscape(text))
		if status != http.StatusOK || at != want {
			t.Errorf("%s leads to %s (%d), want %s: %.3000s", text, at, status, want, body)
		}
		nothing := strings.Contains(text, "0000") || strings.Contains(text, "another") ||
			strings.Contains(text, "/x/y/z")
		if want == list && strings.Contains(body, "Nothing found") != nothing {
			t.Errorf("%s finds nothing: %s", text, body)
		}
	}
}

// visit opens a page of the console, and returns where that has led to.
func (s *service) visit(t testing.TB, address string) (status int, path, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTP+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	status, body = read(t, answer)
	return status, answer.Request.URL.Path, body
}
