package publish

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// An envelope is what Amazon EventBridge delivers, and SNS as its message.
type envelope struct {
	Version    string   `json:"version"` // always 0
	ID         string   `json:"id"`      // a UUID; the same whenever the event is delivered
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`  // aws.gamelift, or muster for events that GameLift does not have
	Account    string   `json:"account"` // 12 digits
	Time       string   `json:"time"`    // ISO 8601, UTC
	Region     string   `json:"region"`
	Resources  []string `json:"resources"` // the ARN of the queue, the matchmaking configuration or the fleet
	Detail     any      `json:"detail"`
}

// The detail types.
const (
	placementDetailType   = "GameLift Queue Placement Event"
	matchmakingDetailType = "GameLift Matchmaking Event"
	capacityDetailType    = "Muster Capacity Event"
)

// Types are the types of all events.
var Types = []string{
	placementTypes[placement.Fulfilled], placementTypes[placement.Cancelled], placementTypes[placement.TimedOut],
	placementTypes[placement.Failed], string(matchmaking.MatchmakingSearching),
	string(matchmaking.PotentialMatchCreated), string(matchmaking.AcceptMatch),
	string(matchmaking.AcceptMatchCompleted), string(matchmaking.MatchmakingSucceeded),
	string(matchmaking.MatchmakingTimedOut), string(matchmaking.MatchmakingCancelled),
	string(matchmaking.MatchmakingFailed), capacityShort, capacityRestored,
}

// Types of events that GameLift does not have.
const (
	capacityShort    = "muster.capacity.short"
	capacityRestored = "muster.capacity.restored"
)

// An Origin is the region and the account of an event.
type Origin struct{ Region, Account string }

// A head is what an event takes from its queue or matchmaking configuration.
type head struct {
	id       string
	resource string // ARN
	custom   string // CustomEventData; may be ""
}

func (o Origin) envelope(h head, detailType, at string, detail any) ([]byte, error) {
	source := "aws.gamelift"
	if detailType == capacityDetailType {
		source = "muster"
	}
	return json.Marshal(envelope{
		Version: "0", ID: h.id, DetailType: detailType, Source: source, Account: o.Account, Time: at,
		Region:    o.Region,
		Resources: []string{h.resource}, Detail: detail,
	})
}

// The forms of times: the envelopes of placements have whole seconds.
const (
	seconds      = "2006-01-02T15:04:05Z"
	milliseconds = "2006-01-02T15:04:05.000Z"
)

func format(t event.Time, form string) string { return t.Time().In(time.UTC).Format(form) }

// placementDetail is the detail of a placement event. Unknown values are omitted.
type placementDetail struct {
	Type              string         `json:"type"`
	PlacementID       string         `json:"placementId"`
	Port              string         `json:"port,omitempty"` // a string; a number in matchmaking events
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

// placement returns the event of a placement that has ended.
func (o Origin) placement(h head, p *placement.Placement) ([]byte, error) {
	d := placementDetail{
		Type: placementTypes[p.Status], PlacementID: p.ID, CustomEventData: h.custom,
		StartTime: format(p.Started, milliseconds), EndTime: format(p.Ended, milliseconds),
	}
	if s := p.Session; s != nil && p.Status == placement.Fulfilled {
		d.GameSessionARN = arn.GameSession(o.Region, string(s.Room.Fleet), s.Room.Location, s.ID)
		d.GameSessionRegion, d.IPAddress, d.DNSName = s.Room.Location, s.IPAddress, s.DNSName
		d.Port = strconv.Itoa(int(s.Port))
		for _, player := range s.Players {
			d.Players = append(d.Players, placedPlayer{player.PlayerID, player.PlayerSession.String()})
		}
	}
	return o.envelope(h, placementDetailType, format(p.Ended, seconds), d)
}

// capacityDetail is the detail of a capacity event.
type capacityDetail struct {
	Type             string `json:"type"` // capacityShort or capacityRestored
	FleetID          string `json:"fleetId"`
	Location         string `json:"location"`
	DesiredInstances int32  `json:"desiredInstances"`
	MissingInstances int32  `json:"missingInstances"` // because no machine can have them
	Reason           string `json:"reason,omitempty"`
}

// capacity returns the event of a shortage of instances that begins or ends.
func (o Origin) capacity(id string, a *catalog.Announcement) ([]byte, error) {
	d := capacityDetail{Type: capacityRestored, FleetID: a.Fleet, Location: a.Location,
		DesiredInstances: a.Desired, MissingInstances: a.Shortage.Missing, Reason: a.Shortage.Reason}
	if d.MissingInstances > 0 {
		d.Type = capacityShort
	}
	h := head{id: id, resource: arn.Fleet(o.Region, o.Account, a.Fleet)}
	return o.envelope(h, capacityDetailType, format(a.At, seconds), d)
}
