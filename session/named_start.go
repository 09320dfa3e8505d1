package session

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/life"
)

// Start begins the game of a session. At the service it creates a game session and connects the player to it; then the
// session is InProgress, or after a failure in the state before, and the game session ends at once. On the local
// network this program is the game server, and the session is InProgress at once; so is a session that was joined and
// has ended, whose connection stays open.
//
// The event Reserved is published before the player connects.
func (n *NamedSessions) Start(ctx context.Context, name string) error {
	const op = "Start"
	var r *record
	var w *work // nil for a session that starts at once
	offline := false
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if r, err = n.enter(op, name, life.Start); err != nil {
				return err
			}
			if r.settings.IsLANMatch || !r.hosting {
				r.do(life.Start)
				r.do(life.Done)
				return nil
			}
			if offline = n.offline(); !offline {
				err = firstError(func() error { return n.client.ready(op) },
					func() error { return n.client.connector(op) })
			}
			if err == nil {
				w = r.begin(life.Start)
			}
			return err
		},
		do: func(ctx context.Context, id OpID) (none, error) {
			if w == nil {
				n.advertise(r)
				return none{}, nil
			}
			defer close(w.done)
			if offline {
				return none{}, n.announce(ctx, op, w)
			}
			return none{}, n.host(ctx, id, op, w)
		},
	}.runErr(ctx, n.client)
}

// host creates a game session at the service, connects the player and settles the work.
func (n *NamedSessions) host(ctx context.Context, id OpID, op string, w *work) error {
	ctx, release := until(ctx, w.over)
	defer release()
	n.mu.Lock()
	request := w.record.hostRequest()
	n.mu.Unlock()
	create := func(ctx context.Context) (Reservation, error) { return n.client.cfg.Remote.Host(ctx, request) }
	l, err := n.client.connect(ctx, id, op, reserve{make: create, hosted: true})
	if n.fallback(ctx, err) {
		n.client.cfg.Log.Warn("announcing session on the local network", "session", w.record.name, "error", err)
		return n.announce(ctx, op, w)
	}
	return n.settleLine(ctx, w, l, err)
}

// hostRequest returns the request for the service.
func (r *record) hostRequest() HostRequest {
	s := r.settings
	return HostRequest{
		SessionName: s.title(), OwnerID: r.ownerID, BuildID: s.BuildUniqueID,
		Connections: s.connections(), Properties: s.published(),
	}
}

// offline reports whether sessions and searches go to the local network at once, because no service is configured.
func (n *NamedSessions) offline() bool {
	cfg := &n.client.cfg
	return cfg.FallbackToLAN && cfg.LAN != nil && n.client.ready("") != nil
}

// fallback reports whether a failure at the service leads to the local network.
func (n *NamedSessions) fallback(ctx context.Context, err error) bool {
	cfg := &n.client.cfg
	if !cfg.FallbackToLAN || cfg.LAN == nil || ctx.Err() != nil {
		return false
	}
	return slices.ContainsFunc([]error{ErrTransport, ErrTimeout, ErrUnavailable},
		func(kind error) bool { return errors.Is(err, kind) })
}

// Join connects the player to a session that Find has found, under an unused name. The session is InProgress when the
// game server has accepted the player; a failure leaves nothing behind. The event Reserved is published before the
// player connects.
func (n *NamedSessions) Join(ctx context.Context, name string, found SearchResult) error {
	const op = "Join"
	var w *work
	return call[none]{
		op: op, name: name,
		check: func() (err error) {
			err = firstError(func() error { return checkName(op, name) }, func() error { return found.check(op) },
				func() error { return n.client.connector(op) })
			if err == nil && !found.LAN {
				err = n.client.ready(op)
			}
			if err != nil {
				return err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			w, err = n.add(op, name, found.record(name), life.Start)
			return err
		},
		do: func(ctx context.Context, id OpID) (none, error) {
			defer close(w.done)
			ctx, release := until(ctx, w.over)
			defer release()
			place := func(ctx context.Context) (Reservation, error) { return n.reserve(ctx, found) }
			l, err := n.client.connect(ctx, id, op, reserve{make: place})
			return none{}, n.settleLine(ctx, w, l, err)
		},
	}.runErr(ctx, n.client)
}

// reserve makes a reservation in a session that was found. Hosts on the local network have no reservations: they accept
// or reject a player.
func (n *NamedSessions) reserve(ctx context.Context, found SearchResult) (Reservation, error) {
	player := n.client.cfg.PlayerID
	if found.LAN {
		return Reservation{SessionID: found.SessionID, PlayerID: player, IPAddress: found.IPAddress, Port: found.Port},
			nil
	}
	return n.client.cfg.Remote.Reserve(ctx, JoinSessionRequest{SessionID: found.SessionID, PlayerID: player})
}

func (s SearchResult) check(op string) error {
	c := checker{op: op}
	c.given("SessionID", s.SessionID)
	if s.LAN {
		c.given("IPAddress", s.IPAddress)
		c.between("Port", s.Port, 1, 65535)
	}
	return c.err
}

// record returns the record of a session that was found. Its settings are those that a search returns.
func (s SearchResult) record(name string) *record {
	settings := Settings{
		NumPublicConnections: max(0, s.Connections), IsLANMatch: s.LAN,
		BuildUniqueID: s.BuildID, Properties: make(map[string]string),
	}
	maps.Copy(settings.Properties, s.Properties)
	if s.Name != "" {
		settings.Properties[PropertyName] = s.Name
	}
	open := min(max(0, s.OpenConnections), settings.NumPublicConnections)
	return &record{
		name: name, ownerID: s.OwnerID, ownerName: s.OwnerName, settings: settings,
		openPublic: open, others: settings.NumPublicConnections - open,
	}
}
