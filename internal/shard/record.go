package shard

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// The version is the first byte of a record.
const (
	ordinaryRecord = 1
	openingRecord  = 2 // the first ones of an owner after a recovery
)

const recordHeader = 1 + 8 // the version, the owner

func appendRecordHeader(buf *bytes.Buffer, version byte, owner uint64) {
	var header [recordHeader]byte
	header[0] = version
	binary.BigEndian.PutUint64(header[1:], owner)
	buf.Write(header[:])
}

// A Record is a journal record with its facts.
type Record struct {
	Owner   uint64 // the random number of its owner
	Opening bool   // first record of an owner after a start or a failure
	facts   []byte
}

// ReadRecord decodes the header of a journal record. The result refers to data.
func ReadRecord(data []byte) (Record, error) {
	if len(data) < recordHeader {
		return Record{}, fmt.Errorf("record of %d bytes has no header", len(data))
	}
	version := data[0]
	if version != ordinaryRecord && version != openingRecord {
		return Record{}, fmt.Errorf("unknown record version %d, of a newer release", version)
	}
	return Record{
		Owner: binary.BigEndian.Uint64(data[1:recordHeader]), Opening: version == openingRecord,
		facts: data[recordHeader:],
	}, nil
}

// Each calls apply with the facts of the record, in order, and returns its first error.
func (r Record) Each(events *event.Set, apply func(event.Fact) error) error {
	return eachFact(events, r.facts, apply)
}

// eachFact calls apply with the facts in data.
func eachFact(events *event.Set, data []byte, apply func(event.Fact) error) error {
	for len(data) > 0 {
		f, rest, err := events.Next(data)
		if err != nil {
			return err
		}
		if err := apply(f); err != nil {
			return err
		}
		data = rest
	}
	return nil
}
