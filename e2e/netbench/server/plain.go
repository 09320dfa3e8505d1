package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/muster-gg/muster/e2e/netbench/frame"
	"github.com/muster-gg/muster/e2e/netbench/room"
)

// plain is the server that one writes first: package net, a goroutine for each connection that reads through a
// bufio.Reader, and a write for each message.
type plain struct {
	listener net.Listener
	work     Work
	rooms    *room.Rooms[net.Conn]
	running  sync.WaitGroup

	mu          sync.Mutex
	connections map[net.Conn]struct{}
}

func startPlain(work Work) (Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &plain{listener: l, work: work, rooms: room.New(work.interval(), writeEach),
		connections: map[net.Conn]struct{}{}}
	s.running.Go(s.accept)
	return s, nil
}

// writeEach writes each packet of a tick to each player.
func writeEach(_ int, players []net.Conn, packets []byte) error {
	for _, c := range players {
		for at := 0; at < len(packets); at += frame.StateSize {
			if _, err := c.Write(packets[at : at+frame.StateSize]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *plain) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.connections[c] = struct{}{}
		s.mu.Unlock()
		s.running.Go(func() { s.serve(c) })
	}
}

func (s *plain) serve(c net.Conn) {
	_ = s.read(c) // the load notices
	s.mu.Lock()
	delete(s.connections, c)
	s.mu.Unlock()
	c.Close()
}

// errLarge: no packet of the comparison is so large.
var errLarge = errors.New("a packet larger than all that there are")

func (s *plain) read(c net.Conn) error {
	in := bufio.NewReader(c)
	packet := make([]byte, frame.EchoSize)
	for {
		if _, err := io.ReadFull(in, packet[:frame.Header]); err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint16(packet))
		if size < frame.Header || size > len(packet) {
			return fmt.Errorf("%w: %d", errLarge, size)
		}
		if _, err := io.ReadFull(in, packet[frame.Header:size]); err != nil {
			return err
		}
		if err := s.take(c, packet[:size]); err != nil {
			return err
		}
	}
}

func (s *plain) take(c net.Conn, packet []byte) error {
	if s.work != Echo {
		return s.rooms.Take(c, frame.ID(packet), frame.Payload(packet))
	}
	_, err := c.Write(packet)
	return err
}

func (s *plain) Address() string { return s.listener.Addr().String() }

func (s *plain) Close() error {
	s.rooms.Stop()
	err := s.listener.Close()
	s.mu.Lock()
	for c := range s.connections {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}
