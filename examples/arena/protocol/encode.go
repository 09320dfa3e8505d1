package protocol

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

var order = binary.LittleEndian

// Append adds the bytes of the data to dst. The name is cut to what it may have.
func (m Join) Append(dst []byte) []byte { return appendText(dst, m.Name, MaxName) }

// Append adds the bytes of the data to dst.
func (m Welcome) Append(dst []byte) []byte {
	return order.AppendUint16(order.AppendUint32(dst, m.Number), m.TickRate)
}

// Append implements Message.
func (m Input) Append(dst []byte) []byte {
	return append(order.AppendUint32(dst, m.Sequence), byte(m.X), byte(m.Y))
}

// Append implements Message.
func (m Say) Append(dst []byte) []byte { return appendText(dst, m.Text, MaxText) }

// Append implements Message.
func (Leave) Append(dst []byte) []byte { return dst }

// Append implements Message.
func (m Probe) Append(dst []byte) []byte { return order.AppendUint64(dst, m.Value) }

// Append implements Message.
func (m Joined) Append(dst []byte) []byte {
	return appendText(order.AppendUint32(dst, m.Number), m.Name, MaxName)
}

// Append implements Message.
func (m Left) Append(dst []byte) []byte { return order.AppendUint32(dst, m.Number) }

// Append implements Message.
func (m Said) Append(dst []byte) []byte {
	return appendText(order.AppendUint32(dst, m.Number), m.Text, MaxText)
}

// Append implements Message.
func (m State) Append(dst []byte) []byte {
	dst = order.AppendUint32(dst, m.Tick)
	for _, p := range m.Places[:min(len(m.Places), MaxPlaces)] {
		dst = order.AppendUint32(dst, p.Number)
		dst = order.AppendUint16(dst, uint16(p.X))
		dst = order.AppendUint16(dst, uint16(p.Y))
	}
	return dst
}

// Append implements Message.
func (m Notice) Append(dst []byte) []byte { return appendText(dst, m.Text, MaxText) }

// Append implements Message.
func (m Echo) Append(dst []byte) []byte { return order.AppendUint64(dst, m.Value) }

func appendText(dst []byte, text string, most int) []byte {
	text = Clean(text, most)
	return append(append(dst, byte(len(text))), text...)
}

// Clean makes a text one that messages may have: invalid UTF-8 and control characters are left out, and what is more
// than so many bytes is cut off.
func Clean(text string, most int) string {
	if !valid(text) {
		text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, ""))
	}
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// valid says whether a text may be in a message, if it is short enough.
func valid(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
