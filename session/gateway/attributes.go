package gateway

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/session"
)

// plainAttributes are a player's attributes as the gateway takes them: the values without their types.
func plainAttributes(op string, player session.Player) (map[string]any, error) {
	plain := make(map[string]any, len(player.PlayerAttributes))
	for name, data := range player.PlayerAttributes {
		value, err := plainAttribute(data)
		if err != nil {
			return nil, session.Errorf(op, session.ErrInvalid, "player %q, attribute %q: %v",
				player.PlayerID, name, err)
		}
		plain[name] = value
	}
	return plain, nil
}

// errAttribute is for everything that is not an attribute's object.
var errAttribute = errors.New(`want an object with exactly one of "S", "N", "SL" and "SDM", as in {"N": 23}`)

// plainAttribute takes the value out of {"N": 23}.
func plainAttribute(data []byte) (any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || len(members) != 1 {
		return nil, errAttribute
	}
	for key, value := range members {
		var into any
		switch key {
		case "S":
			into = new(string)
		case "N":
			into = new(float64)
		case "SL":
			into = new([]string)
		case "SDM":
			into = new(map[string]float64)
		default:
			return nil, errAttribute
		}
		if string(value) == "null" {
			return nil, errAttribute
		}
		if err := json.Unmarshal(value, into); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return into, nil
	}
	return nil, errAttribute
}
