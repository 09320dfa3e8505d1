package ruleset

import (
	"reflect"
	"strings"
	"testing"
)

// testParser has the attributes and teams of body.
func testParser(t testing.TB) *parser {
	t.Helper()
	root, wrong := decode(body())
	if wrong != nil {
		t.Fatal(wrong)
	}
	p := newParser()
	p.document(root)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p
}

func TestExpressions(t *testing.T) {
	p := testParser(t)
	for _, c := range []struct {
		text string
		of   ExprType
		path Path
	}{
		{"teams[red]", ExprType{0, KindTeam}, Path{Teams: []int{0}, Of: OfTeams}},
		{"team[red]", ExprType{0, KindTeam}, Path{Teams: []int{0}, Of: OfTeams}},
		{"teams[*]", ExprType{1, KindTeam}, Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfTeams}},
		{"teams[crew_2,red]", ExprType{1, KindTeam}, Path{Teams: []int{0, 2}, Grouped: true, Of: OfTeams}},
		{"teams[crew]", ExprType{1, KindTeam}, Path{Teams: []int{1, 2}, Grouped: true, Of: OfTeams}},
		{"teams[crew_1]", ExprType{0, KindTeam}, Path{Teams: []int{1}, Of: OfTeams}},
		{"teams[red,red]", ExprType{1, KindTeam}, Path{Teams: []int{0}, Grouped: true, Of: OfTeams}},
		{"teams[red].players", ExprType{1, KindPlayer}, Path{Teams: []int{0}, Of: OfPlayers}},
		{"teams[crew].players", ExprType{2, KindPlayer}, Path{Teams: []int{1, 2}, Grouped: true, Of: OfPlayers}},
		{"teams[red].players[playerId]", ExprType{1, KindString}, Path{Teams: []int{0}, Of: OfPlayerIDs}},
		{"teams[*].players[playerid]", ExprType{2, KindString},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfPlayerIDs}},
		{"teams[red].players.attributes[skill]", ExprType{1, KindNumber},
			Path{Teams: []int{0}, Of: OfAttribute, Slot: 0}},
		{"teams[red].players.attributes[mode]", ExprType{1, KindString},
			Path{Teams: []int{0}, Of: OfAttribute, Slot: 1}},
		{"teams[red].players.attributes[tags]", ExprType{2, KindString},
			Path{Teams: []int{0}, Of: OfAttribute, Slot: 2}},
		{"teams[*].players.attributes[tags]", ExprType{3, KindString},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute, Slot: 2}},
		{"teams[red].players.attributes[votes]", ExprType{1, KindMap}, Path{Teams: []int{0}, Of: OfAttribute, Slot: 3}},
		{" avg ( teams [ * ] . players . attributes [ skill ] ) ", ExprType{1, KindNumber},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute}},
		{"max(avg(teams[*].players.attributes[skill]))", ExprType{0, KindNumber},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute}},
		{"stddev(flatten(teams[*].players.attributes[skill]))", ExprType{0, KindNumber},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute}},
		{"median(teams[red].players.attributes[skill])", ExprType{0, KindNumber},
			Path{Teams: []int{0}, Of: OfAttribute}},
		{"sum(count(teams[*].players))", ExprType{0, KindNumber},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfPlayers}},
		{"count(teams[*])", ExprType{0, KindNumber}, Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfTeams}},
		{"count(teams[red].players.attributes[votes])", ExprType{0, KindNumber},
			Path{Teams: []int{0}, Of: OfAttribute, Slot: 3}},
		{"min(count(teams[red].players.attributes[tags]))", ExprType{0, KindNumber},
			Path{Teams: []int{0}, Of: OfAttribute, Slot: 2}},
		{"flatten(teams[*].players.attributes[tags])", ExprType{2, KindString},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute, Slot: 2}},
		{"flatten(flatten(teams[*].players.attributes[tags]))", ExprType{1, KindString},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute, Slot: 2}},
		{"set_intersection(teams[red].players.attributes[tags])", ExprType{1, KindString},
			Path{Teams: []int{0}, Of: OfAttribute, Slot: 2}},
		{"set_intersection(teams[*].players.attributes[tags])", ExprType{2, KindString},
			Path{Teams: []int{0, 1, 2}, Grouped: true, Of: OfAttribute, Slot: 2}},
	} {
		e, wrong := p.expression(c.text)
		if wrong != nil {
			t.Errorf("%s: %s", c.text, wrong)
			continue
		}
		if e.Type != c.of || e.Text != strings.TrimSpace(c.text) {
			t.Errorf("%q: got %q of type %s, want %s", c.text, e.Text, e.Type, c.of)
		}
		for e.Path == nil {
			e = e.Arg
		}
		if !reflect.DeepEqual(*e.Path, c.path) {
			t.Errorf("%s: got %+v, want %+v", c.text, *e.Path, c.path)
		}
	}
}

