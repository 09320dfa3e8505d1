package legacy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk"
)

// TestMemory compares the memory of old game servers with that of game servers on server SDK 5, which have one socket.
// The clients are bare TCP connections, so that theirs hardly counts.
func TestMemory(t *testing.T) {
	const servers = 1000
	const query = "/socket.io/?EIO=3&transport=websocket&sdkLanguage=Cpp&sdkVersion=3.4.1&pID=%d"
	old := func() (http.Handler, func(context.Context) error) {
		e := New(Config{Servers: quiet{}, Log: slog.New(slog.DiscardHandler)})
		return e.SocketIO(), e.Close
	}
	current := func() (http.Handler, func(context.Context) error) {
		e := serversdk.New(serversdk.Config{Servers: quiet{}, Log: slog.New(slog.DiscardHandler)})
		return e, e.Close
	}
	five := perServer(t, current, servers, 1, "/?pID=%d&FleetId=fleet-1&ComputeId=c&Authorization=a&sdkLanguage=Go")
	one := perServer(t, old, servers, 1, query)
	two := perServer(t, old, servers, 2, query)
	t.Logf("bytes for each of %d game servers: %d on SDK 5, %d on SDK 3 with one socket, %d with two", servers, five,
		one, two)
	// With two sockets it is twice as much at most; the rest is for differences between runs.
	if one > 2*five || two > 3*five {
		t.Errorf("an old game server has %d bytes with one socket and %d with two; one on SDK 5 has %d", one, two, five)
	}
}

// perServer connects game servers, and returns how much memory the service needs for each.
func perServer(t *testing.T, open func() (http.Handler, func(context.Context) error), servers, sockets int,
	query string) int {
	t.Helper()
	handler, end := open()
	server := httptest.NewServer(handler)
	connections := make([]net.Conn, servers*sockets)
	goroutines, before := runtime.NumGoroutine(), used()
	for i := range connections {
		connections[i] = handshake(t, server.Listener.Addr().String(), fmt.Sprintf(query, i/sockets))
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > goroutines+len(connections) { // handlers end
		<-tick.C
	}
	size := int(used()-before) / servers
	for _, c := range connections {
		_ = c.Close()
	}
	if err := end(context.Background()); err != nil {
		t.Error(err)
	}
	server.Close()
	return size
}

// handshake opens a WebSocket, and reads the answer and no frame.
func handshake(t *testing.T, address, target string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	for r, line := bufio.NewReader(c), ""; line != "\r\n"; {
		first := line == ""
		if line, err = r.ReadString('\n'); err != nil || first && !strings.Contains(line, " 101 ") {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return c
}

// used returns the bytes of heap and stacks.
func used() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// quiet is a control plane that accepts everything.
type quiet struct{ processes.Connection }

func (quiet) Connect(context.Context, processes.ConnectRequest) (processes.Connection, error) {
	return quiet{}, nil
}

func (quiet) ConnectLegacy(context.Context, processes.LegacyRequest) (processes.LegacyConnection, error) {
	return &quietConnection{}, nil
}

func (quiet) LegacyState(context.Context, processes.Key) (s processes.LegacyState) { return s }

func (quiet) Disconnected() {}

type quietConnection struct{ processes.LegacyConnection }

func (*quietConnection) Disconnected() {}

func (*quietConnection) Before() (past processes.LegacyPast) { return past }
