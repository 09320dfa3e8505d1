package matchdriver

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxMatchmakerData is how many characters the matchmaker data of a game session may have. Source: API model,
// MatchmakerData.
const maxMatchmakerData = 390_000

// The matchmaker data of a game session, as the helpers of the server SDKs read it. Keys stand in the order of the
// managed service's. Source: FlexMatch guide, "Game session data"; captures.
type (
	matchData struct {
		MatchID              string     `json:"matchId"`
		ConfigurationArn     string     `json:"matchmakingConfigurationArn"`
		Teams                []teamData `json:"teams"`
		AutoBackfillMode     *string    `json:"autoBackfillMode"`
		AutoBackfillTicketID *string    `json:"autoBackfillTicketId"`
	}
	teamData struct {
		Name    string       `json:"name"`
		Players []playerData `json:"players"` // never nil: the C# SDK wants a list
	}
	playerData struct {
		PlayerID   string                   `json:"playerId"`
		Attributes map[string]attributeData `json:"attributes"`
	}
	attributeData struct {
		Type  string `json:"attributeType"`
		Value any    `json:"valueAttribute"`
	}
)

// A double is a number that is written with a fraction, as Java writes doubles.
type double float64

// MarshalJSON writes 5 as 5.0.
func (d double) MarshalJSON() ([]byte, error) {
	f := float64(d)
	format := byte('f')
	if abs := math.Abs(f); abs >= 1e15 || abs != 0 && abs < 1e-6 {
		format = 'e'
	}
	text := strconv.AppendFloat(nil, f, format, -1, 64)
	if format == 'f' && f == math.Trunc(f) {
		text = append(text, ".0"...)
	}
	return text, nil
}

// matchmakerData is the matchmaker data that the game server receives. The error says that it is too long.
func (g *game) matchmakerData(cfg *Config, view *catalog.State) (string, error) {
	players := map[string]*matchmaking.Player{}
	for _, t := range g.tickets {
		for i := range t.Players {
			players[t.Players[i].ID] = &t.Players[i]
		}
	}
	var declared []ruleset.Attribute
	if set, err := cfg.RuleSet(view, g.configuration); err == nil {
		declared = set.Attributes
	}
	data := matchData{
		MatchID: g.ID, ConfigurationArn: arn.MatchmakingConfiguration(cfg.Region, cfg.Account, g.configuration.Name),
		Teams: make([]teamData, len(g.Teams)),
	}
	for i, t := range g.Teams {
		data.Teams[i] = teamData{t.Name, make([]playerData, 0, len(t.Players))}
		for _, id := range t.Players {
			if player, ok := players[id]; ok {
				data.Teams[i].Players = append(data.Teams[i].Players, playerData{id, attributesOf(player, declared)})
			}
		}
	}
	if g.Settings.AutomaticBackfill {
		data.AutoBackfillMode = optional("AUTOMATIC")
	}
	data.AutoBackfillTicketID = optional(g.automatic)
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return "", err
	}
	out := strings.TrimSuffix(text.String(), "\n")
	if n := utf8.RuneCountInString(out); n > maxMatchmakerData {
		return "", fault.New(fault.InvalidRequest,
			"The matchmaker data of the match would have %d characters; the maximum is %d.", n, maxMatchmakerData)
	}
	return out, nil
}

// optional is nil, which is null in JSON, for the empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// attributesOf are the attributes of a player, with the defaults of those that the rule set declares and the player
// does not have.
func attributesOf(p *matchmaking.Player, declared []ruleset.Attribute) map[string]attributeData {
	out := make(map[string]attributeData, len(p.Attributes))
	for _, a := range declared {
		if a.Default.Type != 0 {
			out[a.Name] = attributeDataOf(a.Default)
		}
	}
	for _, a := range p.Attributes {
		out[a.Name] = attributeDataOf(a.Value)
	}
	return out
}

func attributeDataOf(v ruleset.Value) attributeData {
	switch v.Type {
	case ruleset.Number:
		return attributeData{"DOUBLE", double(v.N)}
	case ruleset.String:
		return attributeData{"STRING", v.S}
	case ruleset.StringList:
		return attributeData{"STRING_LIST", append([]string{}, v.SL...)}
	default:
		numbers := make(map[string]double, len(v.SDM))
		for key, n := range v.SDM {
			numbers[key] = double(n)
		}
		return attributeData{"STRING_DOUBLE_MAP", numbers}
	}
}
