package gamenet

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A Frame holds packets that are encoded once and sent to any number of sessions without another copy. Fill it with
// Append, send it, and Release it: its memory is reused when the last session has written it. Do not append to it after
// the first send.
type Frame struct {
	codec   Codec
	max     int
	packets int
	bytes   []byte
	private bool // created by a session's queue, which may append to it
	refs    atomic.Int32
}

// frames holds released frames by their capacity: pool i holds those of smallestFrame << i bytes.
var frames [frameClasses]sync.Pool

const (
	smallestFrame = 512
	frameClasses  = 9 // up to 128 KiB; larger ones are left to the garbage collector
)

// frameClass is the smallest class that holds n bytes; frameClasses or more if none does.
func frameClass(n int) int {
	return bits.Len(uint(max(n, 1)-1) / smallestFrame)
}

// newFrame returns an empty frame with capacity for n bytes and one reference.
func newFrame(codec Codec, max, n int) *Frame {
	class := frameClass(n)
	var f *Frame
	if class < frameClasses {
		f, _ = frames[class].Get().(*Frame)
		n = smallestFrame << class
	}
	if f == nil {
		f = &Frame{bytes: make([]byte, 0, n)}
	}
	f.codec, f.max = codec, max
	f.refs.Store(1)
	return f
}

// Append encodes a packet after the previous ones. If it fails, with ErrPacketTooLarge or ErrInvalidID, the
// frame is unchanged.
func (f *Frame) Append(p Packet) error {
	if err := checkID(f.codec, p.ID); err != nil {
		return err
	}
	return f.append(p)
}

// append is Append that also accepts reserved ids.
func (f *Frame) append(p Packet) error {
	if len(p.Payload) > f.max {
		return checkSize(len(p.Payload), f.max)
	}
	if need := len(p.Payload) + f.codec.Header(); need > cap(f.bytes)-len(f.bytes) {
		f.grow(need)
	}
	b, err := f.codec.Append(f.bytes, p, f.max)
	if err != nil {
		return err
	}
	f.bytes = b
	f.packets++
	return nil
}

// grow makes room for n more bytes, in a size that can be pooled.
func (f *Frame) grow(n int) {
	need := len(f.bytes) + n
	larger := newFrame(nil, 0, max(need, 2*cap(f.bytes)))
	larger.bytes, f.bytes = f.bytes, append(larger.bytes, f.bytes...)
	larger.Release() // with the memory that was too small
}

// Len is the number of encoded bytes.
func (f *Frame) Len() int { return len(f.bytes) }

// Retain adds a reference, which needs one more Release.
func (f *Frame) Retain() { f.refs.Add(1) }

// Release drops a reference. The last one returns the memory to the pool: do not use the frame after it.
func (f *Frame) Release() {
	switch refs := f.refs.Add(-1); {
	case refs > 0:
		return
	case refs < 0:
		panic("gamenet: a frame was released more often than retained")
	}
	f.packets, f.private, f.codec, f.bytes = 0, false, nil, f.bytes[:0]
	if class := frameClass(cap(f.bytes)); class < frameClasses && cap(f.bytes) == smallestFrame<<class {
		frames[class].Put(f)
	}
}

// checkID rejects reserved packet ids.
func checkID(codec Codec, id uint16) error {
	if id >= FirstReservedID && codec.HasIDs() {
		return ErrInvalidID
	}
	return nil
}
