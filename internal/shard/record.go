package shard

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/muster-gg/muster/internal/event"
)

const (
	recordVersion = 1
	recordHeader  = 1 + 8 // the version, the owner
)

func appendRecordHeader(buf *bytes.Buffer, owner uint64) {
	var header [recordHeader]byte
	header[0] = recordVersion
	binary.BigEndian.PutUint64(header[1:], owner)
	buf.Write(header[:])
}

// recordOwner splits a record into its owner and its facts.
func recordOwner(data []byte) (owner uint64, facts []byte, err error) {
	if len(data) < recordHeader {
		return 0, nil, fmt.Errorf("record of %d bytes has no header", len(data))
	}
	if data[0] != recordVersion {
		return 0, nil, fmt.Errorf("record version %d is unknown: a newer release wrote it", data[0])
	}
	return binary.BigEndian.Uint64(data[1:recordHeader]), data[recordHeader:], nil
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
