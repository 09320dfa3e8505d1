package search

import "strings"

// operand is the subject of a condition or a sort. The zero operand, created, is that of an empty sort expression.
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

type valueType uint8

const (
	text valueType = iota
	integer
	boolean
)

const propertyPrefix = "gameSessionProperties."

// operands are the names of the operands, except properties.
var operands = map[string]operand{
	"creationTimeMillis":         created,
	"gameSessionId":              id,
	"gameSessionName":            name,
	"maximumSessions":            maximum,
	"playerSessionCount":         players,
	"hasAvailablePlayerSessions": available,
}

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

// operandHint ends the error messages about unknown operands.
const operandHint = "expected gameSessionId, gameSessionName, gameSessionProperties.<key>, maximumSessions, " +
	"creationTimeMillis, playerSessionCount or hasAvailablePlayerSessions"

// operand parses the token as an operand; key is that of a property.
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
		return 0, "", p.fail(t, "the property key %q contains a dot, and such keys cannot "+
			"be searched: rename the property",
			key)
	}
	return property, key, nil
}
