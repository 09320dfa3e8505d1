//go:build unix

package crash

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/gameserver"
)

const (
	crowdTickets    = 120                          // two of which make a match
	crowdPlacements = rushPlayers - crowdTickets/2 // with the matches one for each server process
	crowdCallers    = 16
	crowdQueue      = "crowd"
)

// A crowd is many callers who start placements and tickets at a service that is
// killed meanwhile. There are just as many server processes as they need.
type crowd struct {
	*rush
	acknowledged atomic.Int32
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{rush: newRush(t, "--region", "us-west-2", "--account", "000000000000")}
	must(t, func() error {
		_, err := c.client.CreateGameSessionQueue(c.ctx, &gamelift.CreateGameSessionQueueInput{
			Name:         aws.String(crowdQueue),
			Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String(c.arn("fleet/" + c.fleet))}},
		})
		return err
	})
	must(t, func() error {
		_, err := c.client.CreateMatchmakingRuleSet(c.ctx, &gamelift.CreateMatchmakingRuleSetInput{
			Name: aws.String(crowdQueue),
			RuleSetBody: aws.String(`{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,` +
				`"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`),
		})
		return err
	})
	must(t, func() error {
		_, err := c.client.CreateMatchmakingConfiguration(c.ctx, &gamelift.CreateMatchmakingConfigurationInput{
			Name: aws.String(crowdQueue), RuleSetName: aws.String(crowdQueue),
			GameSessionQueueArns:  []string{c.arn("gamesessionqueue/" + crowdQueue)},
			RequestTimeoutSeconds: aws.Int32(900), AcceptanceRequired: aws.Bool(false),
		})
		return err
	})
	return c
}

func (c *crowd) arn(resource string) string {
	return "arn:aws:gamelift:us-west-2:000000000000:" + resource
}

// call repeats a call that starts something under an id until there is an answer. That
// the id is taken is one: an earlier call has come through.
func (c *crowd) call(start func(context.Context) error) {
	for c.ctx.Err() == nil {
		switch result, fault := calls.OutcomeOf(start(c.ctx)); {
		case result == calls.Acknowledged || result == calls.Refused && fault == "InvalidRequestException":
			c.acknowledged.Add(1)
			return
		case result == calls.Refused:
			c.t.Errorf("a call was refused: %s", fault)
			return
		}
		c.pause()
	}
}

func (c *crowd) place(i int) {
	id := placementID(i)
	c.call(func(ctx context.Context) error {
		_, err := c.client.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
			PlacementId: &id, GameSessionQueueName: aws.String(crowdQueue), MaximumPlayerSessionCount: aws.Int32(2),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: &id}},
		})
		return err
	})
}

func (c *crowd) seek(i int) {
	id := ticketID(i)
	c.call(func(ctx context.Context) error {
		_, err := c.client.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
			ConfigurationName: aws.String(crowdQueue), TicketId: &id, Players: []types.Player{{PlayerId: &id}},
		})
		return err
	})
}

func placementID(i int) string { return fmt.Sprintf("p%d", i) }
func ticketID(i int) string    { return fmt.Sprintf("t%d", i) }

// start has all callers begin. The function that it returns waits for them.
func (c *crowd) start() (wait func()) {
	work := make(chan func(), crowdPlacements+crowdTickets)
	for i := range crowdPlacements {
		work <- func() { c.place(i) }
		if i < crowdTickets {
			work <- func() { c.seek(i) }
		}
	}
	close(work)
	var callers sync.WaitGroup
	for range crowdCallers {
		callers.Go(func() {
			for do := range work {
				do()
			}
		})
	}
	return callers.Wait
}

