package gamenet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// codecs are all that the package has, by name.
var codecs = map[string]Codec{"u16": U16, "u32": U32, "varint": Varint, "raw": Raw}

func TestDecode(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 300)
	for _, c := range []struct {
		name    string
		codec   Codec
		in      []byte
		max     int
		size    int
		packet  Packet
		invalid bool
	}{
		{"size 0", U16, []byte{0, 0}, 100, 0, Packet{}, true},
		{"size 3", U16, []byte{3, 0, 1}, 100, 0, Packet{}, true},
		{"size 4, the smallest", U16, []byte{4, 0, 7, 1}, 100, 4, Packet{ID: 0x107}, false},
		{"size at the maximum", U16, append([]byte{100, 0, 1, 0}, long[:96]...), 100, 100, Packet{1, long[:96]},
			false},
		{"size above the maximum", U16, []byte{101, 0}, 100, 0, Packet{}, true},
		{"the largest of all", U16, append([]byte{0xFF, 0xFF, 1, 0}, make([]byte, 0xFFFF-4)...), 1 << 20, 0xFFFF,
			Packet{1, make([]byte, 0xFFFF-4)}, false},
		{"no more than the size is looked at", U16, []byte{5, 0, 1, 0, 'a', 'b'}, 100, 5, Packet{1, []byte("a")},
			false},
		{"a part of the payload", U16, []byte{6, 0, 1, 0, 'a'}, 100, 6, Packet{}, false},

		{"empty", U32, []byte{0, 0, 0, 0}, 100, 4, Packet{}, false},
		{"payload of 3", U32, []byte{3, 0, 0, 0, 'a', 'b', 'c', 'd'}, 100, 7, Packet{Payload: []byte("abc")}, false},
		{"at the maximum", U32, append([]byte{96, 0, 0, 0}, long[:96]...), 100, 100, Packet{Payload: long[:96]},
			false},
		{"above the maximum", U32, []byte{97, 0, 0, 0}, 100, 0, Packet{}, true},
		{"2 GiB", U32, []byte{0, 0, 0, 0x80}, 100, 0, Packet{}, true},
		{"4 GiB", U32, []byte{0xFF, 0xFF, 0xFF, 0xFF}, 1 << 20, 0, Packet{}, true},
		{"a maximum below the header", U32, []byte{0, 0, 0, 0}, 2, 0, Packet{}, true},
		{"4 GiB, a maximum below the header", U32, []byte{0xFF, 0xFF, 0xFF, 0xFF}, 2, 0, Packet{}, true},

		{"empty", Varint, []byte{0}, 100, 1, Packet{}, false},
		{"payload of 3", Varint, []byte{3, 'a', 'b', 'c', 'd'}, 100, 4, Packet{Payload: []byte("abc")}, false},
		{"two bytes of length", Varint, append([]byte{0xAC, 0x02}, long...), 400, 302, Packet{Payload: long}, false},
		{"at the maximum", Varint, append([]byte{99}, long[:99]...), 100, 100, Packet{Payload: long[:99]}, false},
		{"above the maximum", Varint, []byte{100}, 100, 0, Packet{}, true},
		{"overlong zero", Varint, []byte{0x80, 0}, 100, 0, Packet{}, true},
		{"overlong one", Varint, []byte{0x81, 0x80, 0, 'a'}, 100, 0, Packet{}, true},
		{"a length of six bytes", Varint, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 1}, 1 << 20, 0, Packet{}, true},
		{"more than 64 bits", Varint, bytes.Repeat([]byte{0xFF}, 11), 1 << 20, 0, Packet{}, true},
		{"32 bits", Varint, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, 1 << 20, 0, Packet{}, true},

		{"what has come", Raw, []byte("abc"), 100, 3, Packet{Payload: []byte("abc")}, false},
		{"in pieces of the maximum", Raw, []byte("abc"), 2, 2, Packet{Payload: []byte("ab")}, false},
	} {
		t.Run(fmt.Sprintf("%T/%s", c.codec, c.name), func(t *testing.T) {
			p, size, err := c.codec.Decode(c.in, c.max)
			if errors.Is(err, ErrFrame) != c.invalid || (err != nil) != c.invalid {
				t.Fatalf("error %v, invalid: %v", err, c.invalid)
			}
			if err != nil {
				return
			}
			if size != c.size {
				t.Fatalf("size %d, want %d", size, c.size)
			}
			if size <= len(c.in) && (p.ID != c.packet.ID || !bytes.Equal(p.Payload, c.packet.Payload)) {
				t.Errorf("got %v, want %v", p, c.packet)
			}
		})
	}
}

