package gateway

import (
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// The objects of the older interface are the API's, by the API's keys; of times
// alone the form differs: the first gateway wrote them as Python does.

// pythonTime is str(datetime) of Python for a time in UTC: with six decimals, or
// none if they are all zero.
type pythonTime struct{ time.Time }

// MarshalText implements encoding.TextMarshaler.
func (t pythonTime) MarshalText() ([]byte, error) {
	u := t.UTC().Truncate(time.Microsecond)
	layout := "2006-01-02 15:04:05-07:00"
	if u.Nanosecond() != 0 {
		layout = "2006-01-02 15:04:05.000000-07:00"
	}
	return u.AppendFormat(nil, layout), nil
}

// MarshalJSON hides that of time.Time.
func (t pythonTime) MarshalJSON() ([]byte, error) {
	text, err := t.MarshalText()
	return append(append([]byte{'"'}, text...), '"'), err
}

// timeText is nil for the zero time, which is absent.
func timeText(t time.Time) *pythonTime {
	if t.IsZero() {
		return nil
	}
	return &pythonTime{t}
}

// A playerObject has the members of wire.PlayerSession.
type playerObject struct {
	PlayerSessionId string
	PlayerId        string
	GameSessionId   string
	FleetId         string                   `json:",omitempty"`
	FleetArn        string                   `json:",omitempty"`
	CreationTime    *pythonTime              `json:",omitempty"`
	TerminationTime *pythonTime              `json:",omitempty"`
	Status          wire.PlayerSessionStatus `json:",omitempty"`
	IpAddress       string
	DnsName         string `json:",omitempty"`
	Port            int32
	PlayerData      string `json:",omitempty"`
}

// playerObject is a player session as the older interface shows it.
func (c *call) playerObject(p *wire.PlayerSession) *playerObject {
	o := &playerObject{
		PlayerSessionId: p.PlayerSessionId, PlayerId: p.PlayerId, GameSessionId: p.GameSessionId, FleetId: p.FleetId, FleetArn: p.FleetArn,
		CreationTime: timeText(p.CreationTime), TerminationTime: timeText(p.TerminationTime), Status: p.Status,
		IpAddress: p.IpAddress, DnsName: p.DnsName, Port: p.Port.Or(0), PlayerData: p.PlayerData,
	}
	if c.localStyle() {
		o.GameSessionId, o.FleetId, o.FleetArn = c.g.localID(p.GameSessionId), c.g.localFleet, ""
	}
	return o
}

// A gameSessionObject has the members of wire.GameSession.
type gameSessionObject struct {
	GameSessionId               string
	Name                        string
	FleetId                     string      `json:",omitempty"`
	FleetArn                    string      `json:",omitempty"`
	CreationTime                *pythonTime `json:",omitempty"`
	TerminationTime             *pythonTime `json:",omitempty"`
	CurrentPlayerSessionCount   int32
	MaximumPlayerSessionCount   int32
	Status                      wire.GameSessionStatus       `json:",omitempty"`
	StatusReason                wire.GameSessionStatusReason `json:",omitempty"`
	GameProperties              []gameProperty
	IpAddress                   string                           `json:",omitempty"`
	DnsName                     string                           `json:",omitempty"`
	Port                        int32                            `json:",omitempty"`
	PlayerSessionCreationPolicy wire.PlayerSessionCreationPolicy `json:",omitempty"`
	CreatorId                   string                           `json:",omitempty"`
	GameSessionData             string                           `json:",omitempty"`
	MatchmakerData              string                           `json:",omitempty"`
	Location                    string                           `json:",omitempty"`
	ComputeName                 string                           `json:",omitempty"`
	PlayerGatewayStatus         wire.PlayerGatewayStatus         `json:",omitempty"`
}

type gameProperty struct{ Key, Value string }

// A minimalSession holds the members that clients of the older interface read.
type minimalSession struct {
	GameSessionId             string
	Name                      string
	CurrentPlayerSessionCount int32
	MaximumPlayerSessionCount int32
}

// sessionObject is a game session as the older interface shows it.
func (c *call) sessionObject(s *wire.GameSession) any {
	id := s.GameSessionId
	if c.localStyle() {
		id = c.g.localID(id)
	}
	if c.g.fields == FieldsMinimal {
		return minimalSession{id, s.Name, s.CurrentPlayerSessionCount.Or(0), s.MaximumPlayerSessionCount.Or(0)}
	}
	o := &gameSessionObject{
		GameSessionId: id, Name: s.Name, FleetId: s.FleetId, FleetArn: s.FleetArn,
		CreationTime: timeText(s.CreationTime), TerminationTime: timeText(s.TerminationTime),
		CurrentPlayerSessionCount: s.CurrentPlayerSessionCount.Or(0), MaximumPlayerSessionCount: s.MaximumPlayerSessionCount.Or(0),
		Status: s.Status, StatusReason: s.StatusReason, GameProperties: make([]gameProperty, len(s.GameProperties)),
		IpAddress: s.IpAddress, DnsName: s.DnsName, Port: s.Port.Or(0), PlayerSessionCreationPolicy: s.PlayerSessionCreationPolicy,
		CreatorId: s.CreatorId, GameSessionData: s.GameSessionData, MatchmakerData: s.MatchmakerData,
		Location: s.Location, ComputeName: s.ComputeName, PlayerGatewayStatus: s.PlayerGatewayStatus,
	}
	for i, p := range s.GameProperties {
		o.GameProperties[i] = gameProperty(p)
	}
	if c.localStyle() {
		o.FleetId, o.FleetArn = c.g.localFleet, ""
	}
	return o
}
