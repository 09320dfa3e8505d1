package handshake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/muster-gg/muster/gamenet"
)

// FirstID is the first of the ids that games behind the handshake must not use, in either direction: a session that
// receives one after the handshake ends. Those from 0xFFF0 on are gamenet's own.
const FirstID uint16 = 0xFFE0

// The ids of the handshake's packets.
const (
	lastID = gamenet.FirstReservedID - 1

	idHello   uint16 = 0xFFE0 // player → server
	idWelcome uint16 = 0xFFE1 // server → player
	idRefusal uint16 = 0xFFE2 // server → player
)

// The limits of the fields, in bytes. With them the largest packet, a Hello, has 785 bytes, the header of gamenet.U16
// included: MaxPacket must not be less.
const (
	maxTicket = 255
	MaxData   = 512 // of Hello and of Welcome
	maxText   = 255 // of a refusal
)

// format is the format of the handshake's own packets.
const format = 1

// ErrInvalid means that a received packet is not a valid packet of the handshake, or not the expected one. It is
// wrapped with details.
var ErrInvalid = errors.New("handshake: invalid packet")

// A Hello is a player's request to join the game.
type Hello struct {
	version uint32 // of the game's own protocol
	nonce   uint64 // copied into Welcome
	Ticket  string // the player session id; "" without one. UTF-8 without control characters, at most 255 bytes
	Data    []byte // the game's own, such as a name or a team: at most MaxData bytes
}

var order = binary.LittleEndian

// helloHead is the size of the part that is the same in all formats and versions of Hello.
const helloHead = 1 + 4

// appendHello adds the payload of a Hello whose ticket and data are valid.
func appendHello(dst []byte, h Hello) []byte {
	dst = order.AppendUint32(append(dst, format), h.version)
	dst = order.AppendUint64(dst, h.nonce)
	dst = append(append(dst, byte(len(h.Ticket))), h.Ticket...)
	return append(dst, h.Data...)
}

// readHello reads a Hello. It checks the versions first, because the rest of another version may differ, and returns a
// *RefusedError for another one. Other errors wrap ErrInvalid. The Hello does not alias the packet.
func readHello(p gamenet.Packet, version uint32) (Hello, error) {
	b := p.Payload
	if p.ID != idHello || len(b) < helloHead {
		return Hello{}, fmt.Errorf("%w: the first one must be Hello", ErrInvalid)
	}
	h := Hello{version: order.Uint32(b[1:])}
	switch {
	case h.version != version:
		return h, refusedf(VersionMismatch, "this server speaks version %d of the protocol, not %d", version, h.version)
	case b[0] != format:
		return h, refusedf(VersionMismatch, "this server speaks format %d of the handshake, not %d", format, b[0])
	}
	if b = b[helloHead:]; len(b) < 8+1 {
		return h, fmt.Errorf("%w: Hello is too short", ErrInvalid)
	}
	h.nonce, b = order.Uint64(b), b[8:]
	n := int(b[0])
	if b = b[1:]; len(b) < n {
		return h, fmt.Errorf("%w: Hello is too short for its ticket", ErrInvalid)
	}
	h.Ticket, h.Data = string(b[:n]), bytes.Clone(b[n:])
	if !validTicket(h.Ticket) {
		return h, fmt.Errorf("%w: the ticket is not UTF-8, or has control characters", ErrInvalid)
	}
	return h, checkData("Hello", h.Data)
}

// validTicket reports whether a ticket is valid in a Hello.
func validTicket(ticket string) bool { return len(ticket) <= maxTicket && plain(ticket) }

// checkData rejects data that is too long for a packet.
func checkData(packet string, data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("%w: the data of %s has %d bytes, at most %d are allowed",
			ErrInvalid, packet, len(data), MaxData)
	}
	return nil
}

func appendWelcome(dst []byte, nonce uint64, data []byte) []byte {
	return append(order.AppendUint64(dst, nonce), data...)
}

// readWelcome reads a Welcome. An error wraps ErrInvalid. The data is a copy.
func readWelcome(payload []byte) (nonce uint64, data []byte, err error) {
	if len(payload) < 8 {
		return 0, nil, fmt.Errorf("%w: Welcome is too short", ErrInvalid)
	}
	data = payload[8:]
	if err := checkData("Welcome", data); err != nil {
		return 0, nil, err
	}
	return order.Uint64(payload), bytes.Clone(data), nil
}

func appendRefusal(dst []byte, r *RefusedError) []byte {
	return append(append(dst, byte(r.Code)), clean(r.Text)...)
}

// readRefusal reads a refusal. An error wraps ErrInvalid. An unknown code becomes Other.
func readRefusal(payload []byte) (*RefusedError, error) {
	if len(payload) == 0 {
		return nil, fmt.Errorf("%w: the refusal is empty", ErrInvalid)
	}
	r := &RefusedError{Code: Code(payload[0]), Text: string(payload[1:])}
	if !r.Code.known() {
		r.Code = Other
	}
	if len(r.Text) > maxText || !plain(r.Text) {
		return nil, fmt.Errorf("%w: the refusal's text is too long, not UTF-8, or has control characters", ErrInvalid)
	}
	return r, nil
}

// plain reports whether a text may be shown to people unchanged.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// clean returns a text that is valid in a refusal: without invalid UTF-8 and control characters, and truncated to
// maxText.
func clean(text string) string {
	if !plain(text) {
		text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, ""))
	}
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// ours reports whether a packet id belongs to the handshake.
func ours(id uint16) bool { return FirstID <= id && id <= lastID }
