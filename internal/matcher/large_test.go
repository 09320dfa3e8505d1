package matcher

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// warfront is rule set F of the vectors.
const warfront = `{"name":"warfront","ruleLanguageVersion":"1.0",
 "playerAttributes":[{"name":"strength","type":"number"},{"name":"mode","type":"string","default":"front"}],
 "algorithm":{"strategy":"balanced","balancedAttribute":"strength","batchingPreference":"largestPopulation",
"expansionAgeSelection":"oldest"},
 "teams":[{"name":"titan","minPlayers":10,"maxPlayers":20,"quantity":2},{"name":"scout","minPlayers":3,"maxPlayers":5}],
 "rules":[{"name":"PingCap","type":"latency","maxLatency":120},
  {"name":"OneMode","type":"batchDistance","batchAttribute":"mode"}],
 "expansions":[{"target":"teams[titan,scout].minPlayers","steps":[{"waitTimeSeconds":60,"value":2}]},
  {"target":"rules[PingCap].maxLatency","steps":[{"waitTimeSeconds":30,"value":200}]}]}`

var largeStart = time.Unix(1_700_000_000, 0).UTC()

func parsed(t testing.TB, body string) *ruleset.Set {
	t.Helper()
	set, err := ruleset.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func numberValue(n float64) ruleset.Value { return ruleset.Value{Type: ruleset.Number, N: n} }

// fighter is a player of warfront.
func fighter(id string, strength float64, us int) Player {
	return Player{ID: id, Attributes: map[string]ruleset.Value{"strength": numberValue(strength)},
		Latency: map[string]int{"us-east-1": us}}
}

func fighters(n int) []*Ticket {
	tickets := make([]*Ticket, n)
	for i := range tickets {
		id := fmt.Sprintf("p%d", i)
		tickets[i] = &Ticket{ID: "t-" + id, Start: largeStart, Players: []Player{fighter(id, float64(i*37%101), 80)}}
	}
	return tickets
}

func pooled(set *ruleset.Set, o Options, tickets ...*Ticket) *Pool {
	p := NewPool(set, o)
	for _, t := range tickets {
		p.Add(t)
	}
	return p
}

// nextMatch asks until there is an answer.
func nextMatch(p *Pool, now time.Time) *Match {
	for {
		m, ok, more := p.Match(now)
		if ok {
			return m
		}
		if !more {
			return nil
		}
	}
}

func teamSizes(m *Match) string {
	if m == nil {
		return "none"
	}
	var sizes []string
	for _, team := range m.Teams {
		sizes = append(sizes, fmt.Sprintf("%s %d", team.Name, len(team.Players)))
	}
	return strings.Join(sizes, ", ")
}

// V25 of the test vectors.
func TestLargeFillsTeams(t *testing.T) {
	for n, want := range map[int]string{
		22: "none",
		23: "titan_1 10, titan_2 10, scout 3",
		24: "titan_1 11, titan_2 10, scout 3",
		39: "titan_1 18, titan_2 18, scout 3",
		45: "titan_1 20, titan_2 20, scout 5",
		60: "titan_1 20, titan_2 20, scout 5",
	} {
		got := teamSizes(nextMatch(pooled(parsed(t, warfront), Options{}, fighters(n)...), largeStart))
		if got != want {
			t.Errorf("%d players: got %s, want %s", n, got, want)
		}
	}
}

func TestLargeLeavesPlacesOpen(t *testing.T) {
	for open, want := range map[int]string{
		1: "titan_1 20, titan_2 20, scout 4",
		4: "titan_1 20, titan_2 18, scout 3",
	} {
		got := teamSizes(nextMatch(pooled(parsed(t, warfront), Options{Additional: open}, fighters(60)...), largeStart))
		if got != want {
			t.Errorf("%d open: got %s, want %s", open, got, want)
		}
	}
}

// What can never be matched is told apart from what only waits.
func TestLargeUnmatchable(t *testing.T) {
	set := parsed(t, warfront)
	weak := fighter("weak", 0, 80)
	delete(weak.Attributes, "strength")
	mixed := []Player{fighter("m1", 1, 80), fighter("m2", 1, 80)}
	mixed[1].Attributes["mode"] = ruleset.Value{Type: ruleset.String, S: "siege"}
	elsewhere := []Player{fighter("e1", 1, 80), fighter("e2", 1, 80)}
	elsewhere[1].Latency = map[string]int{"eu-west-1": 10}
	silent := fighter("silent", 1, 80)
	silent.Latency = nil
	for want, players := range map[string][]Player{
		"player weak has no value for strength": {weak},
		"different values of mode":              mixed,
		"the players report no common location": elsewhere,
		"rule PingCap needs latencies":          {silent},
		"no location ever satisfies rule":       {fighter("far", 1, 201)},
		"do not fit in one team":                make([]Player, 21),
	} {
		for i := range players {
			if players[i].ID == "" {
				players[i] = fighter(fmt.Sprint(i), 1, 10)
			}
		}
		p := pooled(set, Options{}, append(fighters(22), &Ticket{ID: "odd", Start: largeStart, Players: players})...)
		if got := p.entries["odd"].unmatchable; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if m := nextMatch(p, largeStart.Add(time.Hour)); m != nil &&
			slices.ContainsFunc(m.Tickets, func(t *Ticket) bool { return t.ID == "odd" }) {
			t.Errorf("%s: it was matched", want)
		}
	}
}

// The rules of a match are those of its oldest ticket here, and time alone makes it
// possible.
func TestLargeExpansions(t *testing.T) {
	tickets := fighters(24)
	for i, ticket := range tickets {
		ticket.Players[0].Latency["us-east-1"] = 150
		ticket.Start = largeStart.Add(time.Duration(i) * time.Second)
	}
	p := pooled(parsed(t, warfront), Options{}, tickets...)
	now := largeStart.Add(29 * time.Second)
	if m := nextMatch(p, now); m != nil {
		t.Fatalf("matched at 29 s: %s", teamSizes(m))
	}
	if due := p.Due(); !due.Equal(largeStart.Add(30 * time.Second)) {
		t.Fatalf("due %v", due.Sub(largeStart))
	}
	if got := teamSizes(nextMatch(p, p.Due())); got != "titan_1 11, titan_2 10, scout 3" {
		t.Fatalf("at 30 s: %s", got)
	}
	if due := p.Due(); !due.IsZero() || p.Len() != 0 {
		t.Errorf("due %v, %d left", due, p.Len())
	}
	few := fighters(6)
	p = pooled(parsed(t, warfront), Options{}, few...)
	if m := nextMatch(p, largeStart.Add(59*time.Second)); m != nil {
		t.Fatal("six were enough")
	}
	if got := teamSizes(nextMatch(p, p.Due())); got != "titan_1 2, titan_2 2, scout 2" {
		t.Errorf("at 60 s: %s", got)
	}
}

// Newest: a young ticket does not profit from the age of others.
func TestLargeExpansionsByTheNewest(t *testing.T) {
	set := parsed(t, strings.Replace(warfront, `"oldest"`, `"newest"`, 1))
	tickets := fighters(24)
	for i, ticket := range tickets {
		ticket.Players[0].Latency["us-east-1"] = 150
		if i == 0 {
			ticket.Start = largeStart.Add(5 * time.Second)
		}
	}
	p := pooled(set, Options{}, tickets...)
	if m := nextMatch(p, largeStart.Add(29*time.Second)); m != nil {
		t.Fatal("matched at 29 s")
	}
	if m := nextMatch(p, p.Due()); len(m.Tickets) != 23 || p.Len() != 1 {
		t.Errorf("%d tickets matched, %d left", len(m.Tickets), p.Len())
	}
}

func TestLargeBackfill(t *testing.T) {
	session := &Ticket{ID: "backfill", Start: largeStart, Backfill: true}
	for i := range 43 {
		player := fighter(fmt.Sprintf("b%d", i), 50, 30)
		player.Team = []string{"titan_1", "titan_2"}[i%2]
		if i >= 40 {
			player.Team = "scout"
		}
		session.Players = append(session.Players, player)
	}
	set := parsed(t, warfront)
	p := pooled(set, Options{}, session)
	if nextMatch(p, largeStart) != nil {
		t.Fatal("a backfill ticket was matched with nobody")
	}
	party := &Ticket{ID: "three", Start: largeStart,
		Players: []Player{fighter("x1", 1, 10), fighter("x2", 1, 10), fighter("x3", 1, 10)}}
	p.Add(party)
	if nextMatch(p, largeStart) != nil {
		t.Fatal("a party of three took two places")
	}
	for _, ticket := range fighters(60) {
		p.Add(ticket)
	}
	m := nextMatch(p, largeStart.Add(time.Second))
	if got := teamSizes(m); got != "titan_1 20, titan_2 20, scout 5" || m.Tickets[0] != session || len(m.Tickets) != 3 {
		t.Fatalf("got %s with %d tickets", got, len(m.Tickets))
	}
	if m.Teams[2].Players[0].Team != "scout" || m.Teams[2].Players[3].Team != "" {
		t.Error("the players of the session do not stand first")
	}
	if m := nextMatch(p, largeStart.Add(time.Second)); m == nil || m.Tickets[0].Backfill {
		t.Error("the others were not matched")
	}
}

// Fastest region: who has this location as the fastest comes first, and others only
// as far as they are needed.
func TestLargeFastestRegion(t *testing.T) {
	set := parsed(t, strings.Replace(warfront, "largestPopulation", "fastestRegion", 1))
	near := func(n int) []*Ticket {
		tickets := fighters(60)
		for i, ticket := range tickets {
			ticket.Players[0].Latency = map[string]int{"a": 20, "b": 30}
			if i >= n {
				ticket.Players[0].Latency = map[string]int{"a": 40, "b": 10}
			}
		}
		return tickets
	}
	p := pooled(set, Options{}, near(30)...)
	first, second := nextMatch(p, largeStart), nextMatch(p, largeStart)
	if len(first.Tickets) != 30 || len(second.Tickets) != 30 {
		t.Fatalf("matches of %d and %d", len(first.Tickets), len(second.Tickets))
	}
	for _, m := range []*Match{first, second} {
		want := m.Tickets[0].Players[0].Latency["a"]
		for _, ticket := range m.Tickets {
			if ticket.Players[0].Latency["a"] != want {
				t.Error("a match mixes those near a with those near b")
			}
		}
	}
	p = pooled(set, Options{}, near(12)[:25]...)
	if m := nextMatch(p, largeStart); m == nil || len(m.Tickets) != 25 {
		t.Error("too few near one location were not helped out by the others")
	}
}

func TestLargeRemoveAndReplace(t *testing.T) {
	p := pooled(parsed(t, warfront), Options{}, fighters(23)...)
	p.Remove("t-p0")
	p.Remove("t-p0")
	p.Remove("never there")
	if nextMatch(p, largeStart) != nil || p.Len() != 22 {
		t.Fatal("a removed ticket was used")
	}
	ticket := fighters(2)[1]
	p.Add(ticket) // replaces
	if nextMatch(p, largeStart) != nil || p.Len() != 22 {
		t.Fatal("a replaced ticket counted twice")
	}
	p.Add(fighters(1)[0])
	m := nextMatch(p, largeStart)
	if m == nil || !slices.Contains(m.Tickets, ticket) {
		t.Fatal("the replacement was not matched")
	}
	if len(p.cells) != 0 || p.waiting.Len() != 0 {
		t.Errorf("an empty pool holds %d cells, %d tickets", len(p.cells), p.waiting.Len())
	}
}

// crowdRules is a large rule set with everything that large ones may have.
func crowdRules(r *rand.Rand) string {
	age := []string{"newest", "oldest"}[r.IntN(2)]
	preference := []string{"largestPopulation", "fastestRegion"}[r.IntN(2)]
	var rules, targets []string
	if r.IntN(4) > 0 {
		fold := []string{"avg", "min", "max"}[r.IntN(3)]
		rules = append(rules, fmt.Sprintf(`{"name":"Ping","type":"latency","maxLatency":%d,"partyAggregation":%q}`,
			40+r.IntN(60), fold))
		targets = append(targets,
			`{"target":"rules[Ping].maxLatency","steps":[{"waitTimeSeconds":20,"value":100},{"waitTimeSeconds":50,`+
				`"value":150}]}`)
	}
	if r.IntN(2) > 0 {
		rules = append(rules, fmt.Sprintf(`{"name":"Band","type":"batchDistance","batchAttribute":"skill",`+
			`"maxDistance":%d}`, 20+r.IntN(60)))
		targets = append(targets, `{"target":"rules[Band].maxDistance","steps":[{"waitTimeSeconds":30,"value":80}]}`)
	}
	if r.IntN(3) == 0 {
		rules = append(rules, `{"name":"Rank","type":"batchDistance","batchAttribute":"rank","maxDistance":3,`+
			`"partyAggregation":"max"}`)
	}
	if r.IntN(2) > 0 {
		rules = append(rules, `{"name":"Mode","type":"batchDistance","batchAttribute":"mode"}`)
	}
	targets = append(targets, `{"target":"teams[red].minPlayers","steps":[{"waitTimeSeconds":40,"value":5}]}`)
	return fmt.Sprintf(`{"ruleLanguageVersion":"1.0",
		"playerAttributes":[{"name":"skill","type":"number"},{"name":"rank","type":"number","default":3},
		{"name":"mode","type":"string","default":"m0"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":%q,
		"expansionAgeSelection":%q},
		"teams":[{"name":"red","minPlayers":%d,"maxPlayers":20,"quantity":2},{"name":"green","minPlayers":%d,
		"maxPlayers":%d}],
		"rules":[%s],"expansions":[%s]}`,
		preference, age, 6+r.IntN(8), r.IntN(4), 4+r.IntN(4), strings.Join(rules, ","), strings.Join(targets, ","))
}

func crowdTicket(r *rand.Rand, id int, now time.Time, parties bool) *Ticket {
	n := 1
	if parties && r.IntN(4) == 0 {
		n = 1 + r.IntN(5)
	}
	mode, home := r.IntN(2), r.IntN(3)
	t := &Ticket{ID: fmt.Sprintf("t%d", id), Start: now}
	for i := range n {
		player := Player{ID: fmt.Sprintf("p%d-%d", id, i), Latency: map[string]int{},
			Attributes: map[string]ruleset.Value{
				"skill": numberValue(float64(r.IntN(100))), "rank": numberValue(float64(r.IntN(6))),
				"mode": {Type: ruleset.String, S: fmt.Sprint("m", mode)},
			}}
		for l := range 3 {
			if l == home || r.IntN(2) == 0 {
				player.Latency[fmt.Sprint("l", l)] = 10 + r.IntN(120)
			}
		}
		t.Players = append(t.Players, player)
	}
	return t
}

// Random pools over time: every match is valid by a check that knows nothing of cells
// and columns, and when no match is found then counting finds none either.
func TestLargeAgainstNaive(t *testing.T) {
	matches := 0
	for seed := range uint64(80) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			set := parsed(t, crowdRules(r))
			parties := r.IntN(2) == 0
			c := &crowd{T: t, set: set, pool: NewPool(set, Options{}), tickets: map[string]*Ticket{}, now: largeStart}
			for step := range 40 {
				for i := range r.IntN(12) {
					c.add(crowdTicket(r, step*100+i, c.now.Add(-time.Duration(r.IntN(3))*time.Second), parties))
				}
				for id := range c.tickets {
					if r.IntN(400) == 0 {
						c.pool.Remove(id)
						delete(c.tickets, id)
					}
				}
				c.now = c.now.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
				matches += c.matchAll()
				if !parties && step%3 == 0 && c.possible() { // which is slow
					t.Fatalf("step %d: a match is possible and was not found", step)
				}
			}
		})
	}
	if matches < 150 {
		t.Errorf("only %d matches: the test is too easy", matches)
	}
}

