package gamenet

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func FuzzDecodeU16(f *testing.F)    { fuzzDecode(f, U16) }
func FuzzDecodeU32(f *testing.F)    { fuzzDecode(f, U32) }
func FuzzDecodeVarint(f *testing.F) { fuzzDecode(f, Varint) }
func FuzzDecodeRaw(f *testing.F)    { fuzzDecode(f, Raw) }

// fuzzDecode: decoding never panics and never claims more than it was given, a
// packet encoded again has the bytes that it came from, and what was said about a
// beginning holds for the whole.
func fuzzDecode(f *testing.F, codec Codec) {
	for _, b := range [][]byte{
		{0, 0}, {3, 0, 1}, {4, 0, 1, 0}, {5, 0, 1, 0, 'a'}, {100, 0}, {101, 0}, {3, 'a', 'b', 'c'}, {0x80, 0},
		{0xFF, 0xFF, 0xFF, 0xFF, 0x0F},
		{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, {2, 0, 0, 0, 'a', 'b'},
		{0x16, 0x03, 0x01, 0x02, 0x00},
	} {
		f.Add(b, uint16(100))
		f.Add(b, uint16(2))
	}
	f.Fuzz(func(t *testing.T, b []byte, most uint16) {
		if len(b) == 0 || most == 0 {
			return
		}
		p, size, err := codec.Decode(b, int(most))
		switch {
		case err != nil:
			if !errors.Is(err, ErrFrame) {
				t.Fatalf("not an ErrFrame: %v", err)
			}
			if _, _, again := codec.Decode(append(bytes.Clone(b), 0), int(most)); again == nil {
				t.Fatal("one byte more made a packet of what never could be one")
			}
		case size < 0 || size > int(most):
			t.Fatalf("size %d, the maximum is %d", size, most)
		case size == 0 || size > len(b):
			if size == 0 && len(b) > codec.Header() {
				t.Fatalf("%d bytes are not a whole header of at most %d", len(b), codec.Header())
			}
		default:
			again, err := codec.Append(nil, p, int(most))
			if err != nil || !bytes.Equal(again, b[:size]) {
				t.Fatalf("% x became % x, %v", b[:size], again, err)
			}
		}
	})
}

// FuzzStream: a stream that arrives in any pieces gives the packets, and the end,
// that it gives as a whole.
func FuzzStream(f *testing.F) {
	var good []byte
	for _, p := range []Packet{
		{1, []byte("one")}, {2, nil}, {3, bytes.Repeat([]byte("3"), 600)}, {idPing, make([]byte, 8)},
		{4, []byte("four")},
	} {
		good, _ = U16.Append(good, p, 1000)
	}
	for codec := range uint8(4) {
		f.Add(good, codec, uint64(1))
		f.Add(append(bytes.Clone(good), 3, 0, 0, 0), codec, uint64(2))
		f.Add(append(bytes.Clone(good), 9, 0, 0xFD, 0xFF, 'b', 'y', 'e', '!', '!', 1), codec, uint64(3))
		f.Add([]byte{3, 'a', 'b', 'c', 0, 1, 'd', 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, codec, uint64(4))
		f.Add([]byte{2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 'c', 0xFF, 0xFF, 0xFF, 0xFF}, codec, uint64(5))
	}
	f.Fuzz(func(t *testing.T, stream []byte, which uint8, seed uint64) {
		codec := []Codec{U16, U32, Varint, Raw}[which%4]
		const most = 1000
		want, cause := expect(codec, stream, most)
		seen := newDiary()
		server, err := NewServer(ServerConfig{Config: Config{NewHandler: always(seen), Codec: codec, MaxPacket: most}})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		conn := &tape{stream: bytes.Clone(stream),
			piece: func(n int) int { return 1 + random.IntN(min(n, 1+random.IntN(2000))) }}
		live(t, server, conn)
		if codec == Raw { // the pieces are as they come
			if got := bytes.Join(payloadsOf(seen.packets), nil); !bytes.Equal(got, stream) {
				t.Fatalf("% x arrived of % x", got, stream)
			}
		} else if !samePackets(seen.packets, want) {
			t.Fatalf("%d packets arrived of %d: %v", len(seen.packets), len(want), seen.packets)
		}
		if seen.opened != 1 || len(seen.causes) != 1 || !errors.Is(seen.causes[0], cause) {
			t.Fatalf("opened %d times, ended because of %v, want %v", seen.opened, seen.causes, cause)
		}
		closeWithin(t, server)
	})
}

// expect is what a stream means when it comes in one piece.
func expect(codec Codec, stream []byte, most int) (packets []Packet, cause error) {
	for len(stream) > 0 {
		p, size, err := codec.Decode(stream, most)
		if err != nil {
			return packets, ErrFrame
		}
		if size == 0 || size > len(stream) {
			break
		}
		if !codec.HasIDs() || p.ID < FirstReservedID {
			packets = append(packets, p)
		}
		stream = stream[size:]
	}
	return packets, ErrPeerClosed
}

func samePackets(a, b []Packet) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID || !bytes.Equal(a[i].Payload, b[i].Payload) {
			return false
		}
	}
	return true
}

func payloadsOf(packets []Packet) (payloads [][]byte) {
	for _, p := range packets {
		payloads = append(payloads, p.Payload)
	}
	return payloads
}
