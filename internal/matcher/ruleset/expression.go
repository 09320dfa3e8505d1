package ruleset

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// functions are the functions of property expressions.
var functions = []string{"min", "max", "avg", "median", "sum", "count", "stddev", "flatten", "set_intersection"}

// An expressionError is a problem of an expression.
type expressionError struct {
	at      int // character, from 1
	problem string
	syntax  bool // the text does not follow the grammar
}

func (e *expressionError) String() string {
	return fmt.Sprintf("at character %d of the expression: %s", e.at, e.problem)
}

// expression reads a property expression and finds its type, in two steps: a string that follows the grammar is an
// expression, right or wrong, while another string may be a literal.
//
//	expression = function "(" expression ")" | path
//	path       = ( "teams" | "team" ) "[" ( "*" | name { "," name } ) "]"
//	             [ ".players" [ "[playerId]" | ".attributes[" name "]" ] ]
//
// Source: FlexMatch guide, property expressions.
func (p *parser) expression(text string) (*Expr, *expressionError) {
	if e := p.expressions[text]; e != nil {
		return e, nil
	}
	s := &scanner{text: text}
	c, wrong := s.chain()
	if wrong != nil {
		return nil, wrong
	}
	e, wrong := p.resolve(s, c)
	if wrong == nil {
		p.expressions[text] = e
	}
	return e, wrong
}

// A chain is an expression as written: functions around a path.
type chain struct {
	calls  []call // outermost first
	path   span
	teams  []span // none: *
	of     PathOf
	player span // the attribute
}

// A call is a function and its parentheses.
type call struct {
	span
	name string
}

// A span is a part of an expression, in bytes.
type span struct{ from, to int }

// A scanner reads an expression. Spaces are allowed between words.
type scanner struct {
	text string
	at   int
}

func (s *scanner) cut(of span) string { return s.text[of.from:of.to] }

// fail returns an error at an offset.
func (s *scanner) fail(at int, syntax bool, format string, args ...any) *expressionError {
	at = utf8.RuneCountInString(s.text[:at]) + 1
	return &expressionError{at: at, problem: fmt.Sprintf(format, args...), syntax: syntax}
}

func (s *scanner) skipSpace() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// word reads letters and underscores; it may be empty.
func (s *scanner) word() span {
	s.skipSpace()
	from := s.at
	for s.at < len(s.text) && (s.text[s.at] == '_' || 'a' <= s.text[s.at]|' ' && s.text[s.at]|' ' <= 'z') {
		s.at++
	}
	return span{from, s.at}
}

// accept reads a character if it is the next.
func (s *scanner) accept(c byte) bool {
	s.skipSpace()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// expect reads a character that must be the next.
func (s *scanner) expect(c byte) *expressionError {
	if s.accept(c) {
		return nil
	}
	return s.fail(s.at, true, "expected %q, found %s", string(c), s.found())
}

// found describes the next character, for messages.
func (s *scanner) found() string {
	if s.at == len(s.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.at:])
	return fmt.Sprintf("%q", string(r))
}

// name reads up to one of the characters, without surrounding spaces.
func (s *scanner) name(ends string) (span, *expressionError) {
	s.skipSpace()
	n := strings.IndexAny(s.text[s.at:], ends)
	if n < 0 {
		return span{}, s.fail(len(s.text), true, `expected "]", found the end`)
	}
	of := span{s.at, s.at + len(strings.TrimRight(s.text[s.at:s.at+n], " \t\r\n"))}
	if of.from == of.to {
		return span{}, s.fail(s.at, true, "expected a name, found %s", s.found())
	}
	s.at += n
	return of, nil
}

// chain reads a whole expression.
func (s *scanner) chain() (c chain, wrong *expressionError) {
	word := s.word()
	for s.accept('(') {
		name := s.cut(word)
		if !slices.Contains(functions, name) {
			return c, s.fail(word.from, true, "there is no function %s: use %s", quote(name), either(functions))
		}
		c.calls = append(c.calls, call{span{from: word.from}, name})
		word = s.word()
	}
	if root := s.cut(word); root != "teams" && root != "team" {
		s.at = word.from
		return c, s.fail(word.from, true, "expected a function or teams[…], found %s", s.found())
	}
	if wrong = s.path(word.from, &c); wrong != nil {
		return c, wrong
	}
	for i := len(c.calls) - 1; i >= 0; i-- {
		if wrong = s.expect(')'); wrong != nil {
			return c, wrong
		}
		c.calls[i].to = s.at
	}
	if s.skipSpace(); s.at < len(s.text) {
		return c, s.fail(s.at, true, "expected the end, found %s", s.found())
	}
	return c, nil
}

// path reads the rest of a path after the word teams, which starts at from.
func (s *scanner) path(from int, c *chain) (wrong *expressionError) {
	if wrong = s.expect('['); wrong != nil {
		return wrong
	}
	if !s.accept('*') {
		for more := true; more; more = s.accept(',') {
			name, wrong := s.name("],")
			if wrong != nil {
				return wrong
			}
			c.teams = append(c.teams, name)
		}
	}
	if wrong = s.expect(']'); wrong != nil {
		return wrong
	}
	c.of = OfTeams
	defer func() { c.path = span{from, s.at} }()
	if end := s.at; !s.accept('.') {
		s.at = end // without the spaces
		return nil
	}
	if word := s.word(); s.cut(word) != "players" {
		return s.fail(word.from, true, "expected players behind teams[…].")
	}
	return s.players(c)
}

