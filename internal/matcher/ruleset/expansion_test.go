package ruleset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// check fails unless what a set refers to is there, at every level.
func check(t testing.TB, s *Set) {
	t.Helper()
	ages := s.Levels()
	if !slices.IsSorted(ages) || len(slices.Compact(slices.Clone(ages))) != len(ages) || len(ages) > maxLevels {
		t.Fatalf("the levels are %v", ages)
	}
	checkLevel(t, s, s)
	for _, age := range ages {
		now := s.At(age)
		if now == s.At(age-1) || now.At(0) != now || now.At(time.Hour) != now || now.Levels() != nil {
			t.Fatalf("the set at %v is not one of its own", age)
		}
		if len(s.Changes(age)) == 0 || s.Changes(age+1) != nil {
			t.Fatalf("at %v change %v, and later %v", age, s.Changes(age), s.Changes(age+1))
		}
		checkLevel(t, s, now)
	}
}

func checkLevel(t testing.TB, s, now *Set) {
	t.Helper()
	if now.Large() != s.Large() || now.MaxPlayers() > maxPlayers || !s.Large() && now.MaxPlayers() > maxSmall ||
		now.MaxPlayers() == 0 {
		t.Fatalf("large %v with %d players, at first large %v with %d", now.Large(), now.MaxPlayers(), s.Large(),
			s.MaxPlayers())
	}
	if len(now.Teams) != len(s.Teams) || len(now.Rules) != len(s.Rules) ||
		!reflect.DeepEqual(now.Attributes, s.Attributes) || !reflect.DeepEqual(now.Algorithm, s.Algorithm) {
		t.Fatal("the set has other parts than at first")
	}
	names := map[string]bool{}
	for i, team := range now.Teams {
		if team.Min < 0 || team.Min > team.Max || names[team.Name] || team.Name != s.Teams[i].Name ||
			!strings.HasPrefix(team.Name, team.Base) {
			t.Fatalf("team %+v", team)
		}
		names[team.Name] = true
	}
	for i, r := range now.Rules {
		first := s.Rules[i]
		if r.Name != first.Name || r.Type != first.Type || r.Operand != first.Operand ||
			r.Statement != first.Statement ||
			r.Attribute != first.Attribute || !reflect.DeepEqual(r.Measurements, first.Measurements) {
			t.Fatalf("the rule %+v was %+v", r, first)
		}
		checkRule(t, now, i)
	}
}

func checkRule(t testing.TB, s *Set, i int) {
	t.Helper()
	r := s.Rules[i]
	for _, e := range r.Measurements {
		checkExpr(t, s, e)
	}
	if ref := r.Reference; ref != nil {
		set := 0
		for _, is := range []bool{ref.Number != nil, ref.Text != nil, ref.List != nil, ref.Expr != nil} {
			if is {
				set++
			}
		}
		if set != 1 {
			t.Fatalf("the reference %+v is %d things", ref, set)
		}
		if ref.Expr != nil {
			checkExpr(t, s, ref.Expr)
		}
	}
	if r.MinDistance != nil && r.MaxDistance != nil && *r.MinDistance > *r.MaxDistance || r.MinCount != nil &&
		r.MaxCount != nil && *r.MinCount > *r.MaxCount {
		t.Fatalf("the bounds of %+v", r)
	}
	if (r.Fold == "") != (r.Type == Compound) {
		t.Fatalf("the fold of %+v", r)
	}
	if r.Attribute != 0 && r.Attribute >= len(s.Attributes) {
		t.Fatalf("the attribute of %+v", r)
	}
	if looked := checkStatement(t, s, r.Statement, i); looked > maxWeight {
		t.Fatalf("%d rules are evaluated for %+v", looked, r)
	}
}

// checkStatement gives the number of rules that are looked at.
func checkStatement(t testing.TB, s *Set, of *Statement, before int) (looked int) {
	t.Helper()
	switch {
	case of == nil:
		return 0
	case of.Op == "":
		r := s.Rules[of.Rule]
		if of.Rule >= before || !r.Operand || r.Type == BatchDistance || len(of.Args) > 0 {
			t.Fatalf("the operand %d of rule %d", of.Rule, before)
		}
		return max(1, checkStatement(t, s, r.Statement, of.Rule))
	case !slices.Contains(operators, of.Op) || len(of.Args) == 0:
		t.Fatalf("the statement %+v", of)
	}
	for _, arg := range of.Args {
		looked += checkStatement(t, s, arg, before)
	}
	return looked
}

