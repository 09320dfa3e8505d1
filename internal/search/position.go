package search

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Position is the sort position of a hit, from which the next page continues. It stays valid when docs change between
// pages: only a doc that moves across it may be seen twice or not at all.
type Position struct {
	Missing bool   // the doc has no value to sort by
	Number  int64  // its integer or boolean
	Text    string // its text, at most 512 bytes of it
	Key     uint64
	Source  uint32 // Query.Source
}

func (r *rank) position() Position {
	return Position{Missing: r.missing, Number: r.number, Text: r.head + r.tail, Key: r.key, Source: r.source}
}

func (p *Position) rank() rank {
	return rank{missing: p.Missing, number: p.Number, tail: p.Text, key: p.Key, source: p.Source}
}

// MarshalText encodes the position in URL-safe base64, at most 718 characters. It never fails.
func (p Position) MarshalText() ([]byte, error) {
	raw := make([]byte, 1, 1+2*binary.MaxVarintLen64+binary.MaxVarintLen32+len(p.Text))
	if p.Missing {
		raw[0] = 1
	}
	raw = binary.AppendVarint(raw, p.Number)
	raw = binary.AppendUvarint(raw, p.Key)
	raw = binary.AppendUvarint(raw, uint64(p.Source))
	raw = append(raw, p.Text...)
	return base64.RawURLEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes what MarshalText encoded. Anything else is an InvalidRequestException.
func (p *Position) UnmarshalText(encoded []byte) error {
	raw, err := base64.RawURLEncoding.Strict().AppendDecode(nil, encoded)
	if err != nil || len(raw) == 0 || raw[0] > 1 {
		return errPosition()
	}
	read := Position{Missing: raw[0] == 1}
	raw = raw[1:]
	number, n := binary.Varint(raw)
	if n <= 0 {
		return errPosition()
	}
	key, m := binary.Uvarint(raw[n:])
	if m <= 0 {
		return errPosition()
	}
	source, k := binary.Uvarint(raw[n+m:])
	rest := raw[n+m+max(k, 0):]
	if k <= 0 || source > 1<<32-1 || len(rest) > maxSortText {
		return errPosition()
	}
	read.Number, read.Key, read.Source, read.Text = number, key, uint32(source), string(rest)
	*p = read
	return nil
}

func errPosition() error {
	return fault.New(fault.InvalidRequest, "The NextToken was not returned by SearchGameSessions.")
}
