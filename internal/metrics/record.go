package metrics

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A frame is the values of entities in one period, as one node has recorded them.
type frame struct {
	node     string // "" without a cluster
	at       time.Time
	entities []encoded // by entity
	totals   []encoded // counters since the first record of the node; only of samples and minutes
}

// encoded is an entity with its values; see appendValues.
type encoded struct {
	entity
	values string
}

const (
	// recordVersion is the first byte of a record; the rest is compressed with zstd.
	recordVersion = 1

	// partBytes is how much a record contains, uncompressed. A larger frame has several records.
	partBytes = 1 << 20

	// maxRecordBytes bounds a record that is read, uncompressed.
	maxRecordBytes = 4 * partBytes
)

// A codec encodes and decodes records. Its methods are safe for concurrent use.
type codec struct {
	out *zstd.Encoder
	in  *zstd.Decoder
}

func newCodec() *codec {
	// There are no errors: the options are valid.
	out, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	in, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecordBytes))
	return &codec{out, in}
}

// records encodes a frame:
//
//	uvarint: begin in seconds since 1970
//	text: node
//	uvarint: the number of entities; then for each: 1 byte set, text, text, text: its values
//	the same: totals
//
// A text is a uvarint of its length, and its bytes.
func (c *codec) records(f frame) (records [][]byte) {
	for {
		part := frame{node: f.node, at: f.at}
		size := 0
		part.entities, f.entities, size = cut(f.entities, size)
		part.totals, f.totals, _ = cut(f.totals, size)
		records = append(records, c.record(part))
		if len(f.entities)+len(f.totals) == 0 {
			return records
		}
	}
}

// cut divides entities so that the first part, of at least one of them unless size is used up, fits in a record.
func cut(all []encoded, size int) (first, rest []encoded, after int) {
	for i, e := range all {
		if size > 0 && size+e.size() > partBytes {
			return all[:i], all[i:], size
		}
		size += e.size()
	}
	return all, nil, size
}

func (e encoded) size() int { return len(e.a) + len(e.b) + len(e.values) + 8 }

func (c *codec) record(f frame) []byte {
	data := binary.AppendUvarint(nil, uint64(f.at.Unix()))
	data = appendText(data, f.node)
	for _, list := range [][]encoded{f.entities, f.totals} {
		data = binary.AppendUvarint(data, uint64(len(list)))
		for _, e := range list {
			data = append(data, byte(e.set))
			data = appendText(appendText(appendText(data, e.a), e.b), e.values)
		}
	}
	return c.out.EncodeAll(data, []byte{recordVersion})
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// frame decodes a record. Entities of sets of a later release are left out.
func (c *codec) frame(record []byte) (f frame, err error) {
	if len(record) == 0 || record[0] != recordVersion {
		return f, fmt.Errorf("metrics: record of an unknown version")
	}
	data, err := c.in.DecodeAll(record[1:], nil)
	if err != nil {
		return f, fmt.Errorf("metrics: decompress record: %w", err)
	}
	d := decoder{data: string(data)}
	f.at = time.Unix(int64(d.uvarint()&(1<<40-1)), 0).UTC()
	f.node = d.text()
	f.entities = d.list()
	f.totals = d.list()
	if d.err == nil && d.data != "" {
		d.fail()
	}
	return f, d.err
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.data)) {
		d.fail()
		return ""
	}
	text := d.data[:n]
	d.data = d.data[n:]
	return text
}

func (d *decoder) list() (list []encoded) {
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		if d.data == "" {
			d.fail()
			break
		}
		kind := set(d.data[0])
		d.data = d.data[1:]
		e := encoded{entity{kind, d.text(), d.text()}, d.text()}
		if d.err == nil && kind < setCount {
			list = append(list, e)
		}
	}
	return list
}

// encode encodes the values of entities, by entity.
func encode(all map[entity][]aggregate, n int) []encoded {
	list := make([]encoded, 0, len(all))
	var scratch []byte
	for e, columns := range all {
		scratch = appendValues(scratch[:0], e.family(), columns, n)
		list = append(list, encoded{e, string(scratch)})
	}
	sortEncoded(list)
	return list
}

func sortEncoded(list []encoded) {
	slices.SortFunc(list, func(a, b encoded) int { return a.compare(b.entity) })
}