// A crowd is a pool and what a naive observer knows of it.
type crowd struct {
	*testing.T
	set     *ruleset.Set
	pool    *Pool
	tickets map[string]*Ticket
	now     time.Time
}

func (c *crowd) add(t *Ticket) {
	c.pool.Add(t)
	c.tickets[t.ID] = t
}

func (c *crowd) matchAll() (n int) {
	for {
		m := nextMatch(c.pool, c.now)
		if m == nil {
			break
		}
		n++
		if why := c.wrong(m); why != "" {
			c.Fatalf("%s: %s", teamSizes(m), why)
		}
		for _, t := range m.Tickets {
			delete(c.tickets, t.ID)
		}
	}
	if c.pool.Len() != len(c.tickets) {
		c.Fatalf("the pool has %d tickets, want %d", c.pool.Len(), len(c.tickets))
	}
	return n
}

// wrong is what is wrong with a match.
func (c *crowd) wrong(m *Match) string {
	team := map[string]string{}
	for i, side := range m.Teams {
		rules := c.rules(m.Tickets).Teams[i]
		if n := len(side.Players); n < rules.Min || n > rules.Max {
			return fmt.Sprintf("team %s has %d players", side.Name, n)
		}
		for _, p := range side.Players {
			if team[p.ID] != "" {
				return p.ID + " plays twice"
			}
			team[p.ID] = side.Name
		}
	}
	players := 0
	for _, t := range m.Tickets {
		if c.tickets[t.ID] != t {
			return t.ID + " was not in the pool"
		}
		players += len(t.Players)
		for _, p := range t.Players {
			if team[p.ID] == "" || team[p.ID] != team[t.Players[0].ID] {
				return "the party " + t.ID + " was torn apart"
			}
		}
	}
	if players != len(team) {
		return fmt.Sprintf("%d players in tickets, %d in teams", players, len(team))
	}
	if !slices.IsSortedFunc(m.Tickets, func(a, b *Ticket) int { return a.Start.Compare(b.Start) }) {
		return "the tickets are not ordered by age"
	}
	return c.broken(m.Tickets)
}

