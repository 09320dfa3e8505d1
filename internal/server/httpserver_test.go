package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/listen"
)

// pipes is a listener of connections that are no sockets, so that a bubble of
// testing/synctest can turn their clocks.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error { close(p); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects to whoever accepts, and sends text, in another goroutine.
func (p pipes) dial(t *testing.T, text string) net.Conn {
	client, server := net.Pipe()
	p <- server
	t.Cleanup(func() { _ = client.Close() })
	go func() { _, _ = io.WriteString(client, text) }()
	return client
}

// Nobody holds a connection by not reading, or by not sending what was announced.
func TestServerTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3 * time.Minute
		large := strings.Repeat("x", 1<<20)
		s := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, large)
		}), slog.New(slog.DiscardHandler))
		l := make(pipes)
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := s.Serve(listen.Unambiguous(s, l)); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		for name, request := range map[string]string{
			"nothing":        "",
			"half a head":    "GET / HTTP/1.1\r\nHost: h\r\n",
			"does not read":  "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
			"sends no body":  "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
			"sends no chunk": "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
		} {
			c := l.dial(t, request)
			time.Sleep(2 * most)
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("%s: the connection is still open: %v", name, err)
			}
		}

		c := l.dial(t, "GET / HTTP/1.1\r\nHost: h\r\nX: "+large)
		if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil ||
			r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a head without end: %v, %v", r, err)
		}
		c = l.dial(t, "GET / HTTP/1.1\r\nHost: h\r\nX: "+large[:maxHead-8<<10]+"\r\n\r\n")
		if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("a large head: %v, %v", r, err)
		}
		_ = s.Close()
		serving.Wait()
		time.Sleep(time.Second) // the server leaves a refused client time to read
	})
}

// The files that a process may open are shared out between connections and all else.
func TestConnectionLimits(t *testing.T) {
	for _, tt := range []struct{ most, files, kept, want int }{
		{0, 1024, 320, 704},
		{0, 1024, 2000, fewestConnections},
		{100, 1024, 320, 100},
		{5000, 1024, 320, 704},
		{0, 1 << 30, 320, config.MostConnections},
	} {
		limits := connectionLimits(tt.most, 0, tt.files, tt.kept, slog.New(slog.DiscardHandler))
		if got := limits.Most(); got != tt.want {
			t.Errorf("%+v: %d connections", tt, got)
		}
	}
	if openFiles() < 256 {
		t.Errorf("%d files", openFiles())
	}
}

// One address has half of the connections, over all ports, and who closes one makes
// room for another. Both lengths in one request are refused on all ports.
func TestPortsOfOneService(t *testing.T) {
	e, stop := startGateway(t, func(c *config.Config) { c.MaxConnections, c.PprofListen = 8, "127.0.0.1:0" })
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	host := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	ask := func(address, request string) (net.Conn, *http.Response) {
		t.Helper()
		c, err := net.Dial("tcp", host(address))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, request)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			_ = c.Close()
			return nil, nil
		}
		_, _ = io.Copy(io.Discard, r.Body)
		return c, r
	}
	// answered waits until there is room for a connection.
	answered := func(address string) net.Conn {
		t.Helper()
		for {
			if c, _ := ask(address, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"); c != nil {
				return c
			}
		}
	}
	var open []net.Conn
	for _, address := range []string{e.HTTP, e.Gateway, e.HTTP, e.Gateway} {
		open = append(open, answered(address))
	}
	for _, address := range []string{e.HTTP, e.Gateway} {
		if c, _ := ask(address, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"); c != nil {
			t.Errorf("%s accepts a connection too many", address)
		}
	}
	for _, c := range open {
		_ = c.Close()
	}
	for _, address := range []string{e.HTTP, e.Gateway, e.Pprof} {
		for _, before := range []string{"", "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"} {
			_ = answered(e.HTTP).Close()
			c, r := ask(address, before+
				"POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
			if c == nil {
				t.Errorf("%s: no answer", address)
				continue
			}
			if before == "" && (r.StatusCode != http.StatusBadRequest || !r.Close) {
				t.Errorf("%s: %s", address, fmt.Sprint(r))
			}
			_ = c.Close()
		}
	}
}
