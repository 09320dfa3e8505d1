package direct

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/session"
)

// Reserve implements session.Provider with CreatePlayerSession. A place cannot be given back through the API: one that
// was taken but whose answer was lost becomes free by itself, after about a minute.
func (p *Provider) Reserve(ctx context.Context, r session.JoinSessionRequest) (session.Reservation, error) {
	const op = "Reserve"
	api, err := p.configured(op)
	if err != nil {
		return session.Reservation{}, err
	}
	return reserve(ctx, api, op, r)
}

func reserve(ctx context.Context, api *api, op string, r session.JoinSessionRequest) (session.Reservation, error) {
	out, err := api.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &r.SessionID, PlayerId: &r.PlayerID, PlayerData: text(r.PlayerData),
	}, api.once)
	if err != nil {
		return session.Reservation{}, failure(ctx, op, err)
	}
	if out.PlayerSession == nil {
		return session.Reservation{}, incomplete(op, "the player session")
	}
	place := reservation(*out.PlayerSession)
	if place.PlayerSessionID == "" || place.Port == 0 || place.IPAddress == "" && place.DNSName == "" {
		return session.Reservation{}, incomplete(op, "a player session id, an address or a port")
	}
	return place, nil
}