// rules are those that are in force for a match of these tickets.
func (c *crowd) rules(tickets []*Ticket) *ruleset.Set {
	newest, oldest := time.Duration(math.MaxInt64), time.Duration(0)
	for _, t := range tickets {
		newest, oldest = min(newest, c.now.Sub(t.Start)), max(oldest, c.now.Sub(t.Start))
	}
	if c.set.Algorithm.OldestAge {
		return c.set.At(oldest)
	}
	return c.set.At(newest)
}

// broken is the rule that these tickets break.
func (c *crowd) broken(tickets []*Ticket) string {
	for _, r := range c.rules(tickets).Rules {
		switch {
		case r.Type == ruleset.Latency:
			if !slices.ContainsFunc([]string{"l0", "l1", "l2"}, func(l string) bool {
				return !slices.ContainsFunc(tickets,
					func(t *Ticket) bool { return foldedLatency(t, r.Fold, l) > *r.MaxLatency })
			}) {
				return r.Name
			}
		case r.MaxDistance == nil:
			for _, t := range tickets {
				for _, p := range t.Players {
					if p.Attributes["mode"].S != tickets[0].Players[0].Attributes["mode"].S {
						return r.Name
					}
				}
			}
		default:
			low, high := math.Inf(1), math.Inf(-1)
			for _, t := range tickets {
				v := foldedAttribute(t, r.Fold, c.set.Attributes[r.Attribute].Name)
				low, high = min(low, v), max(high, v)
			}
			if high-low > *r.MaxDistance {
				return r.Name
			}
		}
	}
	return ""
}

