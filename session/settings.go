package session

import (
	"cmp"
	"maps"
)

// Settings are the settings of a named session, which its owner chooses.
type Settings struct {
	// NumPublicConnections are the slots for all players, NumPrivateConnections those for invited players: together 1
	// to 200.
	NumPublicConnections, NumPrivateConnections int
	// ShouldAdvertise is kept for the game: the local network announces every session, as Unreal's does, and the
	// service lists all.
	ShouldAdvertise     bool
	AllowJoinInProgress bool // searches on the local network find it InProgress too
	// IsLANMatch keeps the session on the local network: it is found there, and this program is its game server. It
	// cannot be changed afterwards.
	IsLANMatch bool
	// BuildUniqueID is the build of the game; other builds do not find the session.
	BuildUniqueID int32

	// The following are stored for the game and have no other effect.
	IsDedicated          bool
	UsesPresence         bool
	UseLobbies           bool
	AllowInvites         bool
	AllowJoinViaPresence bool

	// Properties are the game's own, within the limits of session properties. The property PropertyName is the
	// session's name in lists.
	Properties map[string]string
}

// PropertyName is the property with a session's name for lists, where it is SearchResult.Name and not among the
// properties; without it the name is "Session".
const PropertyName = "Name"

// defaultTitle has no name of a person in it, because every search returns it.
const defaultTitle = "Session"

func (s Settings) check(op string) error {
	c := checker{op: op}
	c.between("NumPublicConnections", s.NumPublicConnections, 0, maxPlayers)
	c.between("NumPrivateConnections", s.NumPrivateConnections, 0, maxPlayers)
	c.between("the number of connections", s.connections(), 1, maxPlayers)
	c.properties(s.Properties)
	return c.err
}

func (s Settings) connections() int { return s.NumPublicConnections + s.NumPrivateConnections }

// title returns the session's name in lists.
func (s Settings) title() string {
	return cmp.Or(s.Properties[PropertyName], defaultTitle)
}

// published returns the properties that other players receive besides the title.
func (s Settings) published() map[string]string {
	p := maps.Clone(s.Properties)
	delete(p, PropertyName)
	if len(p) == 0 {
		return nil
	}
	return p
}

// clone returns a deep copy.
func (s Settings) clone() Settings {
	s.Properties = maps.Clone(s.Properties)
	return s
}
