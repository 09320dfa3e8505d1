package ruleset

import (
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzParse: no document panics, and what is accepted is consistent at every level and
// the same each time.
func FuzzParse(f *testing.F) {
	for _, body := range documents(f) {
		f.Add(body)
	}
	for _, seed := range []string{
		"", "{}", "null", `{"ruleLanguageVersion":"1.0","teams":[{}]}`,
		rules(ping, near0, `"type":"compound","statement":"xor(r0,not(r1))"`),
		expanded([]string{healers}, steps("rules[r0].minCount", manySteps(0, 3)),
			steps("teams[crew,red].maxPlayers", manySteps(2, 3))),
		large(rulesMember([]string{ping, sameMode})),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s, err := Parse(body)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Problem == "" || s != nil {
				t.Fatalf("%v with %v", err, s)
			}
			return
		}
		check(t, s)
		again, err := Parse(body)
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("the second time: %v", err)
		}
	})
}

// FuzzExpression: no expression panics, errors name a character that there is, and the
// parts of what is accepted are expressions of the same types.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"teams[*]", "avg(flatten(teams[*].players.attributes[skill]))", "count ( team [ red , crew_1 ] . players )",
		"set_intersection(flatten(teams[*].players.attributes[tags]))", "flatten(teams[*].players[playerId])", "avg((",
		"teams[ü].players ",
	} {
		f.Add(seed)
	}
	p := testParser(f)
	f.Fuzz(func(t *testing.T, text string) {
		clear(p.expressions)
		e, wrong := p.expression(text)
		if wrong != nil {
			if e != nil || wrong.at < 1 || wrong.at > utf8.RuneCountInString(text)+1 || wrong.problem == "" {
				t.Fatalf("%q: %+v with %+v", text, *wrong, e)
			}
			return
		}
		checkExpr(t, p.set, e)
		for part := e; part != nil; part = part.Arg {
			again, wrong := p.expression(part.Text)
			if wrong != nil || again.Type != part.Type {
				t.Fatalf("%q in %q: %v", part.Text, text, wrong)
			}
		}
	})
}
