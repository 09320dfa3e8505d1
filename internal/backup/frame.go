package backup

import (
	"fmt"
	"hash/crc32"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/journal"
)

// A kind is the type of a frame. A frame that begins a section has the section's name.
type kind byte

const (
	kindHeader   kind = 1
	kindFiles    kind = 2 // begins a section
	kindFile     kind = 3
	kindShard    kind = 4 // begins a section
	kindChunk    kind = 5 // of the shard's snapshot or of a blob; the body is its bytes
	kindRecord   kind = 6
	kindHistory  kind = 7 // begins a section
	kindEntry    kind = 8
	kindFeed     kind = 9 // begins a section
	kindEvent    kind = 10
	kindPosition kind = 11
	kindEnd      kind = 12 // of a section
	kindTrailer  kind = 13
	kindBlobs    kind = 14 // begins a section
	kindBlob     kind = 15 // its bytes follow in chunks
)

const (
	// maxFrame is the maximum size of a body: larger than a record of any journal.
	maxFrame = 16 << 20
	// chunkSize is the size of the chunks of a snapshot or blob.
	chunkSize = 256 << 10
)

// empty is the body of a frame without content.
type empty struct{}

// ends is the body of a frame that begins a numbered section.
type ends struct {
	Last uint64 `cbor:"1,keyasint"`
}

// end is the body of a section's last frame: the number and the checksum of the frames before it.
type end struct {
	Frames uint64 `cbor:"1,keyasint"`
	Sum    uint32 `cbor:"2,keyasint"`
}

type trailer struct {
	SHA256 []byte `cbor:"1,keyasint"`
}

// stored is a journal.Stored.
type stored struct {
	Seq     uint64 `cbor:"1,keyasint"`
	Time    int64  `cbor:"2,keyasint,omitempty"` // in nanoseconds since 1970
	Subject string `cbor:"3,keyasint,omitempty"`
	Data    []byte `cbor:"4,keyasint"`
}

func toStored(s journal.Stored) stored {
	return stored{Seq: s.Seq, Time: s.Time.UnixNano(), Subject: s.Subject, Data: s.Data}
}

func (s stored) journal() journal.Stored {
	return journal.Stored{Seq: s.Seq, Time: time.Unix(0, s.Time).UTC(), Subject: s.Subject, Data: s.Data}
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	encoding   = must(cbor.EncOptions{Time: cbor.TimeRFC3339Nano, TimeTag: cbor.EncTagNone}.EncMode())
	decoding   = must(cbor.DecOptions{MaxArrayElements: 1 << 10, MaxMapPairs: 1 << 10, MaxNestedLevels: 8,
		UTF8: cbor.UTF8DecodeInvalid}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("backup: %v", err))
	}
	return v
}