func foldedLatency(t *Ticket, fold ruleset.Fold, location string) float64 {
	var values []float64
	for _, p := range t.Players {
		ms, ok := p.Latency[location]
		if !ok {
			return math.Inf(1)
		}
		values = append(values, float64(ms))
	}
	return foldNumber(values, fold)
}

func foldedAttribute(t *Ticket, fold ruleset.Fold, name string) float64 {
	var values []float64
	for _, p := range t.Players {
		values = append(values, p.Attributes[name].N)
	}
	return foldNumber(values, fold)
}

// possible reports whether tickets of one player each could make a match: it counts
// for each age, location, mode and each pair of lowest values. Expansions only relax.
func (c *crowd) possible() bool {
	var tickets []*Ticket
	for _, t := range c.tickets {
		tickets = append(tickets, t)
	}
	for _, old := range tickets { // decides the age
		decisive := c.now.Sub(old.Start)
		set := c.set.At(decisive)
		var group []*Ticket
		for _, t := range tickets {
			if age := c.now.Sub(t.Start); age == decisive || (age < decisive) == c.set.Algorithm.OldestAge {
				group = append(group, t)
			}
		}
		if c.countable(set, old, group, 0) {
			return true
		}
	}
	return false
}

// countable narrows a group rule by rule in every way, and counts.
func (c *crowd) countable(set *ruleset.Set, with *Ticket, group []*Ticket, rule int) bool {
	need := 0
	for _, team := range set.Teams {
		need += team.Min
	}
	if len(group) < need || len(group) == 0 || !slices.Contains(group, with) {
		return false
	}
	if rule == len(set.Rules) {
		return true
	}
	r := set.Rules[rule]
	narrowed := func(keep func(*Ticket) bool) bool {
		var kept []*Ticket
		for _, t := range group {
			if keep(t) {
				kept = append(kept, t)
			}
		}
		return c.countable(set, with, kept, rule+1)
	}
	switch {
	case r.Type == ruleset.Latency:
		for _, l := range []string{"l0", "l1", "l2"} {
			if narrowed(func(t *Ticket) bool { return foldedLatency(t, r.Fold, l) <= *r.MaxLatency }) {
				return true
			}
		}
	case r.MaxDistance == nil:
		return narrowed(func(t *Ticket) bool {
			return t.Players[0].Attributes["mode"].S == with.Players[0].Attributes["mode"].S
		})
	default:
		name := c.set.Attributes[r.Attribute].Name
		own := with.Players[0].Attributes[name].N
		for low := own - *r.MaxDistance; low <= own; low++ {
			if narrowed(func(t *Ticket) bool {
				v := t.Players[0].Attributes[name].N
				return low <= v && v <= low+*r.MaxDistance
			}) {
				return true
			}
		}
	}
	return false
}

