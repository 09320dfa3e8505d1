package shard

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

// The versions of a record: the first byte of it.
const (
	ordinaryRecord = 1
	openingRecord  = 2 // the same; the first ones of an owner after a recovery
)

const recordHeader = 1 + 8 // the version, the owner

func appendRecordHeader(buf *bytes.Buffer, version byte, owner uint64) {
	var header [recordHeader]byte
	header[0] = version
	binary.BigEndian.PutUint64(header[1:], owner)
	buf.Write(header[:])
}

// A Record is a journal record taken apart.
type Record struct {
	Owner   uint64 // the number that the owner drew who wrote it
	Opening bool   // an owner began with it, after a start or a failure
	facts   []byte
}

// ReadRecord takes a journal record apart. What it returns refers to data.
func ReadRecord(data []byte) (Record, error) {
	if len(data) < recordHeader {
		return Record{}, fmt.Errorf("record of %d bytes has no header", len(data))
	}
	version := data[0]
	if version != ordinaryRecord && version != openingRecord {
		return Record{}, fmt.Errorf("record version %d is unknown: a newer release wrote it", version)
	}
	return Record{
		Owner: binary.BigEndian.Uint64(data[1:recordHeader]), Opening: version == openingRecord, facts: data[recordHeader:],
	}, nil
}

// Each calls apply with the facts of the record, in order, and stops with its error.
func (r Record) Each(events *event.Set, apply func(event.Fact) error) error {
	return eachFact(events, r.facts, apply)
}

// eachFact calls apply with the facts that stand in data, one behind the other.
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
