package session

import (
	"context"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/life"
)

// Create adds a session that the player owns, in state Pending. It does not call the service; Start does. On the local
// network it is announced until it is destroyed.
func (n *NamedSessions) Create(ctx context.Context, name string, settings Settings) error {
	const op = "Create"
	cfg := &n.client.cfg
	r := &record{name: name, ownerID: cfg.PlayerID, ownerName: cfg.PlayerName, hosting: true,
		settings: settings.clone()}
	var w *work
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			err = firstError(func() error { return checkName(op, name) }, func() error { return settings.check(op) })
			if err == nil && settings.IsLANMatch {
				err = n.lan(op)
			}
			if err != nil {
				return err
			}
			r.open()
			n.mu.Lock()
			w, err = n.add(op, name, r, life.Create)
			n.mu.Unlock()
			if err != nil || settings.IsLANMatch {
				return err
			}
			defer close(w.done)
			return n.settle(w, nil, func(*record) {})
		},
		do: func(ctx context.Context, _ OpID) (none, error) {
			if !settings.IsLANMatch {
				return none{}, nil
			}
			defer close(w.done)
			return none{}, n.announce(ctx, op, w)
		},
	}.runErr(ctx, n.client)
}

// lan rejects calls that need the local network while there is none.
func (n *NamedSessions) lan(op string) error {
	if n.client.cfg.LAN == nil {
		return Errorf(op, ErrUnsupported, "there is no local network: set Config.LAN")
	}
	return nil
}

// announce makes this program the host of a session on the local network and settles the work.
func (n *NamedSessions) announce(ctx context.Context, op string, w *work) error {
	ctx, release := until(ctx, w.over)
	defer release()
	r := w.record
	cfg := &n.client.cfg
	here := line{place: Reservation{SessionID: uuid.NewString(), PlayerID: r.ownerID, IPAddress: cfg.ListenIP,
		Port: cfg.ListenPort}}

	n.mu.Lock()
	advert := r.advert()
	n.mu.Unlock()
	advert.SessionID, advert.Port = here.place.SessionID, here.place.Port
	beacon, err := cfg.LAN.Announce(ctx, advert)
	if err == nil {
		r.beacon.set(beacon)
	}
	if err == nil && ctx.Err() != nil {
		err = interruption(ctx, op)
	}
	var before line
	err = n.settle(w, failure(ctx, op, err), func(r *record) {
		r.fellBack = r.fellBack || !r.settings.IsLANMatch
		before, r.line, r.settings.IsLANMatch = r.line, here, true
	})
	if err != nil {
		n.stopAnnouncing(r)
		return err
	}
	n.advertise(r) // changes since the advert
	n.client.disconnect(ctx, before)
	return nil
}
