package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// cup is the doc that the filters of TestFilter are held against.
var cup = &Doc{
	Key: 1, Prefix: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/", ID: "gsess-1", Name: `Matt's "Cup"`,
	Properties: []Property{{"map", "oasis"}, {"rank", "10"}, {"empty", ""}, {"Ø", "å\\b"}, {"map", "second"}},
	Maximum:    10, Players: 4, Created: 1_700_000_000_123,
}

func TestFilter(t *testing.T) {
	tests := []struct {
		expression string
		want       bool
	}{
		{"", true},

		{"gameSessionId='arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess-1'", true},
		{"gameSessionId='gsess-1'", false},
		{"gameSessionId<>'gsess-1'", true},
		{"gameSessionId='arn:aws:gamelift:eu-west-2::gamesession/fleet-1/gsess-1'", false},
		{"gameSessionId='arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess-2'", false},

		{"maximumSessions=10", true},
		{"maximumSessions<>10", false},
		{"maximumSessions<10", false},
		{"maximumSessions<=10", true},
		{"maximumSessions>10", false},
		{"maximumSessions>=10", true},
		{"maximumSessions > -1", true},
		{"playerSessionCount=4", true},
		{"playerSessionCount >= 005", false},
		{"creationTimeMillis=1700000000123", true},
		{"creationTimeMillis>1700000000122 AND creationTimeMillis<1700000000124", true},
		{"creationTimeMillis < 9223372036854775807", true},
		{"creationTimeMillis > -9223372036854775808", true},

		{"hasAvailablePlayerSessions=true", true},
		{"hasAvailablePlayerSessions=false", false},
		{"hasAvailablePlayerSessions<>true", false},
		{"hasAvailablePlayerSessions <> FALSE", true},

		{`gameSessionName='Matt\'s "Cup"'`, true},
		{`gameSessionName="Matt's \"Cup\""`, true},
		{`gameSessionName="Matt\'s \"Cup\""`, true},
		{`gameSessionName='matt\'s "cup"'`, false},
		{`gameSessionName<>'Cup'`, true},
		{`gameSessionName=''`, false},

		{"gameSessionProperties.map='oasis'", true},
		{`gameSessionProperties.map="oasis"`, true},
		{"gameSessionProperties.map='second'", false}, // the first counts
		{"gameSessionProperties.map='Oasis'", false},
		{"gameSessionProperties.Map='oasis'", false},
		{"gameSessionProperties.rank='10'", true},
		{"gameSessionProperties.rank='010'", false}, // numbers compare as text
		{"gameSessionProperties.empty=''", true},
		{"gameSessionProperties.empty<>''", false},
		{"gameSessionProperties.none=''", false}, // the doc lacks it
		{"gameSessionProperties.none<>''", true},
		{"NOT gameSessionProperties.none='x'", true},
		{"NOT gameSessionProperties.none<>'x'", false},
		{`gameSessionProperties.Ø='å\\b'`, true},

		{"not maximumSessions=0 and maximumSessions=10 or maximumSessions=0", true},
		{"Not maximumSessions=0 And maximumSessions=10 Or maximumSessions=0", true},
		{" \t\r\nmaximumSessions\n=\t10 ", true},
		{"gameSessionProperties.map='oasis'AND maximumSessions=10", true},
		{"(maximumSessions=10)AND(maximumSessions=10)", true},
		{"NOT(maximumSessions=10)", false},
		{"gameSessionProperties.map='a AND b' OR maximumSessions=10", true},
		{"gameSessionProperties.map='(' OR maximumSessions=10", true},
	}
	for _, tt := range tests {
		f, err := ParseFilter(tt.expression)
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		if got := f.Match(cup); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.expression, got, tt.want)
		}
	}
}

// NOT binds tighter than AND, AND tighter than OR.
func TestPrecedence(t *testing.T) {
	tests := []struct {
		expression string
		want       bool
	}{
		{"yes OR yes AND no", true},
		{"(yes OR yes) AND no", false},
		{"no AND yes OR yes", true},
		{"no AND (yes OR yes)", false},
		{"no AND no OR yes AND yes", true},
		{"yes AND no OR no AND yes", false},
		{"NOT no AND no", false},
		{"NOT (no AND no)", true},
		{"NOT yes OR yes", true},
		{"NOT (yes OR yes)", false},
		{"NOT NOT yes", true},
		{"NOT NOT NOT yes", false},
		{"NOT(NOT(yes))", true},
		{"yes AND NOT no", true},
		{"no OR NOT no AND yes", true},
		{"yes AND yes AND yes AND no", false},
		{"no OR no OR no OR yes", true},
		{"((((yes))))", true},
	}
	spell := strings.NewReplacer("yes", "maximumSessions=10", "no", "maximumSessions=0")
	for _, tt := range tests {
		f, err := ParseFilter(spell.Replace(tt.expression))
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		if got := f.Match(cup); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.expression, got, tt.want)
		}
	}
}