func checkExpr(t testing.TB, s *Set, e *Expr) {
	t.Helper()
	if e.Type.Depth < 0 || e.Type.Depth > 3 || e.Type.Of < KindTeam || e.Type.Of > KindMap ||
		(e.Func == "") != (e.Path != nil) || (e.Func == "") != (e.Arg == nil) {
		t.Fatalf("the expression %+v", e)
	}
	if e.Func != "" {
		if e.Type.Depth != e.Arg.Type.Depth-1 || !strings.Contains(e.Text, e.Arg.Text) {
			t.Fatalf("the expression %+v of %+v", e, e.Arg)
		}
		checkExpr(t, s, e.Arg)
		return
	}
	if len(e.Path.Teams) == 0 || !slices.IsSorted(e.Path.Teams) || e.Path.Teams[len(e.Path.Teams)-1] >= len(s.Teams) ||
		e.Path.Of == OfAttribute && e.Path.Slot >= len(s.Attributes) {
		t.Fatalf("the path %+v", e.Path)
	}
}

// TestSharing: what no step touches is not copied.
func TestSharing(t *testing.T) {
	s := mustParse(t, documents(t)["testdata/sets/A.json"])
	now := s.At(time.Hour)
	if now == s || s.At(20*time.Second-1) != s || s.At(0) != s || s.At(-time.Hour) != s {
		t.Error("a step does not begin at its time")
	}
	for i := range s.Rules {
		if now.Rules[i].Measurements[0] != s.Rules[i].Measurements[0] {
			t.Errorf("the measurement of %s was copied", s.Rules[i].Name)
		}
	}
	if *s.Rules[2].MaxDistance != 50 || *now.Rules[2].MaxDistance != 400 || *now.Rules[0].Reference.Number != 0 {
		t.Error("the steps changed the wrong set")
	}
}

func TestChanges(t *testing.T) {
	s := mustParse(t, expanded([]string{healers, near0},
		steps("teams[crew, red, crew].minPlayers", `{"waitTimeSeconds":9,"value":1}`),
		steps("teams[crew_2].minPlayers", `{"waitTimeSeconds":5,"value":0}`),
		steps(" rules [ r0 ] . referenceValue", `{"waitTimeSeconds":9,"value":"<me & dic>"}`),
		steps("rules[r1].minDistance", `{"waitTimeSeconds":9,"value":2}`),
		steps("rules[r1].referenceValue", `{"waitTimeSeconds":9,"value":7},{"waitTimeSeconds":10,"value":8}`)))
	check(t, s)
	want := map[time.Duration][]Change{
		5 * time.Second: {{"teams[crew_2].minPlayers", "2", "0"}},
		9 * time.Second: {
			{"teams[crew].minPlayers", "2", "1"}, {"teams[crew].minPlayers", "0", "1"},
			{"teams[red].minPlayers", "1", "1"},
			{"rules[r0].referenceValue", `"healer"`, `"<me & dic>"`}, {"rules[r1].minDistance", "", "2"},
			{"rules[r1].referenceValue", `"avg(flatten(teams[*].players.attributes[skill]))"`, "7"},
		},
		10 * time.Second: {{"rules[r1].referenceValue", "7", "8"}},
	}
	for age, changes := range want {
		if got := s.Changes(age); !reflect.DeepEqual(got, changes) {
			t.Errorf("at %v: got %v, want %v", age, got, changes)
		}
	}
	now := s.At(9 * time.Second)
	if got := []int{now.Teams[0].Min, now.Teams[1].Min, now.Teams[2].Min}; !reflect.DeepEqual(got, []int{1, 1, 1}) {
		t.Errorf("the least players are %v", got)
	}
	if *now.Rules[0].Reference.Text != "<me & dic>" || *now.Rules[1].MinDistance != 2 ||
		*now.Rules[1].MaxDistance != 9 || *now.Rules[1].Reference.Number != 7 {
		t.Errorf("the rules are %+v", now.Rules)
	}
}

