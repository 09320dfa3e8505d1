package session

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/life"
)

// A record is a session of a machine, whose mu guards it, except for the fields that never change.
type record struct {
	key       string // in machine.records
	name      string // for errors and the log
	log       *slog.Logger
	gone      chan struct{} // closed when the session was destroyed
	ownerID   string
	ownerName string
	hosting   bool // it was created here, not joined

	life        life.Life
	settings    Settings
	openPublic  int
	openPrivate int
	players     map[string]bool // registered
	others      int             // slots that were used when the player joined
	line        line            // to the game; its place is the address of a host on a LAN too
	work        *work           // the call in progress; nil without one
	beacon      *announcement   // with a lock of its own
	fellBack    bool            // it is on the local network because of Config.FallbackToLAN
}

// open computes the free slots. Players use public slots first.
func (r *record) open() {
	free := r.free()
	r.openPrivate = min(free, r.settings.NumPrivateConnections)
	r.openPublic = free - r.openPrivate
}

// free returns the number of free slots.
func (r *record) free() int { return max(0, r.settings.connections()-len(r.players)-r.others) }

// mayBe reports whether new settings may have this IsLANMatch. Either value is allowed after a fallback, which the game
// need not notice.
func (r *record) mayBe(onLAN bool) bool { return onLAN == r.settings.IsLANMatch || r.fellBack }

// replace replaces the settings except IsLANMatch.
func (r *record) replace(settings Settings) {
	settings.IsLANMatch = r.settings.IsLANMatch
	r.settings = settings
	r.open()
}

// register assigns a slot to a player, a public one if possible. A registered player has one already.
func (r *record) register(playerID string) error {
	switch {
	case r.players[playerID]:
		return nil
	case r.openPublic > 0:
		r.openPublic--
	case r.openPrivate > 0:
		r.openPrivate--
	default:
		return Errorf("RegisterPlayer", ErrFull, "session %q has no open connection", r.name)
	}
	r.players[playerID] = true
	return nil
}

// unregister frees a player's slot, a public one if one is used.
func (r *record) unregister(playerID string) error {
	if !r.players[playerID] {
		return Errorf("UnregisterPlayer", ErrNotFound, "player %q is not registered in session %q", playerID, r.name)
	}
	delete(r.players, playerID)
	switch {
	case r.openPublic+r.openPrivate >= r.free(): // Update has left fewer slots than players
	case r.openPublic < r.settings.NumPublicConnections:
		r.openPublic++
	case r.openPrivate < r.settings.NumPrivateConnections:
		r.openPrivate++
	}
	return nil
}

// advert returns the advert of a hosted session. Source of Joinable: Unreal, FOnlineSessionNull::IsSessionJoinable.
func (r *record) advert() Advert {
	return Advert{
		SessionID: r.line.place.SessionID, OwnerID: r.ownerID, OwnerName: r.ownerName, Name: r.settings.title(),
		Port: r.line.place.Port, BuildID: r.settings.BuildUniqueID,
		Connections: r.settings.NumPublicConnections, OpenConnections: r.openPublic,
		Joinable:   r.openPublic > 0 && (r.state() != InProgress || r.settings.AllowJoinInProgress),
		Properties: r.settings.published(),
	}
}

// NamedSession is a snapshot of a named session.
type NamedSession struct {
	Name  string
	State State
	// Settings of a joined session are what Find has returned: NumPublicConnections (of all slots, private ones too),
	// IsLANMatch, BuildUniqueID and Properties. The others are not published, and are zero.
	Settings           Settings
	OwnerID, OwnerName string // of the creator; "" if unknown
	Hosting            bool   // it was created here, not joined
	// OpenPublic and OpenPrivate are the numbers of free slots.
	OpenPublic, OpenPrivate int
	Players                 []string // registered, sorted
	// Place is the session's id and address, and the player's reservation. At the service it is known from InProgress
	// on.
	Place Reservation
}

func (r *record) snapshot() NamedSession {
	return NamedSession{
		Name: r.name, State: r.state(), Settings: r.settings.clone(),
		OwnerID: r.ownerID, OwnerName: r.ownerName, Hosting: r.hosting,
		OpenPublic: r.openPublic, OpenPrivate: r.openPrivate,
		Players: slices.Sorted(maps.Keys(r.players)), Place: r.line.place,
	}
}
