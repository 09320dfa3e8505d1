package wire

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A cborReader reads the members of structures from a body that checkCBOR has found well-formed, so that no item
// reaches beyond the body's end.
type cborReader struct {
	reader
	data []byte
	pos  int
}

func (d *cborReader) begin(body []byte) *fault.Error {
	if len(body) == 0 {
		body = emptyCBOR
	}
	d.data, d.pos = body, 0
	return checkCBOR(body)
}

func (d *cborReader) end() {
	d.clear()
	d.failure, d.name = nil, ""
	d.data = nil
}

// head reads the head of the next data item: its first byte and its argument, which is 0 for an indefinite length.
func (d *cborReader) head() (first byte, arg uint64) {
	first = d.data[d.pos]
	d.pos++
	switch minor := first & minorBits; minor {
	case 24:
		arg = uint64(d.data[d.pos])
		d.pos++
	case 25:
		arg = uint64(binary.BigEndian.Uint16(d.data[d.pos:]))
		d.pos += 2
	case 26:
		arg = uint64(binary.BigEndian.Uint32(d.data[d.pos:]))
		d.pos += 4
	case 27:
		arg = binary.BigEndian.Uint64(d.data[d.pos:])
		d.pos += 8
	case cborIndefinite:
	default:
		arg = uint64(minor)
	}
	return first, arg
}

// is reports whether the next item is of a major type.
func (d *cborReader) is(major byte) bool { return d.data[d.pos]&majorBits == major }

// got describes the next item for a message.
func (d *cborReader) got() string {
	first := d.data[d.pos]
	switch first & majorBits {
	case cborUint, cborNint:
		return "an integer"
	case cborBytes:
		return "a byte string"
	case cborText:
		return "a text string"
	case cborArray:
		return "an array"
	case cborMap:
		return "a map"
	case cborTag:
		return "a tagged value"
	}
	switch first {
	case cborFalse, cborTrue:
		return "a boolean"
	case cborNull, cborUndefined:
		return "null"
	case cborFloat16, cborFloat32, cborFloat64:
		return "a float"
	default:
		return "a simple value"
	}
}

// wrong ends the reading at the next item.
func (d *cborReader) wrong(name, want string) { d.fail(name, want, d.got()) }

// null consumes an undefined, too.
func (d *cborReader) null() bool {
	if c := d.data[d.pos]; c != cborNull && c != cborUndefined {
		return false
	}
	d.pos++
	return true
}

func (d *cborReader) openObject() int {
	if len(d.path) == 0 && d.null() {
		return 0
	}
	return d.open(cborMap, "a map")
}

func (d *cborReader) openArray(usual int) (left, room int) {
	left = d.open(cborArray, "an array")
	if left < 0 {
		return left, usual
	}
	return left, min(left, maxRoom)
}

// maxRoom bounds the room that is made for an array before its elements are read: a short body can promise a long array
// of empty maps.
const maxRoom = 64

// open begins a map or an array: the number of its elements, -1 for an indefinite one.
func (d *cborReader) open(major byte, want string) int {
	if !d.is(major) {
		d.wrong("", want)
		return 0
	}
	first, n := d.head()
	if first&minorBits == cborIndefinite {
		return -1
	}
	return int(n)
}

func (d *cborReader) nextMember(left int) (int, bool) {
	for {
		var ok bool
		if left, ok = d.nextItem(left); !ok {
			return left, false
		}
		if !d.is(cborText) {
			d.wrong("", "member names that are text strings")
			return 0, false
		}
		name := d.chunks()
		if !isUTF8(name) {
			d.fail("", "keys in UTF-8", "other bytes")
			return 0, false
		}
		d.name = unsafe.String(unsafe.SliceData(name), len(name))
		if !d.null() {
			return left, true
		}
	}
}

func (d *cborReader) nextItem(left int) (int, bool) {
	switch {
	case d.failure != nil || left == 0:
		return 0, false
	case left > 0:
		return left - 1, true
	case d.data[d.pos] == cborBreak:
		d.pos++
		return 0, false
	default:
		return left, true
	}
}

// skip passes over an item of any kind, the text in which has to be good all the same. It nests no deeper than the item
// does.
func (d *cborReader) skip() {
	if d.is(cborText) {
		if !isUTF8(d.chunks()) {
			d.fail("", "text in UTF-8", "other bytes")
		}
		return
	}
	first, arg := d.head()
	items := uint64(0)
	switch first & majorBits {
	case cborBytes:
		d.pos += int(arg)
	case cborArray:
		items = arg
	case cborMap:
		items = 2 * arg
	case cborTag:
		items = 1
	}
	if first&minorBits == cborIndefinite { // a break itself never gets here
		for d.data[d.pos] != cborBreak {
			d.skip()
		}
		d.pos++
	}
	for range items {
		d.skip()
	}
}

