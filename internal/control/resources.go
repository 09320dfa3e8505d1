package control

import (
	"context"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// AppendARNs appends the ARNs of the resources that a request names, for policies. kind is one of policy.Member. A
// name that is an ARN is built again: an account or Region in it must not make it another resource for policies than
// the one that the operation uses. Names that belong to no resource are left out.
func (p *Plane) AppendARNs(ctx context.Context, arns []string, kind string, names []string) []string {
	for _, name := range names {
		if found := p.resourceARN(ctx, kind, name); found != "" {
			arns = append(arns, found)
		}
	}
	return arns
}

func (p *Plane) resourceARN(ctx context.Context, kind, name string) string {
	switch kind {
	case "arn":
		if a, ok := arn.Parse(name); ok {
			return p.build(string(a.Kind), a.ID)
		}
		return ""
	case "gamesession":
		return p.fleetOfGameSession(name)
	case "playersession":
		return p.fleetOfPlayerSession(ctx, name)
	case "placement":
		return p.queueOfPlacement(ctx, name)
	case "ticket":
		return p.configurationOfTicket(ctx, name)
	}
	if a, ok := arn.Parse(name); ok {
		name = a.ID
	}
	return p.build(kind, name)
}

// build returns the ARN of a resource of this Region. Aliases have no account, as in the managed service.
func (p *Plane) build(kind, id string) string {
	account := p.cfg.Account
	switch arn.Kind(kind) {
	case arn.KindFleet:
		return p.FleetARN(id) // that of a container fleet is of another kind
	case arn.KindAlias:
		account = ""
	}
	return arn.ARN{Partition: arn.Partition(p.cfg.Region), Region: p.cfg.Region, Account: account,
		Kind: arn.Kind(kind), ID: id}.String()
}

// getComputeAuthToken is what a caller must be allowed to connect server processes of a fleet with signatures: it could
// get a token for them.
var getComputeAuthToken, _ = policy.ActionOf("gamelift:GetComputeAuthToken")

// allowProcess decides whether the signer of a connection request may act for a fleet.
func (p *Plane) allowProcess(caller sigv4.Caller, f fleet.ID) error {
	return p.Allow(p.IdentityOf(caller), access.Origin{Region: caller.Region}, getComputeAuthToken,
		p.FleetARN(string(f)))
}

// fleetOfGameSession does not check the name: the operation does, and finds the same fleet in it.
func (p *Plane) fleetOfGameSession(name string) string {
	if id, ok := arn.FleetOfGameSession(name); ok {
		return p.FleetARN(id)
	}
	if room, _, err := p.names.ParseGameSession(name); err == nil { // an id that is no ARN
		return p.FleetARN(string(room.Fleet))
	}
	return ""
}

func (p *Plane) fleetOfPlayerSession(ctx context.Context, id string) string {
	out, err := p.DescribePlayerSessions(ctx, &wire.DescribePlayerSessionsInput{PlayerSessionId: id})
	if err != nil || len(out.PlayerSessions) == 0 {
		return ""
	}
	return p.FleetARN(out.PlayerSessions[0].FleetId)
}

func (p *Plane) queueOfPlacement(ctx context.Context, id string) string {
	out, err := p.DescribeGameSessionPlacement(ctx, &wire.DescribeGameSessionPlacementInput{PlacementId: id})
	if err != nil || out.GameSessionPlacement == nil {
		return ""
	}
	return p.build(string(arn.KindQueue), out.GameSessionPlacement.GameSessionQueueName)
}

func (p *Plane) configurationOfTicket(ctx context.Context, id string) string {
	out, err := p.DescribeMatchmaking(ctx, &wire.DescribeMatchmakingInput{TicketIds: []string{id}})
	if err != nil || len(out.TicketList) == 0 {
		return ""
	}
	return p.build(string(arn.KindMatchmakingConfiguration), out.TicketList[0].ConfigurationName)
}
