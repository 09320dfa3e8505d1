package placement

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// harbor is the queue of the worked examples: two fleets that share a location.
func harbor() Queue {
	return Queue{Destinations: []Destination{
		{Fleet: "F1", Cost: 2, Locations: []string{"custom-a", "custom-b"}},
		{Fleet: "F2", Cost: 1, Locations: []string{"custom-b", "custom-c"}},
	}}
}

// reports reads "p1 a=20 b=90, p2 a=80": locations without "custom-".
func reports(text string) (list []Latency) {
	for player := range strings.SplitSeq(text, ", ") {
		fields := strings.Fields(player)
		for _, f := range fields[1:] {
			l := Latency{PlayerID: fields[0]}
			location, ms, _ := strings.Cut(f, "=")
			l.Location = "custom-" + location
			if _, err := fmt.Sscan(ms, &l.Milliseconds); err != nil {
				panic(err)
			}
			list = append(list, l)
		}
	}
	return list
}

// rooms writes candidates as "F1/a F2/b".
func rooms(c Choice) string {
	var names []string
	for _, r := range c.Rooms {
		names = append(names, room(r))
	}
	return strings.Join(names, " ")
}

func room(r fleet.RoomID) string {
	return string(r.Fleet) + "/" + strings.TrimPrefix(r.Location, "custom-")
}

