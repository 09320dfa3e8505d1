package metrics

import (
	"encoding/binary"
	"errors"
	"math"
)

// The values of an entity in a frame are stored as
//
//	n  uvarint: the number of samples
//	   for each column that is not zero, by position:
//	   uvarint: 2 × its distance to the one before (the first to -1), +1 if it is full
//	   its value in all samples, or if it is full: sum, minimum, maximum, number of samples
//
// A zero column has value 0 in all n samples; if it has a number of samples of its own, it has none. A number is a
// uvarint: an integer with zigzag, shifted left by 1; or 1, and then 8 bytes of a float64.

// errDamaged reports bytes that encode no values.
var errDamaged = errors.New("metrics: damaged values")

func appendNumber(dst []byte, v float64) []byte {
	if i := int64(v); float64(i) == v && i > -1<<60 && i < 1<<60 {
		return binary.AppendUvarint(dst, uint64(i<<1^i>>63)<<1)
	}
	return binary.LittleEndian.AppendUint64(append(dst, 1), math.Float64bits(v))
}

// appendValues encodes the columns of an entity.
func appendValues(dst []byte, f *family, columns []aggregate, n int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n))
	last := -1
	for i, a := range columns {
		own := f.columns[i].kind.ownCount()
		if own && a.count == 0 || !own && a.sum == 0 && a.min == 0 && a.max == 0 {
			continue
		}
		constant := a.count == float64(n) && a.min == a.max && a.sum == a.min*a.count
		head := uint64(i-last) << 1
		last = i
		if constant {
			dst = appendNumber(binary.AppendUvarint(dst, head), a.min)
			continue
		}
		dst = binary.AppendUvarint(dst, head|1)
		for _, v := range [...]float64{a.sum, a.min, a.max, a.count} {
			dst = appendNumber(dst, v)
		}
	}
	return dst
}

// A decoder reads encoded values. After an error it returns zeros.
type decoder struct {
	data string
	err  error
}

func (d *decoder) uvarint() (n uint64) {
	for i := range min(len(d.data), binary.MaxVarintLen64) {
		b := d.data[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.data = d.data[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) fail() { d.data, d.err = "", errDamaged }

func (d *decoder) number() float64 {
	u := d.uvarint()
	if u&1 == 0 {
		u >>= 1
		return float64(int64(u>>1) ^ -int64(u&1))
	}
	if len(d.data) < 8 {
		d.fail()
		return 0
	}
	var bits uint64
	for i := range 8 {
		bits |= uint64(d.data[i]) << (8 * i)
	}
	d.data = d.data[8:]
	v := math.Float64frombits(bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		d.fail()
		return 0
	}
	return v
}

// columns calls visit with the columns that are stored, by position, until it returns false; and returns the number of
// samples.
func (d *decoder) columns(visit func(at int, a aggregate) bool) (n float64) {
	n = float64(d.uvarint())
	for at := -1; d.data != "" && d.err == nil; {
		head := d.uvarint()
		if head>>1 == 0 || head>>1 > 1<<16 {
			d.fail()
			break
		}
		at += int(head >> 1)
		a := aggregate{count: n}
		if head&1 == 0 {
			a.min = d.number()
			a.max, a.sum = a.min, a.min*n
		} else {
			a = aggregate{d.number(), d.number(), d.number(), d.number()}
		}
		if d.err == nil && !visit(at, a) {
			return n
		}
	}
	return n
}

// valueAt decodes one column. Damaged values have none.
func valueAt(data string, f *family, column int) (a aggregate) {
	d := decoder{data: data}
	found := false
	n := d.columns(func(at int, v aggregate) bool {
		if at == column {
			a, found = v, true
		}
		return at < column
	})
	if d.err != nil {
		return aggregate{}
	}
	if !found && !f.columns[column].kind.ownCount() {
		a.count = n
	}
	return a
}

// values decodes all columns. Columns of a later release are left out.
func values(data string, f *family) (all []aggregate, n int, err error) {
	all = make([]aggregate, len(f.columns))
	stored := make([]bool, len(all))
	d := decoder{data: data}
	samples := d.columns(func(at int, v aggregate) bool {
		if at < len(all) {
			all[at], stored[at] = v, true
		}
		return true
	})
	for i := range all {
		if !stored[i] && !f.columns[i].kind.ownCount() {
			all[i].count = samples
		}
	}
	return all, int(samples), d.err
}