// chunks reads a string: a part of the body, or a new slice when it came in chunks.
func (d *cborReader) chunks() []byte {
	first, n := d.head()
	if first&minorBits != cborIndefinite {
		d.pos += int(n)
		return d.data[d.pos-int(n) : d.pos]
	}
	var whole []byte
	for d.data[d.pos] != cborBreak {
		_, n := d.head()
		whole = append(whole, d.data[d.pos:d.pos+int(n)]...)
		d.pos += int(n)
	}
	d.pos++
	return whole
}

func (d *cborReader) text(name string, rule *textRule) string {
	if !d.is(cborText) {
		d.wrong(name, "a text string")
		return ""
	}
	b := d.chunks()
	if !isUTF8(b) {
		d.fail(name, "text in UTF-8", "other bytes")
		return ""
	}
	s := string(b)
	d.judge(name, s, rule)
	return s
}

func (d *cborReader) bool(name string) bool {
	c := d.data[d.pos]
	if c != cborFalse && c != cborTrue {
		d.wrong(name, "a boolean")
		return false
	}
	d.pos++
	return c == cborTrue
}

func (d *cborReader) int32(name string) int32 { return int32(d.integer(name, 32)) }

func (d *cborReader) int64(name string) int64 { return d.integer(name, 64) }

// integer reads an integer, or a float without a fraction, of so many bits.
func (d *cborReader) integer(name string, bits int) int64 {
	n, ok := int64(0), false
	switch got := d.got(); got {
	case "an integer":
		n, ok = d.signed()
	case "a float":
		n, ok = wholeOf(d.number())
	default:
		d.fail(name, integerOf(bits), got)
		return 0
	}
	if !ok || !fits(n, bits) {
		d.fail(name, integerOf(bits), "another number")
		return 0
	}
	return n
}

// signed reads an integer; ok is false when it does not fit.
func (d *cborReader) signed() (n int64, ok bool) {
	first, arg := d.head()
	if first&majorBits == cborNint {
		return ^int64(arg), arg <= math.MaxInt64
	}
	return int64(arg), arg <= math.MaxInt64
}

// number reads an integer or a float as a float.
func (d *cborReader) number() float64 {
	first, arg := d.head()
	switch {
	case first&majorBits == cborUint:
		return float64(arg)
	case first&majorBits == cborNint:
		return -1 - float64(arg)
	case first == cborFloat16:
		return halfFloat(uint16(arg))
	case first == cborFloat32:
		return float64(math.Float32frombits(uint32(arg)))
	default:
		return math.Float64frombits(arg)
	}
}

// halfFloat is the value of a float of 16 bits. Source: RFC 8949, appendix D.
func halfFloat(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	v := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent == 0x1f && fraction == 0:
		v = math.Inf(1)
	case exponent == 0x1f:
		v = math.NaN()
	}
	if bits&0x8000 != 0 {
		v = -v
	}
	return v
}

// isNumber reports whether the next item is an integer or a float.
func (d *cborReader) isNumber() bool {
	switch c := d.data[d.pos]; c & majorBits {
	case cborUint, cborNint:
		return true
	case cborOther:
		return c >= cborFloat16 && c <= cborFloat64
	default:
		return false
	}
}

func (d *cborReader) float32(name string) float32 {
	f := d.float64(name)
	if math.Abs(f) > math.MaxFloat32 && !math.IsInf(f, 0) {
		d.fail(name, "a number of 32 bits", "a larger one")
	}
	return float32(f)
}

func (d *cborReader) float64(name string) float64 {
	if !d.isNumber() {
		d.wrong(name, "a number")
		return 0
	}
	return d.number()
}

// time reads epoch seconds under tag 1.
func (d *cborReader) time(name string) time.Time {
	const want = "a timestamp: tag 1 and epoch seconds"
	if !d.is(cborTag) {
		d.wrong(name, want)
		return time.Time{}
	}
	if _, tag := d.head(); tag != 1 || !d.isNumber() {
		d.fail(name, want, "another tagged value")
		return time.Time{}
	}
	t, ok := timeOf(d.number())
	if !ok {
		d.fail(name, want, "a time outside of the years 1 to 9999")
	}
	return t
}

// blob reads a byte string.
func (d *cborReader) blob(name string) []byte {
	if !d.is(cborBytes) {
		d.wrong(name, "a byte string")
		return nil
	}
	return append([]byte{}, d.chunks()...)
}
