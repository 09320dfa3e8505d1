package ruleset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// body is a rule set of two teams and an attribute of each type, with more members.
func body(more ...string) string {
	return `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"},{"name":"tags",
"type":"string_list"},{"name":"votes","type":"string_number_map"}],
"teams":[{"name":"red","minPlayers":1,"maxPlayers":5},{"name":"crew","minPlayers":2,"maxPlayers":4,
"quantity":2}]` + joined(",", more) + "}"
}

// rules is a body with rules, which get names r0, r1, … in front.
func rules(list ...string) string { return body(rulesMember(list)) }

func rulesMember(list []string) string {
	var named []string
	for i, r := range list {
		named = append(named, `{"name":"r`+string(rune('0'+i))+`",`+r+"}")
	}
	return `"rules":[` + strings.Join(named, ",") + "]"
}

// expanded is a body with rules r0, r1, … and expansions.
func expanded(list []string, expansions ...string) string {
	return body(rulesMember(list), `"expansions":[`+strings.Join(expansions, ",")+"]")
}

// large is a rule set of large matches with more members.
func large(more ...string) string {
	return `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode",
		"type":"string"}],
"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
"teams":[{"name":"red","minPlayers":10,"maxPlayers":41}]` + joined(",", more) + "}"
}

func joined(before string, list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(before + s)
	}
	return b.String()
}

// with is a rule set of given members beside the language version.
func with(members ...string) string {
	return `{"ruleLanguageVersion":"1.0"` + joined(",", members) + "}"
}

// mustParse is a rule set that has to be accepted.
func mustParse(t testing.TB, body string) *Set {
	t.Helper()
	s, err := Parse(body)
	if err != nil {
		t.Fatalf("%s\n%v", body, err)
	}
	return s
}

// refused is the error of a rule set that must not be accepted.
func refused(t testing.TB, body string) *Error {
	t.Helper()
	s, err := Parse(body)
	var e *Error
	if s != nil || !errors.As(err, &e) || e.Problem == "" {
		t.Fatalf("%s\ngot %+v, %v; want an *Error", body, s, err)
	}
	return e
}

// documents are the rule sets in testdata by file name.
func documents(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no rule sets: ", err)
	}
	all := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(f)] = string(data)
	}
	return all
}
