package lan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPacket is the size of the largest packet in bytes. Source: Unreal LAN beacon.
const maxPacket = 1024

// The layout that the package comment describes.
const (
	magic      = "MLAN"
	version    = 1
	kindQuery  = 'Q'
	kindReply  = 'R'
	headerSize = 24
	leastQuery = headerSize + 4
	fixedReply = headerSize + 27 // up to the texts

	atKind, atSize, atApp, atNonce, atSequence, atBody = 5, 6, 8, 12, 20, headerSize

	textsOfReply = 4 // session id, owner id, owner name, name
)

// The reasons to ignore a packet. They are allocated once: a hostile packet costs no memory.
var (
	errMalformed = errors.New("the packet does not follow the protocol")
	errForeign   = errors.New("the packet is of another application or version")
)

// A header is the beginning of both packets.
type header struct {
	app      uint32
	nonce    uint64
	sequence uint32
}

// putHeader writes a header for a packet of the size of b.
func putHeader(b []byte, kind byte, h header) {
	copy(b, magic)
	b[4], b[atKind] = version, kind
	binary.BigEndian.PutUint16(b[atSize:], uint16(len(b)))
	binary.BigEndian.PutUint32(b[atApp:], h.app)
	binary.BigEndian.PutUint64(b[atNonce:], h.nonce)
	binary.BigEndian.PutUint32(b[atSequence:], h.sequence)
}

// parseHeader reads the header of a packet of a kind, an application and a minimum size.
func parseHeader(b []byte, kind byte, app uint32, least int) (header, error) {
	if len(b) < headerSize || len(b) > maxPacket || string(b[:4]) != magic {
		return header{}, errMalformed
	}
	if b[4] != version || binary.BigEndian.Uint32(b[atApp:]) != app {
		return header{}, errForeign
	}
	if b[atKind] != kind || len(b) < least || int(binary.BigEndian.Uint16(b[atSize:])) != len(b) {
		return header{}, errMalformed
	}
	return header{app, binary.BigEndian.Uint64(b[atNonce:]), binary.BigEndian.Uint32(b[atSequence:])}, nil
}

// A query asks hosts for their sessions.
type query struct {
	header
	build int32
}

// encodeQuery writes a query of full size.
func encodeQuery(b *[maxPacket]byte, q query) {
	*b = [maxPacket]byte{}
	putHeader(b[:], kindQuery, q.header)
	binary.BigEndian.PutUint32(b[atBody:], uint32(q.build))
}

func parseQuery(b []byte, app uint32) (query, error) {
	h, err := parseHeader(b, kindQuery, app, leastQuery)
	if err != nil {
		return query{}, err
	}
	for _, padding := range b[leastQuery:] {
		if padding != 0 {
			return query{}, errMalformed
		}
	}
	return query{h, int32(binary.BigEndian.Uint32(b[atBody:]))}, nil
}

// A reply describes a session. Its texts are slices of the packet that it was read from.
type reply struct {
	header
	instance    instanceID
	build       int32
	port        uint16
	places      uint16
	free        uint16
	texts       [textsOfReply][]byte
	properties  []byte // as in the packet, checked
	propertyNum int
}

// parseReply reads and checks a whole reply without allocating.
func parseReply(b []byte, app uint32, mostProperties int) (reply, error) {
	h, err := parseHeader(b, kindReply, app, fixedReply+textsOfReply)
	if err != nil {
		return reply{}, err
	}
	r := reply{
		header:      h,
		instance:    instanceID(b[24:40]),
		build:       int32(binary.BigEndian.Uint32(b[40:])),
		port:        binary.BigEndian.Uint16(b[44:]),
		places:      binary.BigEndian.Uint16(b[46:]),
		free:        binary.BigEndian.Uint16(b[48:]),
		propertyNum: int(b[50]),
	}
	if r.port == 0 || r.free == 0 || r.free > r.places || r.propertyNum > mostProperties {
		return reply{}, errMalformed
	}
	rest, ok := b[fixedReply:], false
	for i := range r.texts {
		if r.texts[i], rest, ok = cutText(rest); !ok {
			return reply{}, errMalformed
		}
	}
	if !plain(r.texts[0]) || !plain(r.texts[1]) || !validProperties(rest, r.propertyNum) {
		return reply{}, errMalformed
	}
	r.properties = rest
	return r, nil
}

// cutText splits b after its first text.
func cutText(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return nil, nil, false
	}
	end := 1 + int(b[0])
	return b[1:end], b[end:], true
}

// validProperties reports whether b consists of exactly count properties.
func validProperties(b []byte, count int) bool {
	var last []byte
	for i := range count {
		key, rest, ok := cutText(b)
		if !ok || !plain(key) || i > 0 && bytes.Compare(last, key) >= 0 {
			return false
		}
		value, rest, ok := cutText(rest)
		if !ok || !plain(value) {
			return false
		}
		last, b = key, rest
	}
	return len(b) == 0
}

// propertyMap returns the properties as a map; nil if there are none.
func (r *reply) propertyMap() map[string]string {
	if r.propertyNum == 0 {
		return nil
	}
	properties := make(map[string]string, r.propertyNum)
	for rest := r.properties; len(rest) > 0; {
		var key, value []byte
		key, rest, _ = cutText(rest)
		value, rest, _ = cutText(rest)
		properties[string(key)] = string(value)
	}
	return properties
}

// maxName is the maximum length of the names of a session and its owner, in bytes; the rest is cut off.
const maxName = 128

// plain reports whether a text is UTF-8 without control characters.
func plain(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
			return false
		}
		b = b[size:]
	}
	return true
}

// cleanName cleans a name for a list of sessions: valid UTF-8 on one line, without characters that change the direction
// of the text around it, of maxName bytes at most.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.TrimSpace(s)
	if len(s) <= maxName {
		return s
	}
	end := maxName
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimSpace(s[:end])
}
