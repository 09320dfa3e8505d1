package channel

import "encoding/binary"

// The kinds of frames, and their fields besides the ID.
const (
	Command  byte = 1 + iota // Shard, Try, Body
	Barrier                  // Shard
	Answer                   // Body
	Sequence                 // Sequence: the answer to a barrier
	Refusal                  // Body: why the command or barrier was not executed, and will not be
	Farewell                 // no ID: no unanswered request will be executed
)

// A Frame is a request or a response.
type Frame struct {
	Kind     byte
	ID       uint64 // of the request
	Shard    uint64
	Try      uint64 // grows when commands of a shard are sent again
	Sequence uint64
	Body     []byte
}

// numbers returns the numbers of a frame of its kind, in order.
func (f *Frame) numbers() (v [3]uint64, n int) {
	switch f.Kind {
	case Command:
		return [3]uint64{f.ID, f.Shard, f.Try}, 3
	case Barrier:
		return [3]uint64{f.ID, f.Shard}, 2
	case Sequence:
		return [3]uint64{f.ID, f.Sequence}, 2
	}
	return [3]uint64{f.ID}, 1
}

// setNumbers is the reverse of numbers.
func (f *Frame) setNumbers(v [3]uint64) {
	f.ID = v[0]
	switch f.Kind {
	case Command:
		f.Shard, f.Try = v[1], v[2]
	case Barrier:
		f.Shard = v[1]
	case Sequence:
		f.Sequence = v[1]
	}
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// AppendFrame appends f to dst.
func AppendFrame(dst []byte, f Frame) []byte {
	v, n := f.numbers()
	length := 1 + len(f.Body)
	for _, number := range v[:n] {
		length += uvarintLen(number)
	}
	dst = binary.AppendUvarint(dst, uint64(length))
	dst = append(dst, f.Kind)
	for _, number := range v[:n] {
		dst = binary.AppendUvarint(dst, number)
	}
	return append(dst, f.Body...)
}

// readFrame reads the first frame of data; ok is false if data does not contain all of it. The body is a part of data.
func readFrame(data []byte) (f Frame, rest []byte, ok bool, err error) {
	length, n := binary.Uvarint(data)
	switch {
	case n < 0 || n > 0 && (length > MaxFrame || length == 0):
		return Frame{}, data, false, ErrMalformed
	case n == 0 || uint64(len(data)-n) < length:
		return Frame{}, data, false, nil
	}
	data, rest = data[n:n+int(length):n+int(length)], data[n+int(length):]
	if f.Kind = data[0]; f.Kind < Command || f.Kind > Farewell {
		return Frame{}, rest, false, ErrMalformed
	}
	data = data[1:]
	v, numbers := f.numbers()
	for i := range numbers {
		if v[i], n = binary.Uvarint(data); n <= 0 {
			return Frame{}, rest, false, ErrMalformed
		}
		data = data[n:]
	}
	f.setNumbers(v)
	f.Body = data
	return f, rest, true, nil
}
