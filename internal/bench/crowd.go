package bench

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/ruleset"
)

// Fives is the rule set of profile matchmaking: two teams of five who are near in
// skill and have a location in common that is near to all of them. It has no
// expansions: what does not match when a ticket comes does not match later by itself.
const Fives = `{"name":"fives","ruleLanguageVersion":"1.0",
 "playerAttributes":[{"name":"skill","type":"number"}],
 "teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
 "rules":[
  {"name":"Skill","type":"distance","maxDistance":50,"measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))"},
  {"name":"Ping","type":"latency","maxLatency":80}]}`

const (
	// CrowdLocations is how many locations the players of a Crowd know.
	CrowdLocations = 6
	// perMatch is how many tickets, of one player each, make a match of Fives.
	perMatch = 10
	// skillPerTicket spreads a crowd so thin that as many tickets wait as are asked
	// for. It was found by trial.
	skillPerTicket = 3.05
)

// A Crowd is players who come one by one, each of them a ticket for Fives. Their
// skills are spread evenly; each is near to one location, and to a second one
// perhaps. So many of them wait for others that as many are matched as come. It is
// not for use by several goroutines at once.
type Crowd struct {
	random    *rand.Rand
	locations []string
	skills    float64 // are below
	prefix    string  // of the ids of tickets and players
	next      int     // number of the next ticket
}

// NewCrowd makes a crowd of which about so many tickets wait when it has come to
// rest. The first of the locations are used, CrowdLocations at most.
func NewCrowd(seed uint64, prefix string, waiting int, locations []string) *Crowd {
	return &Crowd{
		random: rand.New(rand.NewPCG(seed, 0)), locations: locations[:min(len(locations), CrowdLocations)],
		skills: skillPerTicket * float64(waiting), prefix: prefix,
	}
}

// Ticket is the next one to come.
func (c *Crowd) Ticket(start time.Time) *matcher.Ticket {
	id := c.prefix + strconv.Itoa(c.next)
	c.next++
	skill := ruleset.Value{Type: ruleset.Number, N: c.random.Float64() * c.skills}
	return &matcher.Ticket{ID: id, Start: start, Players: []matcher.Player{{
		ID: id, Attributes: map[string]ruleset.Value{"skill": skill}, Latency: c.latencies(),
	}}}
}

// latencies are low in one location, and in the next one perhaps.
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

// Waiting is the tickets that wait when so many have come and gone that the crowd
// has come to rest. No ten of them make a match.
func (c *Crowd) Waiting(set *ruleset.Set, start time.Time) []*matcher.Ticket {
	const most = 8 // times as many come; by then nearly as many wait as are asked for
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

// matchAll forms all matches that can be formed, and lists their tickets.
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
