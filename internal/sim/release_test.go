package sim

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/muster-gg/muster/internal/region"
)

// A release is the version of the program that a node runs. During an upgrade the
// nodes of a region differ by one.
type release int8

const (
	olderRelease   release = -1 // marks no record as the first one of an owner, and reads feature level 1
	currentRelease release = 0
	newerRelease   release = 1 // knows a field of each fact that we do not know
)

const recordHeader = 1 + 8 // the version, the owner; see package shard

// level is the highest feature level that a release reads.
func (r release) level() int {
	if r == olderRelease {
		return 1
	}
	return region.MaxLevel
}

// laterField is the number of the field that only the newer release knows.
const laterField = 9999

// record is a record as this release writes it. Where the release differs, that is
// done here: what we run is the current one.
func (r release) record(data []byte) []byte {
	switch {
	case r == currentRelease || len(data) < recordHeader:
		return data
	case r == olderRelease:
		data[0] = 1
		return data
	}
	written := append([]byte(nil), data[:recordHeader]...)
	for rest := data[recordHeader:]; len(rest) > 0; {
		var fact []cbor.RawMessage
		var err error
		if rest, err = cbor.UnmarshalFirst(rest, &fact); err != nil {
			panic(fmt.Sprintf("an owner wrote a record that is no row of facts: %v", err))
		}
		fact[2] = withLaterField(fact[2])
		written = append(written, must(cbor.Marshal(fact))...)
	}
	return written
}

// withLaterField adds a field to a map, behind the others.
func withLaterField(fields cbor.RawMessage) cbor.RawMessage {
	var all map[int]cbor.RawMessage
	if err := cbor.Unmarshal(fields, &all); err != nil {
		panic(fmt.Sprintf("an owner wrote a fact that is no map of fields: %v", err))
	}
	all[laterField] = cbor.RawMessage("\x65later")
	return must(laterEncoder.Marshal(all))
}

var laterEncoder = must(cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode())

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
