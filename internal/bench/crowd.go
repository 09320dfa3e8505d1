package bench

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// Fives is the rule set of profile matchmaking: two teams of five with similar skill and a common location with low
// latency. It has no expansions, so that time alone makes no match possible.
const Fives = `{"name":"fives","ruleLanguageVersion":"1.0",
 "playerAttributes":[{"name":"skill","type":"number"}],
 "teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
 "rules":[
  {"name":"Skill","type":"distance","maxDistance":50,
   "measurements":["max(flatten(teams[*].players.attributes[skill]))"],
   "referenceValue":"min(flatten(teams[*].players.attributes[skill]))"},
  {"name":"Ping","type":"latency","maxLatency":80}]}`

const (
	// CrowdLocations is how many locations the players of a Crowd use.
	CrowdLocations = 6
	// perMatch is how many tickets, of one player each, make a match of Fives.
	perMatch = 10
	// skillPerTicket is the range of skills per waiting ticket in the steady state, found by trial.
	skillPerTicket = 3.05
)

// A Crowd generates players who arrive one by one, each a ticket for Fives. Their skills are uniform; each is near to
// one location and perhaps a second one. In the steady state, with a number of tickets waiting, as many are matched as
// arrive. It is not safe for concurrent use.
type Crowd struct {
	random    *rand.Rand
	locations []string
	skills    float64 // upper bound
	prefix    string  // of ticket and player ids
	next      int     // number of the next ticket
}

// NewCrowd returns a crowd with about so many waiting tickets in the steady state. It uses at most CrowdLocations of
// the locations.
func NewCrowd(seed uint64, prefix string, waiting int, locations []string) *Crowd {
	return &Crowd{
		random: rand.New(rand.NewPCG(seed, 0)), locations: locations[:min(len(locations), CrowdLocations)],
		skills: skillPerTicket * float64(waiting), prefix: prefix,
	}
}

// Ticket returns the next ticket.
func (c *Crowd) Ticket(start time.Time) *matcher.Ticket {
	id := c.prefix + strconv.Itoa(c.next)
	c.next++
	skill := ruleset.Value{Type: ruleset.Number, N: c.random.Float64() * c.skills}
	return &matcher.Ticket{ID: id, Start: start, Players: []matcher.Player{{
		ID: id, Attributes: map[string]ruleset.Value{"skill": skill}, Latency: c.latencies(),
	}}}
}

// latencies are low in one location, and perhaps in the next.
func (c *Crowd) latencies() map[string]int {
	home := c.random.IntN(len(c.locations))
	latencies := make(map[string]int, len(c.locations))
	for i, location := range c.locations {
		switch (i - home + len(c.locations)) % len(c.locations) {
		case 0:
			latencies[location] = 20 + c.random.IntN(50)
		case 1:
			latencies[location] = 20 + c.random.IntN(120)
		default:
			latencies[location] = 90 + c.random.IntN(150)
		}
	}
	return latencies
}

// Waiting returns the tickets that wait in the steady state. No ten of them make a match.
func (c *Crowd) Waiting(set *ruleset.Set, start time.Time) []*matcher.Ticket {
	const most = 8 // arrivals per waiting ticket until the steady state
	wanted := int(c.skills / skillPerTicket)
	pool := matcher.NewPool(set, matcher.Options{})
	var came []*matcher.Ticket
	matched := map[*matcher.Ticket]bool{}
	for len(came) < most*wanted && pool.Len() < wanted {
		t := c.Ticket(start)
		came = append(came, t)
		pool.Add(t)
		for _, t := range matchAll(pool, start) {
			matched[t] = true
		}
	}
	return slices.DeleteFunc(came, func(t *matcher.Ticket) bool { return matched[t] })
}

// matchAll forms all possible matches and returns their tickets.
func matchAll(pool *matcher.Pool, now time.Time) (tickets []*matcher.Ticket) {
	for {
		m, ok, more := pool.Match(now)
		if ok {
			tickets = append(tickets, m.Tickets...)
		} else if !more {
			return tickets
		}
	}
}
