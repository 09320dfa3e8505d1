package ruleset

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestDocuments: the sample sets and those of the guide's scenarios are accepted.
func TestDocuments(t *testing.T) {
	for file, body := range documents(t) {
		t.Run(file, func(t *testing.T) { check(t, mustParse(t, body)) })
	}
}

// TestLastKeyWins: the guide prints one expansion with two targets, which JSON parsers
// read as the second one.
func TestLastKeyWins(t *testing.T) {
	s := mustParse(t, documents(t)["testdata/guide/large.json"])
	if got, want := s.Levels(), []time.Duration{10 * time.Second, 15 * time.Second}; !reflect.DeepEqual(got, want) {
		t.Errorf("levels %v, want %v", got, want)
	}
	if latency := s.At(time.Hour).Rules[0].MaxLatency; *latency != 150 {
		t.Errorf("maxLatency became %v", *latency)
	}
}

// TestAccepted: spellings and keys that may be left out.
func TestAccepted(t *testing.T) {
	rule := func(s *Set) any { r := s.Rules[len(s.Rules)-1]; r.Name, r.Measurements = "", nil; return r }
	number := func(n float64) *float64 { return &n }
	count := func(n int) *int { return &n }
	text := "healer"
	for _, c := range []struct {
		name, body string
		part       func(*Set) any
		want       any
	}{
		{"the least", with(`"teams":[` + red + `]`), func(s *Set) any { return s.Teams }, []Team{{"red", "red", 1, 5}}},
		{"null is not there", with(`"teams":[{"name":"red","minPlayers":1,"maxPlayers":5,"quantity":null}]`,
			`"rules":null`, `"algorithm":null`), func(s *Set) any { return len(s.Teams) }, 1},
		{"unknown keys", with(`"teams":[`+red+`]`, `"comment":{"by":["us"]}`), func(s *Set) any { return len(s.Teams) },
			1},
		{"quantity 1 has no number", with(`"teams":[{"name":"a","minPlayers":0,"maxPlayers":2.0,"quantity":1}]`),
			func(s *Set) any { return s.Teams }, []Team{{"a", "a", 0, 2}}},
		{"copies", body(), func(s *Set) any { return s.Teams[1:] },
			[]Team{{"crew_1", "crew", 2, 4}, {"crew_2", "crew", 2, 4}}},
		{"200 players", with(skillOnly, `"algorithm":{"strategy":"balanced","balancedAttribute":"skill"}`,
			`"teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":200}]`),
			func(s *Set) any { return s.MaxPlayers() }, 200},
		{"40 players are small", with(`"teams":[{"name":"a","minPlayers":1,"maxPlayers":20,"quantity":2}]`),
			func(s *Set) any { return s.Large() }, false},
		{"balanced with 13 players",
			body(`"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"fastestRegion"}`,
				rulesMember([]string{seasoned})), func(s *Set) any { return s.Algorithm },
			Algorithm{Balanced: true, FastestRegion: true}},
		{"low priority", body(`"algorithm":{"backfillPriority":"low","expansionAgeSelection":"newest"}`),
			func(s *Set) any { return s.Algorithm }, Algorithm{BackfillPriority: LowPriority}},
		{"defaults", with(`"teams":[`+red+`]`,
			`"playerAttributes":[{"name":"a","type":"number","default":0},{"name":"b","type":"string","default":""},`+
				`{"name":"c","type":"string_list","default":["x","y","x"]},{"name":"d","type":"string_number_map",`+
				`"default":{}},{"name":"e","type":"string_list","default":[]}]`),
			func(s *Set) any {
				var of []Value
				for _, a := range s.Attributes {
					of = append(of, a.Default)
				}
				return of
			}, []Value{{Type: Number}, {Type: String}, {Type: StringList, SL: []string{"x", "y"}},
				{Type: NumberMap, SDM: map[string]float64{}}, {Type: StringList, SL: []string{}}}},

		{"comparison of single values",
			rules(`"type":"comparison","operation":"!=","measurements":"teams[*].players.attributes[mode]"`), rule,
			Rule{Type: Comparison, Fold: FoldAvg, Operation: "!="}},
		{"text that is no expression",
			rules(`"type":"comparison","operation":"=","referenceValue":"teams","measurements":` + modes),
			func(s *Set) any { return *s.Rules[0].Reference.Text }, "teams"},
		{"text that is nearly an expression",
			rules(`"type":"comparison","operation":"=","referenceValue":"avg(teams[nobody].players","measurements":` +
				modes), func(s *Set) any { return *s.Rules[0].Reference.Text }, "avg(teams[nobody].players"},
		{"common items are comparable",
			rules(`"type":"comparison","operation":"=","referenceValue":"x","measurements":"set_intersection(` +
				tags[1:len(tags)-1] + `)"`), func(s *Set) any { return s.Rules[0].Measurements[0].Type },
			ExprType{1, KindString}},
		{"least distance alone",
			rules(`"type":"distance","minDistance":3,"referenceValue":7,"partyAggregation":"max","measurements":` +
				skills), rule, Rule{Type: Distance, Fold: FoldMax, MinDistance: number(3),
				Reference: &Reference{Number: number(7)}}},
		{"batch distance in quotes",
			rules(`"type":"batchDistance","batchAttribute":"skill","maxDistance":"500","partyAggregation":"min"`), rule,
			Rule{Type: BatchDistance, Fold: FoldMin, MaxDistance: number(500)}},
		{"batch of strings", rules(sameMode), rule, Rule{Type: BatchDistance, Fold: FoldAvg, Attribute: 1}},
		{"collection without bounds",
			rules(`"type":"collection","operation":"contains","referenceValue":"healer","measurements":` + modes), rule,
			Rule{Type: Collection, Fold: FoldUnion, Operation: "contains", Reference: &Reference{Text: &text},
				MinCount: count(1)}},
		{"not contains", rules(`"type":"collection","operation":"contains","referenceValue":"healer","maxCount":0,` +
			`"measurements":` + tags), rule,
			Rule{Type: Collection, Fold: FoldUnion, Operation: "contains", Reference: &Reference{Text: &text},
				MaxCount: count(0)}},
		{"intersection reads no reference",
			rules(`"type":"collection","operation":"intersection","referenceValue":5,` +
				`"partyAggregation":"intersection",` +
				`"measurements":` + tags), rule,
			Rule{Type: Collection, Fold: FoldIntersection, Operation: "intersection", MinCount: count(1)}},
		{"a list in the document",
			rules(`"type":"collection","operation":"reference_intersection_count","referenceValue":["a","b","a"],` +
				`"minCount":2,"measurements":` + tags), rule,
			Rule{Type: Collection, Fold: FoldUnion, Operation: "reference_intersection_count",
				Reference: &Reference{List: []string{"a", "b"}}, MinCount: count(2)}},
		{"an empty list in the document",
			rules(`"type":"collection","operation":"reference_intersection_count","referenceValue":[],"maxCount":2,` +
				`"measurements":` + tags), func(s *Set) any { return s.Rules[0].Reference.List != nil }, true},
		{"latency by distance alone", rules(`"type":"latency","maxDistance":30`), rule,
			Rule{Type: Latency, Fold: FoldAvg, MaxDistance: number(30)}},
		{"order of strings", rules(`"type":"absoluteSort","sortDirection":"descending","sortAttribute":"mode"`), rule,
			Rule{Type: AbsoluteSort, Fold: FoldAvg, Attribute: 1, Descending: true}},
		{"order by a map", rules(`"type":"distanceSort","sortDirection":"ascending","sortAttribute":"votes",` +
			`"mapKey":"minValue"`), rule, Rule{Type: DistanceSort, Fold: FoldAvg, Attribute: 3, MapKey: MinValue}},
		{"large", large(rulesMember([]string{ping, batch, sameMode}),
			`"expansions":[`+steps("teams[red].maxPlayers", `{"waitTimeSeconds":3,"value":20}`)+"]"),
			func(s *Set) any {
				return []any{s.Large(), s.At(time.Minute).Large(), s.At(time.Minute).MaxPlayers()}
			}, []any{true, true, 20}},
		{"compound", rules(ping, ping, ping, `"type":"compound","statement":" xor ( r0 , r1 , not(r2) ) "`), rule,
			Rule{Type: Compound, Statement: &Statement{Op: "xor",
				Args: []*Statement{{Rule: 0}, {Rule: 1}, {Op: "not", Args: []*Statement{{Rule: 2}}}}}}},
		{"many operators side by side", rules(ping,
			`"type":"compound","statement":"or(not(r0)`+strings.Repeat(",not(r0)", 2*maxNesting)+`)"`),
			func(s *Set) any { return len(s.Rules[1].Statement.Args) }, 2*maxNesting + 1},
		{"operators as names", body(`"rules":[{"name":"and",` + ping + `},{"name":"a-b c",` + ping +
			`},{"name":"x","type":"compound","statement":"and(and,a-b c)"}]`), rule,
			Rule{Type: Compound, Statement: &Statement{Op: "and", Args: []*Statement{{Rule: 0}, {Rule: 1}}}}},
		{"compound in compound", rules(ping, `"type":"compound","statement":"not(r0)"`,
			`"type":"compound","statement":"or(r0,r1)"`),
			func(s *Set) any {
				return []bool{s.Rules[0].Operand, s.Rules[1].Operand, s.Rules[2].Operand}
			}, []bool{true, true, false}},
		{"an operand that is relaxed stays one", expanded([]string{ping, `"type":"compound","statement":"not(r0)"`},
			steps("rules[r0].maxLatency", manySteps(0, 1))), func(s *Set) any { return s.At(0).Rules[0].Operand },
			true},
		{"equal expressions are one", rules(seasoned, seasoned),
			func(s *Set) any { return s.Rules[0].Measurements[0] == s.Rules[1].Measurements[0] }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, c.body)
			check(t, s)
			if got := c.part(s); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s\ngot  %+v\nwant %+v", c.body, got, c.want)
			}
		})
	}
}

