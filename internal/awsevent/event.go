// Package awsevent gives the events of queues and matchmaking the JSON that Amazon
// EventBridge and SNS deliver for GameLift, so that what consumes those consumes
// these.
//
// Source: developer guide, game session placement events; FlexMatch guide,
// matchmaking events; captured messages.
package awsevent

import (
	"encoding/json"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// An Event is the envelope of every event.
type Event struct {
	Version    string   `json:"version"` // always 0
	ID         string   `json:"id"`      // a UUID; an event that is delivered again has the same
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`  // always aws.gamelift
	Account    string   `json:"account"` // 12 digits
	Time       string   `json:"time"`    // ISO 8601, UTC
	Region     string   `json:"region"`
	Resources  []string `json:"resources"` // the ARN of the queue or the matchmaking configuration
	Detail     any      `json:"detail"`
}

// The detail types.
const (
	PlacementDetail   = "GameLift Queue Placement Event"
	MatchmakingDetail = "GameLift Matchmaking Event"
)

// An Origin is where an event comes from.
type Origin struct {
	Region  string
	Account string
	// GameSessionARN names a game session.
	GameSessionARN func(fleet, location, id string) string
}

// A Head is what an envelope needs besides what has happened.
type Head struct {
	ID       string // a UUID
	Resource string // ARN
	Custom   string // CustomEventData; "" for none
}

func (o Origin) envelope(h Head, detailType, at string, detail any) ([]byte, error) {
	return json.Marshal(Event{
		Version: "0", ID: h.ID, DetailType: detailType, Source: "aws.gamelift", Account: o.Account, Time: at, Region: o.Region,
		Resources: []string{h.Resource}, Detail: detail,
	})
}

// The forms of times: those of placements stand with whole seconds in envelopes.
const (
	seconds      = "2006-01-02T15:04:05Z"
	milliseconds = "2006-01-02T15:04:05.000Z"
)

func format(t event.Time, form string) string { return t.Time().In(time.UTC).Format(form) }