// TestMatchmakingKilled kills the service twice while placements and tickets are
// started. Each that was acknowledged is there afterwards and comes to its end: a
// placement with one game session, a ticket with one match.
func TestMatchmakingKilled(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	wait := c.start()
	const calls = crowdPlacements + crowdTickets
	for _, after := range []int32{rand.Int32N(calls / 3), calls/3 + rand.Int32N(calls/2)} {
		c.service.Await(c.ctx, func() bool { return c.acknowledged.Load() >= after })
		t.Logf("killed after %d answers", c.acknowledged.Load())
		c.service.Kill()
		c.service.start(c.ctx)
	}
	wait()

	known := map[string]types.GameSessionPlacement{} // the placements, by the game session that they have
	ended := map[string]bool{}                       // the events that there must be, each once
	c.checkPlacements(known, ended)
	matches := c.checkTickets(known, ended)
	c.checkGameSessions(known, matches)
	c.checkEvents(ended)
}

// checkPlacements waits until each placement is over.
func (c *crowd) checkPlacements(known map[string]types.GameSessionPlacement, ended map[string]bool) {
	for i := range crowdPlacements {
		c.checkPlacement(placementID(i), known, ended)
	}
}

func (c *crowd) checkPlacement(id string, known map[string]types.GameSessionPlacement, ended map[string]bool) {
	var p types.GameSessionPlacement
	c.service.Await(c.ctx, func() bool {
		out, err := c.client.DescribeGameSessionPlacement(c.ctx,
			&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
		if err != nil {
			c.t.Errorf("placement %s, which was acknowledged: %v", id, err)
			return true
		}
		p = *out.GameSessionPlacement
		return p.Status != types.GameSessionPlacementStatePending
	})
	if p.Status != types.GameSessionPlacementStateFulfilled { // there is a server process for each
		c.t.Errorf("placement %s is %q", id, p.Status)
		return
	}
	ended["PlacementFulfilled "+id] = true
	arn := aws.ToString(p.GameSessionArn)
	if other, twice := known[arn]; twice {
		c.t.Errorf("placements %s and %s have the same game session %s", id, aws.ToString(other.PlacementId), arn)
	}
	known[arn] = p
}

// checkTickets waits until each ticket is over, and gives the match of each.
func (c *crowd) checkTickets(known map[string]types.GameSessionPlacement, ended map[string]bool) (
	matches map[string]string,
) {
	matches = map[string]string{}
	players := map[string][]string{} // by match
	for i := range crowdTickets {
		id := ticketID(i)
		t := c.awaitTicket(id)
		if t.Status != types.MatchmakingConfigurationStatusCompleted {
			c.t.Errorf("ticket %s is %q: %s", id, t.Status, aws.ToString(t.StatusMessage))
			continue
		}
		match := placementOf(aws.ToString(t.GameSessionConnectionInfo.GameSessionArn))
		matches[id] = match
		players[match] = append(players[match], id)
		ended["MatchmakingSucceeded "+id] = true
	}
	for match, tickets := range players {
		if len(tickets) != 2 {
			c.t.Errorf("match %s is of %v", match, tickets)
		}
		c.checkPlacement(match, known, ended)
	}
	return matches
}

func (c *crowd) awaitTicket(id string) (t types.MatchmakingTicket) {
	c.service.Await(c.ctx, func() bool {
		out, err := c.client.DescribeMatchmaking(c.ctx, &gamelift.DescribeMatchmakingInput{TicketIds: []string{id}})
		if err != nil || len(out.TicketList) != 1 {
			c.t.Errorf("ticket %s, which was acknowledged: %d found, %v", id, len(out.TicketList), err)
			return true
		}
		t = out.TicketList[0]
		return t.EndTime != nil
	})
	return t
}

// attempt is the end of the id of a game session of a later attempt.
var attempt = regexp.MustCompile(`^(p\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-\d+)?$`)

// placementOf is the id of the placement that has made a game session.
func placementOf(arn string) string {
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	if m := attempt.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return id
}

// checkGameSessions looks at all game sessions: each that lives is that of a placement,
// and no player of a ticket is in two matches.
func (c *crowd) checkGameSessions(known map[string]types.GameSessionPlacement, matches map[string]string) {
	all := map[string]types.GameSession{}
	pages := gamelift.NewDescribeGameSessionsPaginator(c.client, &gamelift.DescribeGameSessionsInput{FleetId: &c.fleet})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, g := range page.GameSessions {
			all[aws.ToString(g.GameSessionId)] = g
		}
	}
	for arn, g := range all {
		if _, ok := known[arn]; !ok && g.Status != types.GameSessionStatusTerminated {
			c.t.Errorf("game session %s is %s and of no placement", arn, g.Status)
		}
		c.checkMatch(arn, aws.ToString(g.MatchmakerData), matches)
	}
	for arn, p := range known {
		if g, ok := all[arn]; !ok || g.Status != types.GameSessionStatusActive ||
			aws.ToInt32(g.CurrentPlayerSessionCount) != int32(len(p.PlacedPlayerSessions)) {
			c.t.Errorf("placement %s has game session %s, which is %q with %d players", aws.ToString(p.PlacementId),
				arn, g.Status, aws.ToInt32(g.CurrentPlayerSessionCount))
		}
	}
}

