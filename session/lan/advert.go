package lan

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/muster-gg/muster/session"
)

// encodeAdvert encodes the reply for a session, without nonce and sequence number. Errors are session.ErrInvalid and
// name the field.
func encodeAdvert(op string, a session.Advert, id instanceID, cfg Config) ([]byte, error) {
	if err := checkNumbers(op, a, cfg.Limits); err != nil {
		return nil, err
	}
	p := packer{op: op, b: make([]byte, fixedReply, maxPacket)}
	copy(p.b[24:], id[:])
	binary.BigEndian.PutUint32(p.b[40:], uint32(a.BuildID))
	binary.BigEndian.PutUint16(p.b[44:], uint16(a.Port))
	binary.BigEndian.PutUint16(p.b[46:], uint16(a.Connections))
	binary.BigEndian.PutUint16(p.b[48:], uint16(a.OpenConnections))
	p.b[50] = byte(len(a.Properties))
	p.text("SessionID", a.SessionID)
	p.text("OwnerID", a.OwnerID)
	p.text("OwnerName", cleanName(a.OwnerName))
	p.text("Name", cleanName(a.Name))
	for _, key := range slices.Sorted(maps.Keys(a.Properties)) {
		p.text(fmt.Sprintf("Properties, key %.40q,", key), key)
		p.text(fmt.Sprintf("Properties[%.40q]", key), a.Properties[key])
	}
	if p.err != nil {
		return nil, p.err
	}
	putHeader(p.b, kindReply, header{app: cfg.AppID})
	return p.b, nil
}

func checkNumbers(op string, a session.Advert, limits Limits) error {
	for _, f := range []struct {
		field              string
		value, least, most int
	}{
		{"Port", a.Port, 1, math.MaxUint16},
		{"Connections", a.Connections, 0, math.MaxUint16},
		{"OpenConnections", a.OpenConnections, 0, a.Connections},
		{"number of Properties", len(a.Properties), 0, limits.Properties},
	} {
		if f.value < f.least || f.value > f.most {
			return session.Errorf(op, session.ErrInvalid, "%s is %d, it must be %d to %d",
				f.field, f.value, f.least, f.most)
		}
	}
	return nil
}

// A packer adds texts to a packet. After an error it adds nothing.
type packer struct {
	op  string
	b   []byte
	err error
}

func (p *packer) text(field, s string) {
	switch {
	case p.err != nil:
	case !plain([]byte(s)):
		p.fail("%s has control characters or is not UTF-8, leave them out", field)
	case len(s) > math.MaxUint8:
		p.fail("%s has %d bytes, it may have %d", field, len(s), math.MaxUint8)
	case len(p.b)+1+len(s) > maxPacket:
		p.fail("%s does not fit, the session would take %d bytes with it of the %d of a packet: shorten it or "+
			"what comes before it",
			field, len(p.b)+1+len(s), maxPacket)
	default:
		p.b = append(append(p.b, byte(len(s))), s...)
	}
}

func (p *packer) fail(format string, args ...any) {
	p.err = session.Errorf(p.op, session.ErrInvalid, format, args...)
}

// stamp copies a session's reply to b with the header for a query. The size stays the same, at most maxPacket.
func stamp(b *[maxPacket]byte, reply []byte, q query) []byte {
	stamped := b[:copy(b[:], reply)]
	putHeader(stamped, kindReply, q.header)
	return stamped
}
