package ruleset

import (
	"strings"
	"testing"
)

// TestLine finds the lines of errors, which are marked with < in the documents.
func TestLine(t *testing.T) {
	for name, body := range map[string]string{
		"syntax": `{
  "name": "a",
  "teams": [ oops ] <
}`,
		"a member": `{
  "name": "a", "ruleLanguageVersion": "1.0",
  "teams": [{
    "name": "red",
    "minPlayers": "x", <
    "maxPlayers": 2
  }]
}`,
		"a missing member": `{
  "ruleLanguageVersion": "1.0",
  "teams": [
    {"name": "red", "minPlayers": 1, "maxPlayers": 2},
    {"name": "blue", "minPlayers": 1} <
  ]
}`,
		"a second rule": `{
  "ruleLanguageVersion": "1.0",
  "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 2}],
  "rules": [
    {"name": "A", "type": "comparison", "measurements": ["count(teams[red].players)"], "operation": "=",
     "referenceValue": 1},
    {"name": "B",
     "type": "odd"} <
  ]
}`,
	} {
		want := 1 + strings.Count(body[:strings.Index(body, "<")], "\n")
		body = strings.Replace(body, " <", "", 1)
		_, err := Parse(body)
		if err == nil {
			t.Errorf("%s is valid", name)
			continue
		}
		if got := Line(body, err); got != want {
			t.Errorf("%s: line %d, want %d: %v", name, got, want, err)
		}
	}
	if Line("", nil) != 0 {
		t.Error("no error has a line")
	}
}

// FuzzLine: any error of any document has a line of the document, or none.
func FuzzLine(f *testing.F) {
	f.Add(`{"teams":[{"name":1}]}`)
	f.Add("{\n\"a\": [1, 2,\n")
	f.Fuzz(func(t *testing.T, body string) {
		_, err := Parse(body)
		if line := Line(body, err); line < 0 || line > 1+strings.Count(body, "\n") {
			t.Errorf("line %d of %q: %v", line, body, err)
		}
	})
}
