//go:build unix

package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	chromium "github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/netcut"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// pageLimit is how long an open page may take to show what the new owner of a shard has: a budget of -strict.
const pageLimit = 3 * time.Second

// listPage is the page that is open.
const listPage = "/console/game-sessions"

// A consoleTrial is a page of the console that is open at a node, which owns a part of what the page shows.
type consoleTrial struct {
	*trial
	victim   *node
	shard    int      // that the victim owns, with a game session
	sessions []string // ARNs
}

// TestConsole kills the node that serves an open page. The page shows that it reconnects, then, from another node, what
// the new owner has. Meanwhile other nodes serve the page without what has no owner.
func TestConsole(t *testing.T) {
	c := &consoleTrial{trial: newTrial(t, 3)}
	c.cluster.settings = []string{"--open-console", "on"}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	var servers sync.WaitGroup
	defer func() { c.cancel(); servers.Wait(); c.http.CloseIdleConnections() }()
	c.begin(fault{})
	for _, s := range c.slots {
		servers.Go(func() { s.run(c.ctx) })
	}
	c.createSessions()
	origin, others := c.balance()
	tab := chromium.Open(t, origin)
	tab.Go(listPage, http.StatusOK)
	tab.Shows("live")
	c.await("the page is right", func() bool { return c.right(tab.Text(), 0) })
	others()
	tab.Away(func() {
		c.victim.Kill()
		tab.Shows("reconnecting")
		c.lacksShard()
		owned := c.reserve()
		c.await("the page is right again", func() bool { return c.right(tab.Text(), 1) })
		took := time.Since(owned)
		tab.Shows("live")
		t.Logf("the page is right %s after the answer of the last new owner", took.Round(time.Millisecond))
		if *strict && took > pageLimit {
			t.Errorf("the page is right after %s, want %s", took, pageLimit)
		}
	})
	c.found.Tell(t)
}

// createSessions creates game sessions in several locations.
func (c *consoleTrial) createSessions() {
	c.t.Helper()
	for i, location := range loaded() {
		var arn string
		c.await("a game session", func() bool { // a process may not be ready yet
			out, err := c.clients[0].CreateGameSession(c.ctx, &gamelift.CreateGameSessionInput{FleetId: &c.fleet,
				Location: &location, MaximumPlayerSessionCount: aws.Int32(places),
				Name: aws.String(gameName(i))})
			if err == nil {
				arn = *out.GameSession.GameSessionId
			}
			return err == nil
		})
		c.sessions = append(c.sessions, arn)
	}
	c.shard = region.ShardOf(fleet.RoomID{Fleet: fleet.ID(c.fleet), Location: playLocations[0]}, c.cluster.shards)
	c.victim = c.cluster.owner(c.ctx, c.shard)
}

// balance starts a load balancer that knows the victim alone until others is called.
func (c *consoleTrial) balance() (origin string, others func()) {
	c.t.Helper()
	addresses := []string{c.victim.address}
	var wires []*netcut.Wire
	for _, n := range c.cluster.others(c.victim) {
		w := netcut.NewWire(c.t, n.address)
		w.Cut(netcut.Both)
		wires, addresses = append(wires, w), append(addresses, w.Addr())
	}
	b := netcut.NewBalancer(c.t, addresses...)
	c.await("the balancer reaches the victim", func() bool { return len(b.Ready()) == 1 })
	return "http://" + b.Addr(), func() {
		c.t.Helper()
		for _, w := range wires {
			w.Mend(netcut.Both)
		}
		c.await("the balancer reaches all nodes", func() bool { return len(b.Ready()) == len(addresses) })
	}
}

// lacksShard reads the page from a node that lives, until it lacks the shard that has no owner.
func (c *consoleTrial) lacksShard() {
	c.t.Helper()
	want := fmt.Sprintf("shard %d did not answer", c.shard)
	at := c.cluster.others(c.victim)[0]
	c.await("the page says "+want, func() bool { return strings.Contains(c.read(at, listPage), want) })
}

// read reads a page of a node, which must answer.
func (c *consoleTrial) read(n *node, path string) string {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, "http://"+n.address+path, nil)
	c.must(err)
	response, err := c.http.RoundTrip(request)
	c.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	c.must(err)
	if response.StatusCode != http.StatusOK {
		c.t.Errorf("%s of node %s: %s: %s", path, n.name, response.Status, text)
	}
	return string(text)
}

// reserve reserves a place in each game session, and returns when the last owner has answered.
func (c *consoleTrial) reserve() time.Time {
	c.t.Helper()
	at := c.clients[c.cluster.others(c.victim)[0].number]
	for _, arn := range c.sessions {
		c.await("the owner answers", func() bool {
			_, err := at.CreatePlayerSession(c.ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: &arn,
				PlayerId: aws.String("ada")})
			outcome, _ := calls.OutcomeOf(err)
			return outcome != calls.Unanswered // refused: an earlier attempt reserved the place
		})
	}
	return time.Now()
}

// right reports whether the page shows each game session with so many players. It may never show one twice.
func (c *consoleTrial) right(page string, players int) bool {
	c.t.Helper()
	shown := regexp.MustCompile(fmt.Sprintf(`\t%d of %d\s`, players, places)) // a bar follows
	rows := len(shown.FindAllString(page, -1))
	for i := range c.sessions {
		switch strings.Count(page, gameName(i)) {
		case 0:
			return false
		case 1:
		default:
			c.t.Fatalf("%s is shown twice: %s", gameName(i), page)
		}
	}
	return rows == len(c.sessions) && strings.Count(page, "ACTIVE\t") == rows
}

func gameName(i int) string { return fmt.Sprintf("game-%d", i) }