// The count in parts never leaves out a window, and the evaluations of all windows are those of one after the other.
func TestLargeWindows(t *testing.T) {
	dense, sparse := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		most := []float64{0, 0.3, 1, 2.5, 40, math.Inf(1)}[r.IntN(6)]
		a := &attempt{Pool: &Pool{}, scratch: make([][]valued, 1)}
		a.bounds = []bounds{{need: 10 + r.IntN(50), bands: []limit{{most: most}}}}
		a.bandRules, a.counters = []int{0}, make([]Metric, 1)
		scale := min(100, max(most, 0.1))
		var candidates []valued
		for i := range 20 + r.IntN(30) {
			e := &entry{seq: uint64(i), start: time.Duration(r.IntN(5)),
				numbers: [][]float64{{scale * float64(r.IntN(20)) / 8}}}
			e.counters = make([]Metric, 1)
			candidates = append(candidates, valued{member: &member{entry: e, fresh: r.IntN(3) > 0},
				players: 1 + r.IntN(2)})
		}
		values := a.valuesOf(candidates, 0)
		enough := a.dense(values, 0)
		windows := a.windows(values, 0)
		if !enough && len(windows) > 0 {
			t.Fatalf("seed %d: %d windows have enough players, and none was expected", seed, len(windows))
		}
		dense, sparse = dense+asInt(enough), sparse+asInt(!enough)
		want := make([]Metric, len(values))
		for _, w := range windows {
			if w.tried = r.IntN(2) == 0; !w.tried {
				continue
			}
			for i := range values {
				want[i].Passed += asInt(w.from <= i && i < w.to)
				want[i].Failed += asInt(i < w.from || w.to <= i)
			}
		}
		a.countBandRule(0, values, windows)
		for i, v := range values {
			if v.counters[0] != want[i] {
				t.Fatalf("seed %d: candidate %d of %d was counted %+v, want %+v", seed, i, len(values), v.counters[0],
					want[i])
			}
		}
	}
	if dense < 500 || sparse < 500 {
		t.Errorf("%d pools with enough players and %d without: the test is too easy", dense, sparse)
	}
}