// TestLongestDocument: a rule set may have as many characters as the API takes.
func TestLongestDocument(t *testing.T) {
	s := with(`"teams":[`+red+`]`, `"name":"%"`)
	s = strings.Replace(s, "%", strings.Repeat("é", maxBody-len(s)+1), 1)
	mustParse(t, s)
	if e := refused(t, s+" "); e.Path != "" {
		t.Error(e)
	}
}

func TestValues(t *testing.T) {
	items := []string{"b", "a", "b", "c", "a"}
	if got := List(items); !reflect.DeepEqual(got, Value{Type: StringList, SL: []string{"b", "a", "c"}}) {
		t.Errorf("List gives %+v", got)
	}
	if !reflect.DeepEqual(items, []string{"b", "a", "b", "c", "a"}) {
		t.Errorf("List changed its argument to %v", items)
	}
	s := mustParse(t, body())
	slot, ok := s.Slot("tags")
	if _, unknown := s.Slot("rank"); !ok || slot != 2 || unknown {
		t.Errorf("Slot gives %d, %v and finds rank: %v", slot, ok, unknown)
	}
	if err := s.Attributes[slot].Check(List(nil)); err != nil {
		t.Error(err)
	}
	if err := s.Attributes[slot].Check(Value{}); err == nil {
		t.Error("a value of no type is accepted")
	}
	if got := Type(77).String(); got != "" {
		t.Errorf("an unknown type is %q", got)
	}
	err := s.Attributes[slot].Check(Value{Type: Number, N: 5})
	if want := "player attribute tags is declared as string_list in the rule set: give SL, not N"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func BenchmarkParse(b *testing.B) {
	for file, body := range documents(b) {
		if strings.Contains(file, "/sets/") {
			b.Run(file[len(file)-6:len(file)-5], func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					mustParse(b, body)
				}
			})
		}
	}
}
