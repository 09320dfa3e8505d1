package direct

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
)

// buildProperty is the game property that holds the build id of a session that Host has made.
const buildProperty = "build_id"

// maxProperties is the API's limit of the game properties of a session.
const maxProperties = 16

// text converts a string for the API, where "" is absent.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// properties lists a map in the order of its keys, so that a repeated request is identical.
func properties(m map[string]string) (list []types.GameProperty) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, types.GameProperty{Key: aws.String(key), Value: aws.String(m[key])})
	}
	return list
}

func propertyMap(list []types.GameProperty) map[string]string {
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]string, len(list))
	for _, p := range list {
		m[aws.ToString(p.Key)] = aws.ToString(p.Value)
	}
	return m
}

// statuses maps the API's statuses to those of the session interface.
var statuses = map[types.GameSessionStatus]session.Status{
	types.GameSessionStatusActivating:  session.StatusActivating,
	types.GameSessionStatusActive:      session.StatusActive,
	types.GameSessionStatusTerminating: session.StatusTerminating,
	types.GameSessionStatusTerminated:  session.StatusTerminated,
	types.GameSessionStatusError:       session.StatusError,
}

// reasonInterrupted is the only reason with a name of its own in the session interface. Source: O3DE AWSGameLift Gem,
// status reasons.
const (
	reasonNotSet      = "NotSet"
	reasonInterrupted = "Interrupted"
)

func status(s types.GameSessionStatus) session.Status {
	if known, ok := statuses[s]; ok {
		return known
	}
	return session.StatusNotSet
}

func statusReason(r types.GameSessionStatusReason) string {
	switch r {
	case "":
		return reasonNotSet
	case types.GameSessionStatusReasonInterrupted:
		return reasonInterrupted
	}
	return string(r)
}

func sessionConfig(g types.GameSession) session.SessionConfig {
	return session.SessionConfig{
		SessionID:         aws.ToString(g.GameSessionId),
		SessionName:       aws.ToString(g.Name),
		CreatorID:         aws.ToString(g.CreatorId),
		SessionProperties: propertyMap(g.GameProperties),
		MatchmakingData:   aws.ToString(g.MatchmakerData),
		CreationTime:      aws.ToTime(g.CreationTime),
		TerminationTime:   aws.ToTime(g.TerminationTime),
		DNSName:           aws.ToString(g.DnsName),
		IPAddress:         aws.ToString(g.IpAddress),
		Port:              int(aws.ToInt32(g.Port)),
		MaxPlayer:         int(aws.ToInt32(g.MaximumPlayerSessionCount)),
		CurrentPlayer:     int(aws.ToInt32(g.CurrentPlayerSessionCount)),
		Status:            status(g.Status),
		StatusReason:      statusReason(g.StatusReason),
		Location:          aws.ToString(g.Location),
		FleetID:           aws.ToString(g.FleetId),
	}
}

// searchResult converts a game session for Find. The build id is removed from its properties.
func searchResult(g types.GameSession) session.SearchResult {
	props := propertyMap(g.GameProperties)
	build := buildID(props)
	maximum, current := int(aws.ToInt32(g.MaximumPlayerSessionCount)), int(aws.ToInt32(g.CurrentPlayerSessionCount))
	return session.SearchResult{
		SessionID: aws.ToString(g.GameSessionId), Name: aws.ToString(g.Name),
		IPAddress: aws.ToString(g.IpAddress), Port: int(aws.ToInt32(g.Port)), BuildID: build,
		Connections: maximum, OpenConnections: max(maximum-current, 0), Properties: props,
	}
}

// buildID removes the build id from a session's properties and returns it; 0 if there is none.
func buildID(props map[string]string) int32 {
	build, err := strconv.ParseInt(props[buildProperty], 10, 32)
	if err != nil {
		return 0
	}
	delete(props, buildProperty)
	return int32(build)
}

func reservation(p types.PlayerSession) session.Reservation {
	return session.Reservation{
		SessionID: aws.ToString(p.GameSessionId), PlayerID: aws.ToString(p.PlayerId),
		PlayerSessionID: aws.ToString(p.PlayerSessionId),
		DNSName:         aws.ToString(p.DnsName), IPAddress: aws.ToString(p.IpAddress), Port: int(aws.ToInt32(p.Port)),
	}
}
