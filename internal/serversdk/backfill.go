package serversdk

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/mailru/easyjson/jlexer"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
)

// An sdkPlayer is a player of a backfill request. Names match in any case: the C# edition writes LatencyInMS and
// attrType.
type sdkPlayer struct {
	PlayerID         string `json:"PlayerId"`
	Team             string
	PlayerAttributes map[string]sdkAttribute
	LatencyInMs      map[string]wholeNumber
}

// An sdkAttribute is an attribute of a player. The C# edition sends all four values, and the type selects one; other
// editions omit empty ones.
// Source: server SDK 5, AttributeValue.
type sdkAttribute struct {
	AttrType string
	S        *string
	N        *float64
	SL       []string
	SDM      map[string]float64
}

// A wholeNumber may be written with a zero fraction.
type wholeNumber int32

// UnmarshalJSON reads a number in the range of int32.
func (n *wholeNumber) UnmarshalJSON(data []byte) error {
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return errors.New("not a whole number")
	}
	*n = wholeNumber(f)
	return nil
}

// players reads the players of a backfill request.
func (r *request) players(l *jlexer.Lexer) {
	var players []sdkPlayer
	if data := l.Raw(); l.Error() == nil && json.Unmarshal(data, &players) != nil {
		if r.badField == "" {
			r.badField = "Players"
		}
		return
	}
	r.Players = make([]wire.Player, len(players))
	for i, p := range players {
		r.Players[i] = p.wire()
	}
}

func (p *sdkPlayer) wire() wire.Player {
	out := wire.Player{PlayerId: p.PlayerID, Team: p.Team, LatencyInMs: make(map[string]int32, len(p.LatencyInMs))}
	for location, ms := range p.LatencyInMs {
		out.LatencyInMs[location] = int32(ms)
	}
	if len(p.PlayerAttributes) > 0 {
		out.PlayerAttributes = make(map[string]wire.AttributeValue, len(p.PlayerAttributes))
	}
	for name, a := range p.PlayerAttributes {
		out.PlayerAttributes[name] = a.wire()
	}
	return out
}

func (a *sdkAttribute) wire() (v wire.AttributeValue) {
	is := func(name string, given bool) bool { return a.AttrType == name || a.AttrType == "" && given }
	switch {
	case is("STRING", a.S != nil) && a.S != nil:
		v.S = *a.S
	case is("STRING_LIST", a.SL != nil):
		v.SL = append([]string{}, a.SL...)
	case is("STRING_DOUBLE_MAP", a.SDM != nil):
		v.SDM = a.SDM
		if v.SDM == nil {
			v.SDM = map[string]float64{}
		}
	case is("DOUBLE", a.N != nil):
		n := 0.0
		if a.N != nil {
			n = *a.N
		}
		v.N = wire.Some(n)
	}
	return v
}

// matchBackfill converts a StartMatchBackfill request.
func (r *request) matchBackfill() processes.MatchBackfill {
	return processes.MatchBackfill{
		GameSessionArn: r.GameSessionArn, ConfigurationArn: r.ConfigurationArn, TicketID: r.TicketID,
		Players: r.Players, Request: r.RequestID,
	}
}
