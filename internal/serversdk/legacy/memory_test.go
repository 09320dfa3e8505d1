package legacy

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/serversdk"
)

// TestMemory compares the memory of old game servers with that of game servers on server SDK 5, which have one socket.
func TestMemory(t *testing.T) {
	const servers = 300
	old := New(Config{Servers: quiet{}, Log: slog.New(slog.DiscardHandler)})
	current := serversdk.New(serversdk.Config{Servers: quiet{}, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		_ = old.Close(context.Background())
		_ = current.Close(context.Background())
	})
	const query = "/socket.io/?EIO=3&transport=websocket&sdkLanguage=Cpp&sdkVersion=3.4.1&pID=%d"
	five := perServer(t, current, servers, 1, "/?pID=%d&FleetId=fleet-1&ComputeId=c&Authorization=a&sdkLanguage=Go")
	one := perServer(t, old.SocketIO(), servers, 1, query)
	two := perServer(t, old.SocketIO(), servers, 2, strings.Replace(query, "pID=", "pID=2", 1))
	t.Logf("bytes for each game server, with its client: %d on SDK 5, %d on SDK 3 with one socket, %d with two",
		five, one, two)
	if one > 2*five || two > 4*five { // two sockets, each at most twice as large
		t.Errorf("an old game server has %d bytes with one socket and %d with two; one on SDK 5 has %d", one, two, five)
	}
}

// perServer connects game servers, and returns how much memory each needs.
func perServer(t *testing.T, h http.Handler, servers, sockets int, query string) int {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	before := used()
	open := make([]*websocket.Conn, 0, servers*sockets)
	for i := range servers * sockets {
		ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http")+
			fmt.Sprintf(query, i/sockets), nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, ws)
	}
	size := int(used()-before) / servers
	for _, ws := range open {
		_ = ws.Close()
	}
	return size
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
