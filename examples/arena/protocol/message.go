package protocol

// Version is the version of the protocol that this package speaks.
const Version = 2

// The limits of texts in bytes.
const (
	MaxName = 32
	MaxText = 200 // of Say, Said and Notice
)

// MaxInput is the largest value of an Input's direction: full speed.
const MaxInput = 127

// MaxPlaces is the number of players in one State at most. A State of so many has 1,008 bytes with its header, so it
// fits into a datagram.
const MaxPlaces = 125

// MaxPacket is the size of the largest packet in bytes, header included: of the protocol, and of the handshake before
// it.
const MaxPacket = 1024

// The packet ids.
const (
	IDInput uint16 = 2
	IDSay   uint16 = 3
	IDLeave uint16 = 4
	IDProbe uint16 = 5

	IDJoined uint16 = 18
	IDLeft   uint16 = 19
	IDSaid   uint16 = 20
	IDState  uint16 = 21
	IDNotice uint16 = 22
	IDEcho   uint16 = 23
)

// Join is the data of a player's Hello: see package handshake.
type Join struct {
	Name string // for the other players; may be ""
}

// Welcome is the data of the server's Welcome: see package handshake.
type Welcome struct {
	Number   uint32 // the player's
	TickRate uint16 // ticks per second
}

// A Message is what goes in a packet of its own.
type Message interface {
	// ID is the id of the message's packet.
	ID() uint16
	// Append adds the packet's payload to dst. Texts are cut to what they may have, and what may not be in them is left
	// out, so that a payload is always valid.
	Append(dst []byte) []byte
}

// Input is where the player steers.
type Input struct {
	Sequence uint32 // one more with each Input
	X, Y     int8   // the direction, -MaxInput to MaxInput; -128 counts as -127
}

// Say tells everybody something, the speaker included.
type Say struct{ Text string }

// Leave says goodbye.
type Leave struct{}

// Probe asks for an Echo.
type Probe struct{ Value uint64 }

// Joined says that a player is there.
type Joined struct {
	Number uint32
	Name   string
}

// Left says that a player is gone.
type Left struct{ Number uint32 }

// Said is what a player said.
type Said struct {
	Number uint32
	Text   string
}

// State is where players are.
type State struct {
	Tick   uint32
	Places []Place // at most MaxPlaces
}

// A Place is where one player is, in centimetres from the middle of the arena.
type Place struct {
	Number uint32
	X, Y   int16
}

// Notice is a word of the server to one player.
type Notice struct{ Text string }

// Echo answers a Probe.
type Echo struct{ Value uint64 }

// ID implements Message.
func (Input) ID() uint16 { return IDInput }

// ID implements Message.
func (Say) ID() uint16 { return IDSay }

// ID implements Message.
func (Leave) ID() uint16 { return IDLeave }

// ID implements Message.
func (Probe) ID() uint16 { return IDProbe }

// ID implements Message.
func (Joined) ID() uint16 { return IDJoined }

// ID implements Message.
func (Left) ID() uint16 { return IDLeft }

// ID implements Message.
func (Said) ID() uint16 { return IDSaid }

// ID implements Message.
func (State) ID() uint16 { return IDState }

// ID implements Message.
func (Notice) ID() uint16 { return IDNotice }

// ID implements Message.
func (Echo) ID() uint16 { return IDEcho }
