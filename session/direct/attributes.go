package direct

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
)

func matchPlayers(op string, players []session.Player) ([]types.Player, error) {
	list := make([]types.Player, 0, len(players))
	for _, player := range players {
		out := types.Player{PlayerId: &player.PlayerID, Team: text(player.Team)}
		for region, ms := range player.LatencyInMS {
			if ms < 0 || ms > math.MaxInt32 {
				return nil, session.Errorf(op, session.ErrInvalid,
					"player %q, LatencyInMS %q: %d is no number of milliseconds", player.PlayerID, region, ms)
			}
			if out.LatencyInMs == nil {
				out.LatencyInMs = map[string]int32{}
			}
			out.LatencyInMs[region] = int32(ms)
		}
		for name, value := range player.PlayerAttributes {
			attribute, err := parseAttribute(value)
			if err != nil {
				return nil, session.Errorf(op, session.ErrInvalid, "player %q, attribute %q: %v",
					player.PlayerID, name, err)
			}
			if out.PlayerAttributes == nil {
				out.PlayerAttributes = map[string]types.AttributeValue{}
			}
			out.PlayerAttributes[name] = attribute
		}
		list = append(list, out)
	}
	return list, nil
}

// errAttribute reports JSON that is not an attribute object.
var errAttribute = errors.New(`want an object with exactly one of "S", "N", "SL" and "SDM", as in {"N": 23}`)

// parseAttribute reads the JSON form of an attribute: an object with exactly one of the keys S, N, SL and SDM. Source:
// API reference, AttributeValue.
func parseAttribute(data []byte) (v types.AttributeValue, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || len(members) != 1 {
		return v, errAttribute
	}
	for key, value := range members {
		var into any
		switch key {
		case "S":
			into = &v.S
		case "N":
			into = &v.N
		case "SL":
			into = &v.SL
		case "SDM":
			into = &v.SDM
		default:
			return v, errAttribute
		}
		if err := json.Unmarshal(value, into); err != nil {
			return v, fmt.Errorf("%s: %w", key, err)
		}
	}
	if v.S == nil && v.N == nil && v.SL == nil && v.SDM == nil { // it was null
		return v, errAttribute
	}
	return v, nil
}
