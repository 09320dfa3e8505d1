package search

import "strings"

// operand is what a condition or a sort looks at. The zero operand, created, is
// what an empty sort expression means.
type operand uint8

const (
	created operand = iota
	id
	name
	property
	maximum
	players
	available
)

// valueType is the type of the values that an operand has.
type valueType uint8

const (
	text valueType = iota
	integer
	boolean
)

// propertyPrefix stands before the key of a game property.
const propertyPrefix = "gameSessionProperties."

// operands are the operands' names on the wire, the properties apart.
var operands = map[string]operand{
	"creationTimeMillis":         created,
	"gameSessionId":              id,
	"gameSessionName":            name,
	"maximumSessions":            maximum,
	"playerSessionCount":         players,
	"hasAvailablePlayerSessions": available,
}

// valueType is the type of o's values.
func (o operand) valueType() valueType {
	switch o {
	case id, name, property:
		return text
	case available:
		return boolean
	default:
		return integer
	}
}

// operandHint ends the messages about unknown operands.
const operandHint = "expected gameSessionId, gameSessionName, gameSessionProperties.<key>, maximumSessions, " +
	"creationTimeMillis, playerSessionCount or hasAvailablePlayerSessions"

// operand reads the token as an operand; key is that of a property.
func (p *parser) operand(t token) (o operand, key string, err error) {
	if t.kind != word {
		return 0, "", p.fail(t, "%s, found %s", operandHint, t)
	}
	if o, ok := operands[t.text]; ok {
		return o, "", nil
	}
	key, ok := strings.CutPrefix(t.text, propertyPrefix)
	switch {
	case !ok:
		return 0, "", p.fail(t, "unknown operand %s: %s", t, operandHint)
	case key == "":
		return 0, "", p.fail(t, "expected the key of a game property behind %q", propertyPrefix)
	case strings.Contains(key, "."):
		return 0, "", p.fail(t, "the property key %q contains a dot, and such keys cannot be searched: rename the property", key)
	}
	return property, key, nil
}