// players reads the rest of a path after the word players.
func (s *scanner) players(c *chain) (wrong *expressionError) {
	c.of = OfPlayers
	end := s.at
	switch {
	case s.accept('['):
		c.of = OfPlayerIDs
		word := s.word()
		if id := s.cut(word); id != "playerId" && id != "playerid" {
			return s.fail(word.from, true, "expected playerId in players[…]")
		}
	case s.accept('.'):
		c.of = OfAttribute
		if word := s.word(); s.cut(word) != "attributes" {
			return s.fail(word.from, true, "expected attributes behind players.")
		}
		if wrong = s.expect('['); wrong != nil {
			return wrong
		}
		if c.player, wrong = s.name("]"); wrong != nil {
			return wrong
		}
	default:
		s.at = end
		return nil
	}
	return s.expect(']')
}

// resolve converts a chain: names become indexes, and the arguments of functions are checked.
func (p *parser) resolve(s *scanner, c chain) (*Expr, *expressionError) {
	path, wrong := p.resolvePath(s, c)
	if wrong != nil {
		return nil, wrong
	}
	e := &Expr{Path: path, Type: p.pathType(path), Text: s.cut(c.path)}
	for i := len(c.calls) - 1; i >= 0; i-- {
		f := c.calls[i]
		t, takes := result(f.name, e.Type)
		if takes != "" {
			return nil, s.fail(f.from, false, "%s takes %s, and %s is %s", f.name, takes, quoteless(e.Text), e.Type)
		}
		e = &Expr{Func: f.name, Arg: e, Type: t, Text: s.cut(f.span)}
	}
	return e, nil
}

func (p *parser) resolvePath(s *scanner, c chain) (*Path, *expressionError) {
	path := &Path{Of: c.of, Teams: p.everyTeam, Grouped: true}
	switch len(c.teams) {
	case 0:
	case 1: // all copies of a team have its base name
		path.Teams = p.teams[s.cut(c.teams[0])]
		path.Grouped = len(path.Teams) > 1
	default:
		path.Teams = p.union(s, c.teams)
	}
	for _, name := range c.teams {
		if p.teams[s.cut(name)] == nil {
			return nil, s.fail(name.from, false, "there is no team %s", quote(s.cut(name)))
		}
	}
	if c.of == OfAttribute {
		slot, ok := p.slots[s.cut(c.player)]
		if !ok {
			return nil, s.fail(c.player.from, false, "there is no player attribute %s: declare it in playerAttributes",
				quote(s.cut(c.player)))
		}
		path.Slot = slot
	}
	return path, nil
}

// union returns the teams of several names, in the order of the document.
func (p *parser) union(s *scanner, names []span) []int {
	chosen := make([]bool, len(p.everyTeam))
	for _, name := range names {
		for _, i := range p.teams[s.cut(name)] {
			chosen[i] = true
		}
	}
	var teams []int
	for i, yes := range chosen {
		if yes {
			teams = append(teams, i)
		}
	}
	return teams
}

// pathType returns the type that a path selects.
func (p *parser) pathType(path *Path) ExprType {
	t := ExprType{Depth: 1, Of: KindPlayer}
	switch path.Of {
	case OfTeams:
		t = ExprType{Of: KindTeam}
	case OfPlayerIDs:
		t.Of = KindString
	case OfAttribute:
		switch p.set.Attributes[path.Slot].Type {
		case Number:
			t.Of = KindNumber
		case String:
			t.Of = KindString
		case StringList:
			t = ExprType{Depth: 2, Of: KindString}
		case NumberMap:
			t.Of = KindMap
		}
	}
	if path.Grouped {
		t.Depth++
	}
	return t
}

// result returns the type of a function for an argument. takes describes what the function takes if not the argument.
// All but flatten apply to the innermost lists.
func result(function string, arg ExprType) (t ExprType, takes string) {
	t = ExprType{Depth: arg.Depth - 1, Of: arg.Of}
	switch function {
	case "flatten":
		if arg.Depth < 2 {
			takes = "a list of lists"
		}
	case "set_intersection":
		if arg.Depth < 2 || arg.Of != KindString {
			takes = "a list of string lists"
		}
	case "count":
		t.Of = KindNumber
		if arg.Depth < 1 {
			takes = "a list"
		}
	default:
		if arg.Depth < 1 || arg.Of != KindNumber {
			takes = "a list of numbers"
		}
	}
	return t, takes
}

var kindNames = [...]string{
	KindTeam: "team", KindPlayer: "player", KindNumber: "number", KindString: "string", KindMap: "map",
}

// String returns the type in words: a list of lists of numbers.
func (t ExprType) String() string {
	name := "?"
	if int(t.Of) < len(kindNames) {
		name = kindNames[t.Of]
	}
	if t.Depth == 0 {
		return "one " + name
	}
	return "a list of " + strings.Repeat("lists of ", t.Depth-1) + name + "s"
}
