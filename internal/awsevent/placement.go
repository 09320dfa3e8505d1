package awsevent

import (
	"strconv"

	"github.com/muster-gg/muster/internal/placement"
)

// placementDetail is the detail of a placement event. What is not known is left out.
type placementDetail struct {
	Type              string         `json:"type"`
	PlacementID       string         `json:"placementId"`
	Port              string         `json:"port,omitempty"` // a text, other than in matchmaking events
	GameSessionARN    string         `json:"gameSessionArn,omitempty"`
	IPAddress         string         `json:"ipAddress,omitempty"`
	DNSName           string         `json:"dnsName,omitempty"`
	StartTime         string         `json:"startTime"`
	EndTime           string         `json:"endTime"`
	GameSessionRegion string         `json:"gameSessionRegion,omitempty"`
	CustomEventData   string         `json:"customEventData,omitempty"`
	Players           []placedPlayer `json:"placedPlayerSessions,omitempty"`
}

type placedPlayer struct {
	PlayerID        string `json:"playerId"`
	PlayerSessionID string `json:"playerSessionId"`
}

// placementTypes are the types of events by the last status of a placement.
var placementTypes = map[placement.Status]string{
	placement.Fulfilled: "PlacementFulfilled",
	placement.Cancelled: "PlacementCancelled",
	placement.TimedOut:  "PlacementTimedOut",
	placement.Failed:    "PlacementFailed",
}

// Placement is the event of a placement that is over.
func (o Origin) Placement(h Head, p *placement.Placement) ([]byte, error) {
	d := placementDetail{
		Type: placementTypes[p.Status], PlacementID: p.ID, StartTime: format(p.Started, milliseconds), EndTime: format(p.Ended, milliseconds),
		CustomEventData: h.Custom,
	}
	if s := p.Session; s != nil && p.Status == placement.Fulfilled {
		d.GameSessionARN = o.GameSessionARN(string(s.Room.Fleet), s.Room.Location, s.ID)
		d.GameSessionRegion, d.IPAddress, d.DNSName = s.Room.Location, s.IPAddress, s.DNSName
		d.Port = strconv.Itoa(int(s.Port))
		for _, player := range s.Players {
			d.Players = append(d.Players, placedPlayer{player.PlayerID, player.PlayerSession.String()})
		}
	}
	return o.envelope(h, PlacementDetail, format(p.Ended, seconds), d)
}