// A cell has its tickets by value, whenever they came and it was looked at.
func TestLargeOrdered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	c := &cell{}
	var want []*member
	for i := range 3 * maxUnsorted {
		m := &member{entry: &entry{ticket: &Ticket{}, seq: uint64(i)}, value: float64(r.IntN(50))}
		c.insert(m)
		want = append(want, m)
		if len(c.unsorted) >= maxUnsorted {
			t.Fatalf("%d tickets are not in order", len(c.unsorted))
		}
		if r.IntN(20) == 0 || i == 3*maxUnsorted-1 {
			slices.SortFunc(want, byValue)
			if got := c.ordered(); !slices.Equal(got, want) {
				t.Fatalf("after %d tickets they are not ordered", i+1)
			}
		}
		if i == maxUnsorted {
			for range 10 { // some leave
				want[0].removed = true
				want = want[1:]
			}
			c.dead = 4 * len(c.members)
			c.sweep()
		}
	}
}

// Balancing brings the totals nearer, and keeps sizes.
func TestLineupEven(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := balancer{totals: make([]float64, 2+r.IntN(4))}
		for i := range 20 + r.IntN(80) {
			ticket := movable{index: i, team: r.IntN(len(l.totals)), players: 1 + r.IntN(3),
				total: float64(r.IntN(1000))}
			l.totals[ticket.team] += ticket.total
			l.tickets = append(l.tickets, ticket)
		}
		sizes := func() []int {
			n := make([]int, len(l.totals))
			for _, ticket := range l.tickets {
				n[ticket.team] += ticket.players
			}
			return n
		}
		before, sizesBefore := variance(l.totals), sizes()
		pinned := r.IntN(20)
		team := l.tickets[pinned].team
		l.even(func(i, j int) bool { return i != pinned && j != pinned })
		if got := variance(l.totals); got > before {
			t.Errorf("seed %d: variance %g became %g", seed, before, got)
		}
		if !slices.Equal(sizes(), sizesBefore) || l.tickets[pinned].team != team {
			t.Errorf("seed %d: sizes %v became %v, or a ticket moved that must not", seed, sizesBefore, sizes())
		}
		totals := make([]float64, len(l.totals))
		for _, ticket := range l.tickets {
			totals[ticket.team] += ticket.total
		}
		if !slices.Equal(totals, l.totals) {
			t.Errorf("seed %d: totals %v, counted %v", seed, l.totals, totals)
		}
	}
}

