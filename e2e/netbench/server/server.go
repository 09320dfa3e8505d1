// Package server holds the servers that are compared: the same work with different libraries.
package server

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/control"
	"github.com/muster-gg/muster/e2e/netbench/room"
	"github.com/muster-gg/muster/e2e/netbench/usage"
)

// Work is what a server has to do.
type Work string

// The works.
const (
	Echo      Work = "echo"       // send every packet back
	Rooms     Work = "rooms"      // host rooms that tick 30 times a second
	RoomsFast Work = "rooms-fast" // host rooms that tick as fast as it goes
)

// interval is the time between the ticks of a room.
func (w Work) interval() time.Duration {
	if w == Rooms {
		return room.Tick
	}
	return 0
}

// A Server is running; it listens on the loopback interface.
type Server interface {
	Address() string
	// Close ends all connections and returns when nothing runs any more.
	Close() error
}

// A Start starts a server for one work.
type Start func(Work) (Server, error)

// Own are the servers of this program by name.
var Own = map[string]Start{
	"gamenet":                startGamenet,
	"net":                    startPlain,
	"netpoll":                startNetpoll,
	"netpoll, flush/message": startNetpollFlushing,
}

// Serve is the whole life of a server process; package control says what it reads and writes.
func Serve(start Start, work Work, commands io.Reader, answers io.Writer) (err error) {
	s, err := start(work)
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil {
			err = closing
		}
	}()
	return control.Answer(commands, answers, control.Ready{Address: s.Address()}, func(command string) (any, error) {
		switch command {
		case control.Report:
			return usage.Now()
		case control.Collect:
			return usage.Collected()
		}
		return nil, fmt.Errorf("unknown command")
	})
}

// Find is the server of a name.
func Find(servers map[string]Start, name string) (Start, error) {
	if start, ok := servers[name]; ok {
		return start, nil
	}
	return nil, fmt.Errorf("no server %q, only %s", name, strings.Join(slices.Sorted(maps.Keys(servers)), "; "))
}
