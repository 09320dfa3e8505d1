package control

import (
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
)

// shapes converts records of the cores to shapes of the API and back. It has no state.
type shapes struct {
	names                      router.Names
	sdkEndpoint, agentEndpoint string
	instanceDomain             string
}

func tagsFrom(tags []wire.Tag) []catalog.Tag {
	var to []catalog.Tag
	for _, t := range tags {
		to = append(to, catalog.Tag{Key: t.Key, Value: t.Value})
	}
	return to
}

// The sizes of a page: when the caller does not say, and at most.
const defaultPage, maxPage = 100, 1000

// pageSize is the number of results on a page.
func pageSize(limit wire.Opt[int32]) int {
	return min(int(limit.Or(defaultPage)), maxPage)
}

// pageOf is the number of results on a page of an operation with the given maximum.
func pageOf(limit wire.Opt[int32], most int32) int { return int(min(limit.Or(most), most)) }

// enumsText converts the values of an enumeration to strings.
func enumsText[E ~string](values []E) []string {
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = string(v)
	}
	return text
}

// optional returns a pointer to a string, nil for the empty one.
func optional[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// given returns a pointer to a value, nil if it is absent.
func given[T comparable](o wire.Opt[T]) *T {
	v, ok := o.Get()
	if !ok {
		return nil
	}
	return &v
}

// present returns a number, absent for zero.
func present(n int32) wire.Opt[int32] {
	if n == 0 {
		return wire.Opt[int32]{}
	}
	return wire.Some(n)
}

func (sh shapes) gameSession(room fleet.RoomID, g *fleet.GameSession) *wire.GameSession {
	return &wire.GameSession{
		GameSessionId: sh.names.GameSessionARN(room, g.ID), Name: g.Name, FleetId: string(room.Fleet),
		FleetArn:     sh.names.FleetARN(string(room.Fleet)),
		CreationTime: g.Created.Time(), TerminationTime: g.Ended.Time(),
		CurrentPlayerSessionCount: wire.Some(g.Players()), MaximumPlayerSessionCount: wire.Some(g.Maximum),
		Status: wire.GameSessionStatus(g.Status), StatusReason: wire.GameSessionStatusReason(g.StatusReason),
		GameProperties: propertiesTo(g.Properties), IpAddress: g.IPAddress, DnsName: g.DNSName, Port: portTo(g.Port),
		PlayerSessionCreationPolicy: wire.PlayerSessionCreationPolicy(g.Policy), CreatorId: g.CreatorID,
		GameSessionData: g.Data, MatchmakerData: g.MatchmakerData, Location: room.Location, ComputeName: g.Host.Compute,
		PlayerGatewayStatus: wire.PlayerGatewayStatusDisabled,
	}
}

func propertiesTo(from []fleet.Property) []wire.GameProperty {
	to := make([]wire.GameProperty, len(from)) // never nil: clients expect the empty list
	for i, property := range from {
		to[i] = wire.GameProperty{Key: property.Key, Value: property.Value}
	}
	return to
}

// playerSession takes the ARNs as strings, because the player sessions of a game session share them.
func playerSession(
	id, gameSessionArn, fleetArn string, room fleet.RoomID, g *fleet.GameSession, s *fleet.PlayerSession,
) wire.PlayerSession {
	return wire.PlayerSession{
		PlayerSessionId: id, PlayerId: s.PlayerID, GameSessionId: gameSessionArn,
		FleetId: string(room.Fleet), FleetArn: fleetArn, CreationTime: s.Created.Time(),
		TerminationTime: s.Ended.Time(),
		Status:          wire.PlayerSessionStatus(s.Status), IpAddress: g.IPAddress, DnsName: g.DNSName,
		Port: portTo(g.Port), PlayerData: s.Data,
	}
}

func runtimeFrom(in *wire.RuntimeConfiguration) *catalog.RuntimeConfiguration {
	if in == nil {
		return nil
	}
	to := &catalog.RuntimeConfiguration{
		MaxConcurrentActivations: in.MaxConcurrentGameSessionActivations.Or(0),
		ActivationTimeoutSeconds: in.GameSessionActivationTimeoutSeconds.Or(0),
	}
	for _, s := range in.ServerProcesses {
		to.ServerProcesses = append(to.ServerProcesses, catalog.ServerProcess{
			LaunchPath: s.LaunchPath, Parameters: s.Parameters, ConcurrentExecutions: s.ConcurrentExecutions.Or(0),
		})
	}
	return to
}

func runtimeTo(from *catalog.RuntimeConfiguration) *wire.RuntimeConfiguration {
	if from == nil {
		return nil
	}
	out := &wire.RuntimeConfiguration{
		MaxConcurrentGameSessionActivations: present(from.MaxConcurrentActivations),
		GameSessionActivationTimeoutSeconds: present(from.ActivationTimeoutSeconds),
	}
	for _, s := range from.ServerProcesses {
		out.ServerProcesses = append(out.ServerProcesses, wire.ServerProcess{
			LaunchPath: s.LaunchPath, Parameters: s.Parameters, ConcurrentExecutions: wire.Some(s.ConcurrentExecutions),
		})
	}
	return out
}

// portTo returns a port; none while the requested process of a game session is not ready.
func portTo(port int32) wire.Opt[int32] {
	if port == 0 {
		return wire.Opt[int32]{}
	}
	return wire.Some(port)
}
