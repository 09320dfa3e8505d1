package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/muster-gg/muster/gamenet"
)

func TestNext(t *testing.T) {
	echo := make([]byte, EchoSize)
	PutEcho(echo, 7)
	two := append(bytes.Clone(echo), echo...)
	for name, test := range map[string]struct {
		b      []byte
		packet int // bytes
		err    error
	}{
		"nothing":           {nil, 0, nil},
		"half a size":       {echo[:1], 0, nil},
		"half a packet":     {echo[:63], 0, nil},
		"a packet":          {echo, 64, nil},
		"two packets":       {two, 64, nil},
		"a header alone":    {[]byte{4, 0, 1, 0}, 4, nil},
		"less than that":    {[]byte{3, 0, 1, 0}, 0, ErrSize},
		"a packet of zero ": {[]byte{0, 0}, 0, ErrSize},
	} {
		t.Run(name, func(t *testing.T) {
			packet, rest, err := Next(test.b)
			if len(packet) != test.packet || len(rest) != len(test.b)-test.packet || !errors.Is(err, test.err) {
				t.Errorf("got %d bytes, %d left, error %v; want %d bytes, error %v", len(packet), len(rest), err,
					test.packet, test.err)
			}
		})
	}
}

func TestFramingIsGamenets(t *testing.T) {
	packet := make([]byte, StateSize)
	State{Room: 49, Player: 19, Tick: 1 << 20}.Put(packet)
	p, size, err := gamenet.U16.Decode(packet, 65535)
	if err != nil || size != StateSize || p.ID != StateID || !bytes.Equal(p.Payload, Payload(packet)) ||
		len(p.Payload) != 48 {
		t.Errorf("gamenet reads %d bytes, id %d, error %v", size, p.ID, err)
	}
}

func TestCheck(t *testing.T) {
	want := State{Room: 3, Player: 4, Tick: 5}
	packet := make([]byte, StateSize)
	want.Put(packet)
	if got, err := Check(packet); err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if Head(3, 4) != binary.LittleEndian.Uint64(packet) {
		t.Errorf("Head is %x, the packet begins with %x", Head(3, 4), packet[:8])
	}
	for i := range packet {
		if i >= 4 && i < 8 {
			continue // another player's
		}
		garbled := bytes.Clone(packet)
		garbled[i] ^= 1
		if _, err := Check(garbled); err == nil {
			t.Errorf("byte %d can be anything", i)
		}
	}
	for i := 4; i < 8; i++ {
		garbled := bytes.Clone(packet)
		garbled[i] ^= 1
		if _, err := Check(garbled); err == nil {
			t.Errorf("the pattern does not depend on byte %d", i)
		}
	}
}
