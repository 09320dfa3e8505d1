//go:build linux

package load

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/muster-gg/muster/e2e/netbench/room"
)

// A client is one connection's side of the work.
type client interface {
	// start is called once, when it is connected.
	start(fd int) error
	// received takes what was read; it tells how many messages were completed, and whether the client is warm: it has
	// received what it must before it counts.
	received(fd int, b []byte) (messages int, warm bool, err error)
}

// A loop serves a part of the connections in one goroutine.
type loop struct {
	counters
	epoll   int
	fds     []int
	clients []client
	isWarm  []bool
	send    *sender // nil when clients send only what answers
	buffer  [64 << 10]byte
	events  [256]unix.EpollEvent
}

// connections is the number of them in all.
func (c Config) connections() int {
	if c.Work == Rooms || c.Work == RoomsFast {
		return room.Count * room.Players
	}
	return c.Connections
}

// client makes the client of a number.
func (c Config) client(number int) client {
	switch c.Work {
	case Rooms, RoomsFast:
		return newPlayer(number/room.Players, number%room.Players, c.Work == Rooms)
	case Idle:
		return newEchoer(number, 1, 1)
	}
	return newEchoer(number, c.InFlight, 0)
}

// connect makes all connections, one after the other. A room's players are in one loop.
func connect(config Config) (all []*loop, err error) {
	address, err := netip.ParseAddrPort(config.Address)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, l := range all {
				l.close()
			}
		}
	}()
	for range loops {
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return all, fmt.Errorf("epoll: %w", err)
		}
		l := &loop{epoll: epoll}
		if config.Work == Rooms {
			l.send = newSender(l)
		}
		all = append(all, l)
	}
	for i := range config.connections() {
		if err := all[i/room.Players%loops].add(address, config.client(i)); err != nil {
			return all, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return all, nil
}

func (l *loop) add(address netip.AddrPort, c client) error {
	fd, err := dial(address)
	if err != nil {
		return err
	}
	l.fds, l.clients, l.isWarm = append(l.fds, fd), append(l.clients, c), append(l.isWarm, false)
	l.cold.Add(1)
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(len(l.fds) - 1)} // its place, not the descriptor
	return errors.Join(unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event), c.start(fd))
}

func (l *loop) close() {
	for _, fd := range l.fds {
		_ = unix.Close(fd)
	}
	_ = unix.Close(l.epoll)
}

// idleWait is how long a loop waits for something to happen before it looks whether it is to stop, in milliseconds.
const idleWait = 50

// run serves the connections until it is stopped, then it closes them.
func (l *loop) run() error {
	defer l.close()
	patience := idleWait
	if l.send != nil {
		patience = 1
	}
	for !l.stop.Load() {
		n, err := wait(l.epoll, l.events[:], patience)
		if err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
		if err := l.serve(l.events[:n]); err != nil {
			return err
		}
		if l.send != nil {
			if err := l.send.due(); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve reads once from each socket that has something.
func (l *loop) serve(events []unix.EpollEvent) error {
	messages := 0
	for i := range events {
		place := events[i].Fd
		n, err := read(l.fds[place], l.buffer[:])
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		some, warm, err := l.clients[place].received(l.fds[place], l.buffer[:n])
		if err != nil {
			return err
		}
		messages += some
		if warm && !l.isWarm[place] {
			l.isWarm[place] = true
			l.cold.Add(-1)
		}
	}
	l.messages.Add(uint64(messages))
	return nil
}