// TestStepsOfOneTime: of the steps that set a property at one time, the last one of the
// document counts.
func TestStepsOfOneTime(t *testing.T) {
	var expansions []string
	for i := range 60 {
		expansions = append(expansions, steps("rules[r0].maxLatency",
			sprint(`{"waitTimeSeconds":%d,"value":%d}`, 9-i*7%3, i)))
	}
	s := mustParse(t, expanded([]string{ping}, expansions...))
	for age, want := range map[time.Duration]float64{7: 59, 8: 58, 9: 57} {
		if got := *s.At(age * time.Second).Rules[0].MaxLatency; got != want {
			t.Errorf("after %d s maxLatency is %v, want %v", age, got, want)
		}
	}
}

// near0 is a distance rule from an average.
const near0 = `"type":"distance","maxDistance":9,"measurements":[` + skills +
	`],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"`

// TestExpansionsOverTime draws expansions and compares the set at many ages with what
// the steps say: of the steps of a property that have begun, the last one counts.
func TestExpansionsOverTime(t *testing.T) {
	type property struct {
		target string
		first  int
		now    func(*Set) int
	}
	properties := []property{
		{"teams[red].minPlayers", 1, func(s *Set) int { return s.Teams[0].Min }},
		{"teams[crew].minPlayers", 2, func(s *Set) int { return s.Teams[2].Min }},
		{"rules[r0].maxLatency", 90, func(s *Set) int { return int(*s.Rules[0].MaxLatency) }},
		{"rules[r1].maxDistance", 10, func(s *Set) int { return int(*s.Rules[1].MaxDistance) }},
		{"rules[r2].referenceValue", 5, func(s *Set) int { return int(*s.Rules[2].Reference.Number) }},
		{"rules[r3].minCount", 1, func(s *Set) int { return *s.Rules[3].MinCount }},
	}
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			values := make([][60]int, len(properties)) // by second
			ages := map[int]bool{}
			var expansions []string
			for i, p := range properties {
				now, chosen := p.first, []string{}
				for second := range 60 {
					if len(chosen) < maxSteps && r.IntN(8) == 0 {
						now = r.IntN(3)
						ages[second] = true
						chosen = append(chosen, fmt.Sprintf(`{"waitTimeSeconds":%d,"value":%d}`, second, now))
					}
					values[i][second] = now
				}
				if len(chosen) > 0 {
					expansions = append(expansions, steps(p.target, strings.Join(chosen, ",")))
				}
			}
			r.Shuffle(len(expansions), func(i, j int) { expansions[i], expansions[j] = expansions[j], expansions[i] })
			s := mustParse(t, expanded([]string{ping, batch, seasoned, healers}, expansions...))
			check(t, s)
			if len(s.Levels()) != len(ages) {
				t.Errorf("levels %v, want %d of them", s.Levels(), len(ages))
			}
			for i, p := range properties {
				for second, want := range values[i] {
					age := time.Duration(second) * time.Second
					for _, a := range []time.Duration{age, age + time.Second - 1} {
						if got := p.now(s.At(a)); got != want {
							t.Fatalf("%s at %v is %d, want %d", p.target, a, got, want)
						}
					}
				}
			}
		})
	}
}

// TestExpensiveDocuments: what a document of the greatest length can ask for is bounded.
func TestExpensiveDocuments(t *testing.T) {
	var list, names []string
	for i := range maxChanges / maxSteps {
		name := fmt.Sprint("x", i)
		names = append(names, name)
		list = append(list, sprint(`{"name":%q,%s}`, name, ping))
	}
	s := mustParse(t, body(`"rules":[`+strings.Join(list, ",")+"]",
		`"expansions":[`+steps("rules["+strings.Join(names, ",")+"].maxLatency", manySteps(0, maxSteps))+"]"))
	if len(s.Levels()) != maxLevels {
		t.Errorf("%d levels", len(s.Levels()))
	}
	check(t, s)

	// Compound rules that double each other.
	doubling := []string{`{"name":"c0",` + ping + `}`}
	for i := range 20 {
		doubling = append(doubling, sprint(`{"name":"c%d","type":"compound","statement":"and(c%d, c%d)"}`, i+1, i, i))
	}
	if e := refused(t, body(`"rules":[`+strings.Join(doubling, ",")+"]")); e.Path != "rules[10].statement" {
		t.Error(e)
	}
}