func TestCandidates(t *testing.T) {
	const second = time.Second
	onlyC := func(q *Queue) { q.AllowedLocations = []string{"custom-c"} }
	locations := func(q *Queue) {
		q.PriorityOrder, q.LocationOrder = []string{"LOCATION", "DESTINATION"}, []string{"custom-c"}
	}
	priority := func(order ...string) func(q *Queue) { return func(q *Queue) { q.PriorityOrder = order } }
	policies := func(list ...LatencyPolicy) func(q *Queue) { return func(q *Queue) { q.LatencyPolicies = list } }
	override := func(listOnly bool, list ...string) *Override {
		return &Override{LocationOrder: list, ListOnly: listOnly}
	}

	for _, c := range []struct {
		name      string
		queue     func(q *Queue)
		latencies string
		override  *Override
		age       time.Duration
		want      string
		next      time.Duration
	}{
		// The worked vectors. The first candidate with capacity is taken, so P1 and P2 are one order.
		{name: "P1, P2: destination, then the name of the location", want: "F1/a F1/b F2/b F2/c"},
		{name: "P3: ties go to the cost", latencies: "p1 a=50 b=30 c=30", want: "F2/b F2/c F1/b F1/a"},
		{name: "P4: averages; no data is last", latencies: "p1 a=20 b=90, p2 a=80 b=20", want: "F1/a F2/b F1/b F2/c"},
		{name: "P5: one player is enough to exclude", queue: policies(LatencyPolicy{Cap: 70}),
			latencies: "p1 a=20 b=90, p2 a=80 b=20"},
		{name: "P6: before the second policy", queue: policies(LatencyPolicy{70, 30 * second}, LatencyPolicy{Cap: 85}),
			latencies: "p1 a=20 b=90, p2 a=80 b=20", age: 30*second - 1, next: 30 * second},
		{name: "P6: from the second policy on", queue: policies(LatencyPolicy{70, 30 * second}, LatencyPolicy{Cap: 85}),
			latencies: "p1 a=20 b=90, p2 a=80 b=20", age: 30 * second, want: "F1/a"},
		{name: "P7: the filter", queue: onlyC, want: "F2/c"},
		{name: "P8: what PriorityOrder leaves out follows it", queue: priority("COST"), want: "F2/b F2/c F1/a F1/b"},
		{name: "P9: LocationOrder", queue: locations, want: "F2/c F1/a F1/b F2/b"},
		{name: "P10: an override alone", queue: locations, override: override(true, "custom-b"), want: "F1/b F2/b"},
		{name: "P11: an override, then the queue's own order", queue: locations, override: override(false, "custom-b"),
			want: "F1/b F2/b F2/c F1/a"},

		{name: "no destination", queue: func(q *Queue) { q.Destinations = nil }},
		{name: "a filter that allows nothing", queue: func(q *Queue) { q.AllowedLocations = []string{} }},
		{name: "a destination that leads nowhere", queue: func(q *Queue) {
			q.Destinations = append([]Destination{{Unusable: "alias terminal-1 is TERMINAL"},
				{Unusable: "alias terminal-2 is TERMINAL"}}, q.Destinations[1])
		}, want: "F2/b F2/c"},
		{name: "an unusable fleet", queue: func(q *Queue) { q.Destinations[0].Unusable = "fleet F1 is being deleted" },
			want: "F2/b F2/c"},
		{name: "the same fleet twice",
			queue: func(q *Queue) { q.Destinations = append(q.Destinations, q.Destinations[0]) },
			want:  "F1/a F1/b F2/b F2/c"},
		{name: "locations stand by name without an order",
			queue: func(q *Queue) { q.Destinations[0].Locations = []string{"custom-z", "custom-a", "custom-b"} },
			want:  "F1/a F1/b F1/z F2/b F2/c"},
		{name: "LocationOrder breaks the last tie without a PriorityOrder",
			queue: func(q *Queue) { q.LocationOrder = []string{"custom-b"} }, want: "F1/b F1/a F2/b F2/c"},
		{name: "cost does not count without latencies and PriorityOrder",
			queue: func(q *Queue) { q.Destinations[0].Cost = 1000 }, want: "F1/a F1/b F2/b F2/c"},

		{name: "LATENCY without data is a tie", queue: priority("LATENCY"), want: "F2/b F2/c F1/a F1/b"},
		{name: "LATENCY, COST, DESTINATION, LOCATION", queue: priority("LATENCY", "COST", "DESTINATION", "LOCATION"),
			latencies: "p1 a=50 b=30 c=30", want: "F2/b F2/c F1/b F1/a"},
		{name: "LATENCY, DESTINATION", queue: priority("LATENCY", "DESTINATION"), latencies: "p1 a=50 b=30 c=30",
			want: "F1/b F2/b F2/c F1/a"},
		{name: "LOCATION, COST", queue: priority("LOCATION", "COST"), want: "F1/a F2/b F1/b F2/c"},
		{name: "DESTINATION, LATENCY", queue: priority("DESTINATION", "LATENCY"), latencies: "p1 a=50 b=30 c=40",
			want: "F1/b F1/a F2/b F2/c"},
		{name: "COST, LATENCY", queue: priority("COST", "LATENCY"), latencies: "p1 a=10 b=30 c=20",
			want: "F2/c F2/b F1/a F1/b"},

		{name: "policies do not apply without latencies",
			queue: policies(LatencyPolicy{1, second}, LatencyPolicy{Cap: 2}),
			want:  "F1/a F1/b F2/b F2/c"},
		{name: "the cap itself is allowed", queue: policies(LatencyPolicy{Cap: 70}), latencies: "p1 a=70 b=70.001 c=71",
			want: "F1/a"},
		{name: "the last policy stays when its time is over",
			queue:     policies(LatencyPolicy{50, 10 * second}, LatencyPolicy{70, 10 * second}),
			latencies: "p1 a=70 b=71 c=60", age: time.Hour, want: "F2/c F1/a"},
		{name: "three policies, the first", queue: policies(LatencyPolicy{50, 120 * second},
			LatencyPolicy{100, 120 * second},
			LatencyPolicy{Cap: 200}),
			latencies: "p1 a=50 b=100 c=200", age: 0, want: "F1/a", next: 120 * second},
		{name: "three policies, the second", queue: policies(LatencyPolicy{50, 120 * second},
			LatencyPolicy{100, 120 * second}, LatencyPolicy{Cap: 200}),
			latencies: "p1 a=50 b=100 c=200", age: 120 * second, want: "F1/a F2/b F1/b", next: 240 * second},
		{name: "three policies, the third", queue: policies(LatencyPolicy{50, 120 * second},
			LatencyPolicy{100, 120 * second},
			LatencyPolicy{Cap: 200}),
			latencies: "p1 a=50 b=100 c=200", age: 240 * second, want: "F1/a F2/b F1/b F2/c"},
		{name: "a policy without duration hides those behind it",
			queue:     policies(LatencyPolicy{Cap: 50}, LatencyPolicy{100, second}),
			latencies: "p1 a=50 b=100", age: time.Hour, want: "F1/a"},
		{name: "a player without a value excludes under a policy", queue: policies(LatencyPolicy{Cap: 500}),
			latencies: "p1 a=50 b=60, p2 b=10", want: "F2/b F1/b"},
		{name: "and is left out of the average without one", latencies: "p1 a=20 b=60, p2 b=10",
			want: "F1/a F2/b F1/b F2/c"},
		{name: "a value given twice is no second player", queue: policies(LatencyPolicy{Cap: 500}),
			latencies: "p1 a=50 a=50, p2 b=10", want: ""},

		{name: "averages are fractions", latencies: "p1 a=10 b=10 c=11, p2 a=10 b=11 c=10, p3 a=11.5 b=10 c=11",
			want: "F2/b F1/b F1/a F2/c"},
		{name: "the order of summands does not decide", queue: func(q *Queue) {
			q.Destinations[0].Cost,
				q.Destinations[1].Cost = 1, 1
		},
			latencies: "p1 a=0.3 c=0.1, p2 a=0.2 c=0.2, p3 a=0.1 c=0.3", want: "F1/a F2/c F1/b F2/b"},
		{name: "latencies of locations that the queue has not", latencies: "p1 x=1", want: "F2/b F2/c F1/a F1/b"},

		{name: "an override of several locations", queue: locations, override: override(false, "custom-b", "custom-a"),
			want: "F1/b F2/b F1/a F2/c"},
		{name: "an override does not lift the filter", queue: func(q *Queue) { locations(q); onlyC(q) },
			override: override(false, "custom-b", "custom-x"), want: "F2/c"},
		{name: "an override and the filter leave nothing", queue: func(q *Queue) { locations(q); onlyC(q) },
			override: override(true, "custom-b")},
		{name: "an override leaves the other criteria", queue: priority("LOCATION", "COST"),
			override: override(false, "custom-b"), want: "F2/b F1/b F1/a F2/c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, r := harbor(), &Request{Override: c.override}
			if c.queue != nil {
				c.queue(&q)
			}
			if c.latencies != "" {
				r.Latencies = reports(c.latencies)
			}
			got := Candidates(q, r, c.age)
			if rooms(got) != c.want || got.Next != c.next {
				t.Errorf("got %q, next %v; want %q, next %v", rooms(got), got.Next, c.want, c.next)
			}
			checkTrail(t, q, got)
		})
	}
}