// TestDecodeCut cuts a packet at every byte: what is missing is asked for, and
// nothing else.
func TestDecodeCut(t *testing.T) {
	payload := bytes.Repeat([]byte("abc"), 50)
	for name, codec := range codecs {
		if name == "raw" {
			continue // any piece is a packet
		}
		t.Run(name, func(t *testing.T) {
			whole, err := codec.Append(nil, Packet{Payload: payload}, 1000)
			if err != nil {
				t.Fatal(err)
			}
			header := len(whole) - len(payload)
			for n := 1; n < len(whole); n++ {
				_, size, err := codec.Decode(whole[:n], 1000)
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if size != len(whole) && (size != 0 || n >= header) {
					t.Errorf("%d bytes of %d: size %d", n, len(whole), size)
				}
			}
		})
	}
}

func TestAppendLimits(t *testing.T) {
	before := []byte("before")
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			const most = 90 // a varint of one byte
			empty, err := codec.Append(nil, Packet{}, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(empty) > codec.Header() {
				t.Errorf("a header of %d bytes, Header says %d", len(empty), codec.Header())
			}
			fits := make([]byte, most-len(empty))
			out, err := codec.Append(bytes.Clone(before), Packet{Payload: fits}, most)
			if err != nil || len(out) != len(before)+most || !bytes.HasPrefix(out, before) {
				t.Errorf("the largest: %d bytes, %v", len(out), err)
			}
			out, err = codec.Append(bytes.Clone(before), Packet{Payload: append(fits, 0)}, most)
			if !errors.Is(err, ErrPacketTooLarge) || !bytes.Equal(out, before) {
				t.Errorf("one byte more: %q, %v", out, err)
			}
			out, err = codec.Append(bytes.Clone(before), Packet{ID: 1}, most)
			if codec.HasIDs() != (err == nil) {
				t.Errorf("an id: %v", err)
			}
			if err != nil && (!errors.Is(err, ErrInvalidID) || !bytes.Equal(out, before)) {
				t.Errorf("an id: %q, %v", out, err)
			}
		})
	}
	if _, err := U16.Append(nil, Packet{Payload: make([]byte, 1<<16)}, 1<<20); !errors.Is(err, ErrPacketTooLarge) {
		t.Errorf("a size of more than 16 bits: %v", err)
	}
}

// TestLayout pins the bytes: other languages speak them too.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		codec Codec
		p     Packet
		want  []byte
	}{
		{U16, Packet{0x0102, []byte("hi")}, []byte{6, 0, 2, 1, 'h', 'i'}},
		{U32, Packet{0, []byte("hi")}, []byte{2, 0, 0, 0, 'h', 'i'}},
		{Varint, Packet{0, []byte("hi")}, []byte{2, 'h', 'i'}},
		{Raw, Packet{0, []byte("hi")}, []byte{'h', 'i'}},
	} {
		if got, err := c.codec.Append(nil, c.p, 100); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%T: % x, %v; want % x", c.codec, got, err, c.want)
		}
	}
}

// TestCodecRoundTrip: what is appended comes out, in order and with nothing left.
func TestCodecRoundTrip(t *testing.T) {
	for name, codec := range codecs {
		if name == "raw" {
			continue // does not keep boundaries
		}
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			const most = 70_000
			var stream []byte
			var sent []Packet
			for range 200 {
				p := randomPacket(random, codec)
				var err error
				if stream, err = codec.Append(stream, p, most); err != nil {
					t.Fatal(err)
				}
				sent = append(sent, p)
			}
			for i, want := range sent {
				got, size, err := codec.Decode(stream, most)
				if err != nil || size == 0 || size > len(stream) {
					t.Fatalf("packet %d: size %d, %v", i, size, err)
				}
				if got.ID != want.ID || !bytes.Equal(got.Payload, want.Payload) {
					t.Fatalf("packet %d: id %d with %d bytes, want id %d with %d", i, got.ID, len(got.Payload), want.ID,
						len(want.Payload))
				}
				if cap(got.Payload) > len(got.Payload) {
					t.Fatalf("packet %d: appending to its payload would overwrite the next", i)
				}
				stream = stream[size:]
			}
			if len(stream) > 0 {
				t.Errorf("%d bytes are left", len(stream))
			}
		})
	}
}

// randomPacket makes a packet of any length that the codec takes, often a short
// one.
func randomPacket(random *rand.Rand, codec Codec) Packet {
	most := []int{1, 10, 200, 20_000, 65_000}[random.IntN(5)]
	p := Packet{Payload: make([]byte, random.IntN(most))}
	for i := range p.Payload {
		p.Payload[i] = byte(random.Uint32())
	}
	if codec.HasIDs() {
		p.ID = uint16(random.IntN(int(FirstReservedID)))
	}
	return p
}

func TestVarintIsProtobufs(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 300, 16_383, 16_384, 60_000} {
		got, err := Varint.Append(nil, Packet{Payload: make([]byte, n)}, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		if want := binary.AppendUvarint(nil, uint64(n)); !bytes.HasPrefix(got, want) || len(got) != len(want)+n {
			t.Errorf("%d bytes begin with % x, want % x", n, got[:min(len(got), 5)], want)
		}
	}
}
