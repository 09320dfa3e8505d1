package gamenet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// A Reason is why one side ends a session. The other side receives it, with a codec that has ids, as a *PeerError:
// programs compare the code, people read the text.
type Reason struct {
	Code uint16 // the game's own, below FirstReservedCode; 0 for none
	Text string // at most 256 bytes of UTF-8 are sent
	// Reconnect invites the other side to connect again. Without it, ClientConfig.Reconnect does not.
	Reconnect bool
}

// The codes of the library's own reasons on which a program can act. Games use those below FirstReservedCode. These
// invite the other side to connect again. Package handshake documents its codes, which begin at 0xFFE0.
const (
	FirstReservedCode uint16 = 0xFF00

	CodeClosing     uint16 = 0xFF00 // the service is closing
	CodeFull        uint16 = 0xFF01 // ErrFull
	CodeFullAddress uint16 = 0xFF02 // ErrFullAddress
)

// The codes of the other reasons, which are for people. All but codeInvalidPacket invite the other side to connect
// again.
const (
	codeIdle          uint16 = 0xFF03 // ErrIdle
	codeFirstPacket   uint16 = 0xFF04 // ErrFirstPacket
	codeInvalidPacket uint16 = 0xFF05 // ErrFrame
	codeInternal      uint16 = 0xFF06 // a callback has panicked
)

var (
	reasonClosing       = Reason{CodeClosing, "the service is closing", true}
	reasonFull          = Reason{CodeFull, "the server is full", true}
	reasonFullAddress   = Reason{CodeFullAddress, "too many connections from your address", true}
	reasonIdle          = Reason{codeIdle, "nothing received for too long", true}
	reasonFirstPacket   = Reason{codeFirstPacket, "no first packet in time", true}
	reasonInvalidPacket = Reason{codeInvalidPacket, "invalid packet", false}
	reasonInternal      = Reason{codeInternal, "internal error", true}
)

// refusalReason returns the reason to send to the other side of a rejected connection.
func refusalReason(cause error) Reason {
	switch {
	case errors.Is(cause, ErrFull):
		return reasonFull
	case errors.Is(cause, ErrFullAddress):
		return reasonFullAddress
	default:
		return reasonClosing
	}
}

const (
	// maxReason is the maximum length of a sent or received text in bytes; longer ones are truncated.
	maxReason = 256
	// reasonHead is the size of a reason without its text.
	reasonHead = 2 + 1

	flagReconnect = 1 // the other bits are reserved: sent as 0, ignored when received
)

// append adds the payload of a reason, with at most room bytes of text: u16 code, u8 flags, text.
func (r Reason) append(dst []byte, room int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, r.Code)
	flags := byte(0)
	if r.Reconnect {
		flags = flagReconnect
	}
	return append(append(dst, flags), r.Text[:min(len(r.Text), maxReason, room)]...)
}

// readReason reads a payload. A short one is no reason; invalid UTF-8 is removed, as at the end of a truncated text.
func readReason(payload []byte) Reason {
	if len(payload) < reasonHead {
		return Reason{}
	}
	text := payload[reasonHead:]
	return Reason{
		Code:      binary.LittleEndian.Uint16(payload),
		Text:      strings.ToValidUTF8(string(text[:min(len(text), maxReason)]), ""),
		Reconnect: payload[2]&flagReconnect != 0,
	}
}

// details returns the end of an error's text: a colon and what the reason has.
func (r Reason) details() string {
	text := ""
	if r.Text != "" {
		text = fmt.Sprintf(": %q", r.Text)
	}
	if r.Code != 0 {
		text += fmt.Sprintf(" (code %d)", r.Code)
	}
	return text
}