// mistake is an expression that is refused.
type mistake struct {
	expression string
	position   int // of the character that is named; 0 for none
	hint       string
}

func (m mistake) check(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("%s: got %v, want InvalidRequestException", m.expression, err)
		return
	}
	message := fault.Of(err).Message
	start := fmt.Sprintf("Invalid %s expression at character %d: ", what, m.position)
	if m.position == 0 {
		start = fmt.Sprintf("Invalid %s expression: ", what)
	}
	if !strings.HasPrefix(message, start) || !strings.Contains(message, m.hint) {
		t.Errorf("%s:\n got %s\nwant %s… %s", m.expression, message, start, m.hint)
	}
}

func TestFilterMistakes(t *testing.T) {
	const number = "maximumSessions=1"
	tests := []mistake{
		{" ", 2, "expected gameSessionId"},
		{"maximumSession=1", 1, `unknown operand "maximumSession": expected gameSessionId`},
		{"MaximumSessions=1", 1, "unknown operand"},
		{"gameSessionProperties='x'", 1, "unknown operand"},
		{"gameSessionProperties.='x'", 1, "expected the key of a game property"},
		{"gameSessionProperties.a.b='x'", 1, `the property key "a.b" contains a dot`},
		{"'x'='x'", 1, `found the text "x"`},
		{"=1", 1, `found "="`},
		{number + " AND", 22, "found the end"},
		{number + " AND AND " + number, 23, `unknown operand "AND"`},
		{number + " OR )", 22, `found ")"`},
		{"NOT", 4, "found the end"},
		{"()", 2, `found ")"`},

		{"maximumSessions", 16, "expected a comparator behind \"maximumSessions\", found the end"},
		{"maximumSessions 1", 17, `expected a comparator behind "maximumSessions", found "1"`},
		{"maximumSessions==1", 16, `unknown comparator "=="`},
		{"maximumSessions!=1", 16, `unknown comparator "!=": expected =, <>`},
		{"maximumSessions=>1", 16, `unknown comparator "=>"`},
		{"maximumSessions!1", 16, `unknown comparator "!"`},
		{"maximumSessions><1", 16, `unknown comparator "><"`},
		{"maximumSessions< =1", 18, "takes a whole number"},
		{"gameSessionName<'x'", 16, `"gameSessionName" takes the comparators = and <> only`},
		{"gameSessionId>='x'", 14, "takes the comparators = and <> only"},
		{"gameSessionProperties.map<='x'", 26, "takes the comparators = and <> only"},
		{"hasAvailablePlayerSessions>true", 27, "takes the comparators = and <> only"},

		{"maximumSessions='1'", 17, `takes a whole number, without quotes, found the text "1"`},
		{"maximumSessions=true", 17, `takes a whole number, without quotes, found "true"`},
		{"maximumSessions=1.5", 17, "takes a whole number"},
		{"maximumSessions=+1", 17, "takes a whole number"},
		{"maximumSessions=0x10", 17, "takes a whole number"},
		{"maximumSessions=1_000", 17, "takes a whole number"},
		{"maximumSessions=", 17, "found the end"},
		{"maximumSessions=''", 17, "takes a whole number"},
		{"maximumSessions=(1)", 17, `found "("`},
		{"creationTimeMillis=9223372036854775808", 20, "out of the range of 64-bit integers"},
		{"creationTimeMillis=-9223372036854775809", 20, "out of the range of 64-bit integers"},
		{"maximumSessions='9223372036854775808'", 17, "takes a whole number"},
		{"hasAvailablePlayerSessions='true'", 28, "takes true or false, without quotes"},
		{"hasAvailablePlayerSessions=1", 28, "takes true or false"},
		{"gameSessionName=Cup", 17, `takes text in quotes, such as 'Cup', found "Cup"`},
		{"gameSessionProperties.rank=10", 28, "takes text in quotes"},
		{"gameSessionName=‘Cup’", 17, "takes text in quotes"},

		{"gameSessionName='Cup", 17, "has no closing '"},
		{`gameSessionName="Cup'`, 17, `has no closing "`},
		{`gameSessionName='Cup\'`, 17, "has no closing '"},
		{`gameSessionName='Cup\`, 21, "bad escape"},
		{`gameSessionName='C\up'`, 19, "bad escape"},
		{`gameSessionName='Ø\n'`, 19, "bad escape"},

		{"(" + number, 19, `the "(" at character 1 is not closed`},
		{number + ")", 18, `has no opening "("`},
		{"(" + number + "))", 20, `has no opening "("`},
		{"((" + number + ")", 21, `the "(" at character 1 is not closed`},
		{"(" + number + " 2)", 20, `expected AND, OR or ")", found "2"`},
		{number + " 2", 19, `expected AND, OR or the end, found "2"`},
		{number + " " + number, 19, "expected AND, OR or the end"},
		{"gameSessionName='Øø' XOR " + number, 22, `expected AND, OR or the end, found "XOR"`},
		{number + "AND " + number, 17, "takes a whole number"},
		{"gameSessionProperties.map='oasis'AND'x'", 37, `found the text "x"`},

		{strings.Repeat("(", 65) + number + strings.Repeat(")", 65), 65,
			"more than 64 parentheses and NOTs are nested"},
		{strings.Repeat("NOT ", 65) + number, 257, "more than 64"},
		{number + strings.Repeat(" ", 1008), 0, "it has 1025 characters, the limit is 1024"},
	}
	for _, tt := range tests {
		_, err := ParseFilter(tt.expression)
		tt.check(t, "filter", err)
	}
}

func TestFilterLimits(t *testing.T) {
	const number = "maximumSessions=10"
	for _, expression := range []string{
		strings.Repeat("(", 64) + number + strings.Repeat(")", 64),
		strings.Repeat("NOT ", 64) + number,
		number + strings.Repeat(" ", 1024-len(number)),
		"gameSessionName<>'" + strings.Repeat("Ø", 1024-len("gameSessionName<>''")) + "'", // characters, not bytes
		number + strings.Repeat(" OR "+number, 45),
		strings.Repeat("("+number+") AND ", 40) + number,
		strings.Repeat("(("+number+"))OR ", 35) + number, // 70 pairs of parentheses, 2 deep
	} {
		f, err := ParseFilter(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		} else if !f.Match(cup) {
			t.Errorf("%s: no match", expression)
		}
	}
}

func TestSortMistakes(t *testing.T) {
	tests := []mistake{
		{" ", 2, "expected gameSessionId"},
		{"ASC", 1, "unknown operand"},
		{"players DESC", 1, `unknown operand "players"`},
		{"gameSessionProperties.a.b", 1, "contains a dot"},
		{"playerSessionCount UP", 20, `expected ASC, DESC or the end, found "UP"`},
		{"playerSessionCount DESC ASC", 25, "only one operand sorts"},
		{"playerSessionCount ASC, maximumSessions DESC", 20, "expected ASC, DESC or the end"},
		{"playerSessionCount = 1", 20, `found "="`},
		{"'playerSessionCount'", 1, "found the text"},
		{"playerSessionCount 'ASC'", 20, "found the text"},
		{"playerSessionCount ASC 'x", 24, "has no closing '"},
		{"playerSessionCount !", 20, "unknown comparator"},
		{"playerSessionCount" + strings.Repeat(" ", 1024), 0, "it has 1042 characters"},
	}
	for _, tt := range tests {
		_, err := ParseSort(tt.expression)
		tt.check(t, "sort", err)
	}
}

func TestSort(t *testing.T) {
	tests := []struct {
		expression string
		want       Sort
	}{
		{"", Sort{}},
		{"creationTimeMillis", Sort{}},
		{"creationTimeMillis ASC", Sort{}},
		{" creationTimeMillis  desc ", Sort{operand: created, descending: true}},
		{"maximumSessions Desc", Sort{operand: maximum, descending: true}},
		{"playerSessionCount asc", Sort{operand: players}},
		{"hasAvailablePlayerSessions DESC", Sort{operand: available, descending: true}},
		{"gameSessionId ASC", Sort{operand: id}},
		{"gameSessionName", Sort{operand: name}},
		{"gameSessionProperties.map DESC", Sort{operand: property, key: "map", descending: true}},
		{"gameSessionProperties.DESC", Sort{operand: property, key: "DESC"}},
	}
	for _, tt := range tests {
		if got, err := ParseSort(tt.expression); err != nil || got != tt.want {
			t.Errorf("%q: got %+v, %v, want %+v", tt.expression, got, err, tt.want)
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	f, _ := mustParse(`gameSessionId<>'x' AND NOT gameSessionName='Cup' AND
		(gameSessionProperties.rank='11' OR gameSessionProperties.map='oasis')
		AND maximumSessions>=10 AND hasAvailablePlayerSessions=true`)
	if n := testing.AllocsPerRun(100, func() {
		if !f.Match(cup) {
			t.Fatal("no match")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	var none *Filter
	if !none.Match(cup) || !(&Filter{}).Match(cup) {
		t.Error("the empty filter refuses")
	}
}
