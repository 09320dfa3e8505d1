package quic

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/muster-gg/muster/gamenet"
)

func TestDatagrams(t *testing.T) {
	client, server := pair(t)
	for side, c := range map[string][2]*connection{"client": {client, server}, "server": {server, client}} {
		for _, size := range []int{1, 100, 1000, 1163, 1200} {
			sent := bytes.Repeat([]byte{byte(size)}, size)
			if err := c[0].SendDatagram(sent); err != nil {
				t.Fatalf("%s sends %d bytes: %v", side, size, err)
			}
			clear(sent) // they were copied
			got, err := c[1].ReceiveDatagram(timely(t))
			if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(size)}, size)) {
				t.Fatalf("%s sent %d bytes, %d arrived, %v", side, size, len(got), err)
			}
		}
	}
}

func TestDatagramTooLarge(t *testing.T) {
	client, server := pair(t)
	for side, c := range map[string]*connection{"client": client, "server": server} {
		limit := c.datagramLimit()
		if limit < 1163 || limit > 1415 {
			t.Errorf("%s: a datagram holds %d bytes", side, limit)
		}
		for _, size := range []int{1416, 1 << 20} {
			if err := c.SendDatagram(make([]byte, size)); !errors.Is(err, gamenet.ErrPacketTooLarge) {
				t.Errorf("%s sends %d bytes: %v", side, size, err)
			}
		}
	}
	if client.datagrams.waiting != nil {
		t.Error("a refused datagram made the goroutine start")
	}
}

// Nothing gets through: sending does not wait, and what is left over when the
// network is back is the newest.
func TestDatagramsDoNotWait(t *testing.T) {
	l := listen(t, serverTransport())
	network := newRelay(t, l.Addr())
	client := dial(t, clientTransport(), network.address)
	server := serve(t, l)
	network.every.Store(1)
	const count = 5000
	number := make([]byte, 1000)
	for i := range uint32(count) {
		binary.LittleEndian.PutUint32(number, i+1)
		if err := client.SendDatagram(number); err != nil {
			t.Fatal(err)
		}
	}
	network.every.Store(0)
	arrived := 0
	for last := uint32(0); last != count; arrived++ {
		b, err := server.ReceiveDatagram(timely(t))
		if err != nil {
			t.Fatal(err)
		}
		last = binary.LittleEndian.Uint32(b)
	}
	t.Logf("%d of %d datagrams arrived", arrived, count)
}

func TestReceiveDatagramCanceled(t *testing.T) {
	client, _ := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	received := make(chan error, 1)
	go func() { received <- second(client.ReceiveDatagram(ctx)) }()
	cancel()
	if err := <-received; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