// checkMatch checks that the players of a game session have no other match.
func (c *crowd) checkMatch(arn, data string, matches map[string]string) {
	if data == "" {
		return
	}
	match, err := gameserver.ParseMatchmakerData(data)
	if err != nil {
		c.t.Errorf("%s: %v", arn, err)
		return
	}
	for _, team := range match.Teams {
		for _, p := range team.Players {
			if matches[p.PlayerID] != placementOf(arn) {
				c.t.Errorf("%s is in match %s, and game session %s has them too", p.PlayerID, matches[p.PlayerID], arn)
			}
		}
	}
}

// A told is an event of the feed.
type told struct {
	Event struct {
		ID     string `json:"id"`
		Detail struct {
			Type        string `json:"type"`
			PlacementID string `json:"placementId"`
			Tickets     []struct {
				TicketID string `json:"ticketId"`
			} `json:"tickets"`
		} `json:"detail"`
	} `json:"event"`
}

// checkEvents waits until the feed has everything that must be told, and checks that
// each end is told once, if events are told apart by their ids.
func (c *crowd) checkEvents(ended map[string]bool) {
	c.service.Await(c.ctx, func() bool {
		missing := 0
		found := c.events()
		for what := range ended {
			if len(found[what]) == 0 {
				missing++
			}
		}
		return missing == 0
	})
	for what, ids := range c.events() {
		if ended[what] && len(ids) > 1 {
			c.t.Errorf("%s is told under %d ids", what, len(ids))
		}
	}
}

// events are the ids of the events in the feed, by what they tell of whom.
func (c *crowd) events() map[string]map[string]bool {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet,
		"http://"+c.service.address+"/v1/events?limit=100000", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	env := c.service.environment()
	keys := aws.Credentials{AccessKeyID: env["AWS_ACCESS_KEY_ID"], SecretAccessKey: env["AWS_SECRET_ACCESS_KEY"]}
	nothing := sha256.Sum256(nil)
	if err := v4.NewSigner().SignHTTP(c.ctx, keys, request, hex.EncodeToString(nothing[:]),
		"gamelift", env["AWS_REGION"], time.Now()); err != nil {
		c.t.Fatal(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		c.t.Fatalf("the feed answers %s", response.Status)
	}
	found := map[string]map[string]bool{}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e told
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.t.Fatalf("%v in %s", err, lines.Text())
		}
		about := []string{e.Event.Detail.PlacementID}
		for _, t := range e.Event.Detail.Tickets {
			about = append(about, t.TicketID)
		}
		for _, id := range about {
			what := e.Event.Detail.Type + " " + id
			if found[what] == nil {
				found[what] = map[string]bool{}
			}
			found[what][e.Event.ID] = true
		}
	}
	if err := lines.Err(); err != nil {
		c.t.Fatal(err)
	}
	return found
}