func variance(of []float64) (v float64) {
	m := mean(of)
	for _, x := range of {
		v += (x - m) * (x - m)
	}
	return v
}

// Two teams of equals come out equal.
func TestLargeBalances(t *testing.T) {
	m := nextMatch(pooled(parsed(t, strings.Replace(strings.Replace(warfront, `"scout","minPlayers":3,"maxPlayers":5`,
		`"scout","minPlayers":0,"maxPlayers":1`, 1), `,scout`, "", 1)), Options{Additional: 1}, fighters(60)...),
		largeStart)
	var totals [2]float64
	for i := range totals {
		for _, p := range m.Teams[i].Players {
			totals[i] += p.Attributes["strength"].N
		}
	}
	if d := math.Abs(totals[0] - totals[1]); d > 1 {
		t.Errorf("totals %v", totals)
	}
}

// In a large pool only the surroundings of the oldest ticket are looked at: the
// matches are valid all the same, the oldest is in the first, and none is missed.
func TestLargeManyMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	set := parsed(t, `{"ruleLanguageVersion":"1.0",
		"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
		"teams":[{"name":"red","minPlayers":20,"maxPlayers":30,"quantity":2}],
		"rules":[{"name":"Ping","type":"latency","maxLatency":80},{"name":"Mode","type":"batchDistance",
		"batchAttribute":"mode"}],
		"expansions":[{"target":"rules[Ping].maxLatency","steps":[{"waitTimeSeconds":20,"value":100},
		{"waitTimeSeconds":50,"value":150}]}]}`)
	c := &crowd{T: t, set: set, pool: NewPool(set, Options{}), tickets: map[string]*Ticket{}, now: largeStart}
	oldest := crowdTicket(r, 0, largeStart.Add(-10*time.Minute), false)
	oldest.Players[0].Latency = map[string]int{"l0": 10, "l1": 10, "l2": 10}
	c.add(oldest)
	for id := range 6000 {
		c.add(crowdTicket(r, id+1, largeStart.Add(-time.Duration(r.IntN(60))*time.Second), true))
	}
	m := nextMatch(c.pool, c.now)
	if why := c.wrong(m); why != "" || m.Tickets[0] != oldest || teamSizes(m) != "red_1 30, red_2 30" {
		t.Fatalf("%s: %s", teamSizes(m), why)
	}
	for _, ticket := range m.Tickets {
		delete(c.tickets, ticket.ID)
	}
	if n := c.matchAll(); n < 50 {
		t.Errorf("%d matches", n)
	}
}