// checkTrail: the candidates stand first in the trail, then the others, each with a reason.
func checkTrail(t *testing.T, q Queue, c Choice) {
	t.Helper()
	for i, e := range c.Considered {
		if kept := i < len(c.Rooms); kept != (e.Dropped == "") || kept && e.Room != c.Rooms[i] {
			t.Errorf("entry %d of the trail is %+v", i, e)
		}
	}
	all := 0
	for i, d := range q.Destinations {
		again := slices.ContainsFunc(q.Destinations[:i], func(e Destination) bool {
			return d.Fleet != "" &&
				e.Fleet == d.Fleet
		})
		if all++; !again && len(d.Locations) > 0 {
			all += len(d.Locations) - 1
		}
	}
	if len(c.Considered)+c.Omitted != all || len(c.Considered) > MaxCandidates {
		t.Errorf("the trail holds %d and omits %d of %d", len(c.Considered), c.Omitted, all)
	}
}

// TestReasons shows what a trail tells a person.
func TestReasons(t *testing.T) {
	q := harbor()
	q.Destinations = append(q.Destinations,
		Destination{Fleet: "F3", Locations: []string{"custom-d"}, Unusable: "fleet F3 is being deleted"},
		Destination{Unusable: "alias alias-1 is TERMINAL"},
		Destination{Fleet: "F4"},
		Destination{Fleet: "F1", Locations: []string{"custom-a"}},
		Destination{Fleet: "F5", Cost: 0.5, Locations: []string{"custom-e", "custom-f", "custom-g"}})
	q.AllowedLocations = []string{"custom-a", "custom-b", "custom-e", "custom-f", "custom-g"}
	q.LatencyPolicies = []LatencyPolicy{{Cap: 70}}
	r := &Request{Latencies: reports("p1 a=20 b=33.3 e=10 f=1, p2 a=90.5 b=40 e=70.1")}
	r.Latencies = append(r.Latencies, Latency{PlayerID: strings.Repeat("ö", 500), Location: "custom-b",
		Milliseconds: 1})

	var got strings.Builder
	for _, c := range Candidates(q, r, 0).Considered {
		fmt.Fprintf(&got, "%s %v %v %s\n", room(c.Room), c.Latency, c.Cost, c.Dropped)
	}
	long := strings.Repeat("ö", 32) + "…"
	want := `F2/b 24.767 1 
F1/b 24.767 2 
F1/a 55.25 2 player p2 reports 90.5 ms, the policy allows 70 ms
F2/c 0 1 not in AllowedLocations
F3/d 0 0 fleet F3 is being deleted
/ 0 0 alias alias-1 is TERMINAL
F4/ 0 0 the fleet has no locations
F1/ 0 0 the same fleet is an earlier destination
F5/e 40.05 0.5 player p2 reports 70.1 ms, the policy allows 70 ms
F5/f 1 0.5 player p2 reports no latency, the policy allows 70 ms
F5/g 0 0.5 no player reports a latency, the policy allows 70 ms
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}

	r.Latencies = append(r.Latencies, Latency{PlayerID: r.Latencies[len(r.Latencies)-1].PlayerID, Location: "custom-e",
		Milliseconds: 71})
	for _, c := range Candidates(q, r, 0).Considered {
		if c.Room.Location == "custom-e" && c.Dropped != "player "+long+" reports 71 ms, the policy allows 70 ms" {
			t.Errorf("a long id gives %q", c.Dropped)
		}
	}
	r = &Request{Override: &Override{LocationOrder: []string{"custom-e"}, ListOnly: true}}
	for _, c := range Candidates(q, r, 0).Considered {
		if c.Room.Location == "custom-a" && c.Dropped != "not in the LocationOrder of PriorityConfigurationOverride, "+
			"and PlacementFallbackStrategy is NONE" {
			t.Errorf("outside the override: %q", c.Dropped)
		}
	}
}

// TestMatchesArePlacedWhereTheirPlayersReport: also in a queue without policies.
func TestMatchesArePlacedWhereTheirPlayersReport(t *testing.T) {
	q := Queue{Destinations: []Destination{{Fleet: "F1", Locations: []string{"custom-a", "custom-b", "custom-c"}}}}
	r := &Request{Latencies: reports("p1 a=20 b=900, p2 b=30")}
	if n := len(Candidates(q, r, 0).Rooms); n != 3 {
		t.Errorf("without a match there are %d candidates, want 3", n)
	}
	r.Match = "m"
	var got strings.Builder
	for _, c := range Candidates(q, r, 0).Considered {
		fmt.Fprintf(&got, "%s %s\n", room(c.Room), c.Dropped)
	}
	if want := "F1/b \nF1/a player p2 reports no latency\nF1/c no player reports a latency\n"; got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	r.Latencies = nil
	if n := len(Candidates(q, r, 0).Rooms); n != 3 {
		t.Errorf("without latencies there are %d candidates, want 3", n)
	}
}

// TestCandidatesAreBoundedInTheTrail: however large the queue is, all rooms are tried and
// few are kept.
func TestCandidatesAreBoundedInTheTrail(t *testing.T) {
	for _, size := range []int{63, 64, 65, 200} {
		for _, dropped := range []int{0, 1, 64, 65, 200} {
			var q Queue
			for i := range size {
				q.Destinations = append(q.Destinations, Destination{Fleet: fleet.ID(fmt.Sprint("good-", i)),
					Locations: []string{"custom-a"}})
			}
			for i := range dropped {
				q.Destinations = append(q.Destinations, Destination{Fleet: fleet.ID(fmt.Sprint("bad-", i)),
					Locations: []string{"custom-a"}, Unusable: "bad"})
			}
			got := Candidates(q, &Request{}, 0)
			if len(got.Rooms) != size {
				t.Errorf("%d rooms of %d", len(got.Rooms), size)
			}
			for i, e := range got.Considered[:min(size, MaxCandidates)] {
				if e.Room != got.Rooms[i] {
					t.Errorf("entry %d of the trail is %+v", i, e)
				}
			}
			if len(got.Considered) > MaxCandidates || len(got.Considered)+got.Omitted != size+dropped {
				t.Errorf("the trail holds %d and omits %d of %d", len(got.Considered), got.Omitted, size+dropped)
			}
		}
	}
}

// TestCandidatesAreOrdered compares, for random queues and requests, neighbors by the
// criteria as a person would read them, and holds the candidates to the rules that
// exclude.
func TestCandidatesAreOrdered(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	for range 1500 {
		q, r := randomQueue(rng), randomRequest(rng)
		age := time.Duration(rng.IntN(100)) * time.Second
		got := Candidates(q, r, age)
		for i := 1; i < len(got.Rooms); i++ {
			if a, b := rank(q, r, got.Rooms[i-1]), rank(q, r, got.Rooms[i]); slices.CompareFunc(a, b, compareAny) >= 0 {
				t.Fatalf("%v (%v) stands before %v (%v) in %+v for %+v", got.Rooms[i-1], a, got.Rooms[i], b, q, r)
			}
		}
		for _, d := range q.Destinations {
			for _, l := range d.Locations {
				id := fleet.RoomID{Fleet: d.Fleet, Location: l}
				if slices.Contains(got.Rooms, id) == forbidden(q, r, d, l, age) {
					t.Fatalf("%v is wrong in %v of %+v for %+v at %v", id, got.Rooms, q, r, age)
				}
			}
		}
		if again := Candidates(q, r, age); !slices.Equal(again.Rooms, got.Rooms) {
			t.Fatal("a second look differs")
		}
		if later := Candidates(q, r, got.Next-1); got.Next > 0 && !slices.Equal(later.Rooms, got.Rooms) {
			t.Fatal("the choice changes before Next")
		}
	}
}

func compareAny(a, b any) int {
	if x, ok := a.(string); ok {
		return strings.Compare(x, b.(string))
	}
	return cmp.Compare(a.(float64), b.(float64))
}

// rank is what a room is sorted by, the weightiest first: numbers and texts.
func rank(q Queue, r *Request, id fleet.RoomID) []any {
	index := slices.IndexFunc(q.Destinations, func(d Destination) bool { return d.Fleet == id.Fleet })
	behind := func(list []string) float64 {
		if i := slices.Index(list, id.Location); i >= 0 {
			return float64(i)
		}
		return 99
	}
	average, n := 0.0, 0.0
	for _, l := range r.Latencies {
		if l.Location == id.Location {
			average, n = average+l.Milliseconds, n+1
		}
	}
	if average = math.Round(average / max(n, 1) * 60); n == 0 { // sixty times: a whole number for up to six players
		average = 1e9
	}
	values := map[string][]any{
		"LATENCY": {average}, "COST": {q.Destinations[index].Cost}, "DESTINATION": {float64(index)},
		"LOCATION": {behind(q.LocationOrder), id.Location},
	}
	order := slices.Clone(q.PriorityOrder)
	if order == nil && r.Latencies == nil {
		order = []string{"DESTINATION", "LOCATION"}
	} else {
		for _, c := range []string{"LATENCY", "COST", "DESTINATION", "LOCATION"} {
			if !slices.Contains(order, c) {
				order = append(order, c)
			}
		}
	}
	var key []any
	if r.Override != nil {
		key = append(key, behind(r.Override.LocationOrder))
	}
	for _, c := range order {
		key = append(key, values[c]...)
	}
	return key
}

// forbidden is the rules that exclude, one after another.
func forbidden(q Queue, r *Request, d Destination, location string, age time.Duration) bool {
	if d.Unusable != "" || q.AllowedLocations != nil && !slices.Contains(q.AllowedLocations, location) {
		return true
	}
	if r.Override != nil && r.Override.ListOnly && !slices.Contains(r.Override.LocationOrder, location) {
		return true
	}
	if len(r.Latencies) == 0 || len(q.LatencyPolicies) == 0 && r.Match == "" {
		return false
	}
	limit := int32(math.MaxInt32)
	if n := len(q.LatencyPolicies); n > 0 {
		limit = q.LatencyPolicies[n-1].Cap
	}
	end := time.Duration(0)
	for _, p := range q.LatencyPolicies {
		if end += p.Duration; p.Duration == 0 || age < end {
			limit = p.Cap
			break
		}
	}
	for _, player := range r.Latencies {
		reported := false
		for _, l := range r.Latencies {
			if l.PlayerID == player.PlayerID && l.Location == location {
				if reported = true; l.Milliseconds > float64(limit) {
					return true
				}
			}
		}
		if !reported {
			return true
		}
	}
	return false
}

var places = []string{"custom-a", "custom-b", "custom-c", "custom-d"}

func some(rng *rand.Rand, list []string) []string {
	list = slices.Clone(list)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+rng.IntN(len(list))]
}

func randomQueue(rng *rand.Rand) (q Queue) {
	for i := range rng.IntN(5) {
		d := Destination{Fleet: fleet.ID(fmt.Sprint("F", i)), Cost: float64(rng.IntN(3)), Locations: some(rng, places)}
		if rng.IntN(8) == 0 {
			d.Unusable = "it is gone"
		}
		q.Destinations = append(q.Destinations, d)
	}
	if rng.IntN(3) == 0 {
		q.AllowedLocations = some(rng, places)
	}
	if rng.IntN(2) == 0 {
		q.PriorityOrder = some(rng, latencyOrder)
	}
	if rng.IntN(2) == 0 {
		q.LocationOrder = some(rng, places)
	}
	for i := range rng.IntN(4) {
		q.LatencyPolicies = append(q.LatencyPolicies, LatencyPolicy{Cap: int32(20 + 20*i),
			Duration: time.Duration(rng.IntN(40)) * time.Second})
	}
	return q
}

func randomRequest(rng *rand.Rand) *Request {
	r := &Request{}
	if rng.IntN(3) == 0 {
		r.Override = &Override{LocationOrder: some(rng, places), ListOnly: rng.IntN(2) == 0}
		return r
	}
	if rng.IntN(3) == 0 {
		return r
	}
	if rng.IntN(2) == 0 {
		r.Match = "match-1"
	}
	for i := range rng.IntN(6) {
		for _, l := range places {
			if rng.IntN(6) > 0 {
				r.Latencies = append(r.Latencies, Latency{fmt.Sprint("p", i), l, float64(rng.IntN(70))})
			}
		}
	}
	rng.Shuffle(len(r.Latencies), func(i, j int) { r.Latencies[i], r.Latencies[j] = r.Latencies[j], r.Latencies[i] })
	return r
}

func TestPlayerSet(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 128, 200} {
		for missing := range n + 1 {
			var set playerSet
			for i := range n {
				if i != missing {
					set.add(i)
				}
			}
			if got := set.firstMissing(n); got != missing {
				t.Errorf("of %d players %d is missing, not %d", n, missing, got)
			}
		}
	}
}

func TestCheckOverride(t *testing.T) {
	override := &Override{LocationOrder: []string{"custom-a"}}
	for _, c := range []struct {
		name  string
		order []string
		r     Request
		want  string
	}{
		{"no override", nil, Request{}, ""},
		{"latencies alone", []string{"COST"}, Request{Latencies: reports("p1 a=1")}, ""},
		{"LOCATION first", []string{"LOCATION", "COST"}, Request{Override: override}, ""},
		{"P12: LOCATION is not first", []string{"COST", "LOCATION"}, Request{Override: override, Queue: "harbor"},
			"PriorityConfigurationOverride needs a queue whose PriorityOrder begins with LOCATION: leave it out " +
				"or update " +
				"queue harbor"},
		{"no PriorityOrder", nil, Request{Override: override, Queue: "harbor"},
			"PriorityConfigurationOverride needs a queue whose PriorityOrder begins with LOCATION: leave it out " +
				"or update " +
				"queue harbor"},
		{"P13: with latencies", []string{"LOCATION"}, Request{Override: override, Latencies: reports("p1 a=1")},
			"PriorityConfigurationOverride and PlayerLatencies exclude each other: leave one of them out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckOverride(Queue{PriorityOrder: c.order}, &c.r)
			checkFault(t, err, fault.InvalidRequest, c.want)
		})
	}
}
