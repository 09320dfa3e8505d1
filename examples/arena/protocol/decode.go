package protocol

import (
	"errors"
	"fmt"
)

// ErrInvalid says that a packet is not a message of this protocol, or not one that its sender may send.
var ErrInvalid = errors.New("invalid message")

// ReadJoin reads the data of a player's Hello. An error wraps ErrInvalid.
func ReadJoin(data []byte) (Join, error) {
	r := reader{rest: data}
	m := Join{r.text(0, MaxName)}
	return m, r.data("Join")
}

// ReadWelcome reads the data of the server's Welcome: a player with a number, and a server that ticks. An error wraps
// ErrInvalid.
func ReadWelcome(data []byte) (Welcome, error) {
	r := reader{rest: data}
	m := Welcome{Number: r.u32(), TickRate: r.u16()}
	if m.Number == 0 || m.TickRate == 0 {
		r.fail("the number of the player or the tick rate is 0")
	}
	return m, r.data("Welcome")
}

// FromPlayer reads what a player has sent. The message does not refer to the payload. An error wraps ErrInvalid.
func FromPlayer(id uint16, payload []byte) (Message, error) {
	r := reader{rest: payload}
	var m Message
	switch id {
	case IDInput:
		m = Input{Sequence: r.u32(), X: int8(r.u8()), Y: int8(r.u8())}
	case IDSay:
		m = Say{r.text(1, MaxText)}
	case IDLeave:
		m = Leave{}
	case IDProbe:
		m = Probe{r.u64()}
	default:
		return nil, fmt.Errorf("%w: a player does not send packets of id %d", ErrInvalid, id)
	}
	return r.message(id, m)
}

// FromServer reads what a server has sent. The message does not refer to the payload. An error wraps ErrInvalid.
func FromServer(id uint16, payload []byte) (Message, error) {
	r := reader{rest: payload}
	var m Message
	switch id {
	case IDJoined:
		m = Joined{Number: r.u32(), Name: r.text(0, MaxName)}
	case IDLeft:
		m = Left{r.u32()}
	case IDSaid:
		m = Said{Number: r.u32(), Text: r.text(1, MaxText)}
	case IDState:
		m = r.state()
	case IDNotice:
		m = Notice{r.text(1, MaxText)}
	case IDEcho:
		m = Echo{r.u64()}
	default:
		return nil, fmt.Errorf("%w: a server does not send packets of id %d", ErrInvalid, id)
	}
	return r.message(id, m)
}

// A reader takes a payload apart. What lacks is read as zero, and noted.
type reader struct {
	rest []byte
	bad  string // what is wrong; "" if nothing is
}

func (r *reader) state() State {
	const size = 8 // of a place
	m := State{Tick: r.u32()}
	if len(r.rest) > MaxPlaces*size {
		r.fail("too many players")
		return m
	}
	m.Places = make([]Place, len(r.rest)/size)
	for i := range m.Places {
		m.Places[i] = Place{Number: r.u32(), X: int16(r.u16()), Y: int16(r.u16())}
	}
	return m
}

// take cuts off the next n bytes; nil if there are not so many.
func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.fail("too short")
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return order.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return order.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return order.Uint64(b)
	}
	return 0
}

// text reads a text of least to most bytes.
func (r *reader) text(least, most int) string {
	n := int(r.u8())
	if n > most {
		r.fail("a text is too long")
		return ""
	}
	text := string(r.take(n))
	switch {
	case len(text) < least:
		r.fail("a text is empty")
	case !valid(text):
		r.fail("a text is not UTF-8, or has control characters")
	}
	return text
}

// fail notes what is wrong; the first thing stays. Nothing more is read.
func (r *reader) fail(why string) {
	if r.bad == "" {
		r.bad = why
	}
	r.rest = nil
}

// message is the message, if all of the payload was good for it.
func (r *reader) message(id uint16, m Message) (Message, error) {
	if !r.good() {
		return nil, fmt.Errorf("%w: packet %d: %s", ErrInvalid, id, r.bad)
	}
	return m, nil
}

// data refuses the data of a packet of the handshake, unless all of it was good.
func (r *reader) data(packet string) error {
	if !r.good() {
		return fmt.Errorf("%w: %s: %s", ErrInvalid, packet, r.bad)
	}
	return nil
}

// good says whether there was what was read, and nothing else.
func (r *reader) good() bool {
	if len(r.rest) > 0 {
		r.fail("too long")
	}
	return r.bad == ""
}
