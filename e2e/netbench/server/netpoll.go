package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/cloudwego/netpoll"

	"github.com/muster-gg/muster/e2e/netbench/frame"
	"github.com/muster-gg/muster/e2e/netbench/room"
)

// poll is the server with CloudWeGo's netpoll, as its guide has it: OnRequest reads without copying all that is there,
// answers with Malloc, and flushes once.
type poll struct {
	loop     netpoll.EventLoop
	listener net.Listener
	work     Work
	rooms    *room.Rooms[netpoll.Connection]
	done     chan error
}

// The guide: no pool of goroutines where stacks do not grow, which makes echo a tenth quicker here; one poller below 20
// processors, and two made nothing quicker. It must be said before anything else of netpoll runs.
func init() {
	if err := netpoll.Configure(netpoll.Config{Runner: func(_ context.Context, f func()) { go f() }}); err != nil {
		panic(err) // the configuration is a constant
	}
}

func startNetpoll(work Work) (Server, error) { return startPoll(work, flushOnce) }

// startNetpollFlushing is for information: what a flush for each message costs.
func startNetpollFlushing(work Work) (Server, error) { return startPoll(work, flushEach) }

func startPoll(work Work, send room.Send[netpoll.Connection]) (Server, error) {
	l, err := netpoll.CreateListener("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &poll{listener: l, work: work, rooms: room.New(work.interval(), send), done: make(chan error, 1)}
	if s.loop, err = netpoll.NewEventLoop(s.request); err != nil {
		return nil, err
	}
	go func() { s.done <- s.loop.Serve(l) }()
	return s, nil
}

// flushOnce gives each player all packets of a tick and flushes once. Players are written to by their room alone, so
// that it needs no lock.
func flushOnce(_ int, players []netpoll.Connection, packets []byte) error {
	for _, c := range players {
		if err := put(c.Writer(), packets); err != nil {
			return err
		}
		if err := c.Writer().Flush(); err != nil {
			return err
		}
	}
	return nil
}

func flushEach(_ int, players []netpoll.Connection, packets []byte) error {
	for _, c := range players {
		for at := 0; at < len(packets); at += frame.StateSize {
			if err := put(c.Writer(), packets[at:at+frame.StateSize]); err != nil {
				return err
			}
			if err := c.Writer().Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// put copies, because what is not written at once stays in the writer.
func put(w netpoll.Writer, b []byte) error {
	to, err := w.Malloc(len(b))
	copy(to, b)
	return err
}

// request is called when there is something to read, never twice at a time for a connection.
func (s *poll) request(_ context.Context, c netpoll.Connection) error {
	for c.Reader().Len() > 0 {
		if err := s.packet(c); err != nil {
			return c.Close()
		}
	}
	if err := c.Reader().Release(); err != nil || s.work != Echo {
		return err
	}
	return c.Writer().Flush()
}

// packet waits for the rest of the packet if it is not there.
func (s *poll) packet(c netpoll.Connection) error {
	header, err := c.Reader().Peek(frame.Header)
	if err != nil {
		return err
	}
	size := int(binary.LittleEndian.Uint16(header))
	if size < frame.Header || size > frame.EchoSize {
		return fmt.Errorf("%w: %d", errLarge, size)
	}
	packet, err := c.Reader().Next(size)
	if err != nil {
		return err
	}
	if s.work != Echo {
		return s.rooms.Take(c, frame.ID(packet), frame.Payload(packet))
	}
	return put(c.Writer(), packet)
}

func (s *poll) Address() string { return s.listener.Addr().String() }

func (s *poll) Close() error {
	s.rooms.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.loop.Shutdown(ctx) // connections that are busy until then are cut with the process
	return <-s.done
}