func TestWrongExpressions(t *testing.T) {
	p := testParser(t)
	for _, c := range []struct {
		text   string
		at     int
		syntax bool
		want   string
	}{
		{"", 1, true, "expected a function or teams[…], found the end"},
		{"5", 1, true, `found "5"`},
		{"players[x]", 1, true, `found "p"`},
		{"avgg(teams[*])", 1, true,
			`there is no function "avgg": use min, max, avg, median, sum, count, stddev, flatten or set_intersection`},
		{"(teams[*])", 1, true, `there is no function ""`},
		{"avg(teams[*].players.attributes[skill]", 39, true, `expected ")", found the end`},
		{"avg(teams[*].players.attributes[skill]))", 40, true, `expected the end, found ")"`},
		{"teams", 6, true, `expected "[", found the end`},
		{"teams[]", 7, true, `expected a name, found "]"`},
		{"teams[red", 10, true, `expected "]", found the end`},
		{"teams[red,]", 11, true, "expected a name"},
		{"teams[*,red]", 8, true, `expected "]", found ","`},
		{"teams[*].player", 10, true, "expected players behind teams[…]."},
		{"teams[*].players.skill", 18, true, "expected attributes behind players."},
		{"teams[*].players.attributes", 28, true, `expected "["`},
		{"teams[*].players.attributes[]", 29, true, "expected a name"},
		{"teams[*].players.attributes[skill", 34, true, `expected "]"`},
		{"teams[*].players[id]", 18, true, "expected playerId in players[…]"},
		{"teams[*].players[playerId", 26, true, `expected "]"`},
		{"teams[rød].plåyers", 12, true, "expected players"},
		{"teams[rød].players ü", 20, true, `found "ü"`},
		{"count(teams[green].players)", 13, false, `there is no team "green"`},
		{"count(teams[red, crew_3].players)", 18, false, `there is no team "crew_3"`},
		{"avg(teams[red].players.attributes[rank])", 35, false, `there is no player attribute "rank"`},
		{"avg(teams[red].players.attributes[mode])", 1, false,
			"avg takes a list of numbers, and teams[red].players.attributes[mode] is a list of strings"},
		{"min(avg(teams[red].players.attributes[skill]))", 1, false,
			"min takes a list of numbers, and avg(teams[red].players.attributes[skill]) is one number"},
		{"flatten(teams[red].players)", 1, false,
			"flatten takes a list of lists, and teams[red].players is a list of players"},
		{"count(teams[red])", 1, false, "count takes a list, and teams[red] is one team"},
		{"set_intersection(teams[red].players[playerId])", 1, false, "takes a list of string lists"},
		{"set_intersection(teams[*].players.attributes[skill])", 1, false, "takes a list of string lists"},
		{strings.Repeat("flatten(", 9) + "teams[*].players" + strings.Repeat(")", 9), 57, false,
			"flatten takes a list of lists"},
	} {
		e, wrong := p.expression(c.text)
		if wrong == nil {
			t.Errorf("%s is %s, want an error", c.text, e.Type)
			continue
		}
		if wrong.at != c.at || wrong.syntax != c.syntax || !strings.Contains(wrong.problem, c.want) {
			t.Errorf("%q: got %+v\nwant %d, %v, …%s…", c.text, *wrong, c.at, c.syntax, c.want)
		}
	}
}
